"""Small dense linear algebra against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from helpers import TOLERANCE
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sgep_jax.linalg import lower_inverse, lowest_index, lowest_root, order, put, ranks, spread
from sgep_jax.supports import largest

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


@settings(max_examples=50, deadline=None)
@given(values=st.lists(st.sampled_from([-1.0, 0.0, 2.5, np.inf]), min_size=5, max_size=5))
def test_order_is_a_stable_argsort(values):
    np.testing.assert_array_equal(jax.jit(order)(np.array(values)), np.argsort(values, stable=True))
    flags = np.array(values) > 0
    np.testing.assert_array_equal(jax.jit(order)(flags), np.argsort(flags, stable=True))


@settings(max_examples=50, deadline=None)
@given(
    values=st.lists(st.integers(-4, 4) | st.sampled_from([np.inf, -0.0]), min_size=6, max_size=6)
)
@example(values=[0, 0, 0, 0, 0, -0.0])
def test_ranks_and_largest_are_stable_sorts(values):
    for dtype in ("float64", "float32"):
        array = np.array(values, dtype) * 1e30
        np.testing.assert_array_equal(jax.jit(ranks)(array), np.argsort(array, stable=True))
        found = jax.jit(largest, static_argnums=1)(array, 4)
        np.testing.assert_array_equal(found, np.argsort(-np.abs(array), stable=True)[:4])


def test_ranks_of_many_values_and_of_one():
    """Neighbours that come in another order than they should are equal to ten digits."""
    np.testing.assert_array_equal(jax.jit(ranks)(np.array([-2.5])), [0])
    rng = np.random.default_rng(5)
    values = rng.standard_normal(3000) * 10.0 ** rng.integers(-9, 9, 3000)
    found = np.asarray(jax.jit(ranks)(values))
    assert sorted(found) == list(range(3000))
    np.testing.assert_allclose(values[found], np.sort(values), rtol=1e-10)


@settings(max_examples=50, deadline=None)
@given(indices=st.lists(st.integers(0, 6), min_size=4, max_size=4))
def test_spread_and_put(indices):
    """Of equal indices the first counts, of flags any that is set."""
    values, flags = np.array([1.5, -2.0, 0.0, 4.0]), np.array([False, True, False, True])
    expected, raised, marked = np.zeros(7), np.zeros(7, bool), np.arange(7.0)
    for place in reversed(range(4)):
        expected[indices[place]] = values[place]
        raised[indices[place]] |= flags[place]
        marked[indices[place]] = -1.0
    index = np.array(indices, np.int32)
    spread_out = jax.jit(spread, static_argnums=(2, 3))
    for most in (0, 100):  # scattered, and compared
        np.testing.assert_array_equal(spread_out(index, values, 7, most), expected)
        np.testing.assert_array_equal(spread_out(index, flags, 7, most), raised)
    np.testing.assert_array_equal(jax.jit(put)(jnp.arange(7.0), index, -1.0), marked)


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
