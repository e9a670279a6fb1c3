"""Small pencils of every kind, with a working set that holds all coordinates: the global minimum.

Bisection finds it every time, coordinate descent (which promises a coordinate-wise minimum only)
nearly always, and neither is ever below it.
"""

import jax
import numpy as np
import pytest
from helpers import PENCILS, brute_force, quotient
from hypothesis import given, settings
from hypothesis import strategies as st

import sgep_jax as sgep

SHAPES = [(4, 2), (7, 5), (12, 3)]


def pencils(n, s, each):
    rng = np.random.default_rng([n, s])
    made = [make(rng, n) for make in PENCILS.values() for _ in range(each)]
    return tuple(np.array(matrices) for matrices in zip(*made, strict=True))


def differences(method, n, s, each):
    """Relative distance of each answer from brute force, after checks that hold for any method.

    `each` pencils of every kind.
    """
    As, Cs = pencils(n, s, each)
    problems = jax.vmap(sgep.Problem)(As, Cs)
    solutions = jax.vmap(lambda problem: sgep.solve(problem, s, method=method))(problems)
    gaps = []
    for i, (A, C) in enumerate(zip(As, Cs, strict=True)):
        best, _ = brute_force(A, C, s)
        if not np.isfinite(best):
            assert solutions.status[i] == sgep.Status.NO_DEFINITE_SUPPORT
            continue
        x, support = np.asarray(solutions.x[i]), np.asarray(solutions.support[i])
        value, size = float(solutions.objective[i]), max(abs(best), np.abs(A / C.max()).max())
        assert sgep.Status(int(solutions.status[i])).usable
        assert len(set(support.tolist())) == s and np.all(np.diff(support) > 0)
        assert set(np.flatnonzero(x)) <= set(support.tolist())
        assert x @ C @ x == pytest.approx(1, abs=1e-8)
        assert x[np.abs(x).argmax()] > 0
        assert quotient(A, C, x) == pytest.approx(value, abs=1e-8 * size)
        gaps.append((value - best) / size)
    return np.array(gaps)


@pytest.mark.parametrize(("n", "s"), SHAPES)
def test_bisection(n, s):
    method = sgep.Decomposition(random=6, swap=6, window=2)
    assert np.abs(differences(method, n, s, 16)).max() < 1e-9  # 528 pencils in all


def test_coordinate_descent():
    method = sgep.Decomposition(random=6, swap=6, subproblem="coordinate", window=2)
    gaps = differences(method, 7, 3, 46)
    assert len(gaps) >= 500
    assert gaps.min() > -1e-9
    assert np.mean(gaps < 1e-9) >= 0.95


entry = st.floats(-3, 3).map(lambda value: round(value, 1))  # ties, zeros, repeated columns


@settings(max_examples=100, deadline=None)
@given(st.lists(entry, min_size=21, max_size=21), st.lists(entry, min_size=24, max_size=24))
def test_any_pencil(numerator, samples):
    A = np.zeros((6, 6))
    A[np.tril_indices(6)] = numerator
    A = A + np.tril(A, -1).T
    X = np.array(samples).reshape(4, 6)  # four samples of six variables: C is singular
    C = X.T @ X / 4
    best, _ = brute_force(A, C, 3)
    solution = sgep.solve(sgep.Problem(A, C), 3, method=sgep.Decomposition(window=2))
    if not np.isfinite(best):
        assert solution.status == sgep.Status.NO_DEFINITE_SUPPORT
        return
    solution.check()
    x = np.asarray(solution.x)
    assert quotient(A, C, x) == pytest.approx(float(solution.objective), rel=1e-6, abs=1e-9)
    assert float(solution.objective) == pytest.approx(best, rel=1e-6, abs=1e-9)
