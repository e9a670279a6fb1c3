"""Coordinate descent on x'Ax / x'Cx over a small block, with a lower bound (§5.2 of the paper).

Each update is Lemma 1 along one coordinate. It ends at a coordinate-wise minimum (Proposition 1),
which need not be global, but it can keep x ≥ 0.

Deviations from the paper:

1. Where Lemma 1's minimum is at infinity, x jumps to e_i (all else, x_N included, is dropped).
2. A start with x'Cx = 0 is replaced by the best single coordinate.
3. Sweeps are capped, and end early when a sweep gains less than rounding.
4. The random order visits every coordinate once a sweep (a permutation): drawn with replacement,
   a sweep that gains nothing would prove nothing.
5. Gauss–Southwell takes the coordinate of the largest decrease (Lemma 1 for all at once), not of
   the largest gradient, which is zero at a saddle and depends on the units of the variables.
6. Every order begins with one such step: whatever exchange one coordinate offers is taken.
"""

import jax
import jax.numpy as jnp
from jax import lax

from ..fractional import minimise_fraction
from ..linalg import product, quadratic

ORDERS = ("cyclic", "random", "gauss-southwell")


def descend(A, C, x, *, lower, sweeps: int, movable=None, order: str = "cyclic", key=None):
    """Coordinate descent from x over the coordinates that are `movable` (all, by default)."""
    size, dtype = x.shape[0], x.dtype
    movable = jnp.ones(size, bool) if movable is None else movable
    a, c = jnp.diagonal(A), jnp.diagonal(C)
    rounding = 4 * jnp.finfo(dtype).eps

    ratio = jnp.where(movable & (c > 0), a / jnp.where(c > 0, c, 1.0), jnp.inf)
    single = (jnp.arange(size) == jnp.argmin(ratio)).astype(dtype)
    x = jnp.where(quadratic(C, x) > 0, x, single)

    def update(i, x, Ax, Cx):
        xAx, xCx = product(x, Ax), product(x, Cx)
        best = minimise_fraction(a[i], Ax[i], xAx / 2, c[i], Cx[i], xCx / 2, lower - x[i])
        unit = (jnp.arange(size) == i).astype(dtype)
        better = movable[i] & (best.value < xAx / xCx)
        jump = better & best.unbounded
        step = jnp.where(better & ~jump, best.step, 0.0)
        x = jnp.where(jump, unit, x + step * unit)
        Ax = jnp.where(jump, A[:, i], Ax + step * A[:, i])
        Cx = jnp.where(jump, C[:, i], Cx + step * C[:, i])
        return x, Ax, Cx

    def steepest(x, Ax, Cx):
        xAx, xCx = product(x, Ax), product(x, Cx)
        best = minimise_fraction(a, Ax, xAx / 2, c, Cx, xCx / 2, lower - x)
        return jnp.argmin(jnp.where(movable, best.value, jnp.inf))

    def sweep(carry):
        count, x, value, _ = carry
        visits = jnp.arange(size)
        if order == "random":
            visits = jax.random.permutation(jax.random.fold_in(key, count), size)

        def visit(slot, state):
            i = steepest(*state) if order == "gauss-southwell" else visits[slot]
            return update(i, *state)

        x, _, Cx = lax.fori_loop(0, size, visit, (x, product(A, x), product(C, x)))
        norm = product(x, Cx)
        x = x * lax.rsqrt(jnp.where(norm > 0, norm, 1.0))
        new = product(x, product(A, x)) / product(x, product(C, x))
        gained = value - new > rounding * jnp.abs(new)
        return count + 1, x, new, gained

    def unfinished(carry):
        count, _, _, gained = carry
        return gained & (count < sweeps)

    state = x, product(A, x), product(C, x)
    x = update(steepest(*state), *state)[0]
    value = quadratic(A, x) / quadratic(C, x)
    start = (jnp.int32(0), x, value, jnp.isfinite(value))
    return lax.while_loop(unfinished, sweep, start)[1]
