"""The random numbers of the default: uniform, of their key and turn alone."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from sgep_jax.draws import uniform


def test_uniform_and_unrelated():
    keys = jax.random.split(jax.random.key(0), 4)
    turns = jnp.arange(25, dtype=jnp.int32)
    draw = jax.vmap(lambda key, turn: uniform(key, turn, (8, 20)), in_axes=(None, 0))
    draws = np.asarray(jax.vmap(draw, in_axes=(0, None))(keys, turns), float)
    assert draws.min() >= 0 and draws.max() < 1
    assert stats.kstest(draws.ravel(), "uniform").pvalue > 1e-3
    for axis in range(4):  # of neighbouring keys, turns, starts and positions
        a, b = (np.delete(draws, end, axis).ravel() for end in (0, -1))
        assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(a.size)
    assert len(np.unique(draws)) > 0.999 * draws.size


def test_small_keys_differ_and_repeat():
    turn = jnp.int32(0)
    draws = [np.asarray(uniform(jax.random.key(k), turn, (40,))) for k in (0, 1, 2, 0)]
    np.testing.assert_array_equal(draws[0], draws[3])
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert abs(np.corrcoef(draws[a], draws[b])[0, 1]) < 0.7 and np.all(draws[a] != draws[b])
    wide = uniform(jax.random.key(0, impl="rbg"), turn, (40,))  # keys of four words
    assert np.all((np.asarray(wide) >= 0) & (np.asarray(wide) < 1))
