"""Block-k optimality: how far x is from being the best on every block of k coordinates."""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from . import validation, working_set
from .linalg import product, quadratic
from .reduction import frozen_rest, reduce
from .search import bisection
from .search.enumerate import best_support
from .supports import Point, largest, normalise, unrank


def block_optimality(problem, x, k: int, *, sparsity=None, key=None, max_blocks: int = 5000):
    """M(x) of Definition 1: the mean of ‖P(B, x) − x_B‖² over the blocks B of k coordinates.

    P(B, x) is the best x_B given x_N, with at most s nonzeros in all. M(x) = 0 exactly when x is
    block-k optimal. x is scaled to x'Cx = 1 first. Where x_B is itself a minimiser (to rounding)
    the term is 0; where the minimum is reached only by dropping x_N, the term is the squared
    distance between the two normalised points.

    - `sparsity`: s; by default the number of nonzeros of x.
    - Exact when there are at most `max_blocks` blocks; otherwise the mean over `max_blocks` blocks
      drawn uniformly with `key` (key 0 without one).
    """
    n = problem.size
    x = jnp.asarray(x, problem.dtype)
    if x.shape != (n,):
        raise ValueError(f"x must have shape ({n},), but its shape is {x.shape}.")
    validation.finite("x", x)
    if sparsity is None:
        sparsity = int(jnp.sum(x != 0))
    sparsity = validation.sparsity(sparsity, n)
    validation.start(x, n, sparsity, -math.inf)
    validation.count("block_optimality", "k", k, 1)
    if not k <= min(n, 24):
        raise ValueError(f"k must be at most {min(n, 24)}, but it is {k}.")
    key = jax.random.key(0) if key is None else key
    return _measure(problem, x, key, int(k), sparsity, int(max_blocks))


@partial(jax.jit, static_argnames=("k", "sparsity", "max_blocks"))
def _measure(problem, x, key, k, sparsity, max_blocks):
    n = problem.size
    support = largest(x, sparsity)
    x = x[support]
    A, C = problem.A.block(support), problem.C.block(support)
    norm = quadratic(C, x)
    point = normalise(Point(support, x, quadratic(A, x) / norm), norm)
    size = jnp.maximum(problem.scale(), jnp.abs(point.objective))
    rounding = 1e3 * jnp.finfo(problem.dtype).eps * size

    def distance(indices):
        block = working_set.block_of(indices, point)
        reduced = reduce(problem, point, block, frozen_rest(point, block), 0.0)
        width = min(k, sparsity)
        total = max(math.comb(k, count) for count in range(width + 1))
        found = best_support(
            k, block.count, width, min(256, total),
            partial(bisection.solve_candidate, reduced.proximal, reduced.C),
        )  # fmt: skip
        slots = jnp.where(found.present, found.positions, k)
        best = jnp.zeros(k, problem.dtype).at[slots].set(found.vector[:-1], mode="drop")
        current, eta = reduced.current[:k], found.vector[-1]
        moved = jnp.sum((best / jnp.where(eta != 0, eta, 1.0) - current) ** 2)

        rest = jnp.where(block.kept, point.loadings, 0.0)
        norm = quadratic(reduced.C[:k, :k], best)
        best = best * lax.rsqrt(jnp.where(norm > 0, norm, 1.0))
        best = best * jnp.where(product(best, current) < 0, -1.0, 1.0)
        dropped = jnp.sum((best - current) ** 2) + jnp.sum(rest**2)
        better = found.value < point.objective - rounding
        return jnp.where(better, jnp.where(eta != 0, moved, dropped), 0.0)

    blocks = math.comb(n, k)
    if blocks <= max_blocks:
        every = jax.vmap(lambda rank: unrank(rank, n, k, k)[0])(jnp.arange(blocks, dtype=jnp.int32))
    else:
        draws = jax.random.uniform(key, (max_blocks, n), jnp.float32)
        every = lax.top_k(draws, k)[1].astype(jnp.int32)
    return jnp.mean(lax.map(distance, every, batch_size=min(64, len(every))))
