"""All sparsities of a path with one compilation (`padding.py`), each warm-started by the next.

Down: from the largest sparsity to the smallest, a full solve with one start more, the answer
before it with its smallest loadings dropped. Up: from the smallest to the largest, one more round
of starts, among them the answer so far and the one before it with the best variables added. The
last start makes the path monotone.
"""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import validation
from .multistart import Multistart
from .padding import pad, unpad
from .rules import make_rules
from .solution import Solution
from .solve import as_solution, chosen, keeps_rules, search
from .supports import dense


def solve_path(
    problem, sparsities, *, method=None, key=None, forced=None, forbidden=None
) -> Solution:
    """`solve` for each of several sparsities: a `Solution` with one more axis, in their order.

    The objective never rises with the sparsity, beyond rounding. `support` has as many entries as
    the largest sparsity, padded with n. The program is compiled once for a largest sparsity and a
    number of them, whatever they are. `method`, `key`, `forced` and `forbidden` are those of
    `solve`; the method must be one that keeps to groups.

    Works under `jit`, `vmap` (a batch of problems) and `grad`.

    ```python
    path = solve_path(problem, range(1, 11))
    -path.objective  # explained variance against the number of variables
    ```
    """
    validation.problem(problem)
    counts = [validation.sparsity(value, problem.size) for value in sparsities]
    if not counts:
        raise ValueError("sparsities must not be empty. Pass a list such as range(1, 11).")
    for count in counts:
        _, rules = make_rules(problem.size, count, None, forced, forbidden)
    most = max(counts)
    method = Multistart() if method is None else method
    keeps_rules(method)
    method = chosen(method, problem.size, most)
    key = jax.random.key(0) if key is None else key
    order = np.argsort(counts, kind="stable")
    path = _path(problem.restricted(rules), method, key, jnp.asarray(counts)[order], most)
    return jax.tree.map(lambda leaf: leaf[np.argsort(order, kind="stable")], path)


@partial(jax.jit, static_argnames=("most",))
def _path(problem, method, key, sparsities, most) -> Solution:
    """`sparsities` ascending."""
    fixed, fixed_method = lax.stop_gradient((problem, method))
    number, size = sparsities.shape[0], problem.size + most

    def improve(place, patience, before, own):
        step = fixed_method
        if isinstance(step, Multistart):
            step = dataclasses.replace(
                step,
                patience=jnp.minimum(step.patience, patience),
                target=jnp.where(patience == 1, -jnp.inf, step.target),  # all of `starts` count
            )
        starts = jnp.stack([before, own])
        return search(pad(fixed, sparsities[place], most), step, key, starts, most, None)

    def visit(carry, item):
        before, path = carry
        place, patience = item
        own = jax.tree.map(lambda leaf: leaf[place], path)
        new = improve(place, patience, before, dense(own[0].point, size))
        value, old = new[0].point.objective, own[0].point.objective
        better = (value < old) | ~jnp.isfinite(old)
        new = jax.tree.map(lambda new, old: jnp.where(better, new, old), new, own)
        path = jax.tree.map(lambda leaf, value: leaf.at[place].set(value), path, new)
        return (dense(new[0].point, size), path), None

    places = np.concatenate([np.arange(number)[::-1], np.arange(number)]).astype(np.int32)
    patience = np.repeat([np.iinfo(np.int32).max, 1], number).astype(np.int32)
    zero = jnp.zeros(size, problem.dtype)
    shapes = jax.eval_shape(improve, places[0], patience[0], zero, zero)
    blank = jax.tree.map(lambda leaf: jnp.zeros((number, *leaf.shape), leaf.dtype), shapes)
    point = blank[0].point._replace(objective=jnp.full(number, jnp.inf, problem.dtype))
    blank = (blank[0]._replace(point=point), *blank[1:])
    (_, path), _ = lax.scan(visit, (zero, blank), (jnp.asarray(places), jnp.asarray(patience)))

    def finish(sparsity, found):
        return unpad(as_solution(pad(problem, sparsity, most), method, *found), problem.size)

    return jax.vmap(finish)(sparsities, path)
