"""Strict arithmetic in all tests: no silent promotion of dtypes or ranks."""

import os

# Compiling is nearly all of the suite's time, and its programs run for milliseconds.
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 " + os.environ.get("XLA_FLAGS", "")

import jax
import pytest

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture(params=["float64", "float32"])
def dtype(request):
    return request.param
