"""Random numbers inside the default's loop, by a hash of the key and a counter.

`jax.random` would do, but compiling one call of it takes longer than half of a local search. Which
starts are kicked where asks for nothing better than the finalizer of MurmurHash3 (Appleby).
"""

import jax
import jax.numpy as jnp
import numpy as np

GOLDEN = np.uint32(0x9E3779B9)


def uniform(key, turn, shape):
    """float32 numbers in [0, 1) for this `key` and `turn`, a counter (int32)."""
    state = turn.astype(jnp.uint32)
    for word in jax.random.key_data(key):
        state = _mix(state * GOLDEN ^ word)
    place = jnp.arange(np.prod(shape), dtype=jnp.uint32).reshape(shape)
    bits = _mix(_mix(state + place * GOLDEN))
    return (bits >> np.uint32(8)).astype(jnp.float32) * np.float32(2.0**-24)


def _mix(h):
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))
