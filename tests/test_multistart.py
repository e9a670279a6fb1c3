"""The default search: reproducible, monotone, exact where the truth is known."""

import sys
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import TOLERANCE, brute_force, definite, symmetric

import sgep_jax as sgep
from sgep_jax import multistart

DEFAULT = sgep.Multistart(lanes=8, max_steps=300, patience=96)
BLOCKS = sgep.Decomposition(
    random=4, swap=4, subproblem="inertia", rest="free", scores="corrective", window=5,
    tolerance=0.0, max_steps=50,
)  # fmt: skip


def spiked(rng, n, s, strength):
    """−covariance of n variables, s of which share one strong factor."""
    support = rng.choice(n, s, replace=False)
    v = np.zeros(n)
    v[support] = rng.choice([-1, 1], s) / np.sqrt(s)
    X = rng.standard_normal((400, n)) + strength * rng.standard_normal((400, 1)) * v
    return -X.T @ X / 400, np.sort(support)


def test_finds_a_planted_support(dtype):
    A, support = spiked(np.random.default_rng(0), 60, 6, 3.0)
    solution = sgep.solve(sgep.Problem(jnp.asarray(A, dtype)), 6, method=DEFAULT).check()
    assert np.array_equal(solution.support, support)
    assert solution.status == sgep.Status.SWAP_OPTIMAL
    rows = np.ix_(support, support)
    np.testing.assert_allclose(
        solution.objective, np.linalg.eigvalsh(A[rows])[0], rtol=TOLERANCE[dtype]
    )
    np.testing.assert_allclose(np.linalg.norm(solution.x), 1, rtol=1e-5)


def test_equals_brute_force_and_the_same_everywhere():
    """Twelve pencils of 15 variables: the known minimum; eager, jit and vmap bit for bit."""
    rng = np.random.default_rng(1)
    As = np.stack([symmetric(rng, 15) for _ in range(12)])
    Cs = np.stack([definite(rng, 15) for _ in range(12)])
    problems = jax.vmap(sgep.Problem)(As, Cs)
    keys = jax.random.split(jax.random.key(3), 12)

    def run(problem, key):
        return sgep.solve(problem, 5, method=DEFAULT, key=key)

    batch = jax.vmap(run)(problems, keys)
    truth = [brute_force(A, C, 5)[0] for A, C in zip(As, Cs, strict=True)]
    np.testing.assert_allclose(batch.objective, truth, rtol=1e-9)
    assert (np.asarray(batch.status) == sgep.Status.SWAP_OPTIMAL).all()
    assert (np.diff(batch.history, axis=1) <= 1e-12).all()
    one = sgep.solve(sgep.Problem(As[4], Cs[4]), 5, method=DEFAULT, key=keys[4])
    again = sgep.solve(sgep.Problem(As[4], Cs[4]), 5, method=DEFAULT, key=keys[4])
    assert np.array_equal(one.x, again.x)
    assert np.array_equal(one.support, batch.support[4])
    assert one.num_starts == batch.num_starts[4]
    np.testing.assert_allclose(one.x, batch.x[4], rtol=1e-9, atol=1e-12)


def test_blocks_refine_the_best_point():
    """From one poor start the local search stops early; blocks go on and say so."""
    rng = np.random.default_rng(8)
    A = symmetric(rng, 30)
    method = sgep.Multistart(lanes=1, max_starts=1, max_steps=100)
    refined = sgep.Multistart(lanes=1, max_starts=1, max_steps=100, refine=BLOCKS)
    plain = sgep.solve(sgep.Problem(A), 6, method=method)
    better = sgep.solve(sgep.Problem(A), 6, method=refined)
    assert plain.status == sgep.Status.SWAP_OPTIMAL
    assert better.status == sgep.Status.BLOCK_OPTIMAL
    assert better.objective <= plain.objective
    assert better.num_steps > plain.num_steps
    assert better.history.shape == (151,) and (np.diff(better.history) <= 1e-12).all()
    np.testing.assert_allclose(better.history[-1], better.objective, rtol=1e-12)


def test_stopping_numbers_do_not_recompile():
    A, _ = spiked(np.random.default_rng(2), 60, 6, 2.0)
    problem = sgep.Problem(A)
    compiled = sys.modules["sgep_jax.solve"]._solve
    sgep.solve(problem, 6, method=sgep.Multistart(lanes=8, max_steps=300, patience=10))
    before = compiled._cache_size()
    other = sgep.Multistart(
        lanes=8, max_steps=300, patience=20, confirmations=3, max_starts=30, target=-7.0
    )
    sgep.solve(problem, 6, method=other, key=jax.random.key(7))
    assert compiled._cache_size() == before


def test_a_target_ends_the_search(dtype):
    """At the first start that is as low; one that is never met changes nothing."""
    problem = sgep.Problem(jnp.asarray(symmetric(np.random.default_rng(17), 60), dtype))
    method = sgep.Multistart(lanes=2, patience=60)
    whole = sgep.solve(problem, 8, method=method)
    assert whole.num_starts > 60
    first = sgep.solve(problem, 8, method=replace(method, max_starts=1))
    assert first.objective > whole.objective
    for target in (first.objective, (first.objective + whole.objective) / 2, whole.objective):
        early = sgep.solve(problem, 8, method=replace(method, target=target)).check()
        assert early.objective <= target and early.num_starts < whole.num_starts
        assert early.status == sgep.Status.SWAP_OPTIMAL
    never = sgep.solve(problem, 8, method=replace(method, target=1.01 * whole.objective))
    assert np.array_equal(never.x, whole.x) and never.num_starts == whole.num_starts


def test_a_target_of_each_problem_of_a_batch():
    """One that is met at once leaves the others alone."""
    As = np.stack([symmetric(np.random.default_rng(seed), 30) for seed in range(3)])
    problems = jax.vmap(sgep.Problem)(As)
    keys = jax.random.split(jax.random.key(1), 3)
    method = sgep.Multistart(lanes=2, patience=40)

    def run(problem, key, target):
        return sgep.solve(problem, 5, method=replace(method, target=target), key=key)

    met = jax.vmap(run)(problems, keys, np.array([-np.inf, 0.0, -np.inf]))
    whole = jax.vmap(partial(run, target=-np.inf))(problems, keys)
    assert met.num_starts[1] <= 2 < whole.num_starts[1]
    for lane in (0, 2):
        assert met.num_starts[lane] == whole.num_starts[lane]
        assert np.array_equal(met.support[lane], whole.support[lane])


def test_a_target_that_another_search_found():
    """Met within rounding: by other lanes, on the same support, to the last digits."""
    for seed in range(6):
        problem = sgep.Problem(symmetric(np.random.default_rng(seed), 40))
        value = sgep.solve(problem, 6, method=sgep.Multistart(lanes=3, patience=100)).objective
        method = sgep.Multistart(lanes=2, patience=400, confirmations=10**6, target=value)
        solution = sgep.solve(problem, 6, method=method).check()
        assert solution.num_starts < 400
        np.testing.assert_allclose(solution.objective, value, rtol=1e-7)


@pytest.mark.parametrize("target", [np.nan, np.inf])
def test_a_traced_target_that_is_none(target):
    """NaN is never met, and infinity by the first start: neither spoils the answer."""
    problem = sgep.Problem(symmetric(np.random.default_rng(14), 30))

    @jax.jit
    def run(target):
        return sgep.solve(problem, 5, method=sgep.Multistart(lanes=2, patience=30, target=target))

    solution = run(target).check()
    assert solution.num_starts <= 2 if target == np.inf else solution.num_starts > 30


def test_targets_of_any_type_compile_once():
    problem = sgep.Problem(symmetric(np.random.default_rng(15), 30))
    compiled = sys.modules["sgep_jax.solve"]._solve
    counts = set()
    for target in (-np.inf, -2, -(10**12), np.float32(-2), np.float64(-2), jnp.asarray(-2.0)):
        method = sgep.Multistart(lanes=2, patience=30, target=target)
        sgep.solve(problem, 5, method=method)
        counts.add(compiled._cache_size())
    assert len(counts) == 1


def test_what_is_not_given_suits_the_problem():
    """A number of one's own replaces no other, and is followed by the limit on starts."""
    problem = sgep.Problem(symmetric(np.random.default_rng(13), 40))
    whole = sgep.solve(problem, 5)
    assert np.array_equal(sgep.solve(problem, 5, method=sgep.Multistart()).x, whole.x)
    sized = sgep.Multistart().sized(500, 40)
    assert (sized.lanes, sized.patience, sized.max_starts) == (3, 2000, 4096)
    own = sgep.Multistart(patience=5000, lanes=2).sized(500, 40)
    assert (own.lanes, own.patience, own.max_starts) == (2, 5000, 10_000)
    assert own.sized(7, 3) == own
    assert sgep.Multistart(patience=np.int32(2**31 - 1)).sized(500, 40).max_starts == 2**31 - 2

    @jax.jit
    def traced(patience):
        method = sgep.Multistart(lanes=1, confirmations=10**6, patience=patience)
        return sgep.solve(problem, 5, method=method)

    method = sgep.Multistart(lanes=1, confirmations=10**6, patience=40)
    assert traced(40).num_starts == sgep.solve(problem, 5, method=method).num_starts
    limit = jax.jit(lambda patience: sgep.Multistart(patience=patience).sized(40, 5).max_starts)
    for patience, most in ((40, 4096), (5000, 10_000), (2**31 - 1, 2**31 - 2)):
        assert limit(np.int32(patience)) == most


def test_given_number_of_starts_and_own_start():
    A, support = spiked(np.random.default_rng(3), 40, 5, 2.0)
    start = np.zeros(40)
    start[support] = 1.0
    solution = sgep.solve(sgep.Problem(A), 5, method=DEFAULT, start=start, num_starts=8)
    assert solution.num_starts >= 8
    single = sgep.solve(sgep.Problem(A), 5, method=sgep.SwapSearch(), start=start)
    assert solution.objective <= single.objective


def test_every_start_of_the_user_is_run():
    """Seven starts of one's own, three at a time, however old the population; then columns."""
    problem = sgep.Problem(symmetric(np.random.default_rng(10), 20))
    given = np.eye(20)[[3, 1, 4, 15, 9, 2, 6]]

    @jax.jit
    def next_starts(rounds, drawn):
        starts = multistart.Starts(problem, 2, jnp.asarray(given), jax.random.key(0))
        search = sgep.Multistart(lanes=6).sized(20, 2).begin(problem, 2)
        pool = search.pool._replace(objective=jnp.zeros(8))
        search = search._replace(rounds=rounds, age=drawn + 2, drawn=drawn, pool=pool)
        return *starts.next(search, 3), starts.fresh.columns

    used = []
    for rounds in range(3, 7):
        seeds, fresh, columns = next_starts(np.int32(rounds), np.int32(len(used)))
        used += np.asarray(seeds.support)[np.asarray(fresh), 0].tolist()
    assert used[:7] == [3, 1, 4, 15, 9, 2, 6]
    assert len(used) == 10 and used[7] == columns[0]


def test_a_stale_population_makes_room_for_another():
    """The best point of all is kept; a start of the old population does not enter the new one."""
    problem = sgep.Problem(symmetric(np.random.default_rng(11), 30))
    method = sgep.Multistart(lanes=2, elite=2).sized(30, 3)
    search = jax.jit(method.begin, static_argnums=1)(problem, 3)

    @jax.jit
    def record(search, values):
        point = search.lanes.point._replace(objective=jnp.asarray(values))
        lanes = search.lanes._replace(point=point)
        return method._record(search._replace(lanes=lanes), jnp.isfinite(point.objective))

    search = record(search, [-2.0, -3.0])
    assert search.pool.objective.tolist() == [-3, -2] and search.stale == 0
    search = record(search._replace(stale=np.int32(multistart.STALE - 2)), [-3.0, -1.0])
    assert search.population == 1 and search.age == 0 and search.stale == 0
    assert search.pool.objective.tolist() == [np.inf, np.inf]
    assert search.best.objective == -3 and search.unimproved == 2
    search = record(search._replace(born=np.array([0, 1], "int32")), [-5.0, -1.0])
    assert search.pool.objective.tolist() == [-1, np.inf]
    assert search.best.objective == -5 and search.unimproved == 0


METHOD = sgep.SwapSearch(max_steps=50)


def test_answer_does_not_depend_on_the_chunk():
    A, _ = spiked(np.random.default_rng(4), 30, 4, 1.0)
    problem, key = sgep.Problem(A), jax.random.key(0)
    run_starts = sys.modules["sgep_jax.solve"].run_starts
    endings = []
    for chunk in (4, 9):
        run = jax.jit(
            lambda problem, chunk=chunk: run_starts(problem, METHOD, key, None, 4, 9, chunk)
        )
        endings.append(run(problem)[0])
    assert np.array_equal(endings[0].point.support, endings[1].point.support)
    np.testing.assert_allclose(endings[0].point.objective, endings[1].point.objective, rtol=1e-12)


@pytest.mark.parametrize("bad", ["nan", "rank"])
def test_failures_are_statuses(bad):
    rng = np.random.default_rng(5)
    A, C = symmetric(rng, 30), definite(rng, 30)
    if bad == "nan":
        A[3, 4] = A[4, 3] = np.nan
    else:
        X = rng.standard_normal((1, 30))
        C = X.T @ X  # rank 1: no definite support of two
    problem = jax.jit(sgep.Problem)(A, C)
    solution = sgep.solve(problem, 2, method=DEFAULT)
    expected = sgep.Status.NOT_FINITE if bad == "nan" else sgep.Status.NO_DEFINITE_SUPPORT
    assert solution.status == expected
    assert solution.objective == np.inf and not np.any(solution.x)
    with pytest.raises(sgep.SolveError, match=expected.name):
        solution.check()


def test_both_views_of_a_zero_diagonal():
    """CCA: single columns are all worth nothing, pairs across the views are not."""
    rng = np.random.default_rng(6)
    X, Y = rng.standard_normal((200, 15)), rng.standard_normal((200, 15))
    Y[:, 3] += 2 * X[:, 7]
    S = np.cov(np.hstack([X, Y]).T)
    A, C = np.zeros((30, 30)), np.zeros((30, 30))
    A[:15, 15:], A[15:, :15] = -S[:15, 15:], -S[15:, :15]
    C[:15, :15], C[15:, 15:] = S[:15, :15], S[15:, 15:]
    solution = sgep.solve(sgep.Problem(A, C), 2, method=DEFAULT)
    assert list(solution.support) == [7, 18]


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_default_lowers_elsewhere_without_callbacks(platform):
    def run(A, key):
        return sgep.solve(sgep.Problem(A), 4, method=DEFAULT, key=key)

    A = jax.ShapeDtypeStruct((30, 30), jnp.float32)
    traced = jax.jit(run).trace(A, jax.random.key(0))
    text = traced.lower(lowering_platforms=(platform,)).as_text()
    assert "callback" not in text


def test_hot_loop_has_no_call_per_candidate():
    """The search over supports compiles to fused arithmetic: no LAPACK call at all."""
    from sgep_jax.search import inertia

    table = jnp.asarray(inertia.supports_table(12, 6))
    compiled = jax.jit(inertia.lowest_pivots).lower(jnp.eye(12), table).compile()
    assert "custom-call" not in compiled.as_text()


def test_step_limit_keeps_the_best_point_so_far():
    rng = np.random.default_rng(9)
    problem = sgep.Problem(symmetric(rng, 30))
    solution = sgep.solve(problem, 6, method=sgep.Multistart(lanes=2, max_steps=1))
    assert solution.status == sgep.Status.STEP_LIMIT
    assert np.isfinite(solution.objective) and np.count_nonzero(solution.x) == 6
    with pytest.raises(sgep.SolveError, match="max_steps"):
        solution.check()
