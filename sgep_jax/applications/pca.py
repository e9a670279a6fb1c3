"""Sparse principal components: A = −S, C = I."""

from ..gram import gram_matrix
from ..problem import Problem
from . import tables


def pca_problem(X=None, *, covariance=None, center=True, scale=False, form="auto") -> Problem:
    """The pencil of sparse principal component analysis.

        A = −S,   S = (X − 1μ')'(X − 1μ') / m,   C = I,

    so that minus the objective is the variance x'Sx of the component Xx, for x'x = 1.

    **Arguments**

    - `X`: (m, n), a row per sample, a column per variable; an array, or a SciPy sparse matrix,
      which stays sparse.
    - `covariance`: S itself, (n, n), instead of X; `center` then has no meaning.
    - `center`: subtract the means μ; without it S = X'X / m.
    - `scale`: divide each variable by the root of its S_ii, so that S is the correlation matrix.
      x then weighs the scaled variables. For variables in different units.
    - `form`: whether S is formed ("dense"), or products with X stand for its columns ("gram"),
      which needs no n × n numbers. "auto" forms it up to 4000 columns, and beyond that where X has
      no fewer rows than columns.

    There is no ridge: C is never singular. The paper's convention is `center=False`.

    It runs under `jit`, `vmap` and `grad`, with respect to X or the covariance.

    ```python
    X = np.random.default_rng(0).standard_normal((50, 6))
    solution = sgep_jax.solve(sgep_jax.pca_problem(X), sparsity=2)
    ```
    """
    if tables.from_data("pca_problem", {"X": X}, {"covariance": covariance}):
        Z = tables.standardised("X", tables.table("X", X), center, scale)
        rows = Z.shape[0]
        return Problem(tables.matrix("pca_problem", gram_matrix(Z, -1 / rows), form, rows))
    S = tables.covariances("covariance", covariance)
    if scale:
        S = S * tables.to_unit("covariance", S.diagonal())
    return Problem(-S)
