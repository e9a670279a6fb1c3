"""The quadratic majorisation method of Song, Babu and Palomar (2015).

J. Song, P. Babu and D. P. Palomar: *Sparse generalized eigenvalue problem via smooth optimization*,
IEEE Transactions on Signal Processing 63 (2015) 1627-1642.

    min x'Ax + ρ Σ_i g(x_i)   subject to   x'Cx = 1

with g a smooth surrogate of [x ≠ 0], concave in x². At x^t, g(x) ≤ w(x^t) x² + constant with
w(x) = g'(x) / 2x, so each iteration lowers a generalized eigenproblem of (A + ρ diag(w), C).
With ε > 0 the surrogates are quadratic on |x| ≤ ε (w = w(ε) there), lest w be infinite at 0:

    lp:   |x|^p                        w = p |x|^(p−2) / 2
    log:  log(1 + |x|/p) / log(1 + 1/p)    w = 1 / (2 log(1 + 1/p) |x| (|x| + p))
    exp:  1 − e^(−|x|/p)               w = e^(−|x|/p) / (2 p |x|)

l0 is the paper's closed form for C = I: with B = σI − A ≥ 0 and a = 2Bx^t, the maximiser of
a'x − ρ‖x‖₀ on ‖x‖ = 1 keeps the m largest |a_i|, m maximising ‖a_(1..m)‖ − ρm.

Deviations from the paper:

1. ρ is not given: as in the comparison of Yuan, Shen and Zheng (2019), a bisection (of log ρ) looks
   for s nonzeros, every iterate is cut to its s largest entries and solved exactly there, and
   the lowest objective of all is the answer. One step of the loop is one ρ.
2. x_i √C_ii takes the place of x_i in the penalty: the units of the variables do not matter.
3. An iteration is two steps of the paper's preconditioned steepest descent, warm started, with
   exact line search (Lemma 1), instead of the eigenvector to convergence: the penalised
   objective still falls.
4. ε falls from 0.1 to 1e-4 over the iterations; the paper keeps it.
5. Each ρ starts from the dense lowest vector of the pencil (by the same descent), not from the
   caller's start: a zero entry has a large weight and would stay zero. The start is the answer
   only where no other is found.
"""

import dataclasses
import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from .. import validation
from ..fractional import minimise_fraction
from ..linalg import product
from ..matrices import Identity
from ..polish import polish
from ..solution import Status
from ..supports import Point, dense, largest
from .spectrum import largest_eigenvalue

SURROGATES = ("exp", "log", "lp", "l0")
LINE_SEARCHES = 2
WIDEST, NARROWEST = 1e-1, 1e-4  # ε, from first to last


class Iterate(NamedTuple):
    """A dense x with x'Cx = 1, and its products."""

    x: jax.Array
    Ax: jax.Array
    Cx: jax.Array


class QuadraticMajorizationState(NamedTuple):
    """`low`, `high`: log ρ, with more than s nonzeros at the first and fewer at the second."""

    point: Point
    status: jax.Array
    dense: Iterate
    scale: jax.Array
    shift: jax.Array
    low: jax.Array
    high: jax.Array


def surrogate(name: str, x, p, epsilon):
    """g(x), smoothed below ε."""
    x = jnp.abs(x)
    outer = jnp.maximum(x, epsilon)
    inner = (jnp.minimum(x, epsilon) ** 2 - epsilon**2) * weights(name, epsilon, p, epsilon)
    if name == "lp":
        value = outer**p
    elif name == "log":
        value = jnp.log1p(outer / p) / jnp.log1p(1 / p)
    else:
        value = -jnp.expm1(-outer / p)
    return value + inner


def weights(name: str, x, p, epsilon):
    """w(x) = g'(x) / 2x of the smoothed surrogate."""
    x = jnp.maximum(jnp.abs(x), epsilon)
    if name == "lp":
        return p / 2 * x ** (p - 2)
    if name == "log":
        return 1 / (2 * jnp.log1p(1 / p) * x * (x + p))
    return jnp.exp(-x / p) / (2 * p * x)


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["p", "tolerance"],
    meta_fields=["surrogate", "iterations", "max_steps"],
)
@dataclasses.dataclass(frozen=True)
class QuadraticMajorization:
    """QMM of Song, Babu and Palomar: a smooth penalty on the nonzeros, majorised by quadratics.

    **Arguments**

    - `surrogate`: `"exp"`, `"log"`, `"lp"`, or `"l0"` (only for C = I).
    - `p`: the surrogate's parameter, 0 < p ≤ 1; nearer to ℓ0 when small. Not used by `"l0"`.
    - `iterations`: of the majorisation, for each ρ.
    - `tolerance`: the bisection ends when log ρ is known to within this, or with s nonzeros.
    - `max_steps`: bisection steps at most.

    Its products are with dense vectors: n² each, 2 · `iterations` of them for each ρ.

    ```python
    solve(problem, 8, method=QuadraticMajorization("log"))
    ```
    """

    surrogate: str = "log"
    p: float = 0.1
    iterations: int = 100
    tolerance: float = 1e-3
    max_steps: int = 30

    lower = -math.inf

    def __post_init__(self):
        name = type(self).__name__
        validation.one_of(name, "surrogate", self.surrogate, SURROGATES)
        validation.non_negative(name, "tolerance", self.tolerance)
        validation.count(name, "iterations", self.iterations, 1)
        validation.count(name, "max_steps", self.max_steps, 1)
        if isinstance(self.p, float | int) and not 0 < self.p <= 1:
            raise ValueError(
                f"{name}(p=...) must be above 0 and at most 1, but it is {self.p!r}. "
                f"Small values are nearer to the count of nonzeros; 0.1 is usual."
            )

    def init(self, problem, point: Point, key) -> QuadraticMajorizationState:
        identity = isinstance(problem.C, Identity)
        if self.surrogate == "l0" and not identity:
            raise ValueError(
                f"QuadraticMajorization(surrogate='l0') is defined for C = I only, but C is "
                f"{type(problem.C).__name__}. Use 'log', 'exp' or 'lp'; if C is the identity, "
                f"leave it out: Problem(A)."
            )
        scale = problem.scale()
        shift = 0 * scale
        if self.surrogate == "l0":
            value, residual = largest_eigenvalue(problem.A)
            shift = jnp.maximum(value + residual, 0)
        x = dense(point, problem.size)
        x = x - problem.A.matvec(x) / jnp.where(scale > 0, scale, 1.0)  # dense, and lower
        iterate = _iterate(problem, x)
        unpenalised = jnp.zeros_like(x)
        iterate = lax.fori_loop(
            0, self.iterations,
            lambda _, iterate: descend(problem, iterate, unpenalised, scale), iterate,
        )  # fmt: skip
        found = _cut(problem, jnp.abs(iterate.x) * _root(problem), len(point.support))
        usable = jnp.isfinite(found.objective)
        point = jax.tree.map(lambda new, old: jnp.where(usable, new, old), found, point)
        log_scale = jnp.log(jnp.where(scale > 0, scale, 1.0) * problem.size)
        return QuadraticMajorizationState(
            point, jnp.int32(Status.RUNNING), iterate, scale, shift, log_scale - 20, log_scale
        )

    def step(self, problem, state: QuadraticMajorizationState, key):
        s = len(state.point.support)
        middle = (state.low + state.high) / 2
        solve = self._closed_form if self.surrogate == "l0" else self._majorise
        size, nonzeros = solve(problem, state, jnp.exp(middle))

        found = _cut(problem, size, s)
        better = found.objective < state.point.objective
        point = jax.tree.map(lambda new, old: jnp.where(better, new, old), found, state.point)

        low = jnp.where(nonzeros > s, middle, state.low)
        high = jnp.where(nonzeros > s, state.high, middle)
        ended = (nonzeros == s) | (high - low <= self.tolerance)
        status = jnp.where(ended, jnp.int32(Status.CONVERGED), state.status)
        status = jnp.where(jnp.all(jnp.isfinite(size)), status, jnp.int32(Status.DIVERGED))
        return state._replace(point=point, status=status, low=low, high=high)

    def finish(self, problem, point: Point) -> Point:
        return polish(problem, point)

    def _majorise(self, problem, state, rho):
        """|x_i| √C_ii at the end of the majorisation, and how many of them are not negligible."""
        root = _root(problem)
        ratio = math.log(NARROWEST / WIDEST) / max(self.iterations - 1, 1)

        def iterate(step, iterate: Iterate) -> Iterate:
            epsilon = WIDEST * jnp.exp(ratio * step.astype(problem.dtype))
            w = weights(self.surrogate, iterate.x * root, self.p, epsilon)
            return descend(problem, iterate, rho * w * root * root, state.scale)

        steps = jnp.int32(self.iterations)
        x = lax.fori_loop(jnp.int32(0), steps, iterate, state.dense).x
        size = jnp.abs(x) * root
        return size, jnp.sum(size > 10 * NARROWEST, dtype=jnp.int32)

    def _closed_form(self, problem, state, rho):
        """The same by the ℓ0 penalty's own minimiser."""
        order = jnp.arange(1, problem.size + 1, dtype=problem.dtype)

        def iterate(_, x):
            a = 2 * (state.shift * x - problem.A.matvec(x))
            ranked = lax.top_k(jnp.abs(a), problem.size)[0]
            count = jnp.argmax(jnp.sqrt(jnp.cumsum(ranked**2)) - rho * order)
            x = jnp.where(jnp.abs(a) >= ranked[count], a, 0.0)
            norm = jnp.sqrt(product(x, x))
            return x / jnp.where(norm > 0, norm, 1.0)

        x = lax.fori_loop(0, self.iterations, iterate, state.dense.x)
        return jnp.abs(x), jnp.sum(x != 0, dtype=jnp.int32)


def descend(problem, iterate: Iterate, penalty, scale) -> Iterate:
    """Preconditioned steepest descent on x'(A + diag(penalty))x / x'Cx, exact line searches."""
    c = problem.C.diagonal()

    def search(_, iterate: Iterate) -> Iterate:
        x, Ax, Cx = iterate
        Mx = Ax + penalty * x
        xMx, xCx = product(x, Mx), product(x, Cx)
        value = xMx / jnp.where(xCx > 0, xCx, 1.0)
        d = -(Mx - value * Cx) / (penalty + scale * jnp.where(c > 0, c, 1.0))
        length = jnp.max(jnp.abs(d))
        d = d / jnp.where(length > 0, length, 1.0)
        Ad, Cd = problem.A.matvec(d), problem.C.matvec(d)
        Md = Ad + penalty * d
        best = minimise_fraction(
            product(d, Md), product(d, Mx), xMx / 2, product(d, Cd), product(d, Cx), xCx / 2
        )
        take = jnp.isfinite(best.value) & (best.value < value)
        keep = jnp.where(take & best.unbounded, 0.0, 1.0).astype(x.dtype)
        beta = jnp.where(take, jnp.where(best.unbounded, 1.0, best.step), 0.0)
        x, Ax, Cx = keep * x + beta * d, keep * Ax + beta * Ad, keep * Cx + beta * Cd
        norm = product(x, Cx)
        shrink = lax.rsqrt(jnp.where(norm > 0, norm, 1.0))
        return Iterate(x * shrink, Ax * shrink, Cx * shrink)

    return lax.fori_loop(0, LINE_SEARCHES, search, iterate)


def _root(problem):
    return jnp.sqrt(jnp.maximum(problem.C.diagonal(), 0))


def _cut(problem, size, count: int) -> Point:
    """The exact point on the `count` largest; its objective is inf where C is not definite."""
    support = largest(jnp.where(jnp.isfinite(size), size, 0.0), count)
    nothing = Point(support, 0 * size[support], jnp.inf + 0 * size[0])
    return polish(problem, nothing)


def _iterate(problem, x) -> Iterate:
    Ax, Cx = problem.A.matvec(x), problem.C.matvec(x)
    norm = product(x, Cx)
    shrink = lax.rsqrt(jnp.where(norm > 0, norm, 1.0))
    return Iterate(x * shrink, Ax * shrink, Cx * shrink)
