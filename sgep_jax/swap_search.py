"""A complete local search: the best corrective exchange until none is left."""

import dataclasses
import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from . import validation
from .corrective import exchanged, exchanges
from .linalg import put, take
from .polish import polish
from .solution import Status
from .supports import Point


class SwapState(NamedTuple):
    """The polished point, and the columns whose best exchange turned out not to improve."""

    point: Point
    status: jax.Array
    scale: jax.Array
    rejected: jax.Array


@partial(jax.tree_util.register_dataclass, data_fields=["tolerance"], meta_fields=["max_steps"])
@dataclasses.dataclass(frozen=True)
class SwapSearch:
    """Drop one variable, add another, re-optimise all loadings; take the most promising exchange
    (`corrective.py`) until no exchange improves by more than `tolerance`, relative.

    The objective falls strictly over finitely many supports, so it ends, with SWAP_OPTIMAL.
    An exchange that scores as an improvement is solved exactly before it is taken; should
    rounding have misled the score, or C not be definite there, that column is set aside until
    the next exchange is made.
    """

    tolerance: float = 1e-10
    max_steps: int = 1000

    lower = -math.inf

    def __post_init__(self):
        validation.count("SwapSearch", "max_steps", self.max_steps, 1)
        validation.non_negative("SwapSearch", "tolerance", self.tolerance)

    def init(self, problem, point: Point, key) -> SwapState:
        point = polish(problem, point)
        rejected = 0 * problem.A.diagonal() != 0
        return SwapState(point, jnp.int32(Status.RUNNING), problem.scale(), rejected)

    def step(self, problem, state: SwapState, key) -> SwapState:
        point, scale = state.point, state.scale
        pivot, change = exchanges(problem, point, scale)
        promising = (pivot < 0) & ~state.rejected[None, :]
        change = jnp.where(promising, change, jnp.inf)
        position = jnp.argmin(jnp.min(change, axis=1)).astype(jnp.int32)
        row = take(change, position)
        added = jnp.argmin(row).astype(jnp.int32)
        threshold = self.smallest_gain(point, scale)
        found = jnp.min(row) < -threshold

        new = exchanged(problem, point, position, added, scale)
        accept = found & (new.objective < point.objective - threshold)
        rejected = ~accept & put(state.rejected, added, True)
        return SwapState(
            jax.tree.map(lambda new, old: jnp.where(accept, new, old), new, point),
            jnp.where(found, state.status, jnp.int32(Status.SWAP_OPTIMAL)),
            scale,
            rejected,
        )

    def smallest_gain(self, point, scale):
        """What counts as an improvement: `tolerance`, or rounding if that is coarser."""
        rounding = 100 * jnp.finfo(scale.dtype).eps
        size = jnp.maximum(jnp.abs(point.objective), 1e-3 * scale)
        return jnp.maximum(self.tolerance, rounding) * size

    def finish(self, problem, point: Point) -> Point:
        return polish(problem, point)
