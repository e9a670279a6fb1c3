"""A step's small pencil: the working set B, and a basis for the rest of the support.

x = Σ_{b ∈ B} z_b e_b + (rest). With W the basis [e_b for b ∈ B, rest], the pencil is
(W'AW, W'CW): choose q of its first k coordinates, keep the others. The rest is

- frozen: the one column x_N (the paper), with its proximal term θ‖x_B − x_B^t‖² in the numerator;
- free: the unit columns of the rest, so that their loadings are re-optimised (θ is not needed:
  the objective falls strictly over finitely many supports).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from .factorizations import cholesky, solve_lower
from .linalg import product
from .supports import Point


class Block(NamedTuple):
    """A working set and what it leaves of the support.

    `indices` (k,): B. `kept` (s,): which support positions lie outside B and stay. `count` ():
    q, how many of B may be nonzero.
    """

    indices: jax.Array
    kept: jax.Array
    count: jax.Array


class Reduced(NamedTuple):
    """The pencil in the basis, B's coordinates first.

    `proximal` is A with the proximal term; it is what a search minimises, A gives f itself.
    `current` is the current point in the basis. `rest` (s, r): the basis columns of the rest, by
    support position. `conditional` (k, k): what C leaves of B's coordinates when those of the
    support that stay are eliminated, in units of diag(C); C is definite on T and what stays
    exactly when this is on T. None where C is known to be definite.
    """

    A: jax.Array
    C: jax.Array
    proximal: jax.Array
    current: jax.Array
    rest: jax.Array
    conditional: jax.Array | None


def frozen_rest(point: Point, block: Block):
    """One column, x_N."""
    return jnp.where(block.kept, point.loadings, 0.0)[:, None]


def free_rest(point: Point, block: Block, count: int):
    """A unit column for each of the `count` support positions that stay."""
    positions = jnp.nonzero(block.kept, size=count)[0]
    return (
        jnp.zeros((len(point.support), count), point.loadings.dtype)
        .at[positions, jnp.arange(count)]
        .set(1.0)
    )


def reduce(problem, point: Point, block: Block, rest, theta) -> Reduced:
    """The pencil in the basis of B and `rest` (s, r).

    θ multiplies diag(C), so that the units of the variables do not matter; the caller scales it
    by the problem. It is for a frozen rest, and 0 otherwise.
    """
    k, dtype = block.indices.shape[0], problem.dtype
    s, r = rest.shape
    indices = jnp.concatenate([block.indices, point.support])
    basis = jnp.zeros((k + s, k + r), dtype)
    basis = basis.at[jnp.arange(k), jnp.arange(k)].set(1.0).at[k:, k:].set(rest)
    A = product(basis.T, product(problem.A.block(indices), basis))
    whole = problem.C.block(indices)
    C = product(basis.T, product(whole, basis))

    same = block.indices[:, None] == point.support[None, :]
    x = jnp.sum(jnp.where(same, point.loadings[None, :], 0.0), axis=1)  # x_B
    current = jnp.concatenate([x, jnp.ones(r, dtype)])
    proximal = A
    if r == 1:
        weight = theta * jnp.diagonal(C)[:k]
        edge = -weight * x
        proximal = A.at[jnp.arange(k), jnp.arange(k)].add(weight)
        proximal = proximal.at[:k, k].add(edge).at[k, :k].add(edge)
        proximal = proximal.at[k, k].add(jnp.sum(weight * x * x))
    conditional = None
    if not problem.C.definite:
        used = jnp.concatenate([jnp.ones(k, bool), block.kept])
        conditional = eliminate(unit_diagonal(whole, used), k)
    return Reduced(A, C, proximal, current, rest, conditional)


def unit_diagonal(C, used):
    """D^(-1/2) C D^(-1/2), D = diag(C), with unit rows in place of those not in use."""
    diagonal = jnp.diagonal(C)
    d = jnp.where(diagonal > 0, lax.rsqrt(jnp.where(diagonal > 0, diagonal, 1.0)), 0.0)
    pair = used[:, None] & used[None, :]
    return jnp.where(pair, d[:, None] * C * d[None, :], jnp.eye(len(d), dtype=C.dtype))


def eliminate(W, k: int):
    """W_BB − W_BN W_NN^(-1) W_NB, B the first k; NaN where W_NN is not positive definite."""
    if W.shape[0] == k:
        return W
    half = solve_lower(cholesky(W[k:, k:]), W[k:, :k])
    return W[:k, :k] - product(half.T, half)
