"""A complete local search: the best corrective exchange until none is left."""

import dataclasses
import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from . import validation
from .corrective import exchanged, exchanges, inverse, screen, screen_all
from .linalg import lowest_index, lowest_pair, put, take
from .polish import polish
from .solution import Status
from .supports import Point


class SwapState(NamedTuple):
    """The polished point; `rejected` (n,), the columns known not to improve it; and whether the
    last screen found nothing, so that all pivots are to be looked at."""

    point: Point
    status: jax.Array
    scale: jax.Array
    rejected: jax.Array
    stalled: jax.Array


class Choice(NamedTuple):
    """Which position to drop for which column, and whether that seems to improve; which columns
    (k,) were scored, and whether others might improve too."""

    position: jax.Array
    added: jax.Array
    found: jax.Array
    scored: jax.Array
    others: jax.Array


@partial(jax.tree_util.register_dataclass, data_fields=["tolerance"], meta_fields=["max_steps"])
@dataclasses.dataclass(frozen=True)
class SwapSearch:
    """Drop one variable, add another, re-optimise all loadings; take the most promising exchange
    (`corrective.py`) until no exchange improves by more than `tolerance`, relative.

    The objective falls strictly over finitely many supports, so it ends, with SWAP_OPTIMAL.
    An exchange that scores as an improvement is solved exactly before it is taken; should
    rounding have misled the score, or C not be definite there, that column is set aside until
    the next exchange is made. With 256 variables and more, steps score the pairs of 64 screened
    columns while these improve, and look at all pivots before the search may end.
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
        return self.exchange(problem, state, self.choose(problem, state, state.stalled))

    def choose(self, problem, state: SwapState, complete) -> Choice:
        """The best exchange that adds one of the screened columns; these are among all that
        improve if `complete`, and otherwise among the promising ones."""
        point, gain = state.point, self.smallest_gain(state.point, state.scale)
        G = inverse(problem, point, state.scale)
        count = screened(problem.size)
        if count is None:
            columns = jnp.arange(problem.size, dtype=jnp.int32)
            scores, others = exchanges(problem, point, G), jnp.asarray(False)
        else:
            columns, lowest = lax.cond(
                complete,
                lambda G: screen_all(problem, point, G, state.rejected, count),
                lambda G: screen(problem, point, state.rejected, count),
                G,
            )
            scores = exchanges(problem, point, G, columns)
            others = jnp.any(lowest < -gain) | ~complete
        usable = (scores.pivot < 0) & ~take(state.rejected, columns)[None, :]
        change = jnp.where(usable, scores.change, jnp.inf)
        by_column = jnp.min(change, axis=0)
        place = lowest_index(by_column)
        position = lowest_index(take(change, slice(None), place))
        found = take(by_column, place) < -gain
        return Choice(position, take(columns, place), found, columns, others)

    def exchange(self, problem, state: SwapState, choice: Choice) -> SwapState:
        """Make the exchange if it improves."""
        point, scale = state.point, state.scale
        new = exchanged(problem, point, choice.position, choice.added, scale)
        accept = choice.found & (new.objective < point.objective - self.smallest_gain(point, scale))
        refuted = ~choice.found | (choice.scored == choice.added)
        refuted |= take(state.rejected, choice.scored)
        return SwapState(
            jax.tree.map(lambda new, old: jnp.where(accept, new, old), new, point),
            jnp.where(choice.found | choice.others, state.status, jnp.int32(Status.SWAP_OPTIMAL)),
            scale,
            ~accept & put(state.rejected, choice.scored, refuted),
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
    return None if size < 256 else 64
