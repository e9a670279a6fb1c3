"""The truncated Rayleigh flow of Tan, Wang, Liu and Zhang (2018), with an optax step.

K. M. Tan, Z. Wang, H. Liu and T. Zhang: *Sparse generalized eigenvalue problem: optimal statistical
rates via truncated Rayleigh flow*, Journal of the Royal Statistical Society B 80 (2018) 1057-1086.
The method is called Rifle there and in the authors' R package.

    g = (Ax − f(x) Cx) / |f(x)|,   y = x − η g,   keep the s largest |y_i|,   x = y / ‖y‖

g is a multiple of the gradient of the Rayleigh quotient f, and the paper asks for
η λ_max(C) < 1.

Deviations from the paper:

1. It maximises a positive quotient ρ and divides by it; here f is minimised and may have either
   sign, so the division is by |f| (by the problem's rounding where f is nearly 0).
2. η = `step` / λ_max(C), with λ_max(C) by Lanczos: the paper leaves the choice to the user (0.01 in
   its R package), which then depends on the units of C. `step` < 1 is its condition.
3. Any optax transformation of g / λ_max(C) may replace the gradient step.
4. The start is sparse already, not from the paper's semidefinite program.
5. Truncation may raise f: the lowest point met is kept (it is the answer, exact on its support).
6. ‖x‖ = 1 as in the paper; where f turns from negative to positive the paper's step is not
   defined, and the run ends as diverged.
"""

import dataclasses
import math
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from .. import validation
from ..linalg import product, quadratic
from ..matrices import Identity
from ..polish import polish
from ..solution import Status
from ..supports import Point, dense, largest, normalise
from .spectrum import largest_eigenvalue

if TYPE_CHECKING:
    import optax


class RayleighFlowState(NamedTuple):
    """`point`: the lowest met. `current`: the iterate, with ‖x‖ = 1 rather than x'Cx = 1.

    `scale`: of the problem; `longest`: λ_max(C); `memory`: the optax state.
    """

    point: Point
    status: jax.Array
    current: Point
    scale: jax.Array
    longest: jax.Array
    memory: Any


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["step_size", "tolerance"],
    meta_fields=["optimizer", "max_steps"],
)
@dataclasses.dataclass(frozen=True)
class TruncatedRayleighFlow:
    """TRF (Rifle) of Tan et al.: a gradient step on the Rayleigh quotient, then truncation to s.

    **Arguments**

    - `step_size`: η λ_max(C), below 1 by the paper's rule. Traced: a new value does not recompile.
    - `optimizer`: an optax gradient transformation in its place, with its own learning rate, such
      as `optax.sgd(0.5, momentum=0.9)`, `optax.adam(0.02)` or one with a schedule. It is compared
      by identity: keep the object, a new one recompiles.
    - `tolerance`: stop when an objective is within this, relatively, of the one before.
    - `max_steps`: at most.

    ```python
    solve(problem, 8, method=TruncatedRayleighFlow(optimizer=optax.adam(0.02)))
    ```
    """

    step_size: float = 0.5
    optimizer: "optax.GradientTransformation | None" = None
    tolerance: float = 1e-8
    max_steps: int = 1000

    lower = -math.inf

    def __post_init__(self):
        name = type(self).__name__
        validation.non_negative(name, "step_size", self.step_size)
        validation.non_negative(name, "tolerance", self.tolerance)
        validation.count(name, "max_steps", self.max_steps, 1)
        known = self.optimizer is None or all(
            callable(getattr(self.optimizer, part, None)) for part in ("init", "update")
        )
        if not known:
            raise TypeError(
                f"{name}(optimizer=...) must be an optax gradient transformation, such as "
                f"optax.adam(0.02), but it is {self.optimizer!r}. For the paper's own step leave "
                f"it out and set step_size."
            )

    def init(self, problem, point: Point, key) -> RayleighFlowState:
        if isinstance(problem.C, Identity):
            longest = jnp.ones((), problem.dtype)
        else:
            longest = sum(largest_eigenvalue(problem.C))
            longest = jnp.where(longest > 0, longest, 1.0)
        x = dense(point, problem.size)
        current = _at(problem, x, len(point.support))
        memory = self._transform().init(x)
        status = jnp.int32(Status.RUNNING)
        return RayleighFlowState(point, status, current, problem.scale(), longest, memory)

    def step(self, problem, state: RayleighFlowState, key) -> RayleighFlowState:
        S, loadings, f = state.current
        x = dense(state.current, problem.size)
        Ax = product(problem.A.columns(S), loadings)
        Cx = product(problem.C.columns(S), loadings)
        rounding = jnp.finfo(problem.dtype).eps * state.scale
        size = jnp.maximum(jnp.abs(f), rounding)
        gradient = (Ax - f * Cx) / jnp.where(size > 0, size, 1.0) / state.longest
        with jax.numpy_dtype_promotion("standard"):  # optax mixes its counters with floats
            change, memory = self._transform().update(gradient, state.memory, x)
        current = _at(problem, x + change.astype(problem.dtype), len(S))

        finite = jnp.isfinite(current.objective) & jnp.all(jnp.isfinite(current.loadings))
        lost = ~finite | ((current.objective >= 0) & (state.point.objective < 0))
        tolerance = jnp.maximum(
            jnp.asarray(self.tolerance, problem.dtype), 10 * jnp.finfo(problem.dtype).eps
        )
        settled = jnp.abs(current.objective - f) <= tolerance * size
        status = jnp.where(settled, jnp.int32(Status.CONVERGED), state.status)
        status = jnp.where(lost, jnp.int32(Status.DIVERGED), status)

        better = finite & (current.objective < state.point.objective)
        found = normalise(current, quadratic(problem.C.block(current.support), current.loadings))
        point = jax.tree.map(lambda new, old: jnp.where(better, new, old), found, state.point)
        current = jax.tree.map(lambda new, old: jnp.where(lost, old, new), current, state.current)
        return RayleighFlowState(point, status, current, state.scale, state.longest, memory)

    def finish(self, problem, point: Point) -> Point:
        return polish(problem, point)

    def _transform(self) -> "optax.GradientTransformation":
        import optax  # a third of a second, for those alone who need it

        return optax.scale(-self.step_size) if self.optimizer is None else self.optimizer


def _at(problem, y, count: int) -> Point:
    """The point on the `count` largest entries of y, with ‖x‖ = 1; NaN where there is none."""
    support = largest(y, count)
    x = y[support]
    x = x / jnp.max(jnp.abs(x))  # the squares of a huge step overflow
    x = x / jnp.sqrt(jnp.sum(x * x))
    norm = quadratic(problem.C.block(support), x)
    value = quadratic(problem.A.block(support), x) / jnp.where(norm > 0, norm, jnp.nan)
    return Point(support, x, value)
