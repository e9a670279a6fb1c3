"""Strict arithmetic in all tests: no silent promotion of dtypes or ranks."""

import jax
import pytest

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture(params=["float64", "float32"])
def dtype(request):
    return request.param
