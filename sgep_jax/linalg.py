"""Small dense linear algebra: products that are never rounded to bfloat16 or TF32,
and the lowest eigenpair of a small pencil."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

HIGHEST = lax.Precision.HIGHEST


def product(a, b):
    """a @ b in full precision on every device."""
    return jnp.matmul(a, b, precision=HIGHEST)


def quadratic(M, x):
    """x'Mx."""
    return product(x, product(M, x))


def definite_tolerance(size: int, dtype) -> float:
    """Pivots of a matrix with unit diagonal below this count as zero."""
    return 10 * max(size, 1) * float(jnp.finfo(dtype).eps)


class Whitening(NamedTuple):
    """A factor F with F'CF = I, and whether C is positive definite (F is finite either way)."""

    factor: jax.Array
    definite: jax.Array


def whiten(C) -> Whitening:
    """F = D L^-T with D = diag(C)^(-1/2) and DCD = LL'.

    Unit diagonal first, so that neither the units of the variables nor a tiny C matter.
    """
    size = C.shape[-1]
    diagonal = jnp.diagonal(C)
    positive = jnp.all(diagonal > 0)
    d = jnp.where(diagonal > 0, lax.rsqrt(jnp.where(diagonal > 0, diagonal, 1.0)), 1.0)
    scaled = d[:, None] * C * d[None, :]
    L = jnp.linalg.cholesky(scaled, symmetrize_input=False)
    pivots = jnp.diagonal(L) ** 2
    definite = positive & jnp.all(pivots > definite_tolerance(size, C.dtype))  # NaN compares false
    identity = jnp.eye(size, dtype=C.dtype)
    L = jnp.where(definite, L, identity)
    inverse = jax.scipy.linalg.solve_triangular(L, identity, lower=True)
    return Whitening(d[:, None] * inverse.T, definite)


def lowest_pair(A, C):
    """The smallest λ with Ax = λCx and its x (x'Cx = 1); (inf, 0) where C is not definite.

    `jax.scipy.linalg.eigh(a, b)` is not implemented, so C is whitened first. The value is the
    Rayleigh quotient of the vector, whose error is second order.
    """
    F, definite = whiten(C)
    M = product(F.T, product(A, F))
    M = (M + M.T) / 2
    scale = jnp.max(jnp.abs(M))
    scale = jnp.where((scale > 0) & jnp.isfinite(scale), scale, 1.0)
    _, vectors = jnp.linalg.eigh(M / scale, symmetrize_input=False)
    x = product(F, vectors[:, 0])
    value = quadratic(A, x) / quadratic(C, x)
    usable = definite & jnp.isfinite(value)
    return jnp.where(usable, value, jnp.inf), jnp.where(usable, x, 0.0)
