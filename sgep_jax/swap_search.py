"""A complete local search: the best corrective exchange until none is left."""

import dataclasses
import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from . import validation
from .corrective import exchanged, exchanges, inverse, screen
from .linalg import lowest_index, lowest_pair, put, take
from .polish import polish
from .solution import Status
from .supports import Point


class SwapState(NamedTuple):
    """The polished point; `rejected` (n,), the columns whose best exchange turned out not to
    improve; and whether the last screen found nothing, so that all pairs are to be scored."""

    point: Point
    status: jax.Array
    scale: jax.Array
    rejected: jax.Array
    stalled: jax.Array


class Choice(NamedTuple):
    """Which position to drop for which column, and whether that seems to improve."""

    position: jax.Array
    added: jax.Array
    found: jax.Array


@partial(jax.tree_util.register_dataclass, data_fields=["tolerance"], meta_fields=["max_steps"])
@dataclasses.dataclass(frozen=True)
class SwapSearch:
    """Drop one variable, add another, re-optimise all loadings; take the most promising exchange
    (`corrective.py`) until no exchange improves by more than `tolerance`, relative.

    The objective falls strictly over finitely many supports, so it ends, with SWAP_OPTIMAL.
    An exchange that scores as an improvement is solved exactly before it is taken; should
    rounding have misled the score, or C not be definite there, that column is set aside until
    the next exchange is made. With 256 variables and more, steps score the pairs of screened
    columns while these improve, and all pairs before the search may end.
    """

    tolerance: float = 1e-10
    max_steps: int = 1000

    lower = -math.inf

    def __post_init__(self):
        validation.count("SwapSearch", "max_steps", self.max_steps, 1)
        validation.non_negative("SwapSearch", "tolerance", self.tolerance)

    def init(self, problem, point: Point, key) -> SwapState:
        return self.begin(problem, point.support, problem.scale())

    def begin(self, problem, support, scale) -> SwapState:
        """The first state, given the problem's scale, which costs a product with A and with C."""
        none = 0 * problem.A.diagonal() != 0
        running = jnp.int32(Status.RUNNING)
        value, x = lowest_pair(problem.A.block(support), problem.C.block(support))
        return SwapState(Point(support, x, value), running, scale, none, none[0])

    def step(self, problem, state: SwapState, key) -> SwapState:
        G = self.inverse(problem, state)
        if screened(problem.size) is None:
            return self.exchange(problem, state, self.best(problem, state, G), True)
        best, quick = partial(self.best, problem), partial(self.best_screened, problem)
        choice = lax.cond(state.stalled, best, quick, state, G)
        return self.exchange(problem, state, choice, state.stalled)

    def inverse(self, problem, state: SwapState):
        """G₀ of `corrective.py`, which both choices need."""
        return inverse(problem, state.point, state.scale)

    def best(self, problem, state: SwapState, G) -> Choice:
        """The best of all exchanges."""
        return self._choose(state, *exchanges(problem, state.point, G), state.rejected)

    def best_screened(self, problem, state: SwapState, G) -> Choice:
        """The best exchange that adds a screened column."""
        columns = screen(problem, state.point, state.rejected, screened(problem.size))
        scores = exchanges(problem, state.point, G, columns)
        choice = self._choose(state, *scores, take(state.rejected, columns))
        return choice._replace(added=take(columns, choice.added))

    def _choose(self, state: SwapState, pivot, change, rejected) -> Choice:
        change = jnp.where((pivot < 0) & ~rejected[None, :], change, jnp.inf)
        by_column = jnp.min(change, axis=0)
        added = lowest_index(by_column)
        position = lowest_index(take(change, slice(None), added))
        found = take(by_column, added) < -self.smallest_gain(state.point, state.scale)
        return Choice(position, added, found)

    def exchange(self, problem, state: SwapState, choice: Choice, complete) -> SwapState:
        """Make the exchange if it improves. `complete`: the choice was among all pairs."""
        point, scale = state.point, state.scale
        new = exchanged(problem, point, choice.position, choice.added, scale)
        accept = choice.found & (new.objective < point.objective - self.smallest_gain(point, scale))
        ended = ~choice.found & complete
        return SwapState(
            jax.tree.map(lambda new, old: jnp.where(accept, new, old), new, point),
            jnp.where(ended, jnp.int32(Status.SWAP_OPTIMAL), state.status),
            scale,
            ~accept & (state.rejected | put(state.rejected, choice.added, choice.found)),
            ~accept & (state.stalled | ~choice.found),
        )

    def smallest_gain(self, point, scale):
        """What counts as an improvement: `tolerance`, or rounding if that is coarser."""
        rounding = 100 * jnp.finfo(scale.dtype).eps
        size = jnp.maximum(jnp.abs(point.objective), 1e-3 * scale)
        return jnp.maximum(self.tolerance, rounding) * size

    def finish(self, problem, point: Point) -> Point:
        return polish(problem, point)


def screened(size: int) -> int | None:
    """How many columns a screen lets through; None where all pairs are few."""
    return None if size < 256 else max(64, min(size // 4, 256))
