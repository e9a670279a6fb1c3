"""Factorizations of small matrices that never wait for each other's threads.

On CPU jaxlib splits a large batch of LAPACK calls into tasks, hands them to the pool of threads it
runs in itself, and waits. Two batches at once may hold all threads while their tasks wait for one:
a deadlock (seen with jaxlib 0.10.2). There are two ways to two at once, and a rule against each:

- one program with two independent calls: `after` makes each need the one before it;
- several programs at once on the one pool, of several CPU devices or of several threads (then they
  are traced `unsplit`): there batches go in pieces too small to be split. Each program has a thread
  already, so nothing is lost.
"""

from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap

UNSPLIT = 200_000  # jaxlib splits batches of more operations than this
_unsplit = ContextVar("unsplit", default=False)


@contextmanager
def unsplit(flag: bool):
    """Whether what is traced inside may run beside other programs of its kind."""
    token = _unsplit.set(flag)
    try:
        yield
    finally:
        _unsplit.reset(token)


def after(before, array):
    """`array`, to be had only after the number `before`; zero where that is NaN."""
    return jnp.where(jnp.isnan(before), 0.0, array)


def in_pieces(factorize):
    """`factorize` of single matrices, whose batches are not split where programs run at once."""

    @custom_vmap
    def batch(*stacks):
        count, (rows, columns) = stacks[0].shape[0], stacks[-1].shape[-2:]
        most = max(1, UNSPLIT // (30 * rows * rows * max(rows, columns)))  # 30 n³: eigenvectors
        number = -(-count // most)
        width = -(-count // number)
        every = jax.vmap(factorize)
        if number == 1:
            return every(*stacks)

        def pieces(stack):
            padding = [(0, number * width - count)] + [(0, 0)] * (stack.ndim - 1)
            return jnp.pad(stack, padding, mode="edge").reshape(number, width, *stack.shape[1:])

        found = lax.map(lambda piece: every(*piece), tuple(map(pieces, stacks)))
        return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:count], found)

    @batch.def_vmap
    def _batch_of_batches(size, batched, *stacks):
        stacks = _all_batched(size, batched, stacks)
        found = batch(*(stack.reshape(-1, *stack.shape[2:]) for stack in stacks))
        found = jax.tree.map(lambda leaf: leaf.reshape(size, -1, *leaf.shape[1:]), found)
        return found, jax.tree.map(lambda _: True, found)

    @custom_vmap
    def single(*matrices):
        return factorize(*matrices)

    @single.def_vmap
    def _batch(size, batched, *matrices):
        found = batch(*_all_batched(size, batched, matrices))
        return found, jax.tree.map(lambda _: True, found)

    @wraps(factorize)
    def call(*matrices):
        several = _unsplit.get() or jax.local_device_count() > 1
        pieces = several and jax.default_backend() == "cpu"
        return (single if pieces else factorize)(*matrices)

    return call


def _all_batched(size, batched, stacks):
    return [
        stack if is_batched else jnp.broadcast_to(stack, (size, *stack.shape))
        for stack, is_batched in zip(stacks, batched, strict=True)
    ]


@in_pieces
def cholesky(K):
    """L with K = LL', of the lower triangle; NaN where K is not positive definite."""
    return jnp.linalg.cholesky(K, symmetrize_input=False)


@in_pieces
def eigh(M):
    """Eigenvalues in ascending order, and eigenvectors, of the lower triangle."""
    return tuple(jnp.linalg.eigh(M, symmetrize_input=False))


@in_pieces
def solve_lower(L, B):
    """L^(-1) B of a lower triangular matrix; B is (n, k)."""
    return jax.scipy.linalg.solve_triangular(L, B, lower=True)


@in_pieces
def solve_factored(L, B):
    """(LL')^(-1) B; B is (n, k)."""
    return jax.scipy.linalg.cho_solve((L, True), B)
