"""Where a search begins: greedy completion of a column, a few columns, or a user's own point.

From x, greedy repeatedly adds the j whose two-dimensional pencil {x, e_j} has the lowest value
(Lemma 1); one column of A and of C, O(n), for each addition. A pivoted Cholesky factorization of
C runs beside it: a column that is dependent on the support would make C_SS singular and is left
out. Independent columns form a matroid, so when none is left to add, no support of s columns
is definite at all.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .corrective import lowest_on_plane
from .fractional import minimise_fraction
from .linalg import (
    definite_tolerance,
    lowest_index,
    order,
    product,
    put,
    quadratic,
    ranks,
    spread,
    take,
)
from .matrices import peaks
from .problem import probe
from .supports import Point, largest, normalise

MOST_PAIRS = 4 * 10**8  # looked at before a search; a Gram matrix pays O(m) for each


class Seed(NamedTuple):
    """What a start is grown from: `support` (s,) with `loadings` (s,), of which those at zero are
    places to fill; and `barred` (n,), columns to fill them with only if no others are left, which a
    local search holds back too."""

    support: jax.Array
    loadings: jax.Array
    barred: jax.Array


def seed_of(x, sparsity: int, lower=-jnp.inf) -> Seed:
    """The s largest entries of a point (n,)."""
    x = jnp.maximum(x, lower)
    support = largest(x, sparsity)
    return Seed(support, take(x, support), x != x)


class Growth(NamedTuple):
    """A support as far as it has grown: the first `count` of `support` (s,).

    `inverse` (s, s): L^(-1) for the Cholesky factor L of C there, and the `smallest` pivot so far,
    in units of the diagonal; `excluded` (n,): in the support, or dependent on it; `room`: what is
    left of the quotas of the rules.
    """

    support: jax.Array
    count: jax.Array
    inverse: jax.Array
    smallest: jax.Array
    excluded: jax.Array
    room: jax.Array | None


def complete(problem, seed: Seed, lower: float = -jnp.inf) -> Point:
    """The point that greedy grows from the seed; its objective is inf where none can be."""
    support, loadings, grown = grow(problem, seed, lower)
    norm = quadratic(problem.C.block(support), loadings)
    value = quadratic(problem.A.block(support), loadings) / jnp.where(norm > 0, norm, 1.0)
    value = jnp.where(grown & (norm > 0), value, jnp.inf)
    return normalise(Point(support, loadings, value), norm)


def grow(problem, seed: Seed, lower: float = -jnp.inf):
    """Exactly s support indices that begin with those of the seed, the loadings (s,) there, and
    whether there are as many: C may be definite on no support of this size.

    The seed may be zero: then the best single column comes first. What the problem's rules do not
    allow is left out.
    """
    (s,) = seed.support.shape
    a, c = problem.A.diagonal(), problem.C.diagonal()

    def add(carry):
        growth, x, Ax, Cx, xAx, xCx, _ = carry
        allowed = ~growth.excluded
        if problem.rules is not None:
            allowed &= _admissible(problem.rules, growth.room)
        value = _additions(a, Ax, xAx, c, Cx, xCx, lower)[0]
        value = jnp.where(allowed, value, jnp.inf)
        others = jnp.where(seed.barred, jnp.inf, value)
        value = jnp.where(jnp.min(others) < jnp.inf, others, value)
        j = lowest_index(value)
        found = take(value, j) < jnp.inf
        a_j, c_j, Ax_j, Cx_j = (take(leaf, j) for leaf in (a, c, Ax, Cx))
        _, step, alone = _additions(a_j, Ax_j, xAx, c_j, Cx_j, xCx, lower)

        place = growth.count
        growth, admitted = _admit(problem, growth, j, found)
        keep = jnp.where(admitted & alone, 0.0, 1.0).astype(step.dtype)
        step = jnp.where(admitted, jnp.where(alone, 1.0, step), 0.0)
        x = jnp.where(admitted, put(keep * x, place, step), x)
        Ax = keep * Ax + step * problem.A.columns(j[None])[:, 0]
        Cx = keep * Cx + step * problem.C.columns(j[None])[:, 0]
        xAx = keep * xAx + step * (2 * keep * Ax_j + step * a_j)
        xCx = keep * xCx + step * (2 * keep * Cx_j + step * c_j)
        return growth, x, Ax, Cx, xAx, xCx, found

    growth, x = _given(problem, seed)
    Ax, Cx = (M.combination(growth.support, x) for M in (problem.A, problem.C))
    xAx, xCx = (jnp.sum(x * take(image, growth.support)) for image in (Ax, Cx))
    carry = (growth, x, Ax, Cx, xAx, xCx, growth.count >= 0)
    growth, x, *_ = lax.while_loop(lambda carry: carry[-1] & (carry[0].count < s), add, carry)
    return growth.support, x, growth.count == s


def _additions(a, Ax, xAx, c, Cx, xCx, lower):
    """For every j: the lowest value of the plane {x, e_j}, up to a constant, and the step along
    e_j that leads there, or whether e_j alone does."""
    if np.isfinite(lower):
        plane = minimise_fraction(a, Ax, xAx / 2, c, Cx, xCx / 2, lower)
        return plane.value, plane.step, plane.unbounded
    some = xCx > 0
    N = jnp.where(some, xCx, 1.0)
    f = xAx / N
    b, w = Ax - f * Cx, a - f * c
    change = lowest_on_plane(b, w, N, Cx, c)
    bottom = w - change * c
    step = (change * Cx - b) / jnp.where(bottom > 0, bottom, 1.0)
    value = jnp.where(some, change, jnp.where(c > 0, a / jnp.where(c > 0, c, 1.0), jnp.inf))
    alone = ~some | ~(bottom > 0) | ~jnp.isfinite(step)
    return jnp.where(jnp.isnan(value), jnp.inf, value), step, alone


def _given(problem, seed: Seed):
    """What C and the rules admit of a seed, and its loadings (s,) there, zero beyond."""
    rules, (s,) = problem.rules, seed.support.shape
    c = problem.C.diagonal()
    zero = 0 * c  # every carry is derived from the inputs: explicit meshes demand it
    if problem.C.definite and rules is None:  # nothing can be refused
        given = seed.loadings != 0
        first = order(~given)
        number, asked = jnp.sum(given, dtype=jnp.int32), spread(seed.support, given, problem.size)
        growth = Growth(take(seed.support, first), number, zero[:0], 1 + zero[0], asked, None)
        return growth, take(seed.loadings, first).astype(c.dtype)
    x = spread(seed.support, seed.loadings.astype(c.dtype), problem.size)
    if rules is None:
        wanted = take(seed.support, order(seed.loadings == 0))
        asked = x != 0
    else:  # forced ones first: a duplicate taken before would bar them
        x = jnp.where(rules.forbidden, 0.0, x)
        wanted = largest(jnp.where(rules.forced, jnp.inf, x), s)
        asked = (x != 0) | rules.forced
    nothing = Growth(
        0 * wanted,
        0 * wanted[0],
        zero[0] * jnp.ones((s, s), c.dtype),
        1 + zero[0],
        c <= 0,
        None if rules is None else rules.quota,
    )

    def ask(place, growth):
        j = take(wanted, place)
        possible = take(asked & ~growth.excluded, j)
        if rules is not None:
            possible &= take(_admissible(rules, growth.room), j)
        return _admit(problem, growth, j, possible)[0]

    growth = lax.fori_loop(0, s, ask, nothing)
    used = jnp.arange(s, dtype=jnp.int32) < growth.count
    return growth, jnp.where(used, take(x, growth.support), 0.0)


def _admissible(rules, room):
    """(n,) whether the rules have room for a column; the forced ones come first."""
    return (take(room, rules.labels) > 0) & (rules.forced | (room[-2] == 0))


def _admit(problem, growth: Growth, j, possible):
    """The support with j, if it is `possible` and C stays definite; and whether it did."""
    support, count, inverse, smallest, excluded, room = growth
    admitted, excluded = possible, put(excluded, j, take(excluded, j) | possible)
    if not problem.C.definite:
        used = jnp.arange(support.shape[0], dtype=jnp.int32) < count
        c_j = take(problem.C.diagonal(), j)
        y = product(inverse, jnp.where(used, problem.C.block(support, j[None])[:, 0], 0.0))
        pivot = c_j - jnp.sum(y * y)
        tolerance = 10 * definite_tolerance(support.shape[0], y.dtype)
        admitted &= pivot * smallest > tolerance * c_j
        root = lax.rsqrt(jnp.where(admitted, pivot, 1.0))
        row = put(-product(y, inverse), jnp.minimum(count, support.shape[0] - 1), 1.0) * root
        inverse = jnp.where(admitted, put(inverse, count, row), inverse)
        smallest = jnp.where(admitted, jnp.minimum(smallest, pivot / c_j), smallest)
    if problem.rules is not None:
        room = room.at[take(problem.rules.labels, j)].add(-admitted.astype(room.dtype))
    support = jnp.where(admitted, put(support, count, j), support)
    count = count + admitted.astype(count.dtype)
    return Growth(support, count, inverse, smallest, excluded, room), admitted


class Fresh:
    """Numbered seeds to complete, each owing nothing to another search.

    In order: the user's own, the most promising column, the s/4 strongest entries of the leading
    direction of the dense problem (from all s a search takes two to four times the steps), the
    other columns in order of promise, random supports.
    """

    def __init__(self, problem, sparsity: int, given=None, lower: float = -jnp.inf):
        self.problem, self.sparsity = problem, sparsity
        self.columns, leading = promising_columns(problem)
        own = jnp.zeros((0, problem.size), problem.dtype) if given is None else given
        self.own = own.shape[0]
        listed = jnp.concatenate([own, leading[None]])
        listed = jax.vmap(lambda x: seed_of(x, sparsity, lower))(listed)
        strongest = jnp.arange(sparsity, dtype=jnp.int32) < max(1, sparsity // 4)
        loadings = listed.loadings.at[self.own].multiply(strongest.astype(problem.dtype))
        self.listed = listed._replace(loadings=loadings)

    def seed(self, number, draws) -> Seed:
        """Seed `number`; `draws` (s,) uniform numbers are for a random support."""
        n, s, dtype = self.problem.size, self.sparsity, self.problem.dtype
        place = number - self.own
        listed = (place < 0) | (place == 1)
        place = jnp.where(place > 1, place - 1, place)
        position = jnp.arange(s, dtype=jnp.int32)
        random = jnp.minimum((draws * n).astype(jnp.int32), n - 1)
        again = (random[:, None] == random[None, :]) & (position[None, :] < position[:, None])
        column = take(self.columns, jnp.clip(place, 0, n - 1))
        single = place < n
        support = jnp.where(single, column, random)
        loadings = jnp.where(single, position == 0, ~jnp.any(again, axis=1)).astype(dtype)
        seed = Seed(support, loadings, take(self.listed.barred, 0))
        own = jax.tree.map(lambda leaf: take(leaf, jnp.clip(number, 0, self.own)), self.listed)
        return jax.tree.map(lambda own, made: jnp.where(listed, own, made), own, seed)


def promising_columns(problem):
    """Columns in order of promise, and a leading direction of the dense problem.

    The direction is two steps of a power iteration on D^(-1/2) A D^(-1/2), D = diag(C), the first
    of which `Problem.scale` makes already (XLA sees that). The promise of column j is its own value
    A_jj / C_jj less the size of the direction there, which decides where all diagonal entries
    are equal; the best by its own value comes first. Where all are zero (CCA), columns go by their
    best pair.
    """
    n, c, a, scale = problem.size, problem.C.diagonal(), problem.A.diagonal(), problem.scale()
    positive = c > 0
    d = jnp.where(positive, lax.rsqrt(jnp.where(positive, c, 1.0)), 0.0)
    scale = jnp.where(scale > 0, scale, 1.0)

    v = probe(n, problem.dtype)
    for _ in range(2):
        v = v - d * problem.A.matvec(d * v) / scale  # favours the low end of the spectrum
    v = v / jnp.maximum(jnp.sqrt(jnp.sum(v * v)), jnp.finfo(v.dtype).tiny)
    usable = free = positive
    if problem.rules is not None:
        usable = positive & ~problem.rules.forbidden
        free = usable & ~problem.rules.forced
    own = jnp.where(usable, a * d * d, jnp.inf)
    promise = put(own - scale * jnp.abs(v), lowest_index(own), -jnp.inf)
    columns = ranks(promise)

    def by_pairs(columns):
        head = columns[: max(1, min(n, MOST_PAIRS // n))]
        size = take(d, head) * peaks(problem.A, head, d)  # minus the value of its best pair
        size = jnp.where(take(free, head), size, -jnp.inf)
        return jnp.concatenate([take(head, ranks(-size)), columns[head.shape[0] :]])

    worthless = jnp.all((a == 0) | ~free)
    columns = lax.cond(worthless, by_pairs, lambda columns: columns, columns)
    return columns, jnp.where(usable, d * v, 0.0)
