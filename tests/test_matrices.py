"""What solvers ask of a dense matrix, against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import TOLERANCE, symmetric

from sgep_jax.matrices import Dense


@pytest.mark.parametrize("count", [1, 7, 8, 9, 20])
def test_combination(count, dtype):
    """Rows are added eight at a time; of one lane, and of several."""
    rng = np.random.default_rng(count)
    A = symmetric(rng, 23)
    indices = np.stack([rng.choice(23, count, replace=False) for _ in range(3)]).astype(np.int32)
    weights = rng.standard_normal((3, count))
    matrix = Dense(jnp.asarray(A, dtype))
    found = jax.jit(jax.vmap(matrix.combination))(indices, jnp.asarray(weights, dtype))
    assert found.dtype == dtype
    expected = [weight @ A[index] for index, weight in zip(indices, weights, strict=True)]
    np.testing.assert_allclose(found, expected, atol=10 * TOLERANCE[dtype])
    alone = jax.jit(matrix.combination)(indices[0], jnp.asarray(weights[0], dtype))
    np.testing.assert_allclose(alone, expected[0], atol=10 * TOLERANCE[dtype])
