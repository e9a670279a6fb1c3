"""Definition 1: zero exactly at block-k optimal points, by the definition in NumPy."""

import itertools

import jax
import numpy as np
import pytest
import scipy.linalg
from helpers import brute_force, definite, symmetric

import sgep_jax as sgep

N, S = 6, 3


def best_in_block(A, C, x, block, s):
    """The lowest f when only x_B may change (x_N up to scale), and the x_B that reaches it."""
    rest = x.copy()
    rest[list(block)] = 0
    room = min(s - np.count_nonzero(rest), len(block))
    best = np.inf, None
    for chosen in itertools.combinations(block, room):
        basis = np.eye(len(x))[:, list(chosen)]
        if rest.any():
            basis = np.column_stack([basis, rest])
        if not basis.shape[1]:
            continue
        values, vectors = scipy.linalg.eigh(basis.T @ A @ basis, basis.T @ C @ basis)
        y = basis @ vectors[:, 0]
        if rest.any():
            y = y / vectors[-1, 0]
        if values[0] < best[0]:
            best = values[0], y
    return best


def measure(A, C, x, k, s):
    """Definition 1, for a generic pencil (no hard case)."""
    x = x / np.sqrt(x @ C @ x)
    f, terms = x @ A @ x, []
    for block in itertools.combinations(range(len(x)), k):
        value, y = best_in_block(A, C, x, block, s)
        rows = list(block)
        rest = np.delete(x, rows)
        if not rest.any() and y is not None:  # x_N = 0: the scale and sign of x_B are free
            y = y / np.sqrt(y @ C @ y) * np.sign(y @ x)
        terms.append(np.sum((y - x)[rows] ** 2) if value < f - 1e-10 else 0.0)
    return float(np.mean(terms))


def points(A, C):
    """The global optimum, a rough point, and an exact eigenvector on a poor support."""
    rng = np.random.default_rng(5)
    found = []
    for support in (brute_force(A, C, S)[1], (0, 1, 2), (1, 3, 5)):
        rows = np.ix_(support, support)
        x = np.zeros(N)
        x[list(support)] = scipy.linalg.eigh(A[rows], C[rows])[1][:, 0]
        found.append(x)
    rough = np.zeros(N)
    rough[[0, 2, 4]] = rng.standard_normal(3)
    return [*found, rough]


@pytest.mark.parametrize("k", [2, 4])
def test_definition(k):
    zero = positive = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        A, C = symmetric(rng, N), definite(rng, N)
        for x in points(A, C):
            value = float(sgep.block_optimality(sgep.Problem(A, C), x, k, sparsity=S))
            expected = measure(A, C, x, k, S)
            assert value == pytest.approx(expected, rel=1e-6, abs=1e-12)
            assert (value == 0) == (expected == 0)
            zero, positive = zero + (value == 0), positive + (value > 0)
    assert zero >= 3 and positive >= 3


def test_global_minimum_is_optimal_for_every_block():
    rng = np.random.default_rng(11)
    A, C = symmetric(rng, N), definite(rng, N)
    best, worst = points(A, C)[0], points(A, C)[-1]
    problem = sgep.Problem(A, C)
    for k in (1, N):
        assert sgep.block_optimality(problem, best, k) == 0
        assert sgep.block_optimality(problem, worst, k) > 0


def test_units_of_x_do_not_matter():
    rng = np.random.default_rng(12)
    A, C = symmetric(rng, N), definite(rng, N)
    rough = points(A, C)[-1]
    values = [float(sgep.block_optimality(sgep.Problem(A, C), c * rough, 2)) for c in (1, -1e6)]
    assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_dropping_the_rest_counts():
    """Uncoupled: the best of a block is reached only by dropping x_N."""
    problem = sgep.Problem(np.diag([0.0, -1.0, -5.0]))
    assert sgep.block_optimality(problem, [1.0, 0, 0], 1, sparsity=2) == pytest.approx(4 / 3)
    assert sgep.block_optimality(problem, [0, 0, 1.0], 1, sparsity=2) == 0


def test_no_room_in_the_block():
    """s = 1: a block of one coordinate can only keep x as it is, whatever the sign of f."""
    for shift in (-10.0, 0.0, 10.0):
        problem = sgep.Problem(np.diag([0.0, -1.0, -5.0]) + shift * np.eye(3))
        assert sgep.block_optimality(problem, [1.0, 0, 0], 1, sparsity=1) == 0


def test_sampled_is_close_to_exact():
    rng = np.random.default_rng(3)
    problem = sgep.Problem(-np.ones((9, 9)) - 0.2 * definite(rng, 9))
    x = np.zeros(9)
    x[:3] = rng.uniform(0.5, 1, 3)
    exact = float(sgep.block_optimality(problem, x, 4))  # 126 blocks
    keys = jax.random.split(jax.random.key(0), 2)
    sampled = [float(sgep.block_optimality(problem, x, 4, max_blocks=100, key=key)) for key in keys]
    assert sampled[0] != sampled[1]
    assert np.allclose(sampled, exact, rtol=0.25) and exact > 0
