"""What several components explain together, when they are neither orthogonal nor uncorrelated.

Variances and separations of single components add up to too much: what two correlated components
share is counted twice. With V the components as columns and S = −A, two measures do not:

    adjusted variance    r_jj² of V'SV = R'R    (Zou, Hastie and Tibshirani 2006): of each
                         component, what the ones before it do not predict;
    subspace variance    tr((V'CV)⁺ V'SV): the whole that the subspace of the components holds,
                         never more than the sum of the c largest eigenvalues of (S, C).

The first needs a positive semidefinite S, such as a covariance. The second is for any pencil; for
discriminant analysis it is the separation of the classes in the discriminant subspace.

All are pure functions of a problem and x, (c, n) with a component a row or (n,), of any scale.
A component that is zero explains nothing.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from .components import rayleigh_quotients
from .deflation import apply
from .linalg import product


@jax.jit
def adjusted_variance(problem, x):
    """(c,): the variance of each component that those before it do not predict, x'Cx = 1.

    For a PCA pencil. The sum is what all of them explain, and `total_variance(problem)` the whole.
    """
    x = jnp.atleast_2d(x)
    x = x / jnp.sqrt(_positive(_lengths(problem.C, x)))[:, None]
    return _pivots(-product(x, apply(problem.A, x.T)))


def total_variance(problem):
    """tr S, the variance of all variables."""
    return -jnp.sum(problem.A.diagonal())


@jax.jit
def subspace_variance(problem, x):
    """(c,): tr((V'CV)⁺ V'SV) of the first 1, 2, …, c components. Not negative for a covariance."""
    x = jnp.atleast_2d(x)
    G, S = product(x, apply(problem.C, x.T)), -product(x, apply(problem.A, x.T))
    number = x.shape[0]
    place = jnp.arange(number, dtype=jnp.int32)
    among = place[None, :] <= place[:, None]  # the components that count, a row per total

    def together(used):
        pair = used[:, None] & used[None, :]
        inverse = jnp.linalg.pinv(jnp.where(pair, G, 0.0), hermitian=True)
        return jnp.sum(inverse * S)

    return jax.lax.map(together, among)


class Separation(NamedTuple):
    """Variance between the classes over that within them, `each` (c,) and `cumulative` (c,)."""

    each: jax.Array
    cumulative: jax.Array


@jax.jit
def class_separation(problem, x) -> Separation:
    """x'Bx / x'Wx of each component of an FDA pencil, and of the subspaces of the first 1, …, c."""
    x = jnp.atleast_2d(x)
    return Separation(-rayleigh_quotients(problem, x), subspace_variance(problem, x))


@partial(jax.jit, static_argnames=("split",))
def canonical_correlations(problem, x, split: int):
    """(c,): the correlation of Xu and Yv for each x = (u, v) of a CCA pencil.

        u'S_xy v / √(u'S_xx u · v'S_yy v),   u the first `split` entries of x.

    S_xx and S_yy are those of the pencil, with its ridge, which lowers the correlation. For that of
    the samples themselves pass a pencil with `ridge=0`. Zero where a view is not used.
    """
    x = jnp.atleast_2d(x)
    first = (jnp.arange(x.shape[1], dtype=jnp.int32) < split)[None, :]
    u, v = jnp.where(first, x, 0.0), jnp.where(first, 0.0, x)
    across = -jnp.sum(u * apply(problem.A, v.T).T, axis=1)
    lengths = _lengths(problem.C, u) * _lengths(problem.C, v)
    return across / jnp.sqrt(_positive(lengths))


def _lengths(C, x):
    return jnp.sum(x * apply(C, x.T).T, axis=1)


def _positive(value):
    return jnp.where(value > 0, value, 1.0)


def _pivots(G):
    """The pivots of G = V'SV, zero where a component is a combination of those before it."""
    variance = jnp.diagonal(G)
    tolerance = 100 * jnp.finfo(G.dtype).eps
    pivots = []
    for j in range(G.shape[0]):
        pivot = G[j, j]
        new = pivot > tolerance * variance[j]
        pivots.append(jnp.where(new, pivot, 0.0))
        row = jnp.where(new, G[j] / jnp.where(new, pivot, 1.0), 0.0)
        G = G - G[:, j][:, None] * row[None, :]
    return jnp.stack(pivots)
