"""Corrective exchange scores: drop i, add j, *re-optimise everything*, for all pairs at once.

Let x be the lowest generalized eigenvector on the support S, α its value (x'Cx = 1), W = A − αC,
w_j = W_Sj and G₀ the inverse of W_SS on the C-complement of x (W_SS x = 0). The lowest value of
[z; 1]'W[z; 1] over z ∈ R^S with z_i = 0 is, by one Lagrange multiplier μ for z_i,

    μ = x'w_j / x_i,   z = −G₀(w_j − μe_i) + κx,   κ = ((G₀w_j)_i − μ(G₀)_ii) / x_i,
    σ_ij = W_jj − w_j'G₀w_j + μ(G₀w_j)_i + κ x'w_j.

σ_ij is the last pivot of W on the exchanged support, so it is negative exactly when that support
has a value below α (Sylvester). Pairs are ranked by the change of the objective, which σ is not
in the units of: the lowest value of W on the plane {z, e_j}, that is of the pencil

    [D, −D; −D, W_jj]  against  diag(z'Cz, C_jj),   D = z'Wz = −z'w_j = W_jj − σ_ij ≥ 0,

with z'Cz ≈ κ² + Σ_l C_ll (G₀w_j)_l². It is negative exactly when σ_ij is, and stays right where
x_i → 0: there z is all but parallel to x, and a Newton step on σ_ij(α) = 0 would be tiny.

All pairs cost O(ns²). A screen costs O(ns): columns are ranked by the lowest value of the plane
{x, e_j}, what adding j without dropping anything would bring at least, and the pairs of the best
ones are scored. A search that screens must look at all pairs before it may say that none is left.

No eigendecomposition: with y = C_SS x and τ > 0 the matrix K = W_SS + τyy' is positive definite
when x is the only lowest eigenvector, and G₀ = K^(-1) − xx'/τ.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from .factorizations import after, cholesky, solve_factored
from .fractional import minimise_fraction
from .linalg import diagonal, is_definite, lower_inverse, lowest_root, product, put, quadratic, take
from .supports import Point, membership


class Exchanges(NamedTuple):
    """For all pairs: `pivot` (s, n) is σ, `change` (s, n) the estimated change of the objective;
    inf where j is in the support, or the rules forbid it."""

    pivot: jax.Array
    change: jax.Array


def inverse(problem, point: Point, scale):
    """G₀ (s, s), for a polished point. Where λ₂ ≈ λ₁ it is large but finite."""
    S, x = point.support, point.loadings
    C_SS = problem.C.block(S)
    y = product(C_SS, x)
    K = problem.A.block(S) - point.objective * C_SS + scale * (y[:, None] * y[None, :])
    rounding = 100 * jnp.finfo(problem.dtype).eps * scale * diagonal(C_SS)
    K = K + rounding[:, None] * jnp.eye(S.shape[0], dtype=x.dtype)
    root = lower_inverse(cholesky(K))
    return product(root.T, root) - (x[:, None] * x[None, :]) / scale


def exchanges(problem, point: Point, G, added=None) -> Exchanges:
    """σ and the estimated change for all pairs; O(n s²), one product of (s, s) by (s, n).

    `G` is the `inverse` at `point`. With `added` (k,) only for those columns, (s, k). Loadings that
    are nearly zero are treated as tiny: dropping such a coordinate is free.
    """
    S, x, alpha = point.support, point.loadings, point.objective
    a, c = problem.A.diagonal(), problem.C.diagonal()
    c_S = take(c, S)
    barred = membership(S, problem.size) | (c <= 0)
    if added is None:
        W_S = (problem.A.columns(S) - alpha * problem.C.columns(S)).T
    else:
        W_S = problem.A.block(S, added) - alpha * problem.C.block(S, added)
        a, c, barred = take(a, added), take(c, added), take(barred, added)

    tiny = jnp.finfo(problem.dtype).eps * jnp.max(jnp.abs(x))
    inverse_x = 1 / jnp.where(jnp.abs(x) > tiny, x, tiny)[:, None]
    H = product(G, W_S)  # G₀w_j
    mu = product(x, W_S)[None, :] * inverse_x
    rest = H - mu * diagonal(G)[:, None]  # κ x_i
    w_j = a - alpha * c  # W_jj
    pivot = (w_j - jnp.sum(W_S * H, axis=0))[None, :] + mu * (H + rest)
    pivot = jnp.where(jnp.isnan(pivot), jnp.inf, pivot)
    norm = (rest * inverse_x) ** 2 + jnp.sum(c_S[:, None] * H * H, axis=0)[None, :]  # z'Cz
    norm = jnp.where(norm > 0, norm, 1.0)
    D, w_j, c = jnp.maximum(w_j[None, :] - pivot, 0), w_j[None, :], c[None, :]
    change = lowest_root(norm * c, D * c + w_j * norm, D * pivot)
    barred = barred[None, :]
    if problem.rules is not None:
        barred |= ~problem.rules.exchangeable(S, added)
    return Exchanges(
        jnp.where(barred, jnp.inf, pivot),
        jnp.where(barred | jnp.isnan(change), jnp.inf, change),
    )


def screen(problem, point: Point, excluded, count: int):
    """`count` columns worth scoring: the best of each class of columns modulo `count`.

    No sort: of two good columns in one class the other is found once the first has been taken.
    """
    S, x, alpha = point.support, point.loadings, point.objective
    Cx = problem.C.combination(S, x)
    c = problem.C.diagonal()
    gain = lowest_on_plane(
        problem.A.combination(S, x) - alpha * Cx, problem.A.diagonal() - alpha * c, 1.0, Cx, c
    )
    gain = jnp.where(excluded | membership(S, problem.size) | jnp.isnan(gain), jnp.inf, gain)
    rows = -(-problem.size // count)
    gain = jnp.pad(gain, (0, rows * count - problem.size), constant_values=jnp.inf)
    gain = gain.reshape(rows, count)
    place = jnp.arange(rows, dtype=jnp.int32)[:, None]
    row = jnp.min(jnp.where(gain == jnp.min(gain, axis=0)[None, :], place, rows), axis=0)
    return row * count + jnp.arange(count, dtype=jnp.int32)


def lowest_on_plane(b, w, N, d, c):
    """The lowest value ≤ 0 of [0, b; b, w] against [N, d; d, c]: x and e_j, with W x = 0 on x.

    Infinite where e_j is parallel to x, or its c is zero.
    """
    u = N * c - d * d
    independent = u > 100 * jnp.finfo(u.dtype).eps * N * c
    value = lowest_root(jnp.where(independent, u, 1.0), w * N - 2 * b * d, -b * b)
    return jnp.where(independent, value, jnp.inf)


def exchanged(problem, point: Point, position, added, scale) -> Point:
    """The exact point after dropping the coordinate at `position` and adding `added`.

    Newton's method on the last pivot σ(α) of W on the new support, which is concave and falling
    below the lowest eigenvalue of the others: from the right it descends monotonically and
    quadratically to the new lowest eigenvalue (Dinkelbach's iteration). A step costs one Cholesky
    factorization and ends with the best combination of its direction and e_j (Lemma 1), without
    which it would creep away from the pole at x_i = 0. The objective is inf where C is not
    definite on the new support, or where the exchange does not lower the objective.
    """
    support = put(point.support, position, added)
    A, C = problem.A.block(support), problem.C.block(support)
    rounding = 100 * jnp.finfo(problem.dtype).eps * scale
    unit = (jnp.arange(support.shape[0], dtype=jnp.int32) == position).astype(A.dtype)
    others = (1 - unit)[:, None] * (1 - unit)[None, :]

    A_j, C_j = take(A, position), take(C, position)

    def newton(carry):
        count, _, alpha, _ = carry
        W = A - alpha * C
        row = take(W, position)
        factor = cholesky(others * W + unit[:, None] * unit[None, :])
        z = -solve_factored(factor, ((1 - unit) * row)[:, None])[:, 0]
        best = minimise_fraction(
            product(A_j, unit), product(A_j, z), quadratic(A, z) / 2,
            product(C_j, unit), product(C_j, z), quadratic(C, z) / 2,
        )  # fmt: skip
        x = jnp.where(best.unbounded, unit, z + best.step * unit)
        return count + 1, x, best.value, alpha - best.value > rounding / 10

    def unfinished(carry):
        return carry[3] & (carry[0] < 20)

    alpha = point.objective - rounding
    start = (jnp.int32(0), 0 * point.loadings, alpha, jnp.isfinite(alpha))
    _, x, value, _ = lax.while_loop(unfinished, newton, start)
    usable = value < alpha  # NaN compares false
    if not problem.C.definite:
        usable &= is_definite(after(value, C))
    norm = quadratic(C, x)
    x = x * lax.rsqrt(jnp.where(norm > 0, norm, 1.0))
    return Point(support, x, jnp.where(usable, value, jnp.inf))
