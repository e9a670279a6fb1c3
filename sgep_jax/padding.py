"""A sparsity that is traced: one program for every sparsity up to a static one.

The pencil is padded with `most` coordinates that touch no other, with A_dd = 2·scale and C_dd = 1.
A support of `most` coordinates that holds most − s of these holds s true ones. Which of them it
holds is fixed by rules (`rules.py`), whose quotas are traced. They never carry weight: the lowest
value of a block is at most max |A_jj| / C_jj ≤ scale.
"""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp

from .problem import Problem
from .rules import Rules


@partial(jax.tree_util.register_dataclass, data_fields=["matrix", "value"], meta_fields=["extra"])
@dataclasses.dataclass(frozen=True)
class Padded:
    """`matrix` and `extra` more coordinates, `value` on their diagonal, zero elsewhere."""

    matrix: object
    value: jax.Array
    extra: int

    @property
    def definite(self):
        return self.matrix.definite

    @property
    def shape(self):
        size = self.matrix.shape[-1] + self.extra
        return (*self.matrix.shape[:-2], size, size)

    @property
    def dtype(self):
        return self.matrix.dtype

    def diagonal(self):
        return jnp.append(self.matrix.diagonal(), jnp.full(self.extra, 1, self.dtype) * self.value)

    def columns(self, indices):
        inner, true = self._inner(indices)
        top = jnp.where(true[None, :], self.matrix.columns(inner), 0.0)
        extra = jnp.arange(self.extra, dtype=indices.dtype) + self.matrix.shape[-1]
        bottom = jnp.where(extra[:, None] == indices[None, :], self.value, 0.0)
        return jnp.concatenate([top, bottom])

    def block(self, rows, columns=None):
        columns = rows if columns is None else columns
        (rows_in, left), (columns_in, right) = self._inner(rows), self._inner(columns)
        same = jnp.where(rows[:, None] == columns[None, :], self.value, 0.0)
        inner = self.matrix.block(rows_in, columns_in)
        return jnp.where(left[:, None] & right[None, :], inner, same)

    def combination(self, indices, weights):
        inner, true = self._inner(indices)
        top = self.matrix.combination(inner, jnp.where(true, weights, 0.0))
        extra = jnp.arange(self.extra, dtype=indices.dtype) + self.matrix.shape[-1]
        own = jnp.where(extra[:, None] == indices[None, :], weights[None, :], 0.0)
        return jnp.append(top, self.value * jnp.sum(own, axis=1))

    def matvec(self, x):
        size = self.matrix.shape[-1]
        return jnp.append(self.matrix.matvec(x[:size]), self.value * x[size:])

    def _inner(self, indices):
        """Indices into the matrix (0 for the others), and which are such."""
        true = indices < self.matrix.shape[-1]
        return jnp.where(true, indices, 0), true


def pad(problem, sparsity, most: int) -> Problem:
    """`problem` such that supports of `most` coordinates have `sparsity` (traced) true ones.

    It may have rules of its own, of one group: forced and forbidden coordinates.
    """
    A = Padded(problem.A, 2 * problem.scale(), most)
    C = Padded(problem.C, jnp.ones((), problem.dtype), most)
    blank = most - jnp.asarray(sparsity, jnp.int32)
    held = jnp.arange(most, dtype=jnp.int32) < blank
    own = problem.rules
    if own is None:
        own = Rules(jnp.zeros(problem.size, jnp.int32), jnp.zeros(3, jnp.int32))
    forced = own.quota[1]
    labels = jnp.append(own.labels, jnp.where(held, 1, 2).astype(jnp.int32))
    quota = jnp.stack([most - blank - forced, forced + blank, 0 * blank])
    return Problem.tree_unflatten(None, (A, C, Rules(labels, quota)))


def unpad(solution, size: int):
    """The solution of the true problem; its support is padded with n."""
    return dataclasses.replace(
        solution, x=solution.x[:size], support=jnp.minimum(solution.support, size)
    )
