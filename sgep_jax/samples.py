"""Tables Z of m samples by n variables, and the products of Z that a Gram matrix Z'Z needs.

- `shape`, `dtype`;
- `columns(indices)` → (m, k), a few columns of Z;
- `times(x)` → Z x, (m, c) for x (n, c), and `transposed_times(y)` → Z'y, (n, c) for y (m, c);
- `squares()` → (n,), the diagonal of Z'Z, and `moments()` → (n, n), all of it, for a small n;
- `less(means, codes)`: Z with the row `means[codes[i]]` taken off its row i;
- `beside(other)`: the columns of both.
"""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from .linalg import product, take


@partial(jax.tree_util.register_dataclass, data_fields=["transposed"], meta_fields=[])
@dataclasses.dataclass(frozen=True)
class DenseSamples:
    """Z by columns: Z' as an array (n, m), where a column of Z is contiguous."""

    transposed: jax.Array

    @property
    def shape(self):
        *batch, n, m = self.transposed.shape
        return (*batch, m, n)

    @property
    def dtype(self):
        return self.transposed.dtype

    def columns(self, indices):
        return take(self.transposed, indices).T

    def times(self, x):
        return product(x.T, self.transposed).T  # XLA would copy a transposed Z'

    def transposed_times(self, y):
        return product(self.transposed, y)

    def squares(self):
        return jnp.sum(self.transposed * self.transposed, axis=1)

    def moments(self):
        return product(self.transposed, self.transposed.T)

    def less(self, means, codes):
        return DenseSamples(self.transposed - take(means, codes).T)

    def beside(self, other):
        return DenseSamples(jnp.concatenate([self.transposed, other.transposed]))


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["data", "rows", "ends", "means", "codes"],
    meta_fields=["longest"],
)
@dataclasses.dataclass(frozen=True)
class SparseSamples:
    """Z = X − M, X sparse and row i of M the row `codes[i]` of `means`: centred, and still sparse.

    X is stored by columns: the entries of column j are `data[ends[j] : ends[j + 1]]`, at `rows`, at
    most `longest` of them. M is never formed.
    """

    data: jax.Array
    rows: jax.Array
    ends: jax.Array
    means: jax.Array
    codes: jax.Array
    longest: int

    @property
    def shape(self):
        return (*self.codes.shape, self.means.shape[-1])

    @property
    def dtype(self):
        return self.data.dtype

    @classmethod
    def full(cls, array):
        """An array with all its entries stored."""
        m, n = array.shape
        rows = jnp.tile(jnp.arange(m, dtype=jnp.int32), n)
        ends = m * jnp.arange(n + 1, dtype=jnp.int32)
        return cls(array.T.ravel(), rows, ends, *uncentred(m, n, array.dtype), longest=m)

    def columns(self, indices):
        first, end = take(self.ends, indices), take(self.ends, indices + 1)
        place = first[None, :] + jnp.arange(self.longest, dtype=first.dtype)[:, None]
        used = place < end[None, :]
        place = jnp.where(used, place, 0)
        entries = jnp.where(used, take(self.data, place), 0.0)
        position = jnp.arange(indices.shape[0], dtype=jnp.int32)[None, :]
        column = -take(take(self.means, slice(None), indices), self.codes)
        return column.at[take(self.rows, place), position].add(entries, mode="promise_in_bounds")

    def times(self, x):
        terms = self.data[:, None] * take(x, self._column_of_entry())
        image = jnp.zeros((self.shape[0], x.shape[1]), x.dtype)
        image = image.at[self.rows].add(terms, mode="promise_in_bounds")
        return image - take(product(self.means, x), self.codes)

    def transposed_times(self, y):
        image = _by_columns(self.data, self.rows, self.ends, y)
        return image - product(self.means.T, self._sums(y))

    def squares(self):
        """Σ over the entries of (x − mean)², and mean² for each zero that is not stored."""
        gap = self.data - take(self.means, take(self.codes, self.rows), self._column_of_entry())
        every = jnp.ones((self.shape[0], 1), self.dtype)
        stored = _by_columns(gap * gap, self.rows, self.ends, every)[:, 0]
        member = jax.nn.one_hot(self.codes, self.means.shape[0], dtype=self.dtype)
        ones = jnp.ones_like(self.data)
        absent = self._sums(every) - _by_columns(ones, self.rows, self.ends, member).T
        return stored + jnp.sum(absent * self.means * self.means, axis=0)

    def moments(self):
        def column(j):
            return self.transposed_times(self.columns(j[None]))[:, 0]

        every = jnp.arange(self.shape[1], dtype=jnp.int32)
        return lax.map(column, every, batch_size=64)  # (m, 64) at once: X may have many rows

    def less(self, means, codes):
        """For Z centred by the means of all rows, or not at all."""
        return dataclasses.replace(self, means=self.means + means, codes=codes)

    def beside(self, other):
        """For tables that share their codes."""
        return SparseSamples(
            jnp.concatenate([self.data, other.data]),
            jnp.concatenate([self.rows, other.rows]),
            jnp.concatenate([self.ends, self.ends[-1] + other.ends[1:]]),
            jnp.concatenate([self.means, other.means], axis=1),
            self.codes,
            max(self.longest, other.longest),
        )

    def scaled(self, factors):
        """Column j times factors[j]."""
        return dataclasses.replace(
            self,
            data=self.data * take(factors, self._column_of_entry()),
            means=self.means * factors[None, :],
        )

    def peaks(self):
        """(n,) the largest |entry| of X in each column."""
        zero = jnp.zeros(self.shape[1], self.dtype)
        return zero.at[self._column_of_entry()].max(jnp.abs(self.data), mode="promise_in_bounds")

    def _sums(self, y):
        """(K, c): the sums of the rows of y that share a code."""
        return jax.ops.segment_sum(y, self.codes, self.means.shape[0])

    def _column_of_entry(self):
        every = jnp.arange(self.shape[1], dtype=jnp.int32)
        return jnp.repeat(every, jnp.diff(self.ends), total_repeat_length=self.data.shape[0])


def uncentred(rows: int, columns: int, dtype):
    """Means of zero, and the same code for all rows."""
    return jnp.zeros((1, columns), dtype), jnp.zeros(rows, jnp.int32)


@jax.custom_batching.custom_vmap
def _by_columns(data, rows, ends, y):
    """X'y for X stored by columns."""
    from jax.experimental.sparse import BCSR  # and with it SciPy: a third of a second

    return BCSR((data, rows, ends), shape=(ends.shape[0] - 1, y.shape[0])) @ y


@_by_columns.def_vmap
def _by_columns_together(size, batched, data, rows, ends, y):
    """Lanes that share X are one product with more columns: the sparse kernels take no batch."""
    if any(batched[:3]):
        lanes = [
            leaf if flag else jnp.broadcast_to(leaf, (size, *leaf.shape))
            for leaf, flag in zip((data, rows, ends, y), batched, strict=True)
        ]
        return lax.map(lambda lane: _by_columns(*lane), tuple(lanes)), True
    wide = jnp.moveaxis(y, 0, 1).reshape(y.shape[1], -1)
    image = _by_columns(data, rows, ends, wide)
    return jnp.moveaxis(image.reshape(image.shape[0], size, -1), 1, 0), True
