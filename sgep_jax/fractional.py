"""Lemma 1: the minimum of a one-dimensional quadratic fraction, in closed form.

    ψ(β) = (½aβ² + bβ + c) / (½rβ² + sβ + t),   β ≥ L,   r > 0, denominator positive.

ψ' has the sign of ½πβ² + ϑβ + ι with π = as − br, ϑ = at − cr, ι = tb − cs. Its roots are where
πβ + ϑ = ±√(ϑ² − 2πι); the sign + is where ψ' turns from − to +, so that one is the minimiser.

Deviations from the paper:

1. ι = tb − cs; the paper prints tb + cs, which is wrong.
2. Only the minimising root is formed, by whichever of its two forms does not cancel, so π = 0
   needs no case of its own.
3. The minimum may be at |β| → ∞, where ψ → a/r (x tends to e_i): `unbounded` says so.
4. To the right of the minimiser ψ rises, then may fall again towards a/r; with L beyond it the
   minimum is therefore ψ(L) or a/r. The paper clips both roots instead.
"""

from typing import NamedTuple

import jax.numpy as jnp


class Minimum(NamedTuple):
    """`step` is β*, 0 where `unbounded`; `value` is the infimum of ψ."""

    step: jnp.ndarray
    value: jnp.ndarray
    unbounded: jnp.ndarray


def minimise_fraction(a, b, c, r, s, t, lower=-jnp.inf) -> Minimum:
    """The minimum of ψ over β ≥ `lower`; arguments broadcast elementwise.

    Where r ≤ 0 or the denominator is not positive definite, the value is +inf.
    """
    pi, theta, iota = a * s - b * r, a * t - c * r, t * b - c * s
    root = jnp.sqrt(jnp.maximum(theta * theta - 2 * pi * iota, 0))
    right = theta > 0
    top = jnp.where(right, -2 * iota, root - theta)
    bottom = jnp.where(right, theta + root, pi)
    unbounded = bottom == 0
    beta = top / jnp.where(unbounded, 1.0, bottom)
    unbounded |= ~jnp.isfinite(beta)

    bounded_by_lower = ~unbounded & (beta < lower)
    beta = jnp.where(bounded_by_lower, lower, jnp.where(unbounded, 0.0, beta))
    at_beta = _ratio(a, b, c, r, s, t, beta)
    at_infinity = a / jnp.where(r > 0, r, 1.0)
    unbounded |= bounded_by_lower & (at_infinity < at_beta)

    value = jnp.where(unbounded, at_infinity, at_beta)
    independent = 2 * r * t * (1 - 100 * jnp.finfo(value.dtype).eps) > s * s
    usable = (r > 0) & ((t <= 0) | independent) & ~jnp.isnan(value)
    return Minimum(jnp.where(unbounded, 0.0, beta), jnp.where(usable, value, jnp.inf), unbounded)


def _ratio(a, b, c, r, s, t, beta):
    """ψ(β), divided through by β² where β is large, lest it overflow."""
    far = jnp.abs(beta) > 1
    big, small = jnp.where(far, beta, 1.0), jnp.where(far, 1.0, beta)
    top = jnp.where(far, a / 2 + (b + c / big) / big, (a / 2 * small + b) * small + c)
    bottom = jnp.where(far, r / 2 + (s + t / big) / big, (r / 2 * small + s) * small + t)
    return top / jnp.where(bottom > 0, bottom, jnp.nan)
