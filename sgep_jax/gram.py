"""Gram matrices of tables: never formed, so that n may be a million.

A column of Z'Z costs one product of Z' with a column of Z: O(mn) time and no memory of its own,
where the formed matrix costs O(1) and n² numbers.
"""

import dataclasses
import math
from functools import partial

import jax
import jax.numpy as jnp

from . import validation
from .linalg import definite_tolerance, product, take
from .problem import floating_array
from .samples import DenseSamples, SparseSamples


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["samples", "variances", "ridge", "views"],
    meta_fields=["weight", "across", "definite"],
)
@dataclasses.dataclass(frozen=True)
class Gram:
    """weight · P ∘ Z'Z + diag(ridge), a matrix for `Problem`; `gram_matrix` makes one.

    - `samples`: Z, (m, n), with the products of `samples.py`.
    - `variances`: (n,), the whole diagonal, as it is asked for at each step.
    - `ridge`: a number, one per variable, or None.
    - `views`: (number, n), which variable is in which view; or None, and P is all ones. P_ij = 1
      for i and j in the same view, or, with `across`, in different ones.
    """

    samples: DenseSamples | SparseSamples
    variances: jax.Array
    ridge: jax.Array | None
    views: jax.Array | None
    weight: float
    across: bool
    definite: bool

    @property
    def shape(self):
        *batch, _, n = self.samples.shape
        return (*batch, n, n)

    @property
    def dtype(self):
        return self.samples.dtype

    def diagonal(self):
        return self.variances

    def columns(self, indices):
        columns = self.samples.transposed_times(self.weight * self.samples.columns(indices))
        columns = self._kept(columns, indices)
        if self.ridge is None:
            return columns
        position = jnp.arange(indices.shape[0], dtype=jnp.int32)
        ridge = take(self._ridges(), indices)
        return columns.at[indices, position].add(ridge, mode="promise_in_bounds")

    def block(self, rows, columns=None):
        left = self.samples.columns(rows)
        right = left if columns is None else self.samples.columns(columns)
        columns = rows if columns is None else columns
        block = self._kept(self.weight * product(left.T, right), columns, rows)
        if self.ridge is None:
            return block
        same = rows[:, None] == columns[None, :]
        return block + jnp.where(same, take(self._ridges(), rows)[:, None], 0.0)

    def combination(self, indices, weights):
        x = weights[:, None]
        if self.views is not None:
            x = jnp.where(take(self.views, slice(None), indices).T, x, 0.0)
        image = self._image(product(self.samples.columns(indices), x))
        if self.ridge is None:
            return image
        return image.at[indices].add(
            take(self._ridges(), indices) * weights, mode="promise_in_bounds"
        )

    def matvec(self, x):
        """With views, each in a column of its own: Z'Z diag(x) [views]'."""
        parts = x[:, None] if self.views is None else jnp.where(self.views.T, x[:, None], 0.0)
        image = self._image(self.samples.times(parts))
        return image if self.ridge is None else image + self.ridge * x

    def _image(self, parts):
        """weight · P ∘ Z'Z x, from Z x (m, views), each view in a column of its own."""
        image = self.samples.transposed_times(self.weight * parts)
        if self.views is not None:
            kept = ~self.views.T if self.across else self.views.T
            image = jnp.where(kept, image, 0.0)
        return jnp.sum(image, axis=1)

    @jax.jit
    def formed(self):
        """The matrix as an array, (n, n)."""
        every = jnp.arange(self.shape[-1], dtype=jnp.int32)
        whole = self._kept(self.weight * self.samples.moments(), every)
        return whole if self.ridge is None else whole + jnp.diag(self._ridges())

    def ridged(self, ridge) -> "Gram":
        """This matrix plus diag(ridge), `ridge` a number or one per variable."""
        ridge = jnp.asarray(ridge, self.dtype)
        variances = self.variances + ridge
        return dataclasses.replace(
            self,
            variances=variances,
            ridge=ridge if self.ridge is None else self.ridge + ridge,
            definite=self.weight > 0 and not self.across and dominates(ridge, variances),
        )

    def _ridges(self):
        return jnp.broadcast_to(self.ridge, self.shape[-1:])

    def _kept(self, values, columns, rows=slice(None)):
        """P ∘ values, for these rows and columns of P."""
        if self.views is None:
            return values
        left, right = take(self.views, slice(None), rows), take(self.views, slice(None), columns)
        same = jnp.any(left[:, :, None] & right[:, None, :], axis=0)
        return jnp.where(same != self.across, values, 0.0)


def gram_matrix(samples, weight: float, views=None, across: bool = False) -> Gram:
    """weight · P ∘ Z'Z for an array (m, n) or a table of `samples.py`; see `Gram`.

    `Problem(gram_matrix(Z, -1 / m))` is the problem of the paper's sparse PCA.
    """
    if not isinstance(samples, (DenseSamples, SparseSamples)):
        samples = DenseSamples(floating_array("samples", samples, validation.real).T)
    squares = _squares(samples)
    variances = jnp.zeros_like(squares) if across else weight * squares
    return Gram(samples, variances, None, views, float(weight), across, definite=False)


@jax.jit
def _squares(samples):
    return samples.squares()


def dominates(ridge, diagonal) -> bool:
    """Whether the ridge alone makes every support definite, by far more than rounding.

    In units of the diagonal no pivot of a support is below the smallest ridge_j / diagonal_j; the
    checks it stands for ask for more than `tolerance` of the product of two pivots. Known only
    when the values are: not inside `jit`.
    """
    if not (validation.is_concrete(ridge) and validation.is_concrete(diagonal)):
        return False
    tolerance = 10 * definite_tolerance(diagonal.shape[-1], diagonal.dtype)
    return bool(jnp.min(ridge / diagonal) > math.sqrt(tolerance))
