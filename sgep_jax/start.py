"""Where a search begins: greedy completion of a column, a few columns, or a user's own point.

From x, greedy repeatedly adds the j whose two-dimensional pencil {x, e_j} has the lowest value
(Lemma 1); one column of A and of C, O(n), for each addition. A pivoted Cholesky factorization of
C runs beside it: a column that is dependent on the support would make C_SS singular and is never
added. Independent columns form a matroid, so when none is left to add, no support of s columns
is definite at all.
"""

import jax
import jax.numpy as jnp
from jax import lax

from .fractional import minimise_fraction
from .linalg import HIGHEST, definite_tolerance
from .supports import Point, largest, normalise


def complete(problem, x, sparsity: int, lower=-jnp.inf) -> Point:
    """A point of exactly s support indices that starts with the nonzeros of x (at most s used).

    x may be zero: then the best single column comes first. Where C is definite on no support of
    this size, the objective is inf.
    """
    dtype = problem.dtype
    a, c = problem.A.diagonal(), problem.C.diagonal()
    x = jnp.maximum(x, lower)
    wanted = largest(x, sparsity)
    tolerance = definite_tolerance(sparsity, dtype)

    def add(slot, carry):
        x, Ax, Cx, factor, support, used = carry
        left = c - jnp.sum(factor * factor, axis=1)  # variance not explained by the support
        allowed = ~used & (left > tolerance * c)

        j = wanted[slot]
        given = (x[j] != 0) & allowed[j]
        dependent = jnp.where((x[j] != 0) & ~given & ~used[j], x[j], 0.0)  # given, but not usable
        x = x.at[j].add(-dependent)
        Ax = Ax - dependent * problem.A.columns(j[None])[:, 0]
        Cx = Cx - dependent * problem.C.columns(j[None])[:, 0]
        xAx, xCx = jnp.vdot(x, Ax, precision=HIGHEST), jnp.vdot(x, Cx, precision=HIGHEST)
        best = minimise_fraction(a, Ax, xAx / 2, c, Cx, xCx / 2, lower)
        value = jnp.where(allowed & (x == 0), best.value, jnp.inf)
        j = jnp.where(given, j, jnp.argmin(value).astype(jnp.int32))
        found = given | jnp.isfinite(value[j])

        column = problem.C.columns(j[None])[:, 0]
        direction = column - jnp.matmul(factor, factor[j], precision=HIGHEST)
        pivot = jnp.where(left[j] > 0, left[j], 1.0)
        factor = factor.at[:, slot].set(jnp.where(found, direction * lax.rsqrt(pivot), 0.0))

        keep = jnp.where(given, 1.0, jnp.where(best.unbounded[j], 0.0, 1.0)).astype(dtype)
        step = jnp.where(given, 0.0, jnp.where(best.unbounded[j], 1.0, best.step[j]))
        x = (keep * x).at[j].add(step)
        Ax = keep * Ax + step * problem.A.columns(j[None])[:, 0]
        Cx = keep * Cx + step * column
        return x, Ax, Cx, factor, support.at[slot].set(j), used.at[j].set(True)

    zero = 0 * a  # every carry is derived from the inputs: explicit meshes demand it
    x = x.astype(dtype) + zero
    carry = (
        x,
        problem.A.matvec(x),
        problem.C.matvec(x),
        zero[:, None] * jnp.ones((1, sparsity), dtype),
        jnp.zeros(sparsity, jnp.int32),
        zero != 0,
    )
    x, Ax, Cx, factor, support, _ = lax.fori_loop(0, sparsity, add, carry)
    xAx, xCx = jnp.vdot(x, Ax, precision=HIGHEST), jnp.vdot(x, Cx, precision=HIGHEST)
    complete = jnp.all(jnp.any(factor != 0, axis=0))
    usable = complete & (xCx > 0)
    value = jnp.where(usable, xAx / jnp.where(xCx > 0, xCx, 1.0), jnp.inf)
    return normalise(Point(support, x[support], value), xCx)


def seeds(problem, number: int, key, given=None):
    """(number, n) vectors to complete: the user's own, zero (plain greedy), then the single
    columns of lowest A_jj / C_jj, then random columns."""
    n, dtype = problem.size, problem.dtype
    c = problem.C.diagonal()
    promise = jnp.where(c > 0, problem.A.diagonal() / jnp.where(c > 0, c, 1.0), jnp.inf)
    rows = [] if given is None else [given]
    left = number - (0 if given is None else given.shape[0])
    if left > 0:
        rows.append(jnp.zeros((1, n), dtype))
    ranked = min(left - 1, n)
    if ranked > 0:
        rows.append(jax.nn.one_hot(jnp.argsort(promise)[:ranked], n, dtype=dtype))
    if left - 1 > n:
        columns = jax.random.randint(key, (left - 1 - n,), 0, n)
        rows.append(jax.nn.one_hot(columns, n, dtype=dtype))
    return jnp.concatenate(rows)
