"""Small dense linear algebra: products that are never rounded to bfloat16 or TF32,
and the lowest eigenpair of a small pencil."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from .factorizations import cholesky, eigh, solve_lower

HIGHEST = lax.Precision.HIGHEST


def product(a, b):
    """a @ b in full precision on every device."""
    return jnp.matmul(a, b, precision=HIGHEST)


def take(array, *indices):
    """array[indices] for indices known to be in range: half the code of plain indexing."""
    return array.at[indices].get(mode="promise_in_bounds", wrap_negative_indices=False)


def diagonal(M):
    """The diagonal by plain indexing, which compiles to less than `jnp.diagonal`."""
    every = jnp.arange(M.shape[0], dtype=jnp.int32)
    return take(M, every, every)


def put(array, index, value):
    """`array` with `value` at `index`: one place of its first axis, which may lie beyond its end,
    or several that get the same."""
    if jnp.ndim(index) == 0:
        here = jnp.arange(array.shape[0], dtype=jnp.int32) == index
    else:
        here = spread(index, jnp.ones(index.shape, bool), array.shape[0])
    here = here.reshape((-1,) + (1,) * (array.ndim - 1))
    return jnp.where(here, jnp.asarray(value, array.dtype), array)


def spread(indices, values, size: int, most: int = 2**17):
    """(n,): the `values` (k,) at these indices, zero elsewhere; of equal indices the first counts,
    of flags any that is set.

    Few places are found by comparing: on CPU a scatter is a loop, and four kernels to compile.
    Many would cost too much, and k × n of memory.
    """
    (count,) = indices.shape
    if count * size > most:
        if values.dtype == bool:
            return jnp.zeros(size, bool).at[indices].max(values, mode="promise_in_bounds")
        number = jnp.arange(count, dtype=jnp.int32)
        place = jnp.full(size, count, jnp.int32)
        place = place.at[indices].min(number, mode="promise_in_bounds")
    else:
        here = indices[:, None] == jnp.arange(size, dtype=indices.dtype)[None, :]
        if values.dtype == bool:
            return jnp.any(here & values[:, None], axis=0)
        place = jnp.where(here, jnp.arange(count, dtype=jnp.int32)[:, None], count)
        place = jnp.min(place, axis=0)
    return jnp.where(place < count, take(values, jnp.minimum(place, count - 1)), 0)


def ranks(values):
    """argsort of many values, none of them NaN, equal ones in their order. On CPU the last bits of
    double precision give way to the places: a sort of single numbers is five times as fast there
    as one of pairs."""
    place = jnp.arange(values.shape[0], dtype=jnp.int32)

    def of_pairs():
        return lax.sort((values, place), num_keys=1)[1]

    def of_numbers():
        one_zero = jnp.where(values == 0, 0.0, values)  # not -0 too
        bits = lax.bitcast_convert_type(one_zero, jnp.int64)
        bits = jnp.where(bits < 0, bits ^ jnp.iinfo(jnp.int64).max, bits)  # ascends as they do
        mask = (1 << (values.shape[0] - 1).bit_length()) - 1
        return (lax.sort((bits & ~mask) | place.astype(jnp.int64)) & mask).astype(jnp.int32)

    if values.dtype != jnp.float64:
        return of_pairs()
    return lax.platform_dependent(cpu=of_numbers, default=of_pairs)


def order(values):
    """argsort of a few values, none of them NaN, equal ones in their order: all pairs are compared,
    which compiles to half of a sort."""
    place = jnp.arange(values.shape[0], dtype=jnp.int32)
    one, other = values[:, None], values[None, :]
    before = (other < one) | ((other == one) & (place[None, :] < place[:, None]))
    return spread(jnp.sum(before, axis=1, dtype=jnp.int32), place, values.shape[0])


def lowest_index(values, width: int = 64):
    """argmin of (n,) values, none of them NaN. XLA's own is not vectorised on CPU, a minimum is."""
    if values.shape[0] <= 16 * width:  # short: one kernel is worth more
        return lax.argmin(values, 0, jnp.int32)
    rows = -(-values.shape[0] // width)
    table = jnp.pad(values, (0, rows * width - values.shape[0]), constant_values=jnp.inf)
    table = table.reshape(rows, width)
    column = lax.argmin(jnp.min(table, axis=0), 0, jnp.int32)
    row = lax.argmin(take(table, slice(None), column), 0, jnp.int32)
    return jnp.minimum(row * width + column, values.shape[0] - 1)  # all of them infinite


def quadratic(M, x):
    """x'Mx."""
    return product(x, product(M, x))


def lowest_root(u, v, t):
    """The smaller root of uλ² − vλ + t = 0, u > 0, by whichever of its forms does not cancel.

    For the pencil of [p, q; q, r] against [N, d; d, c] these are u = Nc − d²,
    v = pc + rN − 2qd and t = pr − q².
    """
    root = jnp.sqrt(jnp.maximum(v * v - 4 * u * t, 0))
    right = v > 0
    bottom = jnp.where(right, v + root, 2 * u)
    return jnp.where(right, 2 * t, v - root) / jnp.where(bottom > 0, bottom, 1.0)


def lower_inverse(L):
    """L^(-1) of a lower triangular matrix, a few columns at a time.

    OpenBLAS gives a solve with more than about a thousand right-hand entries several threads, which
    on a busy machine wait for each other up to a second: 64 × 64 took 35 times as long on average.
    """
    size = L.shape[0]
    width = max(1, min(size, 512 // size))
    number = -(-size // width)
    unit = jnp.eye(size, number * width, dtype=L.dtype)
    unit = unit.reshape(size, number, width).transpose(1, 0, 2)
    copies = jnp.broadcast_to(L, (number, size, size))
    return jax.vmap(solve_lower)(copies, unit).transpose(1, 0, 2).reshape(size, -1)[:, :size]


def definite_tolerance(size: int, dtype) -> float:
    """Pivots of a matrix with unit diagonal below this count as zero."""
    return 10 * max(size, 1) * float(jnp.finfo(dtype).eps)


def is_definite(C):
    """Whether C is positive definite beyond rounding, whatever the units of its variables."""
    _, definite = _unit_cholesky(C)
    return definite


class Whitening(NamedTuple):
    """A factor F with F'CF = I, and whether C is positive definite (F is finite either way)."""

    factor: jax.Array
    definite: jax.Array


def whiten(C) -> Whitening:
    """F = D L^-T with D = diag(C)^(-1/2) and DCD = LL'.

    Unit diagonal first, so that neither the units of the variables nor a tiny C matter.
    """
    (d, L), definite = _unit_cholesky(C)
    identity = jnp.eye(C.shape[-1], dtype=C.dtype)
    L = jnp.where(definite, L, identity)
    return Whitening(d[:, None] * lower_inverse(L).T, definite)


def _unit_cholesky(C):
    """D = diag(C)^(-1/2), the Cholesky factor of DCD, and whether C is definite.

    A small pivot magnifies the rounding of those after it, so they must exceed it the more.
    """
    variances = diagonal(C)
    positive = variances > 0
    d = jnp.where(positive, lax.rsqrt(jnp.where(positive, variances, 1.0)), 1.0)
    L = cholesky(d[:, None] * C * d[None, :])
    pivots = diagonal(L) ** 2
    tolerance = definite_tolerance(C.shape[-1], C.dtype)
    before = jnp.append(1.0, lax.cummin(pivots)[:-1]).astype(C.dtype)
    return (d, L), jnp.all(positive) & jnp.all(pivots * before > tolerance)  # NaN compares false


def lowest_pair(A, C=None):
    """The smallest λ with Ax = λCx and its x (x'Cx = 1); (inf, 0) where C is not definite. Without
    C it is the identity.

    `jax.scipy.linalg.eigh(a, b)` is not implemented, so C is whitened first. The value is the
    Rayleigh quotient of the vector, whose error is second order.
    """
    M = A
    if C is not None:
        F, definite = whiten(C)
        M = product(F.T, product(A, F))
        M = (M + M.T) / 2
    scale = jnp.max(jnp.abs(M))
    scale = jnp.where((scale > 0) & jnp.isfinite(scale), scale, 1.0)
    _, vectors = eigh(M / scale)
    x = vectors[:, 0]
    if C is None:
        value = quadratic(A, x) / jnp.sum(x * x)
        usable = jnp.isfinite(value)
    else:
        x = product(F, x)
        value = quadratic(A, x) / quadratic(C, x)
        usable = definite & jnp.isfinite(value)
    return jnp.where(usable, value, jnp.inf), jnp.where(usable, x, 0.0)
