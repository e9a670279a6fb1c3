"""Where a search begins: greedy completion of a column, a few columns, or a user's own point.

From x, greedy repeatedly adds the j whose two-dimensional pencil {x, e_j} has the lowest value
(Lemma 1); one column of A and of C, O(n), for each addition. A pivoted Cholesky factorization of
C runs beside it: a column that is dependent on the support would make C_SS singular and is never
added. Independent columns form a matroid, so when none is left to add, no support of s columns
is definite at all.
"""

import jax.numpy as jnp
from jax import lax

from .fractional import minimise_fraction
from .linalg import HIGHEST, definite_tolerance, put, quadratic, take
from .supports import Point, largest, normalise


def complete(problem, x, sparsity: int, lower=-jnp.inf) -> Point:
    """A point of exactly s support indices that starts with the nonzeros of x (at most s used).

    x may be zero: then the best single column comes first. Where C is definite on no support of
    this size, the objective is inf. Nonzeros beyond what the problem's rules allow are left out.
    """
    dtype, rules = problem.dtype, problem.rules
    a, c = problem.A.diagonal(), problem.C.diagonal()
    if rules is not None:
        x = jnp.where(rules.forbidden, 0.0, x)
    order = jnp.maximum(x, lower)
    if rules is not None:  # forced ones first: a duplicate taken before would bar them
        order = jnp.where(rules.forced, jnp.inf, order)
    wanted = largest(order, sparsity)
    loadings = jnp.maximum(take(x, wanted), lower).astype(dtype)
    tolerance = 10 * definite_tolerance(sparsity, dtype)  # pivots in this order may be smaller

    def add(slot, carry):
        x, Ax, Cx, factor, left, smallest, support, used, room = carry
        allowed = ~used & (left * smallest > tolerance * c)
        if rules is not None:
            allowed &= (take(room, rules.labels) > 0) & (rules.forced | (room[-2] == 0))
        xAx, xCx = jnp.vdot(x, Ax, precision=HIGHEST), jnp.vdot(x, Cx, precision=HIGHEST)
        best = minimise_fraction(a, Ax, xAx / 2, c, Cx, xCx / 2, lower)
        value = jnp.where(allowed & (x == 0), best.value, jnp.inf)
        j = take(wanted, slot)
        given = (take(x, j) != 0) & take(allowed, j)
        j = jnp.where(given, j, jnp.argmin(value).astype(jnp.int32))
        found = given | (jnp.min(value) < jnp.inf)

        column, pivot = problem.C.columns(j[None])[:, 0], take(left, j)
        if not problem.C.definite:
            direction = column - jnp.matmul(factor, take(factor, j), precision=HIGHEST)
            direction = direction * lax.rsqrt(jnp.where(pivot > 0, pivot, 1.0))
            direction = jnp.where(found, direction, 0.0)
            factor = lax.dynamic_update_slice(factor, direction[:, None], (0, slot))
            left = left - direction * direction
            smallest = jnp.minimum(smallest, jnp.where(found, pivot / take(c, j), smallest))

        jump = ~given & take(best.unbounded, j)
        keep = jnp.where(jump, 0.0, 1.0).astype(dtype)
        step = jnp.where(given, 0.0, jnp.where(jump, 1.0, take(best.step, j)))
        Ax = keep * Ax + step * problem.A.columns(j[None])[:, 0]
        Cx = keep * Cx + step * column
        x = put(keep * x, j, keep * take(x, j) + step)
        support, used = put(support, slot, j), put(used, j, True)
        if rules is not None:
            room = room.at[take(rules.labels, j)].add(-1)
        return x, Ax, Cx, factor, left, smallest, support, used, room

    zero = 0 * a  # every carry is derived from the inputs: explicit meshes demand it
    carry = (
        put(zero, wanted, loadings),
        jnp.matmul(problem.A.columns(wanted), loadings, precision=HIGHEST),
        jnp.matmul(problem.C.columns(wanted), loadings, precision=HIGHEST),
        zero[:, None] * jnp.ones((1, 0 if problem.C.definite else sparsity), dtype),
        c + zero,  # variance not explained by the support
        1 + zero[0],  # the smallest pivot so far
        0 * wanted,
        zero != 0,
        None if rules is None else rules.quota,
    )
    x, _, _, factor, _, _, support, _, room = lax.fori_loop(0, sparsity, add, carry)
    loadings = take(x, support)  # without what was given but is dependent
    norm = quadratic(problem.C.block(support), loadings)
    usable = jnp.all(jnp.any(factor != 0, axis=0)) & (norm > 0)
    if rules is not None:
        usable &= jnp.all(room == 0)
    value = quadratic(problem.A.block(support), loadings) / jnp.where(norm > 0, norm, 1.0)
    return normalise(Point(support, loadings, jnp.where(usable, value, jnp.inf)), norm)


class Fresh:
    """Numbered seeds (n,) to complete, each owing nothing to another search.

    In order: the user's own, greedy (zero), the leading direction of the dense problem, single
    columns in order of promise, random supports.
    """

    def __init__(self, problem, sparsity: int, given=None):
        self.problem, self.sparsity, self.given = problem, sparsity, given
        self.columns, self.leading = promising_columns(problem)

    def seed(self, number, draws):
        """Seed `number`; `draws` (n,) uniform numbers are for a random support."""
        n, dtype = self.problem.size, self.problem.dtype
        own = 0 if self.given is None else self.given.shape[0]
        place = number - own
        x = (jnp.arange(n, dtype=jnp.int32) == take(self.columns, (place - 2) % n)).astype(dtype)
        x = jnp.where(place == 0, 0.0, jnp.where(place == 1, self.leading, x))
        x = jnp.where(place - 2 >= n, lowest_ranks(draws, self.sparsity, dtype), x)
        return jnp.where(place < 0, self.given[jnp.clip(number, 0, own - 1)], x) if own else x


def lowest_ranks(rank, count: int, dtype):
    """(n,) ones at the `count` lowest ranks, zeros elsewhere."""
    chosen = lax.top_k(-rank, count)[1]
    return put(jnp.zeros(rank.shape[0], dtype), chosen, 1.0)


def promising_columns(problem, steps: int = 4):
    """Columns in order of promise, and a leading direction of the dense problem.

    The direction is a power iteration on D^(-1/2) A D^(-1/2), D = diag(C); the promise of column j
    is A_jj / C_jj (its own value) less the size of the direction there. The latter decides where
    all diagonal entries are equal: correlation matrices, and CCA, whose diagonal is zero.
    """
    c, a, scale = problem.C.diagonal(), problem.A.diagonal(), problem.scale()
    positive = c > 0
    d = jnp.where(positive, lax.rsqrt(jnp.where(positive, c, 1.0)), 0.0)
    scale = jnp.where(scale > 0, scale, 1.0)

    def power(_, v):
        image = v - d * problem.A.matvec(d * v) / scale  # favours the low end of the spectrum
        return image / jnp.maximum(jnp.sqrt(jnp.sum(image * image)), jnp.finfo(v.dtype).tiny)

    n = problem.size
    v = jnp.cos(jnp.arange(n, dtype=problem.dtype)) + 0 * c
    v = lax.fori_loop(0, steps, power, v)
    promise = jnp.where(positive, a * d * d - scale * jnp.abs(v), jnp.inf)
    if problem.rules is not None:
        promise = jnp.where(problem.rules.forbidden, jnp.inf, promise)
    return lax.top_k(-promise, n)[1].astype(jnp.int32), d * v
