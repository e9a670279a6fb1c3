"""Samples whose sparse truth is known: pure functions of a key, for `jit` and `vmap` too."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .. import validation
from ..linalg import product


def gaussian(key, rows: int, columns: int, dtype=None):
    """(rows, columns) independent standard normal numbers: noise, the hardest case."""
    return jax.random.normal(
        key, (rows, columns), jnp.result_type(float) if dtype is None else dtype
    )


class Spiked(NamedTuple):
    """Data `X` (rows, columns), and the `components` (c, columns) that stand out of its noise."""

    X: jax.Array
    components: jax.Array


def spiked(
    key, rows: int, columns: int, sparsity: int, strength, num_components: int = 1, dtype=None
) -> Spiked:
    """Samples with the covariance I + Σ_k θ_k v_k v_k': sparse PCA with a known answer.

    The v_k have `sparsity` entries ±1/√s each, on disjoint random supports. `strength` is θ, or one
    for each component. An exhaustive search finds the support when rows are a few times
    s log(columns − s), sorting the variances only from s² log(columns − s) on (Amini and Wainwright
    2009).
    """
    _fits("spiked", sparsity, columns, num_components)
    key_noise, key_truth, key_scores = jax.random.split(key, 3)
    X = gaussian(key_noise, rows, columns, dtype)
    V = sparse_directions(key_truth, columns, sparsity, num_components, X.dtype)
    root = jnp.sqrt(jnp.broadcast_to(jnp.asarray(strength, X.dtype), (num_components,)))
    scores = gaussian(key_scores, rows, num_components, X.dtype) * root[None, :]
    return Spiked(X + product(scores, V), V)


class TwoClasses(NamedTuple):
    """Data `X`, `labels` (rows,) 0 and 1, and the `direction` (columns,) in which they differ."""

    X: jax.Array
    labels: np.ndarray
    direction: jax.Array


def two_classes(key, rows: int, columns: int, sparsity: int, distance, dtype=None) -> TwoClasses:
    """Two normal classes whose means are `distance` standard deviations apart.

    They differ in `sparsity` variables only. The covariance within a class is the identity, so the
    best discriminant is the difference of the means, which is `direction`, of length 1.
    """
    _fits("two_classes", sparsity, columns)
    key_noise, key_truth = jax.random.split(key)
    X = gaussian(key_noise, rows, columns, dtype)
    (v,) = sparse_directions(key_truth, columns, sparsity, 1, X.dtype)
    labels = np.arange(rows) % 2
    side = jnp.asarray(labels - 0.5, X.dtype) * jnp.asarray(distance, X.dtype)
    return TwoClasses(X + side[:, None] * v[None, :], labels, v)


class TwoViews(NamedTuple):
    """Data `X` and `Y` of the same samples, and the canonical pair `u` and `v`."""

    X: jax.Array
    Y: jax.Array
    u: jax.Array
    v: jax.Array


def two_views(key, rows: int, columns, sparsity, correlation, dtype=None) -> TwoViews:
    """Two views with one canonical pair: Xu and Yv are correlated, and nothing else is.

    `columns` and `sparsity` are one number, or one per view; `correlation` is ρ:
    S_xx = I, S_yy = I, S_xy = ρuv'.
    """
    (p, q), (r, s) = (_pair(value) for value in (columns, sparsity))
    _fits("two_views", r, p)
    _fits("two_views", s, q)
    key_x, key_y, key_u, key_v = jax.random.split(key, 4)
    X, Y = gaussian(key_x, rows, p, dtype), gaussian(key_y, rows, q, dtype)
    (u,) = sparse_directions(key_u, p, r, 1, X.dtype)
    (v,) = sparse_directions(key_v, q, s, 1, X.dtype)
    rho = jnp.asarray(correlation, X.dtype)
    along = rho * product(X, u) + (jnp.sqrt(1 - rho**2) - 1) * product(Y, v)
    return TwoViews(X, Y + along[:, None] * v[None, :], u, v)


def sparse_directions(key, columns: int, sparsity: int, number: int, dtype):
    """(number, columns): entries ±1/√s on disjoint random supports."""
    key_place, key_sign = jax.random.split(key)
    place = jax.random.permutation(key_place, columns)[: number * sparsity]
    signs = jax.random.rademacher(key_sign, (number * sparsity,), dtype) / float(np.sqrt(sparsity))
    owner = jnp.repeat(jnp.arange(number), sparsity)
    return jnp.zeros((number, columns), dtype).at[owner, place].set(signs)


def _pair(value):
    return tuple(value) if np.iterable(value) else (value, value)


def _fits(owner, sparsity, columns, number=1):
    validation.count(owner, "sparsity", sparsity, 1)
    if number * sparsity > columns:
        raise ValueError(
            f"{owner}: {number} supports of {sparsity} variables must fit side by side, but there "
            f"are only {columns} columns."
        )
