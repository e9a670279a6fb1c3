"""Where the lanes of a multistart begin again. A new start is, in turn,

- fresh: greedy from the next most promising column (random supports once all are used up);
- kicked: one of the best points of the population without a random part of its support (mostly a
  small one), filled up greedily from the other columns;
- crossed: the same, where only what another of the best points does not have may leave.

What left is held back until the local search finds nothing without it, lest it return at once and
the search end where it came from.
"""

from functools import partial

import jax
import jax.numpy as jnp

from .draws import uniform
from .linalg import put, spread, take
from .start import Fresh, Seed
from .supports import Point

FRESH, KICKED, CROSSED = range(3)


class Starts:
    """The seeds of each round."""

    def __init__(self, problem, sparsity, given, key, share=(0, 1)):
        self.size, self.sparsity, self.key, self.share = problem.size, sparsity, key, share
        self.fresh = Fresh(problem, sparsity, given)

    def next(self, search, count: int):
        """`count` new seeds, and which of them are fresh: all in the first two rounds of a
        population, which fill the lanes, and while there are user's own; later one of four."""
        turn = search.rounds * count + jnp.arange(count, dtype=jnp.int32)
        kind = jnp.where(turn % 4 == 0, FRESH, jnp.where(turn % 2 == 1, KICKED, CROSSED))
        begin = (search.age < 2) | ~jnp.isfinite(search.pool.objective[0])
        kind = jnp.where(begin | (search.drawn < self.fresh.own), FRESH, kind)
        draws = uniform(self.key, search.rounds, (count, self.sparsity + 4))
        number = search.drawn + jnp.cumsum(kind == FRESH, dtype=jnp.int32) - 1
        first, every = self.share  # one device's share of the fresh starts; by default all
        seeds = jax.vmap(partial(self._seed, search.pool))(kind, first + every * number, draws)
        return seeds, kind == FRESH

    def _seed(self, pool: Point, kind, number, draws) -> Seed:
        n, s = self.size, self.sparsity
        draws, by_position = draws[:4], draws[4:]
        distinct = jnp.sum(jnp.isfinite(pool.objective), dtype=jnp.int32)
        pick = (draws[:2] * distinct.astype(jnp.float32)).astype(jnp.int32)
        pick = jnp.clip(pick, 0, jnp.maximum(distinct - 1, 0))
        point = jax.tree.map(lambda leaf: take(leaf, pick[0]), pool)
        other = take(pool.support, pick[1])

        apart = jnp.all(point.support[:, None] != other[None, :], axis=1)
        leaves = jnp.where(
            kind == KICKED, by_position < 0.5 * draws[2] ** 2, apart & (by_position < 0.5)
        )
        leaves = put(leaves, (draws[3] * s).astype(jnp.int32), True)  # one for certain
        barred = spread(point.support, leaves, n)
        derived = Seed(point.support, jnp.where(leaves, 0.0, point.loadings), barred)
        fresh = self.fresh.seed(number, by_position)
        return jax.tree.map(lambda a, b: jnp.where(kind == FRESH, a, b), fresh, derived)
