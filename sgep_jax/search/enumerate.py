"""The best of all supports of `count` out of `size` positions, a chunk at a time.

Memory is bounded by the chunk, whatever the number of supports.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..supports import binomials, unrank


class Found(NamedTuple):
    """The best candidate: its positions, which of them are in use, its vector and its value."""

    positions: jax.Array
    present: jax.Array
    vector: jax.Array
    value: jax.Array


def best_support(size: int, count, width: int, chunk: int, solve_candidate, share=(0, 1)) -> Found:
    """min over supports of `count` of `size` positions of `solve_candidate(positions, present)`.

    `solve_candidate` returns a value and a vector. `count` may be traced, up to the static
    `width`; the number of chunks then follows it. Of equal values the support of lowest rank wins.

    `share` = (d, D): only part d of the supports, cut by their ranks into D parts of one size.
    """
    part, parts = share
    total = jnp.asarray(binomials(size))[size, jnp.asarray(count, jnp.int32)]
    each = (total + parts - 1) // parts
    first = part * each
    last = jnp.minimum(first + each, total)

    def evaluate(rank):
        positions, present = unrank(rank, size, count, width)
        value, vector = solve_candidate(positions, present)
        value = jnp.where((rank < last) & ~jnp.isnan(value), value, jnp.inf)
        return Found(positions, present, vector, value)

    def visit(block, best):
        found = jax.vmap(evaluate)(first + block * chunk + jnp.arange(chunk, dtype=jnp.int32))
        winner = jax.tree.map(lambda leaf: leaf[jnp.argmin(found.value)], found)
        better = winner.value < best.value
        return jax.tree.map(lambda new, old: jnp.where(better, new, old), winner, best)

    shapes = jax.eval_shape(evaluate, jax.ShapeDtypeStruct((), jnp.int32))
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    nothing = nothing._replace(value=jnp.full((), jnp.inf, shapes.value.dtype))
    return lax.fori_loop(0, (last - first + chunk - 1) // chunk, visit, nothing)
