"""The largest eigenvalue of a matrix that is only known by its products, by Lanczos."""

import jax.numpy as jnp
from jax import lax

from ..factorizations import eigh
from ..linalg import product

STEPS = 30


def largest_eigenvalue(matrix):
    """A lower bound for λ_max, and its residual: an eigenvalue lies within it of the bound.

    min(n, 30) Lanczos steps with full reorthogonalisation, from a fixed vector: the same answer
    every time, and exact to rounding for n ≤ 30.
    """
    n, dtype = matrix.shape[0], matrix.dtype
    steps = min(n, STEPS)
    start = 1 + jnp.cos(jnp.arange(n, dtype=dtype)) / 2
    zero = 0 * matrix.diagonal()
    start = start / jnp.sqrt(product(start, start)) + zero

    def extend(k, carry):
        basis, image = carry
        q = basis[:, k]
        y = matrix.matvec(q)
        image = image.at[:, k].set(y)
        y = y - product(basis, product(basis.T, y))
        y = y - product(basis, product(basis.T, y))
        norm = jnp.sqrt(product(y, y))
        size = jnp.sqrt(product(image[:, k], image[:, k]))
        grown = norm > 100 * jnp.finfo(dtype).eps * size  # otherwise the subspace is invariant
        y = jnp.where(grown, y / jnp.where(grown, norm, 1.0), 0.0)
        return basis.at[:, k + 1].set(y, mode="drop"), image

    empty = zero[:, None] * jnp.ones((1, steps), dtype)
    basis, image = lax.fori_loop(0, steps, extend, (empty.at[:, 0].set(start), empty))
    small = product(basis.T, image)
    small = (small + small.T) / 2
    present = jnp.any(basis != 0, axis=0)
    absent = jnp.where(present, 0.0, -2 * jnp.sum(jnp.abs(small)) - 1)  # never the largest
    small = small + absent[:, None] * jnp.eye(steps, dtype=dtype)
    values, vectors = eigh(small)
    residual = product(image, vectors[:, -1]) - values[-1] * product(basis, vectors[:, -1])
    return values[-1], jnp.sqrt(product(residual, residual))
