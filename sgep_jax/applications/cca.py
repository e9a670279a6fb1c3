"""Sparse canonical correlations: A holds the covariances across two views, C those within."""

import jax
import jax.numpy as jnp
import numpy as np

from .. import validation
from ..gram import gram_matrix
from ..problem import Problem, cast
from ..samples import SparseSamples
from . import tables


def cca_problem(
    X=None,
    Y=None,
    *,
    covariance=None,
    split=None,
    center=True,
    scale=True,
    ridge=1e-3,
    absolute_ridge=0.0,
    form="auto",
) -> Problem:
    """The pencil of sparse canonical correlation analysis.

             [   0    S_xy ]        [ S_xx    0   ]
        A = −[ S_yx    0   ],   C = [   0    S_yy ] + (ridge · v + absolute_ridge) · I,

    S the covariances, divided by m, and v the mean variance, the mean of the diagonals of S_xx and
    S_yy. The first p entries of the solution weigh the variables of X, the others those of Y;
    minus the objective is their (regularised) canonical correlation.

    **Arguments**

    - `X`, `Y`: (m, p) and (m, q), the same samples in the same order, a row each; arrays, or SciPy
      sparse matrices, which stay sparse.
    - `covariance`, `split`: the joint covariance, (p + q, p + q), and p, instead of X and Y;
      `center` then has no meaning.
    - `center`: subtract the means.
    - `scale`: divide each variable by its standard deviation (without `center`, its root mean
      square), so that the ridge acts on all alike whatever their units. The solution then weighs
      the scaled variables.
    - `ridge`: relative to the mean variance. Without one, C is singular as soon as a view has
      as many variables as samples, and s of them fit perfectly. The default is 0.001.
    - `absolute_ridge`: added as it is.
    - `form`: whether A and C are formed ("dense"), or products with X and Y stand for their columns
      ("gram"), which needs no n × n numbers, n = p + q. "auto" forms them up to n = 4000, and
      beyond that where the views have no fewer than n rows.

    The paper's convention is
    `center=False, scale=False, ridge=0, absolute_ridge=0.1`, where it passes the transposes of
    two groups of samples as X and Y: its variables are the samples.

    It runs under `jit`, `vmap` and `grad`, with respect to the views, the covariance, the ridges.

    ```python
    X, Y = np.random.default_rng(0).standard_normal((2, 50, 3))
    solution = sgep_jax.solve(sgep_jax.cca_problem(X, Y), sparsity=2)
    ```
    """
    views, joint = {"X": X, "Y": Y}, {"covariance": covariance, "split": split}
    if tables.from_data("cca_problem", views, joint):
        Z, split = _joined(tables.table("X", X), tables.table("Y", Y), center, scale)
        first = jnp.arange(Z.shape[1], dtype=jnp.int32) < split
        sides, rows = jnp.stack([first, ~first]), Z.shape[0]
        A = gram_matrix(Z, -1 / rows, views=sides, across=True)
        C = gram_matrix(Z, 1 / rows, views=sides)
        C = C.ridged(tables.ridge_for("cca_problem", C.diagonal(), ridge, absolute_ridge))
        return Problem(*(tables.matrix("cca_problem", part, form, rows) for part in (A, C)))
    S = tables.covariances("covariance", covariance)
    _inside(split, S.shape[0])
    if scale:
        S = S * tables.to_unit("covariance", S.diagonal())
    across, within = _blocks(S, split)
    extra = tables.ridge_for("cca_problem", within.diagonal(), ridge, absolute_ridge)
    return Problem(across, tables.add_ridge(within, extra))


def _joined(X, Y, center, scale):
    """Both views side by side, and the number of variables of the first.

    A sparse view makes the other one sparse as well, with all its entries stored.
    """
    same_rows(X, Y)
    dtype, sparse = np.promote_types(X.dtype, Y.dtype), SparseSamples
    views = [cast(view, dtype) for view in (X, Y)]
    if any(isinstance(view, sparse) for view in views):
        sizes = [view.data.size if isinstance(view, sparse) else view.size for view in views]
        tables.countable("X beside Y", sum(sizes))
        views = [view if isinstance(view, sparse) else sparse.full(view) for view in views]
    X, Y = (
        tables.standardised(name, view, center, scale)
        for name, view in zip(("X", "Y"), views, strict=True)
    )
    return X.beside(Y), X.shape[1]


@jax.jit
def _blocks(S, split):
    """Minus the covariances across the views, and those within."""
    first = jnp.arange(S.shape[0]) < split
    across = first[:, None] != first[None, :]
    return jnp.where(across, -S, 0.0), jnp.where(across, 0.0, S)


def same_rows(X, Y):
    if X.shape[0] != Y.shape[0]:
        raise ValueError(
            f"X and Y must have the same number of rows, one per sample, but X has {X.shape[0]} "
            f"and Y has {Y.shape[0]}. Keep the samples that both views have, in the same order."
        )


def _inside(split, size):
    validation.count("cca_problem", "split", split, 1)
    if split >= size:
        raise ValueError(
            f"cca_problem(split=...) must leave a variable to each view: it must be below "
            f"{size}, the size of covariance, but it is {split}."
        )
