"""The front door: problem, sparsity, method and key in; solution out."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import validation
from .baselines.exhaustive import Exhaustive
from .decomposition import Decomposition
from .gradients import reattach
from .loop import run
from .multistart import Multistart
from .pool import slack
from .rules import check_start, make_rules
from .solution import Solution, Status
from .start import Fresh, complete
from .supports import dense
from .swap_search import SwapSearch
from .whole import Whole


def solve(
    problem,
    sparsity,
    *,
    method=None,
    key=None,
    start=None,
    num_starts: int | None = None,
    groups=None,
    forced=None,
    forbidden=None,
) -> Solution:
    """min x'Ax / x'Cx over x ≠ 0 with at most `sparsity` nonzeros.

    **Arguments**

    - `problem`: a `Problem`.
    - `sparsity`: s, an integer from 1 to n; with `groups`, one integer for each group.
    - `method`: how to search. By default all supports where they are few (status OPTIMAL), and
      otherwise a `Multistart`, which decides by itself how many starts the problem needs.
    - `key`: a `jax.random.key`; without one, key 0. The same key gives the same answer.
    - `start`: a point (n,), or several (number, n), of at most s nonzeros each.
    - `num_starts`: how many starts to run; those beyond `start` are greedy from columns, then
      random. The best one wins. Without it the default decides, other methods run one.
    - `groups`: a label 0, 1, … per variable: the support then has exactly `sparsity[g]` variables
      of group g (the two views of CCA, say).
    - `forced`, `forbidden`: indices of variables that are in the support for certain, or never.
      Forced ones count towards the sparsity.

    Works under `jit`, `vmap` and `grad` (`docs/gradients.md`), on any device; nothing is recompiled
    for another key, start or tolerance. Inside `jit` nothing raises: see `Solution.status`.

    ```python
    solution = solve(Problem(A), 5).check()
    solution.support, solution.x, solution.objective
    ```
    """
    validation.problem(problem)
    sparsity, rules = make_rules(problem.size, sparsity, groups, forced, forbidden)
    method = chosen(method, problem.size, sparsity)
    if rules is not None:
        keeps_rules(method)
        problem = problem.restricted(rules)
    key = jax.random.key(0) if key is None else key
    validation.key(key)
    if start is not None:
        start = start if isinstance(start, jax.Array) else np.asarray(start)
        validation.start(start, problem.size, sparsity, method.lower)
        if rules is not None and validation.is_concrete(start):
            check_start(np.atleast_2d(start), rules)
        numpy = jnp if isinstance(start, jax.Array) else np  # jit hands it to the device by itself
        start = numpy.atleast_2d(numpy.asarray(start, problem.dtype))
    own = 0 if start is None else start.shape[0]
    if num_starts is not None:
        validation.count("solve", "num_starts", num_starts, max(own, 1))
        num_starts = int(num_starts)
    if examines_all(method, problem.size, sparsity):
        start, num_starts = None if start is None else start[:1], None
    return _solve(problem, method, key, start, sparsity, num_starts)


def keeps_rules(method):
    """Methods that exchange coordinates can keep to groups; those that truncate cannot."""
    exchanging = isinstance(method, (Multistart, SwapSearch, Decomposition, Exhaustive, Whole))
    parts = (method, getattr(method, "refine", None))
    if not exchanging or any(getattr(part, "draw", None) == "uniform" for part in parts):
        raise ValueError(
            f"groups, forced and forbidden need a method that exchanges variables (the default, "
            f"SwapSearch, a stratified Decomposition, Exhaustive), but it is {method}."
        )


def examines_all(method, size: int, sparsity: int) -> bool:
    """Whether all supports are looked at, so that every start would lead to the same answer."""
    if isinstance(method, Decomposition):
        return method.examines_all(size, sparsity)
    return isinstance(method, Exhaustive)


def chosen(method, size: int, sparsity: int):
    """`method`, or the default for None, with what suits the problem where it leaves that open."""
    method = default_method(size, sparsity) if method is None else method
    validation.method(method)
    return method.sized(size, sparsity) if isinstance(method, Multistart) else method


def default_method(size: int, sparsity: int):
    """All supports at once where they are few; otherwise `Multistart`."""
    if sparsity == size:
        return Whole()
    if size <= 24 and math.comb(size, sparsity) <= 20_000:
        return Decomposition(
            random=max(size, 2), swap=0, subproblem="inertia", rest="free", max_steps=1
        )
    return Multistart()


@partial(jax.jit, static_argnames=("sparsity", "num_starts"))
def _solve(problem, method, key, start, sparsity, num_starts) -> Solution:
    fixed, fixed_method, start = lax.stop_gradient((problem, method, start))
    found = search(fixed, fixed_method, key, start, sparsity, num_starts)
    return as_solution(problem, method, *found)


@partial(jax.jit, static_argnames=("sparsity", "num_starts"))
def search(problem, method, key, start, sparsity: int, num_starts: int | None):
    """The best `Ending`, how many starts were run, how many met its value.

    `start` is None or (number, n).
    """
    if isinstance(method, Multistart) and num_starts is not None:
        method = method.exactly(num_starts, sparsity)
    if isinstance(method, (Multistart, Whole)):
        ending, tried, found = method.search(problem, sparsity, start, key)
    else:
        own = 1 if start is None else start.shape[0]
        ending, tried, found = run_starts(
            problem, method, key, start, sparsity, own if num_starts is None else num_starts
        )
    return ending, jnp.asarray(tried, jnp.int32), found


def as_solution(problem, method, ending, tried, found) -> Solution:
    """The answer a search led to, with its derivatives with respect to `problem`."""
    point, status, num_steps, history = ending
    failed = ~jnp.isfinite(point.objective)
    none_left = jnp.int32(Status.NO_DEFINITE_SUPPORT)  # NaN and infinity were seen at the start
    solution = Solution(
        x=dense(point, problem.size),
        objective=point.objective,
        support=jnp.sort(point.support),
        status=jnp.where(failed & (status < Status.NOT_FINITE), none_left, status),
        num_steps=num_steps,
        history=history,
        num_starts=tried,
        times_found=jnp.where(failed, 0, found),
    )
    return reattach(problem, solution, method.lower)


def run_starts(problem, method, key, start, sparsity, number: int, chunk: int = 32):
    """`number` runs of a method, `chunk` at a time; the best, and how many met its value."""
    fresh = Fresh(problem, sparsity, start, method.lower)

    def one(count):
        point, key_run = start_point(fresh, method, key, count)
        return run(method, problem, point, key_run)

    if number == 1:
        ending = one(jnp.int32(0))
        return ending, 1, jnp.int32(1)
    counts = jnp.arange(number, dtype=jnp.int32)
    endings = lax.map(one, counts, batch_size=chunk) if number > chunk else jax.vmap(one)(counts)
    best, found = best_ending(endings)
    return best, number, found


def start_point(fresh: Fresh, method, key, count):
    """Where start number `count` begins, and the key of its run."""
    key_start, key_run = jax.random.split(jax.random.fold_in(key, count))
    draws = jax.random.uniform(key_start, (fresh.sparsity,), jnp.float32)
    return complete(fresh.problem, fresh.seed(count, draws), method.lower), key_run


def best_ending(endings):
    """The best of several, and how many met its value."""
    values = endings.point.objective
    best = jax.tree.map(lambda leaf: leaf[jnp.argmin(values)], endings)
    value = best.point.objective
    return best, jnp.sum(values <= value + slack(value), dtype=jnp.int32)
