"""Many problems at once: each gets the answer it would get alone."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import brute_force, definite, symmetric

import sgep_jax as sgep

N, S, BATCH = 12, 3, 10
METHOD = sgep.Multistart(lanes=4, patience=24, max_steps=100)
KEY = jax.random.key(5)


def pencils(seed=0):
    rng = np.random.default_rng(seed)
    As = np.stack([symmetric(rng, N) for _ in range(BATCH)])
    As[::2, 0, 0] -= 20  # an easy half
    return As, np.stack([definite(rng, N) for _ in range(BATCH)])


def batch(As, Cs, method=METHOD, chunk=3, **options):
    problems = jax.vmap(sgep.Problem)(As, Cs)
    return sgep.solve_batch(problems, S, method=method, chunk=chunk, keys=KEY, **options)


@pytest.fixture(scope="module")
def solved():
    As, Cs = pencils()
    return As, Cs, batch(As, Cs)


def assert_equal(one, many, i):
    for name in ("support", "status", "num_steps", "num_starts", "times_found"):
        assert np.array_equal(getattr(one, name), getattr(many, name)[i]), name
    for name in ("x", "objective", "history"):
        np.testing.assert_allclose(getattr(one, name), getattr(many, name)[i], rtol=1e-9, atol=1e-9)


def test_each_problem_gets_its_own_answer_and_it_is_the_best(solved):
    As, Cs, many = solved
    for i, (A, C) in enumerate(zip(As, Cs, strict=True)):
        key = jax.random.fold_in(KEY, i)
        assert_equal(sgep.solve(sgep.Problem(A, C), S, method=METHOD, key=key), many, i)
        value, support = brute_force(A, C, S)
        np.testing.assert_allclose(many.objective[i], value, rtol=1e-9)
        assert tuple(many.support[i].tolist()) == support


def test_neither_the_chunk_nor_the_neighbours_matter_and_the_gradient_is_xx(solved):
    As, Cs, many = solved

    def total(As):
        wide = batch(As, jnp.asarray(Cs), chunk=BATCH)
        return jnp.sum(wide.objective), wide

    gradient, wide = jax.grad(total, has_aux=True)(jnp.asarray(As))
    x = np.asarray(many.x)
    np.testing.assert_allclose(gradient, x[:, :, None] * x[:, None, :], atol=1e-8)

    order = np.random.default_rng(1).permutation(BATCH)
    keys = jax.vmap(lambda i: jax.random.fold_in(KEY, i))(order)
    problems = jax.vmap(sgep.Problem)(As[order], Cs[order])
    mixed = sgep.solve_batch(problems, S, method=METHOD, chunk=3, keys=keys)
    for place, i in enumerate(order):
        assert_equal(jax.tree.map(lambda leaf, i=i: leaf[i], many), wide, i)
        assert_equal(jax.tree.map(lambda leaf, i=i: leaf[i], many), mixed, place)


def test_a_bad_problem_says_so_and_harms_no_other(solved):
    As, Cs, many = solved
    bad_A, bad_C = As.copy(), Cs.copy()
    bad_A[1, 2, 3] = bad_A[1, 3, 2] = np.nan
    bad_C[4] = np.ones((N, N))  # rank one
    bad_A[7] = np.inf
    found = batch(bad_A, bad_C)
    assert found.status[1] == found.status[7] == sgep.Status.NOT_FINITE
    assert found.status[4] == sgep.Status.NO_DEFINITE_SUPPORT
    assert not np.isfinite(np.asarray(found.objective)[[1, 4, 7]]).any()
    good = np.setdiff1d(np.arange(BATCH), [1, 4, 7])
    for field in ("x", "objective", "support", "status", "history"):
        assert np.array_equal(getattr(found, field)[good], getattr(many, field)[good])
    with pytest.raises(sgep.SolveError, match=r"NOT_FINITE.*problem 1, and 2 more"):
        found.check()


def test_slots_do_not_wait_for_the_slowest():
    """Sixteen problems, one in four without an easy answer, through four slots: fewer steps than if
    every four waited for the slowest of them, and below 1.6 times those that the problems need."""
    rng = np.random.default_rng(1)
    As = np.stack([symmetric(rng, 30) for _ in range(16)])
    As[np.arange(16) % 4 != 0] -= 30 * np.diag(np.arange(30) < 8)
    method = sgep.Multistart(lanes=4, confirmations=24, patience=600).sized(30, 8)
    run = sys.modules["sgep_jax.batch"]._solve_batch
    data = jax.vmap(sgep.Problem)(As), jax.random.split(KEY, 16), None
    solution, steps = run(data, method, 0, 16, 8, None, 4, 16)
    needed = np.asarray(solution.num_steps)
    waiting = 4 * int(np.sum(needed.reshape(4, 4).max(axis=1)))
    assert np.sum(needed) <= int(steps) < min(0.8 * waiting, 1.6 * np.sum(needed))


def test_other_methods_take_every_start_to_a_slot_in_single_precision(solved):
    As, Cs = (array.astype("float32") for array in solved[:2])
    method = sgep.SwapSearch(max_steps=50)
    starts = np.zeros((BATCH, N), "float32")
    starts[:, :S] = 1.0
    many = batch(As, Cs, method, start=starts, num_starts=2)
    assert many.x.dtype == jnp.float32 and (np.asarray(many.num_starts) == 2).all()
    for i in (0, 5, 9):
        one = sgep.solve(
            sgep.Problem(As[i], Cs[i]), S, method=method, key=jax.random.fold_in(KEY, i),
            start=starts[i], num_starts=2,
        )  # fmt: skip
        assert np.array_equal(one.support, many.support[i])
        np.testing.assert_allclose(one.x, many.x[i], rtol=1e-3, atol=1e-4)


MIXED = np.arange(BATCH) % 4 + 1


@pytest.fixture(scope="module")
def mixed(solved):
    """A sparsity from 1 to 4 for each problem; problem 5 is broken, 6 has no definite support."""
    As, Cs = (array.copy() for array in solved[:2])
    As[5, 0, 0], Cs[6] = np.nan, np.ones((N, N))
    problems = jax.vmap(sgep.Problem)(As, Cs)
    return problems, sgep.solve_batch(problems, MIXED, method=METHOD, keys=KEY, chunk=3)


def test_a_sparsity_for_each_problem(solved, mixed):
    """The best there is of each sparsity, with the answer's support filled up by n."""
    As, Cs, _ = solved
    _, found = mixed
    assert found.support.shape == (BATCH, 4) and found.x.shape == (BATCH, N)
    for i in np.setdiff1d(np.arange(BATCH), [5, 6]):
        value, support = brute_force(As[i], Cs[i], MIXED[i])
        np.testing.assert_allclose(found.objective[i], value, rtol=1e-9)
        assert found.support[i].tolist() == [*support, *[N] * (4 - MIXED[i])]
        assert np.flatnonzero(found.x[i]).tolist() == list(support)
        np.testing.assert_allclose(found.x[i] @ As[i] @ found.x[i], value, rtol=1e-9)
    assert found.status[5] == sgep.Status.NOT_FINITE
    assert found.status[6] == sgep.Status.NO_DEFINITE_SUPPORT
    assert not np.isfinite(np.asarray(found.objective)[[5, 6]]).any()


def test_other_sparsities_compile_nothing_and_harm_no_other(mixed):
    """The same largest sparsity elsewhere: problems that keep theirs keep their answers."""
    problems, found = mixed
    run = sys.modules["sgep_jax.batch"]._solve_batch
    before = run._cache_size()
    other = np.where(np.arange(BATCH) < 5, 4, MIXED)
    again = sgep.solve_batch(problems, other, method=METHOD, keys=KEY, chunk=3)
    assert run._cache_size() == before
    same = np.flatnonzero(other == MIXED)
    for name in ("x", "objective", "support", "status", "num_steps"):
        assert np.array_equal(getattr(found, name)[same], getattr(again, name)[same]), name


def test_a_start_and_another_method_with_a_sparsity_for_each(solved):
    """From the best supports an exhaustive search and no search at all agree; s = n is allowed."""
    As, Cs, _ = solved
    problems = jax.vmap(sgep.Problem)(As[:3, :6, :6], Cs[:3, :6, :6])
    counts = [2, 3, 6]
    best = sgep.solve_batch(problems, counts, method=sgep.Exhaustive())
    truth = [brute_force(A, C, s)[0] for A, C, s in zip(*tree(problems), counts, strict=True)]
    np.testing.assert_allclose(best.objective, truth, rtol=1e-9)
    still = sgep.SwapSearch(tolerance=1e9)
    kept = sgep.solve_batch(problems, counts, method=still, start=best.x)
    np.testing.assert_allclose(kept.objective, truth, rtol=1e-9)
    with pytest.raises(ValueError, match="at most sparsity = 2 nonzeros, but it has 3"):
        sgep.solve_batch(problems, counts, start=np.ones((3, 6)) * [1, 1, 1, 0, 0, 0])
    with pytest.raises(ValueError, match=r"exchanges variables.*once for each sparsity"):
        sgep.solve_batch(problems, counts, method=sgep.TruncatedPower())


def tree(problems):
    return np.asarray(problems.A.array), np.asarray(problems.C.array)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keys": jax.random.split(KEY, 3)}, r"jax.random.split\(key, 10\)"),
        ({"sparsity": 0}, "sparsity must be between 1 and n = 12"),
        ({"sparsity": [1, 2]}, "one for each of the 10 problems"),
        ({"chunk": 0}, r"solve_batch\(chunk=...\) must be at least 1"),
        ({"start": np.ones(N)}, r"start must have shape \(batch, n\) = \(10, 12\)"),
        ({"num_starts": 0}, r"solve_batch\(num_starts=...\) must be at least 1"),
    ],
)
def test_bad_arguments(options, message):
    problems = jax.vmap(sgep.Problem)(pencils()[0])
    options = {"sparsity": S} | options
    with pytest.raises(ValueError, match=message):
        sgep.solve_batch(problems, **options)


def test_old_keys_and_single_problems_are_refused():
    with pytest.raises(TypeError, match=r"jax.random.wrap_key_data"):
        sgep.solve_batch(jax.vmap(sgep.Problem)(pencils()[0]), S, keys=np.zeros(2, np.uint32))
    with pytest.raises(ValueError, match="for one problem use solve"):
        sgep.solve_batch(sgep.Problem(np.eye(N)), S)
    with pytest.raises(ValueError, match=r"A has shape \(12, 12\)"):
        sgep.solve_batch(sgep.pca_problem(np.eye(N), form="gram"), S)
    with pytest.raises(ValueError, match="a batch of at least one pencil"):
        sgep.solve_batch(jax.vmap(sgep.Problem)(np.zeros((0, N, N))), S)
