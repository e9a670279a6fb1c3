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
ones are scored. A search that screens must look at all pivots before it may say that no exchange
is left; those alone cost a third of the scores. Columns are then ranked by min_i σ_ij / C_jj, which
is in the units of the objective and, for diagonal C, not above the change that j can bring: every
[z; b]'W[z; b] ≥ σ_ij b².

`diagonals` are those of A and C (`Problem.diagonals`), made once and outside of branches.

No eigendecomposition: with y = C_SS x and τ > 0 the matrix K = W_SS + τyy' is positive definite
when x is the only lowest eigenvector, and G₀ = K^(-1) − xx'/τ.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from .factorizations import after, cholesky, solve_factored
from .linalg import diagonal, is_definite, lower_inverse, lowest_root, product, put, quadratic, take
from .matrices import coupling
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


class Pivots(NamedTuple):
    """σ (s, k), inf where barred, and what the change of the objective is estimated from."""

    pivot: jax.Array
    H: jax.Array  # G₀w_j
    kappa: jax.Array
    w: jax.Array  # W_jj
    c: jax.Array  # C_jj


def pivots(problem, diagonals, point: Point, G, added=None) -> Pivots:
    """σ for all pairs, or with `added` (k,) for those that add one of these columns; of no meaning
    for columns of the support.

    Loadings that are nearly zero are treated as tiny: dropping such a coordinate is free.
    """
    S, x, alpha = point.support, point.loadings, point.objective
    a, c = diagonals
    if added is None:
        W_S = (problem.A.columns(S) - alpha * problem.C.columns(S)).T
    else:
        W_S = problem.A.block(S, added) - alpha * problem.C.block(S, added)
        a, c = take(a, added), take(c, added)

    tiny = jnp.finfo(problem.dtype).eps * jnp.max(jnp.abs(x))
    inverse_x = 1 / jnp.where(jnp.abs(x) > tiny, x, tiny)[:, None]
    H = product(G, W_S)
    mu = product(x, W_S)[None, :] * inverse_x
    rest = H - mu * diagonal(G)[:, None]
    w = a - alpha * c
    own = product(1 + 0 * x, W_S * H)  # on CPU a sum over the first axis takes longer
    pivot = (w - own)[None, :] + mu * (H + rest)
    barred = (c <= 0)[None, :]
    if problem.rules is not None:
        barred |= ~problem.rules.exchangeable(S, added)
    pivot = jnp.where(barred | jnp.isnan(pivot), jnp.inf, pivot)
    return Pivots(pivot, H, rest * inverse_x, w, c)


def exchanges(problem, diagonals, point: Point, G, added=None) -> Exchanges:
    """σ and the estimated change for all pairs; O(n s²), one product of (s, s) by (s, n).

    `G` is the `inverse` at `point`. With `added` (k,) only for those columns, (s, k).
    """
    pivot, H, kappa, w, c = pivots(problem, diagonals, point, G, added)
    if added is None:
        inside = membership(point.support, problem.size)
    else:
        inside = jnp.any(point.support[:, None] == added[None, :], axis=0)
    pivot = jnp.where(inside[None, :], jnp.inf, pivot)
    c_S = take(diagonals[1], point.support)
    norm = kappa**2 + product(c_S, H * H)[None, :]  # z'Cz
    norm = jnp.where(norm > 0, norm, 1.0)
    w, c, barred = w[None, :], c[None, :], jnp.isinf(pivot)
    sigma = jnp.where(barred, 0.0, pivot)
    D = jnp.maximum(w - sigma, 0)
    change = lowest_root(norm * c, D * c + w * norm, D * sigma)
    return Exchanges(pivot, jnp.where(barred | jnp.isnan(change), jnp.inf, change))


def screen(problem, diagonals, point: Point, excluded, count: int):
    """`count` columns worth scoring, and the lowest value of the plane {x, e_j} of each; none that
    is `excluded` (n,), as those of the support are to be."""
    S, x, alpha = point.support, point.loadings, point.objective
    Cx = coupling(problem.C, S, x)
    a, c = diagonals
    value = lowest_on_plane(coupling(problem.A, S, x) - alpha * Cx, a - alpha * c, 1.0, Cx, c)
    return _best_of_classes(jnp.where(excluded | jnp.isnan(value), jnp.inf, value), count)


def screen_all(problem, diagonals, point: Point, G, excluded, count: int):
    """`count` columns of which one improves if any column does, and min_i σ_ij / C_jj of each, or
    0 where none of its pivots is negative, or the column `excluded`: those of the support are to
    be."""
    pivot, *_, c = pivots(problem, diagonals, point, G)
    value = jnp.minimum(jnp.min(pivot, axis=0), 0) / jnp.where(c > 0, c, 1.0)
    return _best_of_classes(jnp.where(excluded, 0.0, value), count)


def _best_of_classes(value, count: int):
    """The columns of lowest value in each class of columns modulo `count`, and those values.

    No sort: of two good columns in one class the other is found once the first has been taken.
    """
    size = value.shape[0]
    rows = -(-size // count)
    table = jnp.pad(value, (0, rows * count - size), constant_values=jnp.inf).reshape(rows, count)
    place = jnp.arange(rows, dtype=jnp.int32)[:, None]
    lowest = jnp.min(table, axis=0)
    row = jnp.min(jnp.where(table == lowest[None, :], place, rows - 1), axis=0)
    return row * count + jnp.arange(count, dtype=jnp.int32), lowest


def flagged(columns, flags, size: int):
    """(n,) whether each column is among `columns`, one of each class, and flagged there."""
    (count,) = columns.shape
    table = jnp.arange(-(-size // count) * count, dtype=jnp.int32).reshape(-1, count)
    return ((table == columns[None, :]) & flags[None, :]).ravel()[:size]


def lowest_on_plane(b, w, N, d, c):
    """The lowest value ≤ 0 of [0, b; b, w] against [N, d; d, c]: x and e_j, with W x = 0 on x.

    Infinite where e_j is parallel to x, or its c is zero.
    """
    u = N * c - d * d
    independent = u > 100 * jnp.finfo(u.dtype).eps * N * c
    value = lowest_root(jnp.where(independent, u, 1.0), w * N - 2 * b * d, -b * b)
    return jnp.where(independent, value, jnp.inf)


def exchanged(problem, point: Point, position, added, change, scale) -> Point:
    """The exact point after dropping the coordinate at `position` and adding `added`.

    Newton's method on the last pivot σ(α) of W on the new support, from where the estimated
    `change` leads. Below the lowest eigenvalue of the others W is definite there and σ concave and
    falling, so from the right of its root, the new lowest eigenvalue, it descends monotonically and
    quadratically (Dinkelbach's iteration), and one step leads there from the left. A step costs
    one Cholesky factorization and ends at the lowest point of the plane {z, e_j} (as above),
    without which it would creep away from the pole at x_i = 0. The objective is inf where C is not
    definite on the new support, or where the exchange does not lower the objective, and without
    a look where `change` is not negative.
    """
    support = put(point.support, position, added)
    A, C = problem.A.block(support), problem.C.block(support)
    eps = float(jnp.finfo(problem.dtype).eps)
    rounding = 100 * eps * scale
    highest = point.objective - rounding  # what does not lead below it is no improvement
    exact = max(1e-11, 10 * eps) * scale  # its square is below rounding
    new = jnp.arange(support.shape[0], dtype=jnp.int32) == position
    others = ~new[:, None] & ~new[None, :]
    unit, identity = new.astype(A.dtype), jnp.eye(support.shape[0], dtype=A.dtype)
    A_j, C_j = take(A, position), take(C, position)
    a, c = take(A_j, position), take(C_j, position)

    def newton(carry):
        count, _, alpha, _ = carry
        row = jnp.where(new, 0.0, A_j - alpha * C_j)
        factor = cholesky(jnp.where(others, A - alpha * C, identity))
        z = -solve_factored(factor, row[:, None])[:, 0]
        w, D, N, d = a - alpha * c, -jnp.sum(z * row), quadratic(C, z), jnp.sum(z * C_j)
        D, N = jnp.maximum(D, 0), jnp.where(N > 0, N, 1.0)
        u = jnp.maximum(N * c - d * d, eps * N * c)
        lower = lowest_root(u, D * c + w * N + 2 * D * d, D * (w - D))
        bottom = w - lower * c
        step = (D + lower * d) / jnp.where(bottom > 0, bottom, 1.0)
        x = jnp.where(bottom > 0, z + step * unit, unit)
        nearer = jnp.minimum(alpha + lower, highest)
        return count + 1, x, nearer, jnp.abs(nearer - alpha) > exact

    def unfinished(carry):
        return carry[3] & (carry[0] < 20)

    alpha = point.objective + change
    promising = (change < 0) & jnp.isfinite(alpha)
    start = (jnp.int32(0), 0 * point.loadings, alpha, promising)
    _, x, value, _ = lax.while_loop(unfinished, newton, start)
    usable = promising & (value < highest)  # NaN compares false
    if not problem.C.definite:
        usable &= is_definite(after(value, C))
    norm = quadratic(C, x)
    x = x * lax.rsqrt(jnp.where(norm > 0, norm, 1.0))
    return Point(support, x, jnp.where(usable, value, jnp.inf))
