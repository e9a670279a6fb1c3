"""The front door: problem, sparsity, method and key in; solution out."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from . import start as starting
from . import validation
from .decomposition import Decomposition
from .gradients import reattach
from .loop import run
from .solution import Solution, Status
from .supports import dense


def solve(
    problem, sparsity: int, *, method=None, key=None, start=None, num_starts: int | None = None
) -> Solution:
    """min x'Ax / x'Cx over x ≠ 0 with at most `sparsity` nonzeros.

    **Arguments**

    - `problem`: a `Problem`.
    - `sparsity`: s, an integer from 1 to n.
    - `method`: how to search; `Decomposition()` by default.
    - `key`: a `jax.random.key`; without one, key 0. The same key gives the same answer.
    - `start`: a point (n,), or several (number, n), of at most s nonzeros each.
    - `num_starts`: how many starts to run; those beyond `start` are greedy from columns, then
      random. The best one wins.

    Works under `jit`, `vmap` and on any device; nothing is recompiled for another key, start or
    tolerance. Inside `jit` nothing raises: see `Solution.status`.

    ```python
    solution = solve(Problem(A), 5).check()
    solution.support, solution.x, solution.objective
    ```
    """
    sparsity = validation.sparsity(sparsity, problem.size)
    method = Decomposition() if method is None else method
    key = jax.random.key(0) if key is None else key
    if start is not None:
        start = start if isinstance(start, jax.Array) else np.asarray(start)
        validation.start(start, problem.size, sparsity, method.lower)
        start = jnp.atleast_2d(jnp.asarray(start, problem.dtype))
    own = 0 if start is None else start.shape[0]
    num_starts = max(own, 1) if num_starts is None else num_starts
    validation.count("solve", "num_starts", num_starts, max(own, 1))
    return _solve(problem, method, key, start, sparsity, int(num_starts))


@partial(jax.jit, static_argnames=("sparsity", "num_starts"))
def _solve(problem, method, key, start, sparsity, num_starts) -> Solution:
    exact, (problem, method, start) = problem, jax.lax.stop_gradient((problem, method, start))
    key_start, key_run = jax.random.split(key)
    seeds = starting.seeds(problem, num_starts, key_start, start)
    keys = jax.random.split(key_run, num_starts)

    def one(seed, key):
        return run(method, problem, starting.complete(problem, seed, sparsity, method.lower), key)

    endings = jax.vmap(one)(seeds, keys)
    return reattach(exact, best_of(endings, problem.size), method.lower)


def best_of(endings, size: int) -> Solution:
    """The lowest of a batch of endings, as a solution."""
    values = endings.point.objective
    best = jnp.argmin(values)
    point, status, num_steps, history = jax.tree.map(lambda leaf: leaf[best], endings)
    near = 1e-6 * jnp.abs(point.objective)
    failed = ~jnp.isfinite(point.objective)
    return Solution(
        x=dense(point, size),
        objective=point.objective,
        support=point.support,
        status=jnp.where(failed, jnp.maximum(status, Status.NOT_FINITE), status),
        num_steps=num_steps,
        history=history,
        num_starts=jnp.int32(values.shape[0]),
        times_found=jnp.sum((values <= point.objective + near) & ~failed, dtype=jnp.int32),
    )
