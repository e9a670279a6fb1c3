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
    """The pencil in the basis, B's coordinates first, and the current point's coordinates in it.

    `proximal` is A with the proximal term; it is what a search minimises. `A` gives f itself.
    """

    A: jax.Array
    C: jax.Array
    proximal: jax.Array
    current: jax.Array


def reduce(problem, point: Point, block: Block, theta) -> Reduced:
    """The frozen pencil, (k + 1) × (k + 1). θ is relative: it multiplies diag(C), so that the
    units of the variables do not matter, and the caller scales it by the problem."""
    k, s, dtype = block.indices.shape[0], point.support.shape[0], problem.dtype
    indices = jnp.concatenate([block.indices, point.support])
    rest = jnp.where(block.kept, point.loadings, 0.0)
    basis = jnp.zeros((k + s, k + 1), dtype)
    basis = basis.at[jnp.arange(k), jnp.arange(k)].set(1.0).at[k:, k].set(rest)
    A = product(basis.T, product(problem.A.block(indices), basis))
    C = product(basis.T, product(problem.C.block(indices), basis))

    same = block.indices[:, None] == point.support[None, :]
    x = jnp.sum(jnp.where(same, point.loadings[None, :], 0.0), axis=1)  # x_B
    current = jnp.append(x, jnp.ones((), dtype))
    weight = theta * jnp.diagonal(C)[:k]
    edge = -weight * x
    proximal = A.at[jnp.arange(k), jnp.arange(k)].add(weight)
    proximal = proximal.at[:k, k].add(edge).at[k, :k].add(edge)
    proximal = proximal.at[k, k].add(jnp.sum(weight * x * x))
    return Reduced(A, C, proximal, current)
