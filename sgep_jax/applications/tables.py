"""What the three share: a table at the door, unit variances, the ridge.

Checks of values are skipped for tracers. A constant column under `scale` then becomes zero: it
explains nothing, and no support is made to use it.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from .. import validation
from ..gram import Gram
from ..matrices import Dense
from ..problem import floating_array, symmetric_array
from ..samples import DenseSamples, SparseSamples, uncentred


def from_data(owner, data: dict, matrices: dict) -> bool:
    """Whether the data are given, and not the matrices; all of one, and none of the other."""
    sources = " and ".join(data), " and ".join(matrices)
    given = [[name for name in source if source[name] is not None] for source in (data, matrices)]
    if bool(given[0]) == bool(given[1]):
        found = f"both ({', '.join(given[0] + given[1])})" if given[0] else "neither"
        raise ValueError(
            f"{owner} takes either the data {sources[0]}, or {sources[1]}, but it was given "
            f"{found}. Pass one of the two."
        )
    source, names = (data, given[0]) if given[0] else (matrices, given[1])
    for name in source:
        if name not in names:
            raise ValueError(f"{owner} needs {name} beside {names[0]}, but it is missing.")
    return bool(given[0])


def table(name, value):
    """`value` as a finite floating table of at least two rows and one column.

    An array, or, from a SciPy sparse matrix, a `SparseSamples` of it.
    """
    if hasattr(value, "tocsc"):
        return _sparse_table(name, value)
    if np.ma.is_masked(value):
        value = value.astype(float).filled(np.nan)  # np.asarray would drop the mask
    try:
        return floating_array(name, value, _table_shape)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(
            f"{name} must be a table, but its rows have different lengths. Pad or drop them."
        ) from None


def _sparse_table(name, value) -> SparseSamples:
    _table_shape(name, value)
    X = value.tocsc()
    if not X.has_canonical_format:
        X = X.copy()  # the user's own may be this one
        X.sum_duplicates()
    countable(name, X.nnz)
    counts = np.diff(X.indptr)
    _finite_entries(name, X, counts)
    data = floating_array(name, X.data, validation.real)
    rows, ends = (jnp.asarray(part, jnp.int32) for part in (X.indices, X.indptr))
    return SparseSamples(data, rows, ends, *uncentred(*X.shape, data.dtype), int(counts.max()))


def countable(name, entries: int):
    """Places of entries are 32-bit numbers."""
    if entries > np.iinfo(np.int32).max:
        raise ValueError(
            f"{name} must have fewer than 2^31 stored entries, but it has {entries}. "
            f"Drop the columns with the smallest variance first."
        )


def _finite_entries(name, X, counts):
    """As `validation.finite`, naming the entry by its place in the table."""
    if np.issubdtype(X.dtype, np.inexact) and not np.isfinite(X.data).all():
        bad = np.flatnonzero(~np.isfinite(X.data))
        column = np.repeat(np.arange(X.shape[1]), counts)[bad[0]]
        raise ValueError(
            f"{name} must be finite, but {name}[{X.indices[bad[0]]}, {column}] is "
            f"{X.data[bad[0]]} ({len(bad)} such entries). Remove or impute missing values first."
        )


def _table_shape(name, array):
    validation.real(name, array)
    if array.ndim == 3:
        raise ValueError(
            f"{name} must be one table, but its shape is {array.shape}. For a batch of tables "
            f"use jax.vmap over the first axis."
        )
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(
            f"{name} must have shape (rows, columns), a row per sample and at least one column, "
            f"but its shape is {array.shape}. A single variable is {name}.reshape(-1, 1)."
        )
    if array.shape[0] < 2:
        raise ValueError(
            f"{name} must have at least two rows, one per sample, but its shape is {array.shape}. "
            f"If its rows are the variables, pass {name}.T."
        )


def standardised(name, X, center, scale):
    """X less its column means, and divided by its columns' root mean squares, as samples."""
    make = _sparse_standardised if isinstance(X, SparseSamples) else _standardised
    samples, constant = make(X, bool(center), bool(scale))
    if scale:
        _no_constant(name, constant, X.dtype)
    return samples


@partial(jax.jit, static_argnames=("center", "scale"))
def _standardised(X, center, scale):
    """Under `scale` columns are first divided by their peaks, so that no square overflows."""
    if scale:
        peak = jax.lax.stop_gradient(jnp.max(jnp.abs(X), axis=0, keepdims=True))
        X = X / jnp.where(peak > 0, peak, 1.0)
    if center:
        X = X - jnp.mean(X, axis=0, keepdims=True)
    factors, constant = _to_unit_variance(jnp.mean(X**2, axis=0))
    return DenseSamples((X * factors[None, :] if scale else X).T), constant


@partial(jax.jit, static_argnames=("center", "scale"))
def _sparse_standardised(X, center, scale):
    """The same where zeros stay zeros: the means are taken off implicitly."""
    if scale:
        peak = X.peaks()
        X = X.scaled(1 / jnp.where(peak > 0, peak, 1.0))
    rows = X.shape[0]
    if center:
        means = X.transposed_times(jnp.full((rows, 1), 1 / rows, X.dtype)).T
        X = X.less(means, X.codes)
    factors, constant = _to_unit_variance(X.squares() / rows)
    return X.scaled(factors) if scale else X, constant


def _to_unit_variance(variance):
    constant = ~(variance > (10 * float(jnp.finfo(variance.dtype).eps)) ** 2)
    return _inverse_root(variance, constant), constant


# Up to this many variables the n × n matrices are formed: a step then reads columns where a Gram
# matrix multiplies, which pays for forming them.
DENSE_SIZE = 4000


def matrix(owner, gram: Gram, form: str, rows: int):
    """A Gram matrix as it is, or formed: the one rule of all three, for X of `rows` rows.

    "auto" forms it up to 4000 variables, and beyond that where there are no more of them than
    rows, so that n × n numbers are fewer than the table has.
    """
    validation.one_of(owner, "form", form, ("auto", "dense", "gram"))
    size = gram.shape[-1]
    small = size <= max(DENSE_SIZE, rows)
    return gram.formed() if form == "dense" or (form == "auto" and small) else gram


def covariances(name, value):
    """A covariance or scatter matrix as an array, positive semidefinite."""
    array = symmetric_array(name, value)
    if validation.is_concrete(array) and np.min(np.diagonal(array)) < 0:
        i = int(np.argmin(np.diagonal(array)))
        raise ValueError(
            f"{name} must not have negative variances, but {name}[{i}, {i}] is {array[i, i]}. "
            f"Pass the covariances themselves: their sign is changed here."
        )
    validation.positive_semidefinite(name, Dense(array))
    return array


def to_unit(name, variance):
    """D with D_ij = 1 / √(v_i v_j): D ∘ S is the correlation matrix of the covariance S."""
    constant = ~(variance > 0)
    _no_constant(name, constant, variance.dtype)
    root = _inverse_root(variance, constant)
    return root[:, None] * root[None, :]


def _inverse_root(variance, constant):
    return jnp.where(constant, 0.0, jax.lax.rsqrt(jnp.where(constant, 1.0, variance)))


def _no_constant(name, constant, dtype):
    if validation.is_concrete(constant) and np.any(constant):
        columns = np.flatnonzero(np.asarray(constant))
        raise ValueError(
            f"{name} must not have constant columns under scale=True, but column {columns[0]} "
            f"is constant in {dtype} ({len(columns)} such). Remove them, or pass scale=False."
        )


def ridge_for(owner, variances, ridge, absolute_ridge):
    """ridge · mean(variances) + absolute_ridge, a number."""
    for name, value in (("ridge", ridge), ("absolute_ridge", absolute_ridge)):
        if value is None or isinstance(value, (str, bool)) or np.ndim(value) != 0:
            raise TypeError(f"{owner}({name}=...) must be one number, but it is {value!r}.")
        if validation.is_concrete(value):
            validation.non_negative(owner, name, float(value))
    ridge, absolute = (jnp.asarray(value, variances.dtype) for value in (ridge, absolute_ridge))
    return ridge * jnp.mean(variances) + absolute


@jax.jit
def add_ridge(C, ridge):
    """C + ridge · I."""
    return C + ridge * jnp.eye(C.shape[0], dtype=C.dtype)
