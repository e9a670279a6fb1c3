"""A complete local search: the best corrective exchange until none is left."""

import dataclasses
import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import validation
from .corrective import exchanged, exchanges, flagged, inverse, screen, screen_all
from .linalg import lowest_index, take
from .polish import lowest_on, polish
from .solution import Status
from .supports import Point, membership

# What a column is to a search: free to enter, known not to improve this point, held back until
# nothing is found without it, or in the support.
FREE, REFUTED, HELD, INSIDE = (np.int8(role) for role in range(4))


class SwapState(NamedTuple):
    """The polished point; the `role` (n,) of each column; and whether the last screen found
    nothing, so that all pivots are to be looked at."""

    point: Point
    status: jax.Array
    scale: jax.Array
    role: jax.Array
    stalled: jax.Array


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
    (`corrective.py`) until none is estimated to improve by more than `tolerance`, relative.

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
        role = jnp.where(membership(support, problem.size), INSIDE, FREE)
        if held is not None:
            role = jnp.where(held & (role == FREE), HELD, role)
        return SwapState(
            point=Point(support, x, value),
            status=jnp.int32(Status.RUNNING),
            scale=scale,
            role=role,
            stalled=value != value,
        )

    def step(self, problem, state: SwapState, key) -> SwapState:
        return self.exchange(problem, state, self.choose(problem, state, state.stalled))

    def choose(self, problem, state: SwapState, complete) -> Choice:
        """The best exchange that adds one of the screened columns; these are among all that
        improve if `complete`, and otherwise among the promising ones."""
        point, gain = state.point, self.smallest_gain(state.point, state.scale)
        G = inverse(problem, point, state.scale)
        barred = state.role != FREE
        diagonals = problem.diagonals()
        count = screened(problem.size)
        if count is None:
            columns = jnp.arange(problem.size, dtype=jnp.int32)
            scores, others = exchanges(problem, diagonals, point, G), jnp.asarray(False)
        else:
            columns, lowest = lax.cond(
                complete,
                lambda G: screen_all(problem, diagonals, point, G, barred, count),
                lambda G: screen(problem, diagonals, point, barred, count),
                G,
            )
            scores = exchanges(problem, diagonals, point, G, columns)
            others = jnp.any(lowest < -gain) | ~complete
        usable = (scores.pivot < 0) & ~take(barred, columns)[None, :]
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
        release = ~choice.found & jnp.any(state.role == HELD)
        going = choice.found | choice.others | release
        return SwapState(
            point=jax.tree.map(lambda new, old: jnp.where(accept, new, old), new, point),
            status=jnp.where(going, state.status, jnp.int32(Status.SWAP_OPTIMAL)),
            scale=scale,
            role=self._roles(state, choice, accept, release),
            stalled=~accept & ~release & (state.stalled | ~choice.found),
        )

    def _roles(self, state: SwapState, choice: Choice, accept, release):
        """Of all columns after the exchange, or without it, when what was scored is refuted."""
        role = state.role
        useless = ~choice.found | (choice.scored == choice.added)
        useless = flagged(choice.scored, useless, role.shape[0]) & (role == FREE)
        column = jnp.arange(role.shape[0], dtype=jnp.int32)
        left = take(state.point.support, choice.position)
        anew = jnp.where(role >= jnp.where(release, INSIDE, HELD), role, FREE)
        anew = jnp.where(accept & (column == left), FREE, anew)
        anew = jnp.where(accept & (column == choice.added), INSIDE, anew)
        return jnp.where(accept | release, anew, jnp.where(useless, REFUTED, role))

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
