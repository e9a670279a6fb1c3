"""s = n: the ordinary generalized eigenproblem, against SciPy."""

import jax
import numpy as np
import pytest
from helpers import TOLERANCE, lowest, problems, quotient, symmetric

import sgep_jax as sgep
from sgep_jax import Status


@pytest.mark.parametrize("kind", problems())
def test_against_scipy(kind, dtype):
    A, C = problems()[kind]
    C = np.eye(len(A)) if C is None else C
    solution = sgep.solve(sgep.Problem(A.astype(dtype), C.astype(dtype)), 9).check()
    x = np.asarray(solution.x, np.float64)
    assert int(solution.status) == Status.OPTIMAL
    assert list(solution.support) == list(range(9))
    for value in (float(solution.objective), quotient(A, C, x)):
        np.testing.assert_allclose(value, lowest(A, C), rtol=TOLERANCE[dtype])
    np.testing.assert_allclose(x @ C @ x, 1, rtol=TOLERANCE[dtype])
    assert x[np.abs(x).argmax()] > 0


def test_what_went_wrong():
    problem = sgep.Problem(-np.eye(9), np.eye(9))
    assert int(sgep.solve(problem, 9).status) == Status.OPTIMAL
    singular = sgep.Problem(-np.eye(9), np.ones((9, 9)))
    assert int(sgep.solve(singular, 9).status) == Status.NO_DEFINITE_SUPPORT
    missing = jax.tree.map(lambda leaf: leaf * np.nan, problem)
    assert int(sgep.solve(missing, 9).status) == Status.NOT_FINITE


def test_starts_make_no_difference():
    A = symmetric(np.random.default_rng(0), 6)
    problem = sgep.Problem(A)
    solution = sgep.solve(problem, 6, start=np.ones(6), num_starts=3).check()
    np.testing.assert_allclose(solution.objective, np.linalg.eigvalsh(A)[0], rtol=1e-12)
    assert (solution.num_starts, solution.times_found) == (1, 1)
    many = sgep.solve_batch(jax.vmap(sgep.Problem)(A[None]), 6, num_starts=3)
    np.testing.assert_allclose(many.x[0], solution.x, atol=1e-9)
