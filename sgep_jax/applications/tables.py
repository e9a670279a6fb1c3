"""What the three share: a table at the door, unit variances, the ridge.

Checks of values are skipped for tracers. A constant column under `scale` then becomes zero: it
explains nothing, and no support is made to use it.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from .. import validation
from ..linalg import product
from ..matrices import Dense
from ..problem import floating_array, symmetric_array


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
    """`value` as a finite floating array of at least two rows and one column."""
    if hasattr(value, "toarray"):
        raise TypeError(
            f"{name} must be a dense array, but it is a {type(value).__name__}. "
            f"Pass {name}.toarray() if that fits in memory."
        )
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
    """X less its column means, and divided by its columns' root mean squares."""
    X, constant = _standardised(X, bool(center), bool(scale))
    if scale:
        _no_constant(name, constant, X.dtype)
    return X


@partial(jax.jit, static_argnames=("center", "scale"))
def _standardised(X, center, scale):
    """Under `scale` columns are first divided by their peaks, so that no square overflows."""
    if scale:
        peak = jax.lax.stop_gradient(jnp.max(jnp.abs(X), axis=0, keepdims=True))
        X = X / jnp.where(peak > 0, peak, 1.0)
    if center:
        X = X - jnp.mean(X, axis=0, keepdims=True)
    variance = jnp.mean(X**2, axis=0)
    constant = ~(variance > (10 * float(jnp.finfo(X.dtype).eps)) ** 2)
    return X * _inverse_root(variance, constant)[None, :] if scale else X, constant


@jax.jit
def second_moments(X):
    """X'X / m."""
    return product(X.T, X) / X.shape[0]


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


def add_ridge(owner, C, ridge, absolute_ridge):
    """C + (ridge · mean(diag C) + absolute_ridge) · I."""
    for name, value in (("ridge", ridge), ("absolute_ridge", absolute_ridge)):
        if value is None or isinstance(value, (str, bool)) or np.ndim(value) != 0:
            raise TypeError(f"{owner}({name}=...) must be one number, but it is {value!r}.")
        if validation.is_concrete(value):
            validation.non_negative(owner, name, float(value))
    return _ridged(C, jnp.asarray(ridge, C.dtype), jnp.asarray(absolute_ridge, C.dtype))


@jax.jit
def _ridged(C, ridge, absolute):
    extra = ridge * jnp.mean(jnp.diagonal(C)) + absolute
    return C + extra * jnp.eye(C.shape[0], dtype=C.dtype)
