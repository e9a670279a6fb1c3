"""What solvers may ask of a matrix.

No solver indexes A or C. It asks for the few things below, so that a matrix which is never
formed (a Gram matrix of 100,000 columns, say) is one new class here and nothing else:

- `shape`, `dtype`, and `definite`: whether it is known to be positive definite on every support,
  so that nobody need check;
- `diagonal()` → (n,);
- `columns(indices)` → (n, k), for distinct or repeated indices;
- `block(rows, columns=None)` → (r, k), those entries; without `columns` the principal block;
- `combination(indices, weights)` → (n,), the columns times their weights, summed;
- `matvec(x)` → (n,).

Each matrix is symmetric and a pytree. Gram matrices are in `gram.py`.
"""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from .linalg import diagonal, product, take

ROWS = 8  # are read and added at once, by one kernel; a gather would store all rows first


@partial(jax.tree_util.register_dataclass, data_fields=["array"], meta_fields=[])
@dataclasses.dataclass(frozen=True)
class Dense:
    """A symmetric array."""

    array: jax.Array

    definite = False

    @property
    def shape(self):
        return self.array.shape

    @property
    def dtype(self):
        return self.array.dtype

    def diagonal(self):
        return diagonal(self.array)

    def columns(self, indices):
        return take(self.array, indices).T  # rows are contiguous, and A = A'

    def block(self, rows, columns=None):
        columns = rows if columns is None else columns
        return take(self.array, rows[:, None], columns[None, :])

    def combination(self, indices, weights):
        number = indices.shape[0]
        rest = (0, -number % ROWS)
        indices, weights = jnp.pad(indices, rest, mode="edge"), jnp.pad(weights, rest)

        def add(place, total):
            for each in range(ROWS):
                index, weight = (take(leaf, ROWS * place + each) for leaf in (indices, weights))
                row = lax.dynamic_index_in_dim(self.array, index, keepdims=False)
                total = total + weight * row
            return total

        return lax.fori_loop(0, len(indices) // ROWS, add, 0 * weights[0] * self.array[0])

    def matvec(self, x):
        return product(self.array, x)


@partial(jax.tree_util.register_dataclass, data_fields=[], meta_fields=["size", "dtype"])
@dataclasses.dataclass(frozen=True)
class Identity:
    """The identity matrix."""

    size: int
    dtype: jnp.dtype

    definite = True

    @property
    def shape(self):
        return (self.size, self.size)

    def diagonal(self):
        return jnp.ones(self.size, self.dtype)

    def columns(self, indices):
        every = jnp.arange(self.size, dtype=indices.dtype)
        return (every[:, None] == indices[None, :]).astype(self.dtype)

    def block(self, rows, columns=None):
        if columns is None:  # of distinct rows
            return jnp.eye(rows.shape[0], dtype=self.dtype)
        return (rows[:, None] == columns[None, :]).astype(self.dtype)

    def combination(self, indices, weights):
        return jnp.zeros(self.size, self.dtype).at[indices].add(weights, mode="promise_in_bounds")

    def matvec(self, x):
        return x


def coupling(matrix, indices, weights):
    """`combination`, of which only the entries outside of `indices` have a meaning: the identity
    has none there."""
    if isinstance(matrix, Identity):
        return jnp.zeros(matrix.size, matrix.dtype)
    return matrix.combination(indices, weights)


def peaks(matrix, columns, weights, strip: int = 128):
    """(k,): the largest weights_i |M_ij| of each of these columns j.

    A dense array is read once, in the order in which it lies; others give a strip at a time.
    """
    if isinstance(matrix, Dense):
        number = matrix.shape[0]

        def higher(place, highest):
            for each in range(ROWS):
                index = jnp.minimum(ROWS * place + each, number - 1)
                row = lax.dynamic_index_in_dim(matrix.array, index, keepdims=False)
                highest = jnp.maximum(highest, jnp.abs(row) * take(weights, index))
            return highest

        every = lax.fori_loop(0, -(-number // ROWS), higher, 0 * weights)
        return take(every, columns)

    def largest(part):
        return jnp.max(jnp.abs(matrix.columns(part)) * weights[:, None], axis=0)

    number = -(-columns.shape[0] // strip)
    parts = jnp.pad(columns, (0, number * strip - columns.shape[0]), mode="edge")
    return lax.map(largest, parts.reshape(number, strip)).ravel()[: columns.shape[0]]
