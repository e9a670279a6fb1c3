"""The exact answer on a given support: the lowest generalized eigenvector of its block.

Every method ends here, so every method's objective is that of its support.
"""

import jax.numpy as jnp

from .factorizations import after
from .linalg import lowest_pair, quadratic
from .matrices import Identity
from .search.coordinate_descent import descend
from .supports import Point, normalise


def polish(problem, point: Point) -> Point:
    """min x'Ax / x'Cx over x supported on `point.support`; inf where C is not definite there."""
    value, x = lowest_on(problem, point.support)
    norm = quadratic(problem.C.block(point.support), x)
    return normalise(Point(point.support, x, value), norm)


def lowest_on(problem, support):
    """The lowest value on a support, and the vector (s,) there."""
    A, C = problem.A.block(support), problem.C.block(support)
    return lowest_pair(A) if isinstance(problem.C, Identity) else lowest_pair(A, C)


def polish_nonnegative(problem, point: Point) -> Point:
    """The same with x ≥ 0, from `point.loadings`: to a local minimum (the problem is NP-hard).

    Coordinate descent finds which loadings stay positive; on those the eigenvector is exact, and
    it is taken when it is non-negative itself. Where the eigenvector of the whole block has one
    sign, it is the global answer on this support and is taken at once.
    """
    A, C = problem.A.block(point.support), problem.C.block(point.support)
    x = descend(A, C, jnp.maximum(point.loadings, 0), lower=0.0, sweeps=200)
    best = quadratic(A, x) / quadratic(C, x)
    for free in (x > 0, jnp.ones_like(x, bool)):
        pair = free[:, None] & free[None, :]
        identity = jnp.eye(len(x), dtype=x.dtype)
        ceiling = 2 * jnp.sum(jnp.abs(A))  # coordinates held at zero never come out lowest
        ceiling = jnp.where(ceiling > 0, ceiling, 1.0) * identity
        scale = jnp.diagonal(C)[:, None] * identity
        value, y = lowest_pair(
            jnp.where(pair, A, ceiling * scale / jnp.min(jnp.diagonal(C))),
            after(best, jnp.where(pair, C, scale)),
        )
        y = y * jnp.where(jnp.sum(y) < 0, -1.0, 1.0)
        y = jnp.where(free, y, 0.0)
        rounding = jnp.sqrt(jnp.finfo(x.dtype).eps) * jnp.max(jnp.abs(y))
        slack = 100 * jnp.finfo(x.dtype).eps * quadratic(jnp.abs(A), x) / quadratic(C, x)
        better = jnp.all(y >= -rounding * 1e-3) & (value <= best + slack)
        x = jnp.where(better, jnp.maximum(y, 0), x)
        best = jnp.where(better, quadratic(A, x) / quadratic(C, x), best)
    return normalise(Point(point.support, x, best), quadratic(C, x))
