"""A complete local search: the best corrective exchange until none is left."""

import dataclasses
import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from . import validation
from .corrective import exchanged, exchanges, flagged, inverse, screen, screen_all
from .linalg import lowest_index, take
from .polish import lowest_on, polish
from .solution import Status
from .supports import Point, membership


class SwapState(NamedTuple):
    """The polished point; `barred` (n,), its columns and those not to be tried: known not to
    improve it, or held back; whether the last screen found nothing, so that all pivots are to be
    looked at; and `held` (n,), the columns held back until nothing is found without them."""

    point: Point
    status: jax.Array
    scale: jax.Array
    barred: jax.Array
    stalled: jax.Array
    held: jax.Array


class Choice(NamedTuple):
    """Which position to drop for which column, the estimated change, and whether that seems to
    improve; which columns (k,) were scored, and whether others might improve too."""

    position: jax.Array
    added: jax.Array
    change: jax.Array
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

    def begin(self, problem, support, scale, held=None) -> SwapState:
        """The first state, given the problem's scale, which costs a product with A and with C, and
        the columns (n,) to be held back."""
        value, x = lowest_on(problem, support)
        inside = membership(support, problem.size)
        held = inside & ~inside if held is None else held & ~inside
        return SwapState(
            point=Point(support, x, value),
            status=jnp.int32(Status.RUNNING),
            scale=scale,
            barred=inside | held,
            stalled=value != value,
            held=held,
        )

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
                lambda G: screen_all(problem, point, G, state.barred, count),
                lambda G: screen(problem, point, state.barred, count),
                G,
            )
            scores = exchanges(problem, point, G, columns)
            others = jnp.any(lowest < -gain) | ~complete
        usable = (scores.pivot < 0) & ~take(state.barred, columns)[None, :]
        change = jnp.where(usable, scores.change, jnp.inf)
        by_column = jnp.min(change, axis=0)
        place = lowest_index(by_column)
        position = lowest_index(take(change, slice(None), place))
        lowest = take(by_column, place)
        return Choice(position, take(columns, place), lowest, lowest < -gain, columns, others)

    def exchange(self, problem, state: SwapState, choice: Choice) -> SwapState:
        """Make the exchange if it improves."""
        point, scale = state.point, state.scale
        new = exchanged(problem, point, choice.position, choice.added, choice.change, scale)
        accept = choice.found & (new.objective < point.objective - self.smallest_gain(point, scale))
        release = ~choice.found & jnp.any(state.held)
        held = state.held & ~release
        refuted = ~choice.found | (choice.scored == choice.added)
        barred = state.barred | flagged(choice.scored, refuted, problem.size)
        point = jax.tree.map(lambda new, old: jnp.where(accept, new, old), new, point)
        inside = membership(point.support, problem.size)
        going = choice.found | choice.others | release
        return SwapState(
            point=point,
            status=jnp.where(going, state.status, jnp.int32(Status.SWAP_OPTIMAL)),
            scale=scale,
            barred=jnp.where(accept | release, inside | held, barred),
            stalled=~accept & ~release & (state.stalled | ~choice.found),
            held=held,
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
