"""What a user says of a batch, checked on the host: problems, and a key, starts and a sparsity for
each."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from . import validation


def check_batch(problems):
    """n and the number of problems."""
    leaves = jax.tree.leaves(problems)
    counts = {leaf.shape[0] if leaf.ndim else 0 for leaf in leaves}
    shape = getattr(getattr(problems, "A", None), "shape", None)
    if len(shape or ()) != 3 or len(counts) != 1 or 0 in counts:
        raise ValueError(
            f"problems must be a batch of at least one pencil, but it is a "
            f"{type(problems).__name__} whose A has shape {shape}. Make one with "
            f"jax.vmap(Problem)(As, Cs), As of shape (batch, n, n); for one problem use solve."
        )
    return problems.size, counts.pop()


def lane_keys(keys, batch: int):
    keys = jax.random.key(0) if keys is None else keys
    kind = getattr(keys, "dtype", type(keys).__name__)
    if not (isinstance(keys, jax.Array) and jnp.issubdtype(kind, jax.dtypes.prng_key)):
        raise TypeError(
            f"keys must be made by jax.random.key or jax.random.split, but they are {kind}. "
            f"Wrap old ones with jax.random.wrap_key_data."
        )
    if keys.shape == ():
        return jax.vmap(partial(jax.random.fold_in, keys))(jnp.arange(batch, dtype=jnp.uint32))
    if keys.shape != (batch,):
        raise ValueError(
            f"keys must be one key, or one for each of the {batch} problems, but their shape is "
            f"{keys.shape}. Use jax.random.split(key, {batch})."
        )
    return keys


def lane_starts(start, batch: int, size: int, dtype):
    """(batch, number, n)."""
    shape = np.shape(start)
    if len(shape) not in (2, 3) or shape[0] != batch or shape[-1] != size:
        raise ValueError(
            f"start must have shape (batch, n) = ({batch}, {size}), or (batch, number, n), but "
            f"its shape is {shape}."
        )
    start = jnp.asarray(start, dtype)
    return start[:, None] if len(shape) == 2 else start


def lane_sparsities(values, batch: int, size: int) -> np.ndarray:
    if np.shape(values) != (batch,):
        raise ValueError(
            f"sparsity must be one integer, or one for each of the {batch} problems, but its "
            f"shape is {np.shape(values)}."
        )
    return np.array([validation.sparsity(value, size) for value in values], np.int32)


def check_own_starts(start, sparsities, lower):
    """Each problem's starts against its own sparsity."""
    for lane, sparsity in zip(start, sparsities, strict=True):
        validation.start(lane, start.shape[-1], int(sparsity), lower)
