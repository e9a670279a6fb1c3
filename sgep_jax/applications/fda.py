"""Sparse discriminant analysis: A is the scatter between the classes, C that within them."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from .. import validation
from ..gram import gram_matrix
from ..linalg import product
from ..problem import Problem
from ..samples import DenseSamples
from . import tables


def fda_problem(
    X=None,
    y=None,
    *,
    between=None,
    within=None,
    weighted=True,
    scale=True,
    ridge=1e-3,
    absolute_ridge=0.0,
    form="auto",
) -> Problem:
    """The pencil of sparse Fisher discriminant analysis, for two classes or more.

        A = −Σ_{k<l} w_kl (μ_k − μ_l)(μ_k − μ_l)',
        C = Σ_k Σ_{i in k} (x_i − μ_k)(x_i − μ_k)' / m + (ridge · v + absolute_ridge) · I

    with w_kl = m_k m_l / m² (`weighted`), which is the scatter between the classes,
    Σ_k (m_k/m)(μ_k − μ)(μ_k − μ)', or w_kl = 1; v is the mean variance within the classes, the
    mean of the diagonal. Minus the objective is the ratio of the variances between and within.
    With two classes w is one factor of A, and the solution does not depend on it.

    **Arguments**

    - `X`: (m, n), a row per sample, a column per variable; an array, or a SciPy sparse matrix,
      which stays sparse.
    - `y`: m labels, of any type. They are read on the host: under `jit`, close over them.
    - `between`, `within`: the scatters, (n, n) each, instead of X and y: A = −between, and the
      ridge is added to `within`.
    - `weighted`: whether classes count by their size, or all pairs of them alike.
    - `scale`: divide each variable by its standard deviation (the root of its variance between
      plus that within), so that the ridge acts on all alike whatever their units. The solution
      then weighs the scaled variables.
    - `ridge`: relative to the mean variance within the classes. Without one, C is singular as
      soon as variables outnumber samples, or one is constant within all classes. The default is
      0.001.
    - `absolute_ridge`: added as it is.
    - `form`: whether A and C are formed ("dense"), or products with X stand for their columns
      ("gram"), which needs no n × n numbers. "auto" forms them up to 4000 columns, and beyond that
      where X has no fewer rows than columns.

    The paper's convention, for two classes: A = −(μ₁ − μ₂)(μ₁ − μ₂)', C = (S₁ + S₂)/m + 0.5·I,
    is `weighted=False, scale=False, ridge=0, absolute_ridge=0.5`.

    It runs under `jit`, `vmap` and `grad`, with respect to X, the scatters and the ridges.

    ```python
    X = np.random.default_rng(0).standard_normal((50, 6))
    y = np.where(X[:, 0] + X[:, 3] > 0, "ill", "well")
    solution = sgep_jax.solve(sgep_jax.fda_problem(X, y), sparsity=2)
    ```
    """
    matrices = {"between": between, "within": within}
    if tables.from_data("fda_problem", {"X": X, "y": y}, matrices):
        X = tables.table("X", X)
        codes = class_codes(y, X.shape[0])
        Z = tables.standardised("X", X, True, scale)
        between, within = _class_samples(Z, codes, weighted)
        rows, build = X.shape[0], partial(tables.matrix, "fda_problem", form=form, rows=X.shape[0])
        A, C = gram_matrix(between, -1.0), gram_matrix(within, 1 / rows)
        C = C.ridged(tables.ridge_for("fda_problem", C.diagonal(), ridge, absolute_ridge))
        return Problem(build(A), build(C))
    between, within = (tables.covariances(name, value) for name, value in matrices.items())
    _same_size(between, within)
    dtype = np.promote_types(between.dtype, within.dtype)
    between, within = between.astype(dtype), within.astype(dtype)
    if scale:
        unit = tables.to_unit("between + within", (between + within).diagonal())
        between, within = between * unit, within * unit
    extra = tables.ridge_for("fda_problem", within.diagonal(), ridge, absolute_ridge)
    return Problem(-between, tables.add_ridge(within, extra))


def _same_size(between, within):
    if between.shape != within.shape:
        raise ValueError(
            f"between and within must have the same shape, but between is {between.shape} and "
            f"within is {within.shape}. Both describe the same variables, in the same order."
        )


def _class_samples(Z, codes, weighted):
    """Tables whose Gram matrices are the scatter between the classes (K rows), and that within.

    Equal weights need no pairs of classes either: with the mean μ̄ of the K means,
    Σ_{k<l} (μ_k − μ_l)(μ_k − μ_l)' = K Σ_k (μ_k − μ̄)(μ_k − μ̄)'.
    """
    sizes = np.bincount(codes)
    number = len(sizes)
    share = sizes / sizes.sum() if weighted else np.full(number, 1 / number)
    weight = share if weighted else np.full(number, float(number))
    average = np.eye(number)[:, codes] / sizes[:, None]  # (K, m)
    parts = (jnp.asarray(part, Z.dtype) for part in (average, share, np.sqrt(weight)))
    return _weighted_samples(Z, jnp.asarray(codes, jnp.int32), *parts)


@jax.jit
def _weighted_samples(Z, codes, average, share, root_weight):
    means = Z.transposed_times(average.T).T
    apart = means - product(share, means)[None, :]
    return DenseSamples((root_weight[:, None] * apart).T), Z.less(means, codes)


def class_codes(y, rows: int) -> np.ndarray:
    """The labels as 0, …, K − 1, in the order in which they appear."""
    if not validation.is_concrete(y):
        raise TypeError(
            "y must be known outside jit and vmap, because the classes decide the shapes, but it "
            "is traced. Close over it: jax.jit(lambda X: fda_problem(X, y))."
        )
    labels = y.tolist() if hasattr(y, "tolist") else y
    labels = list(labels) if np.iterable(labels) and not isinstance(labels, str) else None
    if labels is None or any(isinstance(label, (list, dict, set, np.ndarray)) for label in labels):
        raise ValueError(
            f"y must have one label per row of X, in one dimension, but its shape is "
            f"{np.shape(y)}. A column of a table is y.ravel()."
        )
    if len(labels) != rows:
        raise ValueError(
            f"y must have one label per row of X, but X has {rows} rows and y {len(labels)} labels."
            f" Drop the rows without a label."
        )
    for i, label in enumerate(labels):
        if _is_missing(label):
            raise ValueError(f"y must not miss labels, but y[{i}] is {label}. Drop such rows.")
    classes = {label: code for code, label in enumerate(dict.fromkeys(labels))}
    if not 2 <= len(classes) < rows:
        found = f"only {labels[0]!r}" if len(classes) == 1 else "each label occurs once"
        raise ValueError(
            f"y must have at least two classes, and a class of two rows, but {found}. "
            f"Without classes use pca_problem; bin a continuous y first."
        )
    return np.array([classes[label] for label in labels])


def _is_missing(label) -> bool:
    try:
        return label is None or bool(label != label)  # NaN and NaT differ from themselves
    except TypeError:  # pandas.NA
        return True
