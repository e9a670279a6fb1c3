"""One candidate support, three ways: bisection, the homogenised pencil, Dinkelbach's iteration.

And what coordinate descent promises: a coordinate-wise minimum, within the bound.
"""

from functools import partial

import jax
import numpy as np
import pytest
import scipy.linalg
from helpers import PENCILS, definite, lowest, quotient, symmetric

from sgep_jax.search import bisection, coordinate_descent

K, WIDTH, COUNT = 6, 4, 60  # a working set of 6 coordinates, up to 4 of them in use


def general(rng):
    return symmetric(rng, K + 1), definite(rng, K + 1)


def uncoupled(rng):
    """g = 0: the block does not see x_N; hard whenever the block's own value is the lower one."""
    A, C = general(rng)
    A[-1, :-1] = A[:-1, -1] = C[-1, :-1] = C[:-1, -1] = 0
    return A, C


def orthogonal(rng):
    """g ≠ 0 but orthogonal to the lowest eigenvector of every block that holds coordinate 0."""
    A, C = general(rng)
    for M in (A, C):
        M[0, 1:] = M[1:, 0] = 0
    A[0, 0] = -rng.uniform(0, 40)
    return A, C


def nearly_orthogonal(rng):
    A, C = orthogonal(rng)
    A[0, -1] = A[-1, 0] = 1e-9
    return A, C


def repeated_eigenvalue(rng):
    A, C = uncoupled(rng)
    A[:-1, :-1] = -3 * C[:-1, :-1]
    return A, C


def nothing_kept(rng):
    """x_N = 0: the last row and column vanish."""
    A, C = general(rng)
    A[-1] = A[:, -1] = C[-1] = C[:, -1] = 0
    return A, C


def ill_conditioned(rng):
    A, C = general(rng)
    values, vectors = np.linalg.eigh(C)
    return A, vectors @ np.diag(values[-1] * 10.0 ** -np.linspace(0, 4, K + 1)) @ vectors.T


SUBPROBLEMS = (
    general, uncoupled, orthogonal, nearly_orthogonal, repeated_eigenvalue, nothing_kept,
    ill_conditioned,
)  # fmt: skip


def homogenised(A, C):
    """λ_min of the (q + 1)-dimensional pencil; without the last coordinate where x_N = 0."""
    return lowest(A, C) if C[-1, -1] > 0 else lowest(A[:-1, :-1], C[:-1, :-1])


def dinkelbach(A, C):
    """α ← f(argmin of numerator − α denominator), from just below λ_min(O), x_N's multiple fixed.

    Where J is positive up to λ_min(O) there is no root: the infimum is λ_min(O) itself.
    """
    limit = lowest(A[:-1, :-1], C[:-1, :-1])
    if C[-1, -1] == 0:
        return limit
    alpha = limit - 1e-13 * max(1.0, abs(limit))
    for _ in range(200):
        W = A - alpha * C
        y = np.append(np.linalg.solve(W[:-1, :-1], -W[:-1, -1]), 1.0)
        if y @ W @ y > 0:  # J(α) > 0: to the left of the root
            return min(alpha, limit)
        new = quotient(A, C, y)
        if not new < alpha:
            break
        alpha = new
    return min(alpha, limit)


@pytest.fixture(scope="module")
def solve_candidates():
    return jax.jit(jax.vmap(bisection.solve_candidate))


@pytest.mark.parametrize("make", SUBPROBLEMS, ids=lambda make: make.__name__)
def test_three_solvers_agree(make, solve_candidates):
    rng = np.random.default_rng(7)
    As, Cs, positions, presents = [], [], [], []
    for _ in range(COUNT):
        A, C = make(rng)
        used = rng.integers(1, WIDTH + 1)
        chosen = np.append(0, 1 + rng.permutation(K - 1))[:WIDTH]
        (
            As.append(A),
            Cs.append(C),
            positions.append(chosen),
            presents.append(np.arange(WIDTH) < used),
        )
    values, vectors = solve_candidates(
        np.array(As), np.array(Cs), np.array(positions, np.int32), np.array(presents)
    )
    for A, C, position, present, value, vector in zip(
        As, Cs, positions, presents, values, np.asarray(vectors), strict=True
    ):
        rows = np.append(position[present], K)
        A, C = A[np.ix_(rows, rows)], C[np.ix_(rows, rows)]
        size = max(1.0, abs(homogenised(A, C)))
        assert value == pytest.approx(homogenised(A, C), abs=1e-10 * size)
        assert value == pytest.approx(dinkelbach(A, C), abs=1e-10 * size)
        assert np.all(vector[:-1][~present] == 0)
        x = np.append(vector[:-1][present], vector[-1])
        assert quotient(A, C, x) == pytest.approx(float(value), abs=1e-10 * size)


def test_hard_cases_are_met(solve_candidates):
    """The generators above do produce the hard case: x_N is dropped in some and kept in others."""
    rng = np.random.default_rng(0)
    pencils = [orthogonal(rng) for _ in range(COUNT)]
    positions = np.tile(np.arange(WIDTH, dtype=np.int32), (COUNT, 1))
    As, Cs = (np.array(each) for each in zip(*pencils, strict=True))
    _, vectors = solve_candidates(As, Cs, positions, np.ones((COUNT, WIDTH), bool))
    dropped = int(np.sum(np.asarray(vectors)[:, -1] == 0))
    assert 5 < dropped < COUNT


def test_indefinite_blocks_are_skipped(solve_candidates):
    rng = np.random.default_rng(0)
    A, C = general(rng)
    repeated = C.copy()
    repeated[1], repeated[:, 1] = repeated[0], repeated[:, 0]
    repeated[1, 1] = repeated[0, 0]
    dependent = C.copy()  # x_N is twice coordinate 0
    dependent[-1], dependent[:, -1] = 2 * dependent[0], 2 * dependent[:, 0]
    dependent[-1, -1] = 4 * dependent[0, 0]
    negative = C.copy()
    negative[0, 0] = -1
    Cs = np.resize(np.array([C, repeated, dependent, negative]), (COUNT, K + 1, K + 1))
    positions = np.tile(np.arange(WIDTH, dtype=np.int32), (COUNT, 1))
    values, _ = solve_candidates(
        np.resize(A, Cs.shape), Cs, positions, np.ones((COUNT, WIDTH), bool)
    )
    assert np.isfinite(values[0]) and np.all(values[1:4] == np.inf)


def coordinatewise_gain(A, C, x, lower):
    """How much the best change of any one coordinate lowers f, over a fine projective grid."""
    gain = 0.0
    for i in range(len(x)):
        reach = np.tan(np.linspace(-np.pi / 2, np.pi / 2, 4001)[1:-1])
        moves = np.concatenate([reach, x[i] * reach])
        trials = np.tile(x, (len(moves) + 1, 1))
        trials[:-1, i] = np.maximum(x[i] + moves, lower)
        trials[-1] = np.arange(len(x)) == i  # β → ∞
        top = np.einsum("mi,ij,mj->m", trials, A, trials)
        bottom = np.einsum("mi,ij,mj->m", trials, C, trials)
        keep = bottom > 0
        gain = max(gain, quotient(A, C, x) - np.min(top[keep] / bottom[keep]))
    return gain


@pytest.mark.parametrize("lower", [-np.inf, 0.0])
@pytest.mark.parametrize("order", coordinate_descent.ORDERS)
def test_coordinate_descent_ends_at_coordinatewise_minima(order, lower):
    rng = np.random.default_rng(3)
    kinds = ("general", "components", "correlated", "diagonal", "both diagonal", "blocks")
    n, each = 5, 8
    pencils = [PENCILS[kind](rng, n) for kind in kinds for _ in range(each)]
    starts = np.abs(rng.standard_normal((len(pencils), n)))
    starts[::2] = np.eye(n)[rng.integers(0, n, len(starts[::2]))]  # often a saddle
    starts[0] = 0
    As, Cs = (np.array(matrices) for matrices in zip(*pencils, strict=True))

    def run(A, C, x, key):
        return coordinate_descent.descend(A, C, x, lower=lower, sweeps=2000, order=order, key=key)

    keys = jax.random.split(jax.random.key(0), len(pencils))
    ends = np.asarray(jax.jit(jax.vmap(run))(As, Cs, starts, keys))
    for A, C, start, x in zip(As, Cs, starts, ends, strict=True):
        assert np.all(x >= lower) and x @ C @ x == pytest.approx(1)
        if start.any():
            assert quotient(A, C, x) <= quotient(A, C, start) + 1e-12
        assert coordinatewise_gain(A, C, x, lower) < 1e-7


def test_coordinate_descent_moves_only_what_is_movable():
    rng = np.random.default_rng(0)
    A, C, x = symmetric(rng, 4), np.eye(4), np.array([0.5, 0.5, 0.5, 0.5])
    A[3, 3] = 100.0  # dropping the last coordinate would pay
    movable = np.array([True, True, False, False])
    descend = jax.jit(partial(coordinate_descent.descend, lower=-np.inf, sweeps=100))
    y = np.asarray(descend(A, C, x, movable=movable))
    assert y[2] == pytest.approx(y[3])  # x_N keeps its direction, or is dropped as a whole
    assert quotient(A, C, y) < quotient(A, C, x)
    basis = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]], float)
    best = scipy.linalg.eigh(basis.T @ A @ basis, basis.T @ C @ basis, eigvals_only=True)[0]
    assert quotient(A, C, y) >= best - 1e-12
