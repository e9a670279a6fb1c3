"""Inertia search: all supports of a block, without one eigendecomposition each.

Why it is exact. For a number α let W(α) = A − αC. A support T has an objective below α exactly
when some x on T has x'Ax < α x'Cx, that is when W(α)_TT has a negative eigenvalue; and that is
when its LDL' factorization meets a pivot ≤ 0 (Sylvester's law of inertia, applied to the leading
principal minors). The coordinates N that every candidate keeps are eliminated first, once for
all: with W_NN positive definite,

    W_{T∪N} has a negative eigenvalue  ⇔  M_TT has,   M = W_BB − W_BN W_NN^(-1) W_NB.

W_NN is positive definite at every α below the current objective, because N alone cannot do
better than N with the rest of the support. So:

1. α ← the current objective, less what counts as rounding;
2. factor all C(k, q) matrices M_TT at once, unrolled over the small dimension and vectorised over
   the candidates: elementwise arithmetic on arrays whose last axis is the candidates;
3. no pivot ≤ 0: no support of the block is below α — the block is proven optimal;
4. otherwise solve the candidate with the lowest pivot exactly, set α to its value, go to 2.

α falls strictly over a finite set, so this ends. After an improvement by d the next round looks
below α − d: what is found there improves by d at least, and if nothing is, the proof at α follows.
So the improvements double, and a few rounds do; one is enough when the block is optimal already.
"""

import math
from functools import lru_cache
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..linalg import definite_tolerance, lowest_pair, take
from ..reduction import eliminate
from .enumerate import Found


def search(A, C, conditional, k: int, count: int, objective, rounding, allowed=None) -> Found:
    """The best support of `count` of the first k coordinates together with all the others.

    A, C, conditional: the reduced pencil (`reduction.py`); candidates on which C is not definite
    are left out, and so are those that fail the test `allowed` of (k, candidates) flags.
    `objective`: the current value; only better ones are looked for, by more than
    `rounding`. The value is inf where there is none. The vector holds the loadings of the chosen
    coordinates, then of the others.
    """
    size = A.shape[0]
    table = jnp.asarray(supports_table(k, count))
    others = jnp.arange(k, size, dtype=jnp.int32)
    candidate = None
    if conditional is not None:
        candidate = lowest_pivots(conditional, table) > definite_tolerance(size, A.dtype)
    if allowed is not None:
        flags = jnp.zeros((k, table.shape[1]), bool)
        flags = flags.at[table, jnp.arange(table.shape[1])[None, :]].set(True)
        candidate = allowed(flags) if candidate is None else candidate & allowed(flags)

    def proof(alpha):
        """The candidate with the lowest pivot at α, and whether that pivot is negative."""
        pivots = lowest_pivots(eliminate(A - alpha * C, k), table)
        pivots = jnp.where(jnp.isnan(pivots), jnp.inf, pivots)
        if candidate is not None:
            pivots = jnp.where(candidate, pivots, jnp.inf)
        winner = jnp.argmin(pivots)
        return take(table.T, winner).astype(jnp.int32), jnp.min(pivots) < 0

    def improve(carry):
        best, leap, _ = carry
        positions, below = proof(best.value - jnp.maximum(leap, rounding))
        chosen = jnp.concatenate([positions, others])
        rows = chosen[:, None], chosen[None, :]
        value, vector = lowest_pair(take(A, *rows), take(C, *rows))
        better = below & (value < best.value - rounding / 2)
        new = Found(positions, jnp.ones(count, bool), vector, value)
        more = better | (leap > rounding)  # a leap that found nothing is no proof
        leap = jnp.where(better, best.value - value, 0.0)
        return jax.tree.map(lambda new, old: jnp.where(better, new, old), new, best), leap, more

    zero = 0 * A[0, 0]
    nothing = Found(
        jnp.zeros(count, jnp.int32),
        jnp.ones(count, bool),
        jnp.zeros(count + size - k, A.dtype) + zero,
        objective + zero,
    )
    begin = (nothing, zero, jnp.isfinite(objective))
    best, _, _ = lax.while_loop(lambda carry: carry[2], improve, begin)
    return best._replace(value=jnp.where(best.value < objective, best.value, jnp.inf))


def lowest_pivots(M, table):
    """(candidates,): the lowest pivot of the LDL' factorization of M_TT for each column T of
    `table` (q, candidates), up to and including the first that is not positive."""
    k, (count, candidates) = M.shape[0], table.shape
    flat = M.reshape(-1)
    index = [table[a].astype(jnp.int32) for a in range(count)]

    def entry(a, b):
        return take(flat, index[a] * k + index[b])

    lowest = jnp.full(candidates, jnp.inf, M.dtype)
    positive = jnp.ones(candidates, bool)
    rows, inverses = [], []  # rows[a][b] = L_ab
    for a in range(count):
        row, pivot = [], entry(a, a)
        for b in range(a):
            scaled = entry(a, b)  # L_ab D_b
            for t in range(b):
                scaled = scaled - row[t][0] * rows[b][t][1]
            row.append((scaled, scaled * inverses[b]))
            pivot = pivot - row[b][0] * row[b][1]
        lowest = jnp.where(positive, jnp.minimum(lowest, pivot), lowest)
        positive = positive & (pivot > 0)
        inverses.append(1 / jnp.where(pivot > 0, pivot, 1.0))
        rows.append(row)
    return lowest


@lru_cache
def supports_table(k: int, count: int) -> np.ndarray:
    """(count, C(k, count)): all supports, one a column, in lexicographic order."""
    members = np.fromiter(
        (i for support in combinations(range(k), count) for i in support), np.uint8
    )
    return np.ascontiguousarray(members.reshape(math.comb(k, count), count).T)
