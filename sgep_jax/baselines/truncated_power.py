"""The truncated power method of Yuan and Zhang (2013), for C = I.

X.-T. Yuan and T. Zhang: *Truncated power method for sparse eigenvalue problems*, Journal of
Machine Learning Research 14 (2013) 899-925.

    y = (σI − A) x,   keep the s largest |y_i|,   x = y / ‖y‖

Deviations from the paper:

1. It maximises x'Āx; here Ā = σI − A, because the library minimises x'Ax.
2. The paper assumes Ā positive semidefinite and says to add a multiple of I otherwise, not how
   much. Here σ is 0 where A is negative semidefinite, and otherwise a bound on its largest
   eigenvalue by Lanczos, so that the objective never rises (the paper's monotonicity).
3. A start of s coordinates (greedy) instead of one column or a dense vector. With `warm_up` the
   iteration leaves that start for 8s, 4s, 2s coordinates and comes back to s: the paper's remedy.
4. The answer is made exact on its support at the end.
"""

import dataclasses
import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from .. import validation
from ..linalg import product, quadratic
from ..matrices import Identity
from ..polish import polish
from ..solution import Status
from ..supports import Point, dense, largest, normalise
from .spectrum import largest_eigenvalue


class TruncatedPowerState(NamedTuple):
    point: Point
    status: jax.Array
    shift: jax.Array


class Dense(NamedTuple):
    """The warm-up's iterate: a vector of length n, its objective, and whether to go on."""

    x: jax.Array
    objective: jax.Array
    moving: jax.Array
    step: jax.Array


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["tolerance", "shift"],
    meta_fields=["warm_up", "max_steps"],
)
@dataclasses.dataclass(frozen=True)
class TruncatedPower:
    """TPM of Yuan and Zhang: a power step with σI − A, then only the s largest entries are kept.

    **Arguments**

    - `warm_up`: cardinalities to pass through first, as multiples of s: the paper's `(8, 4, 2)`.
    - `shift`: σ ≥ 0; `None` finds it (0 where A is negative semidefinite).
    - `tolerance`: stop when an objective is within this, relatively, of the one before.
    - `max_steps`: of each cardinality.

    Each step costs s columns of A; the warm-up one product with A. Only for C = I.

    ```python
    solve(Problem(-covariance), 8, method=TruncatedPower(warm_up=(8, 4, 2)))
    ```
    """

    warm_up: tuple[int, ...] = ()
    shift: float | None = None
    tolerance: float = 1e-8
    max_steps: int = 500

    lower = -math.inf

    def __post_init__(self):
        name = type(self).__name__
        validation.count(name, "max_steps", self.max_steps, 1)
        validation.non_negative(name, "tolerance", self.tolerance)
        validation.non_negative(name, "shift", self.shift)
        if not isinstance(self.warm_up, tuple):
            raise TypeError(
                f"{name}(warm_up=...) must be a tuple of multiples of the sparsity, such as "
                f"(8, 4, 2), but it is {self.warm_up!r}."
            )
        for factor in self.warm_up:
            validation.count(name, "warm_up", factor, 1)

    def init(self, problem, point: Point, key) -> TruncatedPowerState:
        if not isinstance(problem.C, Identity):
            raise ValueError(
                f"TruncatedPower is defined for C = I only, but C is {type(problem.C).__name__}. "
                f"Use TruncatedRayleighFlow, its form for a pencil, or Decomposition; if C is the "
                f"identity, leave it out: Problem(A)."
            )
        if self.shift is None:
            value, residual = largest_eigenvalue(problem.A)
            rounding = 100 * jnp.finfo(problem.dtype).eps * problem.scale()
            shift = jnp.where(value > rounding, value + residual, 0.0)
        else:
            shift = jnp.asarray(self.shift, problem.dtype) + 0 * point.objective
        x = dense(point, problem.size)
        for factor in self.warm_up:
            x = self._run_dense(problem, x, shift, min(factor * len(point.support), problem.size))
        if self.warm_up:
            found = _at(problem, x, len(point.support))
            found = found._replace(objective=jnp.where(_sane(found), found.objective, jnp.inf))
            known = jnp.isfinite(point.objective) & jnp.isfinite(found.objective)
            point = jax.tree.map(lambda new, old: jnp.where(known, new, old), found, point)
        return TruncatedPowerState(point, jnp.int32(Status.RUNNING), shift)

    def step(self, problem, state: TruncatedPowerState, key) -> TruncatedPowerState:
        point = state.point
        image = product(problem.A.columns(point.support), point.loadings)
        y = state.shift * dense(point, problem.size) - image
        found = _at(problem, y, len(point.support))
        sane = _sane(found)
        still = jnp.max(jnp.abs(y)) == 0  # Ax = σx: x is stationary
        better = sane & ~still & (found.objective < point.objective)
        gain = point.objective - found.objective
        small = gain <= self._rounding(problem) * jnp.abs(point.objective)
        status = jnp.where(still | small, jnp.int32(Status.CONVERGED), state.status)
        status = jnp.where(sane | still, status, jnp.int32(Status.DIVERGED))
        point = jax.tree.map(lambda new, old: jnp.where(better, new, old), found, point)
        return TruncatedPowerState(point, status, state.shift)

    def finish(self, problem, point: Point) -> Point:
        return polish(problem, point)

    def _rounding(self, problem):
        return jnp.maximum(
            jnp.asarray(self.tolerance, problem.dtype), 10 * jnp.finfo(problem.dtype).eps
        )

    def _run_dense(self, problem, x, shift, count: int):
        """Power steps that keep `count` entries, to the tolerance."""

        def advance(run: Dense) -> Dense:
            y = shift * run.x - problem.A.matvec(run.x)
            keep = largest(y, count)
            y = jnp.zeros_like(y).at[keep].set(y[keep])
            y = y / _norm(y)
            value = product(y, problem.A.matvec(y))
            usable = jnp.isfinite(value) & jnp.any(y != 0)
            gain = run.objective - value
            moving = usable & (gain > self._rounding(problem) * jnp.abs(run.objective))
            x, value = (jnp.where(usable, a, b) for a, b in ((y, run.x), (value, run.objective)))
            return Dense(x, value, moving, run.step + 1)

        def unfinished(run: Dense):
            return run.moving & (run.step < self.max_steps)

        infinite = jnp.inf + 0 * shift
        start = Dense(x, infinite, shift == shift, (0 * shift).astype(jnp.int32))
        start = advance(start)._replace(moving=shift == shift)
        return lax.while_loop(unfinished, advance, start).x


def _norm(y):
    """‖y‖, or 1 where it is zero, without overflow of the squares."""
    peak = jnp.max(jnp.abs(y))
    safe = jnp.where(peak > 0, peak, 1.0)
    return safe * jnp.sqrt(jnp.maximum(jnp.sum((y / safe) ** 2), jnp.where(peak > 0, 0.0, 1.0)))


def _at(problem, y, count: int) -> Point:
    """The point on the `count` largest entries of y."""
    support = largest(y, count)
    x = y[support] / _norm(y[support])
    return normalise(Point(support, x, quadratic(problem.A.block(support), x)), 1.0)


def _sane(point: Point):
    return jnp.isfinite(point.objective) & jnp.all(jnp.isfinite(point.loadings))
