"""Every method on every kind of problem, in both precisions: feasible, finite, honest."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import METHODS, ONLY_IDENTITY, TOLERANCE, brute_force, problems

import sgep_jax as sgep

SPARSITY = 3
USUAL = {sgep.Status.OPTIMAL, sgep.Status.CONVERGED, sgep.Status.BLOCK_OPTIMAL,
         sgep.Status.SWAP_OPTIMAL}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_feasible_finite_and_honest(name, dtype):
    for A, C in problems().values():  # one test for all kinds: they share their compilations
        if C is not None and name in ONLY_IDENTITY:
            with pytest.raises(ValueError, match="defined for C = I only"):
                sgep.solve(sgep.Problem(A, C), SPARSITY, method=METHODS[name])
        else:  # elsewhere C = None is solved; an explicit identity shares a compilation
            explicit = C is None and name not in ONLY_IDENTITY
            check(name, A, np.eye(len(A)) if explicit else C, dtype)


def check(name, A, C, dtype):
    problem = sgep.Problem(jnp.asarray(A, dtype), None if C is None else jnp.asarray(C, dtype))
    solution = sgep.solve(problem, SPARSITY, method=METHODS[name])
    x = np.asarray(solution.x, np.float64)
    C = np.eye(len(A)) if C is None else C

    assert solution.x.dtype == dtype
    assert np.isfinite(x).all() and np.isfinite(solution.history).all()
    assert 0 < np.count_nonzero(x) <= SPARSITY
    assert set(np.flatnonzero(x)) <= set(np.asarray(solution.support).tolist())
    assert sgep.Status(int(solution.status)) in USUAL
    near = TOLERANCE[dtype] * max(1, np.abs(A).max())
    assert abs(x @ C @ x - 1) < near
    assert abs(x @ A @ x / (x @ C @ x) - float(solution.objective)) < near
    best, _ = brute_force(A, C, SPARSITY)
    assert float(solution.objective) >= best - near
    if name == "exhaustive":
        assert float(solution.objective) <= best + near
