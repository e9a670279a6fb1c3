"""All supports: the library's own ground truth, for small n."""

import dataclasses
import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from .. import validation
from ..linalg import lowest_pair
from ..polish import polish
from ..search.enumerate import best_support
from ..solution import Status
from ..supports import Point, normalise

LIMIT = 20_000_000


class ExhaustiveState(NamedTuple):
    """`share` = (d, D) is the part of the supports to examine, as in `best_support`."""

    point: Point
    status: jax.Array
    share: tuple[jax.Array, jax.Array]


@partial(jax.tree_util.register_dataclass, data_fields=[], meta_fields=["chunk"])
@dataclasses.dataclass(frozen=True)
class Exhaustive:
    """The global minimum, by one eigenproblem for each of the C(n, s) supports.

    `chunk` supports are solved at once. More than 20 million supports are refused.
    """

    chunk: int = 4096

    max_steps = 1
    lower = -math.inf

    def __post_init__(self):
        validation.count("Exhaustive", "chunk", self.chunk, 1)

    def init(self, problem, point: Point, key, share=(0, 1)) -> ExhaustiveState:
        n, s = problem.size, point.support.shape[0]
        if math.comb(n, s) > LIMIT:
            raise ValueError(
                f"Exhaustive examines every support, at most {LIMIT:,} of them, but n = {n} and "
                f"sparsity = {s} give {math.comb(n, s):,}. Use Decomposition."
            )
        share = tuple(jnp.asarray(number, jnp.int32) for number in share)
        return ExhaustiveState(point, jnp.int32(Status.RUNNING), share)

    def step(self, problem, state: ExhaustiveState, key) -> ExhaustiveState:
        n, s = problem.size, state.point.support.shape[0]

        def solve_candidate(positions, present):
            value, x = lowest_pair(problem.A.block(positions), problem.C.block(positions))
            if problem.rules is not None:
                value = jnp.where(problem.rules.met(positions), value, jnp.inf)
            return value, x

        chunk = min(self.chunk, math.comb(n, s))
        found = best_support(n, s, s, chunk, solve_candidate, state.share)
        point = normalise(Point(found.positions, found.vector, found.value), 1.0)
        return ExhaustiveState(point, jnp.int32(Status.OPTIMAL), state.share)

    def finish(self, problem, point: Point) -> Point:
        return polish(problem, point)
