"""s = n: the only support is all of them, and the problem an ordinary eigenproblem."""

import dataclasses
import math
from functools import partial

import jax
import jax.numpy as jnp

from .loop import Ending
from .polish import polish
from .solution import Status
from .supports import Point


@partial(jax.tree_util.register_dataclass, data_fields=[], meta_fields=[])
@dataclasses.dataclass(frozen=True)
class Whole:
    """The default where s = n. There is nothing to search, and little to compile."""

    lower = -math.inf

    def search(self, problem, sparsity: int, given, key):
        """The `Ending` of the one eigenproblem, one start, found once."""
        support = jnp.arange(problem.size, dtype=jnp.int32)
        start = Point(support, jnp.zeros(problem.size, problem.dtype), jnp.inf)
        point, scale = polish(problem, start), problem.scale()
        status = jnp.where(jnp.isnan(scale), Status.NOT_FINITE, Status.OPTIMAL)
        history = point.objective[None]
        return Ending(point, status.astype(jnp.int32), jnp.int32(0), history), 1, jnp.int32(1)
