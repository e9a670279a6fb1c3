"""Corrective exchanges: the sign of every score, and the exchanged point, against SciPy."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from helpers import definite, symmetric

import sgep_jax as sgep
from sgep_jax.corrective import exchanged, exchanges, flagged, inverse, screen, screen_all
from sgep_jax.polish import polish
from sgep_jax.supports import Point
from sgep_jax.swap_search import HELD

N, S = 9, 4


def lowest(A, C, support):
    rows = np.ix_(support, support)
    return scipy.linalg.eigh(A[rows], C[rows], eigvals_only=True)[0]


@jax.jit
def scores_and_points(problem, support):
    """The polished point on `support`, all scores, and all exchanged points."""
    scale = problem.scale()
    start = Point(support, jnp.ones(S, problem.dtype), 0 * scale)
    point = polish(problem, start)
    scores = exchanges(problem, problem.diagonals(), point, inverse(problem, point, scale))

    def one(position, added, change):
        return exchanged(problem, point, position, added, change, scale)

    pairs = jnp.meshgrid(
        jnp.arange(S, dtype=jnp.int32), jnp.arange(N, dtype=jnp.int32), indexing="ij"
    )
    points = jax.vmap(jax.vmap(one))(*pairs, scores.change)
    return point, scores, points


@pytest.mark.parametrize("identity", [True, False])
def test_sign_of_every_score_and_value_of_every_exchange(identity):
    rng = np.random.default_rng(1)
    pairs = improving = 0
    for _ in range(30):
        A = symmetric(rng, N)
        C = np.eye(N) if identity else definite(rng, N)
        support = np.sort(rng.choice(N, S, replace=False)).astype(np.int32)
        problem = sgep.Problem(A, C)
        point, scores, points = scores_and_points(problem, support)
        for i, j in np.ndindex(S, N):
            if j in support:
                assert scores.pivot[i, j] == np.inf
                continue
            truth = lowest(A, C, np.append(np.delete(support, i), j))
            gain = float(point.objective) - truth
            assert (float(scores.pivot[i, j]) < 0) == (gain > 0) or abs(gain) < 1e-12
            if gain > 1e-9:
                np.testing.assert_allclose(points.objective[i, j], truth, rtol=1e-11)
                improving += 1
            elif gain < -1e-12:
                assert points.objective[i, j] == np.inf
            pairs += 1
    assert pairs == 600 and improving > 100


@pytest.mark.parametrize("identity", [True, False])
def test_exchange_is_exact_from_any_estimate(identity):
    """Newton's method ends at SciPy's value from estimates far too low, fair, and hardly any."""
    rng = np.random.default_rng(3)
    A, C = symmetric(rng, N), np.eye(N) if identity else definite(rng, N)
    problem = sgep.Problem(A, C)
    support = np.arange(S, dtype=np.int32)
    point, scores, _ = scores_and_points(problem, support)
    i, j = np.int32(np.unravel_index(np.argmin(scores.change), scores.change.shape))
    truth = lowest(A, C, np.append(np.delete(support, i), j))
    assert truth < float(point.objective) - 1e-3
    exact = jax.jit(lambda change: exchanged(problem, point, i, j, change, problem.scale()))
    for factor in (100.0, 1.0, 1e-6):
        new = exact((truth - point.objective) * factor)
        np.testing.assert_allclose(new.objective, truth, rtol=1e-12)
        x = np.asarray(new.loadings)
        rows = np.asarray(new.support)
        np.testing.assert_allclose(
            A[np.ix_(rows, rows)] @ x, truth * C[np.ix_(rows, rows)] @ x, atol=1e-9
        )
    assert exact(0.0).objective == np.inf


def test_flagged_columns():
    """Against a scatter, for a number of columns that is no multiple of the classes."""
    columns, flags = np.array([8, 1, 10, 3], np.int32), np.array([True, False, True, True])
    expected = np.isin(np.arange(11), [8, 10, 3])
    np.testing.assert_array_equal(flagged(columns, flags, 11), expected)


def test_columns_held_back_return_only_when_nothing_else_is_found():
    """The best support without them comes first, then the best of all."""
    rng = np.random.default_rng(7)
    A = symmetric(rng, N)
    problem, search = sgep.Problem(A), sgep.SwapSearch()
    best = np.asarray(sgep.solve(problem, S).support)
    held = np.isin(np.arange(N), best[:2])
    start = np.setdiff1d(np.arange(N), best[:2])[:S].astype(np.int32)
    step = jax.jit(lambda state: search.step(problem, state, None))
    state = search.begin(problem, start, problem.scale(), held)
    while (state.role == HELD).any():
        support, without = np.asarray(state.point.support), float(state.point.objective)
        assert not np.isin(best[:2], support).any()
        state = step(state)
    for i, j in np.ndindex(S, N):
        if j not in support and j not in best[:2]:
            swapped = np.append(np.delete(support, i), j)
            assert lowest(A, np.eye(N), swapped) >= without - 1e-12
    while state.status == sgep.Status.RUNNING:
        state = step(state)
    assert state.status == sgep.Status.SWAP_OPTIMAL and state.point.objective <= without


def test_zero_loading_is_dropped_for_free():
    """x = (e_0 + e_1)/√2 on the support {0, 1, 2}: 2 has no loading, and 3 couples to x."""
    A = -np.diag([2.0, 2.0, 0.5, 1.0, 0.1])
    A[0, 1] = A[1, 0] = -1.0
    A[0, 3] = A[3, 0] = -0.3
    problem = sgep.Problem(A)
    solution = sgep.solve(
        problem, 3, method=sgep.SwapSearch(), start=np.array([1.0, 1.0, 0.1, 0, 0])
    )
    assert list(solution.support) == [0, 1, 3]
    np.testing.assert_allclose(
        solution.objective, np.linalg.eigvalsh(A[np.ix_(*[[0, 1, 3]] * 2)])[0]
    )


def test_near_multiple_lowest_eigenvalue(dtype):
    """Two equal blocks: λ₂ = λ₁ on the support; scores stay finite, the search ends."""
    block = -np.array([[2.0, 1.0], [1.0, 2.0]])
    A = scipy.linalg.block_diag(block, block, block * (1 - 1e-7), -1.0)
    solution = sgep.solve(sgep.Problem(jnp.asarray(A, dtype)), 4, method=sgep.SwapSearch())
    assert solution.status == sgep.Status.SWAP_OPTIMAL
    np.testing.assert_allclose(solution.objective, -3.0, rtol=1e-6)


def test_screened_columns_are_the_best_of_their_class():
    """Against the lowest eigenvalue of each plane {x, e_j}, by SciPy."""
    rng = np.random.default_rng(4)
    n, count = 50, 8
    A, C = symmetric(rng, n), definite(rng, n)
    support = np.array([3, 11, 27, 40], np.int32)
    problem = sgep.Problem(A, C)
    point = jax.jit(polish)(problem, Point(support, np.ones(4), np.zeros(())))
    excluded = np.isin(np.arange(n), [20, *support])
    diagonals = problem.diagonals()
    found, lowest = jax.jit(partial(screen, count=count))(problem, diagonals, point, excluded)
    x = np.zeros(n)
    x[support] = point.loadings
    values = np.full(n, np.inf)
    for j in set(range(n)) - set(support.tolist()) - {20}:
        plane = np.stack([x, np.eye(n)[j]], axis=1)
        values[j] = scipy.linalg.eigh(plane.T @ A @ plane, plane.T @ C @ plane)[0][0]
    for k, column in enumerate(np.asarray(found)):
        assert column == k + count * np.argmin(values[k::count])
    change = values[np.asarray(found)] - float(point.objective)
    np.testing.assert_allclose(lowest, change, rtol=1e-9)


@pytest.mark.parametrize("identity", [True, False])
def test_lowest_pivot_of_every_column_against_brute_force(identity):
    """Negative exactly where adding j improves; no less than the change is where C is diagonal."""
    rng = np.random.default_rng(8)
    improving = 0
    for _ in range(20):
        A, C = symmetric(rng, N), np.eye(N) if identity else definite(rng, N)
        support = np.sort(rng.choice(N, S, replace=False)).astype(np.int32)
        excluded = np.isin(np.arange(N), [8, *support])
        columns, pivot = lowest_pivots(sgep.Problem(A, C), support, excluded)
        assert list(columns) == list(range(N))
        value = lowest(A, C, support)
        for j in range(N):
            if j in support or j == 8:
                assert pivot[j] == 0
                continue
            values = [lowest(A, C, np.append(np.delete(support, i), j)) for i in range(S)]
            change = min(0.0, min(values) - value)
            assert (pivot[j] < 0) == (change < 0) or abs(change) < 1e-12
            assert not identity or pivot[j] <= change + 1e-12
            improving += change < 0
    assert improving > 20


@jax.jit
def lowest_pivots(problem, support, excluded):
    point = polish(problem, Point(support, jnp.ones(S), jnp.zeros(())))
    G = inverse(problem, point, problem.scale())
    return screen_all(problem, problem.diagonals(), point, G, excluded, N)


def test_some_columns_score_as_all_of_them():
    rng = np.random.default_rng(5)
    problem = sgep.Problem(symmetric(rng, N), definite(rng, N))
    point, scores, _ = scores_and_points(problem, np.array([0, 2, 5, 8], np.int32))
    added = np.array([7, 1, 2, 4], np.int32)

    @jax.jit
    def score(problem, point, added):
        G = inverse(problem, point, problem.scale())
        return exchanges(problem, problem.diagonals(), point, G, added)

    some = score(problem, point, added)
    for part, whole in zip(some, scores, strict=True):
        np.testing.assert_allclose(part, np.asarray(whole)[:, added], rtol=1e-9)


def test_screening_ends_swap_optimal_too():
    """300 variables: steps screen, and still no exchange at all is left in the end."""
    rng = np.random.default_rng(6)
    A = symmetric(rng, 300)
    solution = sgep.solve(sgep.Problem(A), 4, method=sgep.SwapSearch(max_steps=60))
    assert solution.status == sgep.Status.SWAP_OPTIMAL
    assert (np.diff(solution.history) <= 0).all()
    support = np.asarray(solution.support)
    others = np.setdiff1d(np.arange(300), support)
    rows = np.stack([np.append(np.delete(support, i), j) for i in range(4) for j in others])
    values = np.linalg.eigvalsh(A[rows[:, :, None], rows[:, None, :]])[:, 0]
    assert values.min() >= float(solution.objective) - 1e-12


def test_swap_search_ends_swap_optimal():
    rng = np.random.default_rng(2)
    A, C = symmetric(rng, 12), definite(rng, 12)
    solution = sgep.solve(sgep.Problem(A, C), 5, method=sgep.SwapSearch())
    assert solution.status == sgep.Status.SWAP_OPTIMAL
    assert (np.diff(solution.history) <= 0).all()
    support = np.asarray(solution.support)
    values = [
        lowest(A, C, np.append(np.delete(support, i), j))
        for i in range(5)
        for j in set(range(12)) - set(support.tolist())
    ]
    assert min(values) >= float(solution.objective) - 1e-12
