"""The coordinate-wise methods of Beck and Vaisbourd (2016): greedy (GCW) and partial (PCW).

A. Beck and Y. Vaisbourd: *The sparse principal component analysis problem: optimality conditions
and algorithms*, Journal of Optimization Theory and Applications 170 (2016) 119-143.

A point is coordinate-wise optimal when no feasible point that differs from it in at most two
coordinates is better. Such a point either exchanges i in the support for j outside it,

    f(x − x_i e_i + β e_j),   minimised over β in closed form (Lemma 1, `fractional.py`),

or changes two coordinates of the support.

Deviations from the paper:

1. General C. The paper has C = I and ‖x‖ = 1, so that an exchange can only choose the sign of
   β = ±|x_i|. f does not change when x is scaled, so β is free here: the condition is stronger.
2. Changes within the support are carried to their limit after each exchange, which is the lowest
   generalized eigenvector on the support. Then no pair in the support can improve, and the best
   change of two coordinates, which GCW takes, is always an exchange.
3. PCW tries the i of the support one per step, by increasing |x_i| √C_ii, with the best j for each,
   takes the first exchange that improves, and ends when all s of them have failed. It ends
   at the same kind of point as GCW, by other exchanges.
4. Supports have exactly s indices (loadings may be zero), so that "add a coordinate" is
   the exchange of one with a zero loading.
"""

import dataclasses
import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from .. import validation
from ..fractional import minimise_fraction
from ..linalg import product, quadratic
from ..polish import polish
from ..solution import Status
from ..supports import Point, membership, normalise
from ..working_set import exchange_values

VARIANTS = ("greedy", "partial")


class CoordinateWiseState(NamedTuple):
    """`failed`: how many coordinates PCW has tried in vain since the last exchange."""

    point: Point
    status: jax.Array
    scale: jax.Array
    failed: jax.Array


class Pencil(NamedTuple):
    """Lemma 1's six numbers, for the exchange of one i for each j (n,) or for one j ()."""

    a: jax.Array
    b: jax.Array
    c: jax.Array
    r: jax.Array
    s: jax.Array
    t: jax.Array


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["tolerance"],
    meta_fields=["variant", "max_steps"],
)
@dataclasses.dataclass(frozen=True)
class CoordinateWise:
    """GCW and PCW of Beck and Vaisbourd: exchange one coordinate for another until none helps.

    **Arguments**

    - `variant`: `"greedy"` takes the best of all s(n − s) exchanges; `"partial"` looks at one
      coordinate of the support per step, which is cheaper, and takes more steps.
    - `tolerance`: an exchange must lower the objective by this, relatively. Rounding is always
      allowed for.
    - `max_steps`: exchanges (greedy), or coordinates looked at (partial).

    ```python
    solve(problem, 8, method=CoordinateWise())
    ```
    """

    variant: str = "greedy"
    tolerance: float = 1e-10
    max_steps: int = 1000

    lower = -math.inf

    def __post_init__(self):
        name = type(self).__name__
        validation.one_of(name, "variant", self.variant, VARIANTS)
        validation.non_negative(name, "tolerance", self.tolerance)
        validation.count(name, "max_steps", self.max_steps, 1)

    def init(self, problem, point: Point, key) -> CoordinateWiseState:
        status = jnp.int32(Status.RUNNING)
        return CoordinateWiseState(
            polish(problem, point), status, problem.scale(), jnp.zeros_like(status)
        )

    def step(self, problem, state: CoordinateWiseState, key) -> CoordinateWiseState:
        point = state.point
        if len(point.support) == problem.size:  # nothing to exchange
            return state._replace(status=jnp.int32(Status.CONVERGED))
        if self.variant == "greedy":
            values = exchange_values(problem, point)
            best = jnp.argmin(values).astype(jnp.int32)
            i, j = best // problem.size, best % problem.size
            found, last = exchange(problem, point, i, j), True
        else:
            size = jnp.abs(point.loadings) * jnp.sqrt(problem.C.diagonal()[point.support])
            i = jnp.argsort(size)[state.failed].astype(jnp.int32)
            values = minimise_fraction(*_pencil(problem, point, i)).value
            outside = ~membership(point.support, problem.size)
            j = jnp.argmin(jnp.where(outside, values, jnp.inf)).astype(jnp.int32)
            found = exchange(problem, point, i, j)
            last = state.failed + 1 >= len(point.support)

        rounding = 100 * jnp.finfo(problem.dtype).eps * state.scale
        enough = jnp.maximum(self.tolerance * jnp.abs(point.objective), rounding)
        better = found.objective < point.objective - enough
        new = jax.tree.map(
            lambda new, old: jnp.where(better, new, old), polish(problem, found), point
        )
        status = jnp.where(~better & last, jnp.int32(Status.CONVERGED), state.status)
        return CoordinateWiseState(new, status, state.scale, jnp.where(better, 0, state.failed + 1))

    def finish(self, problem, point: Point) -> Point:
        return point  # every point of the iteration is polished


def exchange(problem, point: Point, i, j) -> Point:
    """The best point that drops the i-th of the support and adds coordinate j, the rest kept."""
    pencil = jax.tree.map(lambda leaf: leaf[j] if leaf.ndim else leaf, _pencil(problem, point, i))
    best = minimise_fraction(*pencil)
    rest = jnp.where(best.unbounded, 0.0, point.loadings)
    loadings = rest.at[i].set(jnp.where(best.unbounded, 1.0, best.step))
    support = point.support.at[i].set(j)
    return normalise(
        Point(support, loadings, best.value), quadratic(problem.C.block(support), loadings)
    )


def _pencil(problem, point: Point, i) -> Pencil:
    """ψ(β) = f(v + β e_j) with v = x − x_i e_i, for every j."""
    v = point.loadings.at[i].set(0.0)
    Av = product(problem.A.columns(point.support), v)
    Cv = product(problem.C.columns(point.support), v)
    vAv, vCv = product(v, Av[point.support]), product(v, Cv[point.support])
    return Pencil(problem.A.diagonal(), Av, vAv / 2, problem.C.diagonal(), Cv, vCv / 2)
