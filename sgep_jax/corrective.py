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

No eigendecomposition: with y = C_SS x and τ > 0 the matrix K = W_SS + τyy' is positive definite
when x is the only lowest eigenvector, and G₀ = K^(-1) − xx'/τ.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from .fractional import minimise_fraction
from .linalg import diagonal, is_definite, product, put, quadratic, take
from .supports import Point, membership, normalise


class Exchanges(NamedTuple):
    """For all pairs: `pivot` (s, n) is σ, `change` (s, n) the estimated change of the objective;
    inf where j is in the support, or the rules forbid it."""

    pivot: jax.Array
    change: jax.Array


def exchanges(problem, point: Point, scale) -> Exchanges:
    """σ and the estimated change for all pairs; O(n s²), one product of (s, s) by (s, n).

    `point` must be polished. Loadings that are nearly zero are treated as tiny: dropping such a
    coordinate is free.
    """
    S, x, alpha = point.support, point.loadings, point.objective
    eps = jnp.finfo(problem.dtype).eps
    C_S = problem.C.columns(S)
    W_S = problem.A.columns(S) - alpha * C_S
    a, c = problem.A.diagonal(), problem.C.diagonal()
    W_SS, C_SS, c_S = take(W_S, S), take(C_S, S), take(c, S)

    y = product(C_SS, x)
    K = W_SS + scale * (y[:, None] * y[None, :])
    rounding = 100 * eps * scale * c_S  # λ₂ ≈ λ₁: G₀ is large but finite
    identity = jnp.eye(S.shape[0], dtype=x.dtype)
    K = K + rounding[:, None] * identity
    factor = jnp.linalg.cholesky(K, symmetrize_input=False)
    inverse = jax.scipy.linalg.cho_solve((factor, True), identity)
    G = inverse - (x[:, None] * x[None, :]) / scale

    tiny = eps * jnp.max(jnp.abs(x))
    x_i = jnp.where(jnp.abs(x) > tiny, x, tiny)[:, None]
    H = product(G, W_S.T)  # G₀w_j
    xw = product(W_S, x)[None, :]
    mu = xw / x_i
    kappa = (H - mu * diagonal(G)[:, None]) / x_i
    curvature_j = a - alpha * c  # W_jj
    pivot = (curvature_j - jnp.sum(W_S.T * H, axis=0))[None, :] + mu * H + kappa * xw
    pivot = jnp.where(jnp.isnan(pivot), jnp.inf, pivot)
    change = lowest_on_plane(
        curvature_j[None, :] - pivot, pivot, curvature_j[None, :], c[None, :],
        kappa * kappa + jnp.sum(c_S[:, None] * H * H, axis=0)[None, :],
    )  # fmt: skip
    barred = membership(S, problem.size)[None, :] | (c <= 0)[None, :]
    if problem.rules is not None:
        barred |= ~problem.rules.exchangeable(S)
    return Exchanges(
        jnp.where(barred, jnp.inf, pivot),
        jnp.where(barred | jnp.isnan(change), jnp.inf, change),
    )


def lowest_on_plane(D, pivot, curvature, c, norm):
    """The lowest eigenvalue of [D, −D; −D, W_jj] against diag(z'Cz, C_jj)."""
    c = jnp.where(c > 0, c, 1.0)
    D = jnp.maximum(D, 0) / jnp.where(norm > 0, norm, 1.0)
    mean, determinant = (D + curvature / c) / 2, D * (pivot / c)
    root = jnp.sqrt(jnp.maximum(mean * mean - determinant, 0))
    total = mean + root
    return jnp.where(mean > 0, determinant / jnp.where(total > 0, total, 1.0), mean - root)


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
        factor = jnp.linalg.cholesky(
            others * W + unit[:, None] * unit[None, :], symmetrize_input=False
        )
        z = -jax.scipy.linalg.cho_solve((factor, True), (1 - unit) * row)
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
        usable &= is_definite(C)
    point = Point(support, x, jnp.where(usable, value, jnp.inf))
    return normalise(point, quadratic(C, x))
