"""The inertia search agrees with brute force and with bisection, degenerate blocks included."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from helpers import TOLERANCE, brute_force, definite, symmetric

import sgep_jax as sgep
from sgep_jax.reduction import eliminate
from sgep_jax.search import inertia

K, COUNT, REST = 7, 3, 2


def pencils(rng, number):
    """Random reduced pencils; a third of them with decoupled, repeated or zero coordinates."""
    size = K + REST
    for i in range(number):
        A, C = symmetric(rng, size), definite(rng, size)
        if i % 6 == 1:
            A = np.diag(np.diag(A))
        if i % 6 == 3:
            A[:, 1], A[1, :] = A[:, 0], A[0, :]
            A[1, 1] = A[0, 1] = A[1, 0] = A[0, 0]
            C = np.eye(size)
        if i % 6 == 5:
            A[:, 2] = A[2, :] = 0
        yield A, C


def brute(A, C):
    rest = list(range(K, K + REST))
    values = {}
    for chosen in itertools.combinations(range(K), COUNT):
        rows = np.ix_([*chosen, *rest], [*chosen, *rest])
        values[chosen] = scipy.linalg.eigh(A[rows], C[rows], eigvals_only=True)[0]
    return values


def test_search_is_exact_on_hundreds_of_blocks():
    search = jax.jit(lambda A, C, f: inertia.search(A, C, eliminate(C, K), K, COUNT, f, 1e-12))
    for A, C in pencils(np.random.default_rng(0), 300):
        values = brute(A, C)
        worst = max(values.values())
        found = search(A, C, worst + 1e-6)  # from the worst support: several rounds
        best = min(values.values())
        np.testing.assert_allclose(found.value, best, rtol=1e-10, atol=1e-11)
        chosen = tuple(np.sort(found.positions).tolist())
        np.testing.assert_allclose(values[chosen], best, rtol=1e-10, atol=1e-11)
        order = [*np.asarray(found.positions).tolist(), *range(K, K + REST)]
        x = np.zeros(K + REST)
        x[order] = found.vector
        np.testing.assert_allclose(x @ A @ x / (x @ C @ x), best, rtol=1e-10, atol=1e-11)
        assert search(A, C, best).value == np.inf  # proven: nothing below the best


def test_pivots_have_the_sign_of_the_lowest_eigenvalue():
    table = inertia.supports_table(8, 4)
    rng = np.random.default_rng(3)
    for shift in (0.0, 2.0, 4.0, 8.0):
        M = symmetric(rng, 8) + shift * np.eye(8)
        pivots = inertia.lowest_pivots(jnp.asarray(M), jnp.asarray(table))
        for support, pivot in zip(table.T, pivots, strict=True):
            assert (pivot <= 0) == (np.linalg.eigvalsh(M[np.ix_(support, support)])[0] <= 0)


@pytest.mark.parametrize("rest", ["frozen", "free"])
def test_same_answer_as_bisection_from_the_same_start(rest):
    rng = np.random.default_rng(4)
    method = sgep.Decomposition(random=4, swap=4, window=8, max_steps=100, theta=0.0)
    other = sgep.Decomposition(
        random=4, swap=4, window=8, max_steps=100, theta=0.0, subproblem="inertia", rest=rest
    )
    As = np.stack([symmetric(rng, 8) for _ in range(20)])
    Cs = np.stack([definite(rng, 8) for _ in range(20)])
    problems = jax.vmap(sgep.Problem)(As, Cs)
    one = jax.vmap(lambda problem: sgep.solve(problem, 4, method=method))(problems)
    two = jax.vmap(lambda problem: sgep.solve(problem, 4, method=other))(problems)
    np.testing.assert_allclose(one.objective, two.objective, rtol=1e-10)


def test_all_coordinates_in_one_block_is_a_proof(dtype):
    rng = np.random.default_rng(5)
    A, C = symmetric(rng, 10), definite(rng, 10)
    solution = sgep.solve(sgep.Problem(jnp.asarray(A, dtype), jnp.asarray(C, dtype)), 4)
    assert solution.status == sgep.Status.OPTIMAL
    truth, support = brute_force(A, C, 4)
    np.testing.assert_allclose(solution.objective, truth, rtol=TOLERANCE[dtype])
    assert tuple(solution.support.tolist()) == support
