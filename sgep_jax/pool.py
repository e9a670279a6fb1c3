"""A pool of the best points of a search: distinct optima, lowest first."""

import jax
import jax.numpy as jnp

from .linalg import order, take
from .supports import Point


def slack(value):
    """Two optima this close count as one: 1e-8 of their value, or rounding if that is coarser."""
    return max(1e-8, 10 * float(jnp.finfo(value.dtype).eps)) * jnp.abs(value)


def first(pool: Point) -> Point:
    return jax.tree.map(lambda leaf: leaf[0], pool)


def merge(pool: Point, points: Point) -> Point:
    """The lowest distinct points of both, as many as the pool holds."""
    size = pool.objective.shape[0]
    both = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), pool, points)
    value = both.objective
    place = jnp.arange(len(value), dtype=jnp.int32)
    near = jnp.abs(value[:, None] - value[None, :]) <= slack(value)[:, None]
    near &= jnp.isfinite(value)[:, None]
    repeated = jnp.any(near & (place[None, :] < place[:, None]), axis=1)
    both = both._replace(objective=jnp.where(repeated, jnp.inf, value))
    lowest = order(both.objective)[:size]
    return jax.tree.map(lambda leaf: take(leaf, lowest), both)
