"""Known truth: the pit props data, exact by enumeration in the literature."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import ALWAYS_FIND_PITPROPS, METHODS, PITPROPS, TOLERANCE

import sgep_jax as sgep


@pytest.mark.parametrize("s", [1, 2, 5, 6, 8, 12, 13])
@pytest.mark.parametrize("name", ALWAYS_FIND_PITPROPS)
def test_every_sparsity(name, s, dtype):
    correlation = jnp.asarray(sgep.datasets.pitprops().correlation, dtype)
    solution = sgep.solve(sgep.Problem(-correlation), s, method=METHODS[name]).check()
    assert solution.x.dtype == dtype
    assert np.count_nonzero(solution.x) <= s
    assert abs(-float(solution.objective) - PITPROPS[s - 1]) < TOLERANCE[dtype]
