"""The paper's bisection search for one candidate support (§5.1), a block pencil with x_N frozen.

With T the chosen coordinates, y = x_T and the pencil's last row standing for x_N:

    O = R^(-1/2) Q R^(-1/2),  g = R^(-1/2) p − R^(-1/2) Q R^(-1) c,
    γ = 2v − c'R^(-1)c,       δ = c'R^(-1)QR^(-1)c − 2c'R^(-1)p + 2w,
    J(α) = ½δ − ½αγ − ½ Σ a_i² / (d_i − α),   O = U diag(d) U',  a = U'g.

J is concave and falling below λ_min(O); its root α* is the minimum, y = R^(-1/2)(u − R^(-1/2)c)
with u = −(O − α*I)^(-1) g.

Deviations from the paper:

1. The upper end of the bracket is λ_min(O), not λ_max(O).
2. The lower end is λ_min of the 2 × 2 matrix [d_1, ‖a‖/√γ; ·, δ/γ], which bounds λ_min(Z) from
   below and needs no eigendecomposition of Z (λ_min(Z) would be the answer itself).
3. Hard case: J > 0 up to λ_min(O). The infimum λ_min(O) is reached as ‖y‖ → ∞, that is by dropping
   x_N: the answer is the block's own lowest eigenvector with x_N = 0.
4. γ = 0 with x_N = 0 is the ordinary eigenproblem of the block.
5. R is scaled to unit diagonal before its root is taken; a block on which C is not definite gets
   the value inf.
"""

import jax.numpy as jnp
from jax import lax

from ..factorizations import eigh
from ..linalg import definite_tolerance, product


def solve_candidate(A, C, positions, present):
    """The minimum over y supported on `positions` (where `present`) and x_N's multiple.

    A, C: the reduced pencil, coordinates of the working set first, x_N last. Returns the value
    and the vector (len(positions) + 1,), x_N's multiple last.
    """
    dtype, width = A.dtype, positions.shape[0]
    pair = present[:, None] & present[None, :]
    identity = jnp.eye(width, dtype=dtype)
    rows = positions[:, None], positions[None, :]
    Q = jnp.where(pair, A[rows], 0.0)
    R = jnp.where(pair, C[rows], identity)
    p = jnp.where(present, A[positions, -1], 0.0)
    c = jnp.where(present, C[positions, -1], 0.0)
    w2, v2 = A[-1, -1], C[-1, -1]

    diagonal = jnp.diagonal(R)
    unit = lax.rsqrt(jnp.where(diagonal > 0, diagonal, 1.0))
    units = unit[:, None] * unit[None, :]
    Q, R, p, c = Q * units, R * units, p * unit, c * unit
    rho, S = eigh(R)
    definite = jnp.all(diagonal > 0) & (rho[0] > definite_tolerance(width, dtype))
    root = product(S * lax.rsqrt(jnp.where(definite, rho, 1.0))[None, :], S.T)  # R^(-1/2)
    O = product(root, product(Q, root))
    ceiling = 2 * jnp.sum(jnp.abs(O))
    absent = jnp.where(present, 0.0, jnp.where(ceiling > 0, ceiling, 1.0))  # never the lowest
    O = (O + O.T) / 2 + absent[:, None] * identity
    rc, rp = product(root, c), product(root, p)
    g = rp - product(O, rc)
    gamma = v2 - product(rc, rc)
    delta = product(rc, product(O, rc)) - 2 * product(rc, rp) + w2

    scale = jnp.max(jnp.abs(O))
    scale = jnp.where((scale > 0) & jnp.isfinite(scale), scale, 1.0)
    d, U = eigh(O / scale)
    d, a = d * scale, product(U.T, g)

    whole = v2 <= 0  # x_N = 0: the support lies in the working set
    independent = gamma > definite_tolerance(width + 1, dtype) * v2
    gamma = jnp.where(independent, gamma, 1.0)
    alpha, dropped = bisect(d, a, gamma, delta)
    empty = ~jnp.any(present)  # no room in the working set: x_N alone
    alpha = jnp.where(empty, delta / gamma, alpha)
    dropped = (dropped | whole) & ~empty

    gap = jnp.where(dropped, 1.0, d - alpha)
    u = jnp.where(dropped, U[:, 0], product(U, -a / gap) - rc)
    eta = jnp.where(dropped, 0.0, 1.0)
    value = jnp.where(dropped, d[0], alpha)
    usable = definite & jnp.where(whole, ~empty, independent)
    vector = jnp.append(jnp.where(present, unit * product(root, u), 0.0), eta)
    return jnp.where(usable, value, jnp.inf), vector


def bisect(d, a, gamma, delta):
    """The root of J below d[0], and whether there is none (the hard case).

    d ascending, γ > 0. Halves until the bracket is as narrow as rounding allows.
    """
    eps = jnp.finfo(d.dtype).eps
    corner, coupling = delta / gamma, jnp.sqrt(jnp.sum(a * a) / gamma)
    half = (d[0] - corner) / 2
    low = (d[0] + corner) / 2 - jnp.sqrt(half * half + coupling * coupling)
    size = jnp.maximum(jnp.abs(low), jnp.abs(d[0]))
    low = low - 4 * eps * size
    high = d[0] - 4 * eps * size

    def positive(alpha):
        return delta - alpha * gamma > jnp.sum(a * a / (d - alpha))

    def narrow(bracket):
        low, high, _ = bracket
        middle = low + (high - low) / 2
        up = positive(middle)
        low, high = jnp.where(up, middle, low), jnp.where(up, high, middle)
        return low, high, high - low > 2 * eps * size

    hard = positive(high) | ~(size > 0)
    start = (low, high, ~hard & (high - low > 2 * eps * size))
    low, high, _ = lax.while_loop(lambda bracket: bracket[2], narrow, start)
    return high, hard
