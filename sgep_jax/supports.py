"""Points with a support of exactly s indices, and the enumeration of supports.

Enlarging the allowed set never raises the minimum, so the best support with *at most* s
coordinates is among those with *exactly* s; a loading on it may be zero. This gives every array
a static shape.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .linalg import spread, take


class Point(NamedTuple):
    """A feasible x: `support` (s,) distinct indices, `loadings` (s,), and f(x)."""

    support: jax.Array
    loadings: jax.Array
    objective: jax.Array


def dense(point: Point, size: int):
    """x as a vector of length n."""
    return spread(point.support, point.loadings, size)


def membership(support, size: int):
    """(n,) whether each coordinate is in the support."""
    return spread(support, jnp.ones(support.shape, bool), size)


def largest(x, count: int):
    """Indices of the `count` largest |x_i|, by their first seven digits: for single precision XLA
    has a selection on CPU, which is some forty times as fast as a sort."""
    size = jnp.abs(x)
    top = jnp.max(jnp.where(jnp.isinf(size), 0.0, size))
    size = (size / jnp.where(top > 0, top, 1.0)).astype(jnp.float32)
    return lax.top_k(size, count)[1].astype(jnp.int32)


def normalise(point: Point, norm) -> Point:
    """x'Cx = 1 and the largest |loading| positive, given `norm` = x'Cx.

    Of several loadings of the same size up to rounding, the one of lowest index decides.
    """
    support, loadings = point.support, point.loadings
    size = jnp.abs(loadings)
    ties = size >= (1 - jnp.sqrt(jnp.finfo(size.dtype).eps)) * jnp.max(size)
    first = jnp.where(ties, support, jnp.iinfo(support.dtype).max)
    lead = take(loadings, lax.argmin(first, 0, jnp.int32))
    scale = jnp.where(norm > 0, lax.rsqrt(jnp.where(norm > 0, norm, 1.0)), 1.0)
    return Point(support, loadings * scale * jnp.where(lead < 0, -1.0, 1.0), point.objective)


@lru_cache
def binomials(size: int) -> np.ndarray:
    """Pascal's triangle, (size + 1, size + 1), for a number of supports that fits in int32."""
    table = [[math.comb(i, j) for j in range(size + 1)] for i in range(size + 1)]
    return np.minimum(table, np.iinfo(np.int32).max).astype(np.int32)


def unrank(rank, size: int, count, width: int):
    """The support of `count` out of `size` coordinates with this rank, in lexicographic order.

    Returns `width` ≥ count positions and which of them are in use (`count` may be traced).
    """
    table = jnp.asarray(binomials(size))

    def visit(i, carry):
        rank, left, positions = carry
        with_i = table[size - 1 - i, jnp.maximum(left - 1, 0)]  # supports that contain i
        take = (left > 0) & (rank < with_i)
        slot = jnp.where(take, jnp.clip(count - left, 0, width - 1), width)
        positions = positions.at[slot].set(i, mode="drop")
        rank = jnp.where(take | (left == 0), rank, rank - with_i)
        return rank, left - take.astype(jnp.int32), positions

    rank = jnp.asarray(rank, jnp.int32)
    count = jnp.asarray(count, jnp.int32)
    positions = jnp.zeros(width, jnp.int32)
    _, _, positions = lax.fori_loop(0, size, visit, (rank, count, positions))
    return positions, jnp.arange(width, dtype=jnp.int32) < count
