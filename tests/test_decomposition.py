"""What Algorithm 1 promises: descent, block optimality, reproducible draws, sizes, memory."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import PENCILS, brute_force, definite, quotient, symmetric

import sgep_jax as sgep
from sgep_jax import start, working_set
from sgep_jax.supports import Point, dense

N, S = 10, 4
SWAP = {
    "bisection": sgep.Decomposition(random=2, swap=2, window=4),
    "coordinate": sgep.Decomposition(random=2, swap=2, window=4, subproblem="coordinate"),
    "uniform": sgep.Decomposition(random=3, swap=2, window=4, draw="uniform"),
    "swap alone": sgep.Decomposition(random=0, swap=2, window=1),
}


def pencils(kinds, each, n=N):
    rng = np.random.default_rng(8)
    made = [PENCILS[kind](rng, n) for kind in kinds for _ in range(each)]
    return tuple(np.array(matrices) for matrices in zip(*made, strict=True))


@pytest.mark.parametrize("name", SWAP)
def test_descent_to_a_block_2_optimal_point(name):
    As, Cs = pencils(("general", "components", "correlated", "diagonal", "units"), 6)
    problems = jax.vmap(sgep.Problem)(As, Cs)
    solutions = jax.vmap(lambda problem: sgep.solve(problem, S, method=SWAP[name]))(problems)
    solutions.check()
    history = np.asarray(solutions.history)
    size = np.maximum(1, np.abs(history[:, :1]))
    assert np.all(np.diff(history, axis=1) <= 1e-12 * size)
    assert np.any(np.diff(history, axis=1) < 0)
    assert np.all(np.asarray(solutions.objective) <= history[:, -1] + 1e-12 * size[:, 0])
    measures = jax.vmap(lambda problem, x: sgep.block_optimality(problem, x, 2, sparsity=S))(
        problems, solutions.x
    )
    assert np.all(np.asarray(measures) == 0)


def test_without_swaps_it_still_descends():
    As, Cs = pencils(("general",), 6)
    method = sgep.Decomposition(random=4, swap=0, window=4)
    problems = jax.vmap(sgep.Problem)(As, Cs)
    solutions = jax.vmap(lambda problem: sgep.solve(problem, S, method=method))(problems)
    history = np.asarray(solutions.check().history)
    assert np.all(np.diff(history, axis=1) <= 1e-12) and np.any(history[:, 0] > history[:, -1])


def test_sufficient_decrease():
    """Lemma 2: f falls by at least θ‖x⁺ − ηx‖², in the norm of diag(C), at every step.

    η is x_N's multiple; the η that makes the norm smallest needs no knowledge of the block.
    """
    rng = np.random.default_rng(2)
    method = sgep.Decomposition(random=2, swap=2, theta=0.02, window=50)
    step, init = jax.jit(method.step), jax.jit(method.init)
    complete = jax.jit(lambda problem, x: start.complete(problem, start.seed_of(x, 6)))
    scale, vector = jax.jit(sgep.Problem.scale), jax.jit(lambda state: dense(state.point, N))
    moves = 0
    for _ in range(5):
        A, C = symmetric(rng, N), definite(rng, N)
        problem = sgep.Problem(A, C)
        x = np.zeros(N)
        x[rng.permutation(N)[:6]] = rng.standard_normal(6)
        state = init(problem, complete(problem, jnp.asarray(x)), jax.random.key(0))
        theta, D = method.theta * float(scale(problem)), np.diagonal(C)
        for t in range(12):
            old, state = state, step(problem, state, jax.random.key(t))
            x, y = np.asarray(vector(old)), np.asarray(vector(state))
            assert quotient(A, C, y) == pytest.approx(float(state.point.objective), rel=1e-9)
            eta = (x * D) @ y / ((x * D) @ x)
            needed = theta * np.sum(D * (y - eta * x) ** 2)
            assert state.point.objective <= old.point.objective - needed + 1e-12
            moves += needed > 1e-6
    assert moves > 10


def test_draws_are_reproducible():
    rng = np.random.default_rng(5)
    problem, method = sgep.Problem(symmetric(rng, N), definite(rng, N)), SWAP["bisection"]

    def run(key):
        return sgep.solve(problem, S, method=method, key=key)

    keys = jax.random.split(jax.random.key(1), 3)
    eager = [run(key) for key in keys]
    again, batch = run(keys[0]), jax.jit(jax.vmap(run))(keys)
    for a, b in zip(jax.tree.leaves(eager[0]), jax.tree.leaves(again), strict=True):
        assert np.array_equal(a, b)
    for other, mine in zip(_lanes(batch), eager, strict=True):
        assert np.array_equal(other.support, mine.support) and other.num_steps == mine.num_steps
        np.testing.assert_allclose(other.history, mine.history, rtol=1e-12)


def _lanes(batch):
    batch = jax.device_get(batch)
    return [jax.tree.map(lambda leaf, i=i: leaf[i], batch) for i in range(len(batch.status))]


def test_sizes_fit_every_problem():
    for n, random, swap in itertools.product(range(1, 9), (0, 1, 2, 5, 6), (0, 2, 4, 6)):
        for s in range(1, n + 1):
            if random + swap < 2:
                continue
            size = working_set.sizes(n, s, random, swap)
            assert min(size) >= 0
            assert size.total == min(random + swap, n)
            assert 1 <= size.inside <= s and size.total - size.inside <= n - s
            if s < n and swap:
                assert size.swap_in >= 1 and size.swap_out >= 1
                assert size.swap_in <= swap // 2 and size.swap_out <= swap // 2


EDGES = [(1, 1), (2, 1), (6, 1), (6, 4), (6, 6)]


@pytest.mark.parametrize(("n", "s"), EDGES)
def test_working_sets_hold_no_coordinate_twice(n, s):
    rng = np.random.default_rng(0)
    problem = sgep.Problem(symmetric(rng, n), definite(rng, n))
    support = np.sort(rng.permutation(n)[:s]).astype(np.int32)
    point = Point(jnp.asarray(support), jnp.asarray(rng.standard_normal(s)), jnp.float64(0))
    scores = jax.jit(working_set.exchange_values)(problem, point)
    size = working_set.sizes(n, s, 2, 2)
    keys = jax.random.split(jax.random.key(0), 50)
    met = set()
    for choose in (working_set.select, working_set.select_uniform):
        drawn = jax.jit(jax.vmap(lambda key, c=choose: c(key, point, scores, size, n)))(keys)
        indices, kept = np.asarray(drawn.indices), np.asarray(drawn.kept)
        assert indices.shape == (50, min(4, n)) and indices.min() >= 0 and indices.max() < n
        for row, keep, count in zip(indices, kept, np.asarray(drawn.count), strict=True):
            inside = set(row.tolist()) & set(support.tolist())
            assert len(set(row.tolist())) == len(row)
            assert set(support[keep].tolist()) == set(support.tolist()) - inside
            assert 0 < count == min(len(row), s - keep.sum())
            if choose is working_set.select:
                assert len(inside) == size.inside == count
            met |= set(row.tolist())
        if s < n:  # the best exchange is always in the working set
            i, j = np.unravel_index(np.argmin(scores), scores.shape)
            assert np.all(np.any(indices == support[i], axis=1) & np.any(indices == j, axis=1))
    assert met == set(range(n))


def test_exchange_values():
    """D_ij by its definition: drop i, add j, best multiple of both."""
    rng = np.random.default_rng(3)
    A, C = symmetric(rng, N), definite(rng, N)
    support, x = np.array([1, 4, 6, 7], np.int32), rng.standard_normal(4)
    point = Point(jnp.asarray(support), jnp.asarray(x), jnp.float64(0))
    values = np.asarray(jax.jit(working_set.exchange_values)(sgep.Problem(A, C), point))
    for i, j in itertools.product(range(4), range(N)):
        if j in support:
            assert values[i, j] == np.inf
            continue
        v = np.zeros(N)
        v[support] = np.where(np.arange(4) == i, 0, x)
        basis = np.column_stack([v, np.eye(N)[j]])
        best, _ = brute_force(basis.T @ A @ basis, basis.T @ C @ basis, 2)
        assert values[i, j] == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize(("n", "s"), [(1, 1), (2, 1), (5, 5)])
def test_the_smallest_problems(n, s):
    rng = np.random.default_rng(n)
    A, C = symmetric(rng, n), definite(rng, n)
    solution = sgep.solve(sgep.Problem(A, C), s, method=sgep.Decomposition(window=1)).check()
    assert float(solution.objective) == pytest.approx(brute_force(A, C, s)[0], rel=1e-9)


def test_singular_denominator_and_small_blocks():
    """n > m samples, k < n: the answer is never below the best definite support."""
    rng = np.random.default_rng(6)
    As, Cs = [], []
    for _ in range(30):
        X = rng.standard_normal((20, N))
        X[:, 5:] = X[:, :5] @ rng.integers(-1, 2, (5, 5))  # rank 5, with many small dependences
        X[:, 9] = X[:, 0]
        As.append(symmetric(rng, N)), Cs.append(X.T @ X / 20)
    problems = jax.vmap(sgep.Problem)(np.array(As), np.array(Cs))
    solutions = jax.vmap(lambda problem: sgep.solve(problem, S, method=SWAP["bisection"]))(problems)
    solutions.check()
    for A, C, solution in zip(As, Cs, _lanes(solutions), strict=True):
        best, _ = brute_force(A, C, S)
        support = np.asarray(solution.support)
        assert np.linalg.eigvalsh(C[np.ix_(support, support)])[0] > 1e-10
        assert float(solution.objective) >= best - 1e-9 * abs(best)


@pytest.mark.parametrize(("swap", "status"), [(0, "CONVERGED"), (4, "BLOCK_OPTIMAL")])
def test_block_optimal_only_where_exchanges_were_looked_at(swap, status):
    A = symmetric(np.random.default_rng(3), 12)
    method = sgep.Decomposition(
        random=4, swap=swap, subproblem="inertia", rest="free", scores="corrective", window=5
    )
    solution = sgep.solve(sgep.Problem(A), 4, method=method)
    assert sgep.Status(int(solution.status)).name == status


def test_one_search_of_all_supports_is_enough():
    """Whatever starts are asked for, of one problem and of a batch."""
    rng = np.random.default_rng(3)
    As = np.stack([symmetric(rng, 7) for _ in range(2)])
    starts = np.eye(7)[:3]
    for method in (None, sgep.Exhaustive()):
        for options in ({"num_starts": 5}, {"start": starts}):
            found = sgep.solve(sgep.Problem(As[0]), 3, method=method, **options)
            assert found.status == sgep.Status.OPTIMAL and found.num_starts == 1
    problems, starts = jax.vmap(sgep.Problem)(As), np.stack([starts] * 2)
    batch = sgep.solve_batch(problems, 3, start=starts, num_starts=4, chunk=4)
    assert list(batch.num_starts) == [1, 1]
    assert batch.objective[0] == pytest.approx(float(found.objective), rel=1e-12)


def test_large_blocks_have_bounded_memory():
    """k = 16: 12,870 candidate supports, in chunks."""
    method = sgep.Decomposition(random=8, swap=8, max_steps=1)
    n, s = 40, 20
    A = symmetric(np.random.default_rng(0), n)
    run = jax.jit(lambda problem: sgep.solve(problem, s, method=method))
    compiled = run.lower(sgep.Problem(A)).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 1e9
    solution = compiled(sgep.Problem(A))
    assert solution.history[1] < solution.history[0] and solution.num_steps == 1
