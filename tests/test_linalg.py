"""Small dense linear algebra against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from helpers import TOLERANCE
from hypothesis import given, settings
from hypothesis import strategies as st

from sgep_jax.linalg import lower_inverse, lowest_index, lowest_root

number = st.floats(-1e6, 1e6, allow_subnormal=False)  # XLA takes subnormal ones for zero


@settings(max_examples=50, deadline=None)
@given(
    data=st.data(), size=st.sampled_from([1, 7, 64, 65, 67, 130]), width=st.sampled_from([4, 64])
)
def test_lowest_index(data, size, width):
    """Short ones at once, long ones by a table; it need not be the first of several equal ones."""
    values = data.draw(st.lists(number | st.just(np.inf), min_size=size, max_size=size))
    index = int(jax.jit(lowest_index, static_argnums=1)(np.array(values), width))
    assert 0 <= index < size and values[index] == min(values)


@pytest.mark.parametrize("size", [1, 3, 22, 23, 40, 64])
def test_lower_inverse(size, dtype):
    L = np.tril(np.random.default_rng(size).standard_normal((size, size))) / size + np.eye(size)
    found = jax.jit(lower_inverse)(jnp.asarray(L, dtype))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.linalg.inv(L), atol=10 * TOLERANCE[dtype])
    both = jax.jit(jax.vmap(lower_inverse))(jnp.asarray(np.stack([L, 2 * L]), dtype))
    np.testing.assert_allclose(np.asarray(both)[1], np.asarray(found) / 2, rtol=1e-5)


def test_lowest_root_is_the_lowest_eigenvalue():
    rng, root = np.random.default_rng(0), jax.jit(lowest_root)
    for _ in range(200):
        (p, q, r), N = rng.standard_normal(3), rng.uniform(0.1, 2, 2)
        d = rng.uniform(-1, 1) * np.sqrt(N[0] * N[1]) * 0.9
        truth = scipy.linalg.eigh([[p, q], [q, r]], [[N[0], d], [d, N[1]]], eigvals_only=True)[0]
        u, v, t = N[0] * N[1] - d * d, p * N[1] + r * N[0] - 2 * q * d, p * r - q * q
        np.testing.assert_allclose(root(u, v, t), truth, rtol=1e-7, atol=1e-9)
