"""Known truth: the pit props data, exact by enumeration in the literature."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import ALWAYS_FIND_PITPROPS, METHODS, PITPROPS, TOLERANCE

import sgep_jax as sgep

NON_NEGATIVE = {9: PITPROPS[8], 10: 4.1441106786}


def variance(s, dtype, **options):
    correlation = jnp.asarray(sgep.datasets.pitprops().correlation, dtype)
    solution = sgep.solve(sgep.Problem(-correlation), s, **options).check()
    x = np.asarray(solution.x)
    assert x.dtype == dtype
    assert np.count_nonzero(x) <= s
    assert x @ np.asarray(correlation) @ x == pytest.approx(-float(solution.objective), rel=1e-5)
    return -float(solution.objective), x


@pytest.mark.parametrize("s", [6, 12])  # all thirteen: tests/test_path.py
@pytest.mark.parametrize("name", ALWAYS_FIND_PITPROPS)
def test_known_truth(name, s):
    value, _ = variance(s, "float64", method=METHODS[name])
    assert abs(value - PITPROPS[s - 1]) < TOLERANCE["float64"]


@pytest.mark.parametrize("s", [6])
@pytest.mark.parametrize("name", ALWAYS_FIND_PITPROPS)
def test_single_precision(name, s):
    value, _ = variance(s, "float32", method=METHODS[name])
    assert abs(value - PITPROPS[s - 1]) < TOLERANCE["float32"]


@pytest.mark.parametrize("s", NON_NEGATIVE)
def test_non_negative(s):
    method = sgep.Decomposition(subproblem="coordinate", lower=0.0)
    value, x = variance(s, "float64", method=method)
    assert np.all(x >= 0)
    assert abs(value - NON_NEGATIVE[s]) < TOLERANCE["float64"]
