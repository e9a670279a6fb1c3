"""Which k coordinates a step re-optimises (§4 of the paper): Ri-Sj.

- S, swapping: D_ij is the lowest value that dropping i ∈ support and adding j ∉ support can reach
  along j alone (Lemma 1, all pairs at once). The j/2 smallest row minima say what to drop, the
  j/2 smallest column minima what to add: the best pair is always among them.
- R, random: `stratified` draws half from the support and half from outside, which covers the same
  exchanges and fixes q = |B ∩ support|; `uniform` draws from all n coordinates as the paper does,
  which hardly ever meets the support when n ≫ s.

Random coordinates are drawn among those that S left, so the two never overlap.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from .fractional import minimise_fraction
from .linalg import put, quadratic, take
from .reduction import Block
from .supports import Point, membership


class Sizes(NamedTuple):
    """How many coordinates come from where, clipped to what a problem has."""

    swap_in: int
    swap_out: int
    random_in: int
    random_out: int

    @property
    def inside(self) -> int:
        return self.swap_in + self.random_in

    @property
    def total(self) -> int:
        return sum(self)


def sizes(n: int, s: int, random: int, swap: int) -> Sizes:
    """Sizes of a stratified working set: k = min(random + swap, n), as even a split as fits."""
    swap_in, swap_out = (min(swap // 2, s), min(swap // 2, n - s)) if s < n else (0, 0)
    left = min(random + swap, n) - swap_in - swap_out
    free_in, free_out = s - swap_in, n - s - swap_out
    random_in = min((left + 1) // 2, free_in)
    random_out = min(left - random_in, free_out)
    random_in = min(left - random_out, free_in)
    return Sizes(swap_in, swap_out, random_in, random_out)


def exchange_values(problem, point: Point, lower=-jnp.inf):
    """(s, n): min over β of f(x − x_i e_i + β e_j), inf where j is in the support, or the
    rules forbid the exchange.

    D_ij of the paper's equation (4) is this minus f(x).
    """
    S, x = point.support, point.loadings
    columns_A, columns_C = problem.A.columns(S), problem.C.columns(S)
    a, c = problem.A.diagonal(), problem.C.diagonal()
    highest = lax.Precision.HIGHEST
    Ax = jnp.matmul(columns_A, x, precision=highest)
    Cx = jnp.matmul(columns_C, x, precision=highest)
    xAx, xCx = quadratic(columns_A[S], x), quadratic(columns_C[S], x)
    vAv = xAx - 2 * x * Ax[S] + x * x * a[S]  # v = x − x_i e_i
    vCv = xCx - 2 * x * Cx[S] + x * x * c[S]
    alone = x.shape[0] == 1  # v = 0: no rounding of xAx − 2xAx + xAx, please
    vAv, vCv = (0 * vAv, 0 * vCv) if alone else (vAv, vCv)
    values = minimise_fraction(
        a[None, :],
        Ax[None, :] - x[:, None] * columns_A.T,
        vAv[:, None] / 2,
        c[None, :],
        Cx[None, :] - x[:, None] * columns_C.T,
        vCv[:, None] / 2,
        lower,
    ).value
    barred = membership(S, problem.size)[None, :]
    if problem.rules is not None:
        barred |= ~problem.rules.exchangeable(S)
    return jnp.where(barred, jnp.inf, values)


def select(key, point: Point, scores, size: Sizes, n: int, fixed=None) -> Block:
    """A stratified working set from (s, n) scores, lower is better (unused without swaps).

    `fixed` (n,): coordinates that are in no exchange; they come last.
    """
    s = point.support.shape[0]
    outside = ~membership(point.support, n)
    draws = _draw(key, s + n)
    rank_in, rank_out = draws[:s], draws[s:]
    if fixed is not None:
        last = fixed.astype(draws.dtype)
        rank_in, rank_out = rank_in + take(last, point.support), rank_out + last
    if size.swap_in:
        chosen = _smallest(jnp.min(scores, axis=1), size.swap_in)
        rank_in = put(rank_in, chosen, -1.0)
    if size.swap_out:
        chosen = _smallest(jnp.min(scores, axis=0), size.swap_out)
        rank_out = put(rank_out, chosen, -1.0)
    positions = _smallest(rank_in, size.inside)
    added = _smallest(jnp.where(outside, rank_out, 3.0), size.swap_out + size.random_out)
    indices = jnp.concatenate([take(point.support, positions), added])
    kept = put(jnp.ones(s, bool), positions, False)
    return Block(indices, kept, jnp.int32(size.inside))


def select_uniform(key, point: Point, scores, size: Sizes, n: int) -> Block:
    """The paper's draw: S as above, then R uniformly from all coordinates that S left."""
    rank = _draw(key, n)
    if size.swap_in:
        chosen = point.support[_smallest(jnp.min(scores, axis=1), size.swap_in)]
        rank = rank.at[chosen].set(-1.0)
    if size.swap_out:
        rank = rank.at[_smallest(jnp.min(scores, axis=0), size.swap_out)].set(-1.0)
    return block_of(_smallest(rank, size.total), point)


def block_of(indices, point: Point) -> Block:
    """Any working set: a support coordinate outside it stays if its loading is not zero."""
    in_block = jnp.any(point.support[:, None] == indices[None, :], axis=1)
    kept = ~in_block & (point.loadings != 0)
    room = point.support.shape[0] - jnp.sum(kept, dtype=jnp.int32)
    return Block(indices, kept, jnp.minimum(room, indices.shape[0]))


def _draw(key, count: int):
    return jax.random.uniform(key, (count,), jnp.float32)  # the same draw in every dtype


def _smallest(values, count: int):
    return lax.top_k(-values, count)[1].astype(jnp.int32)
