"""Many tasks through a few slots, in one compiled loop: a slot whose task has ended takes the next.

`width` tasks advance side by side (`vmap`), each frozen once it has ended. As soon as a quarter of
them have, their results are written down and their slots refilled from the queue, so that what a
slot waits for is a fraction of one task, not the slowest of all. What a task does depends on its
own data alone: neither on its neighbours nor on when it ran.

A task offers `begin()` → state, `unfinished(state)`, `advance(state)`, `steps(state)` (how far it
got, for the accounts) and `end(state)` → result.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax


class Queue(NamedTuple):
    """The carry. `task` (width,) is the number of the task in each slot, `fresh` whether it has
    yet to begin, `upcoming` the next one of the queue; `steps` counts slots times steps."""

    task: jax.Array
    fresh: jax.Array
    upcoming: jax.Array
    states: Any
    results: Any
    steps: jax.Array


def run_queue(tasks, total: int, count, width: int):
    """Run tasks 0, …, count − 1 of `total` (count ≤ total may be traced).

    `tasks.data(i)` gives the data of task i, `tasks(data)` the task. Returns the results, stacked
    (total, …), of no meaning from `count` on, and the number of steps that the slots spent.
    """
    if width == 1:  # one after another: no slots, nothing to freeze
        return _in_turn(tasks, total, count)
    quota = max(1, width // 4)
    state, result = jax.eval_shape(partial(_shapes, tasks), jnp.int32(0))
    first = jnp.arange(width, dtype=jnp.int32) + 0 * count
    queue = Queue(
        task=first,
        fresh=first >= 0,
        upcoming=width + 0 * count,
        states=_zeros(width, state),
        results=_zeros(total, result),
        steps=0 * count,
    )

    def refill(queue: Queue) -> Queue:
        busy = queue.task < count
        data = jax.vmap(tasks.data)(jnp.minimum(queue.task, total - 1))
        floor = jnp.where(queue.upcoming < count, width - quota, 0)
        lane = jax.vmap(partial(_lane, tasks), in_axes=(0, 0, 0, 0, None), axis_name="slots")
        states, ended, results, steps = lane(data, queue.states, queue.fresh, busy, floor)
        place = jnp.where(ended & busy, queue.task, total)
        results = jax.tree.map(
            lambda all, new: all.at[place].set(new, mode="drop"), queue.results, results
        )
        free = ended | ~busy
        order = queue.upcoming + jnp.cumsum(free, dtype=jnp.int32) - 1
        return Queue(
            task=jnp.where(free, order, queue.task),
            fresh=free,
            upcoming=queue.upcoming + jnp.sum(free, dtype=jnp.int32),
            states=states,
            results=results,
            steps=queue.steps + width * steps[0],
        )

    queue = lax.while_loop(lambda queue: jnp.any(queue.task < count), refill, queue)
    return queue.results, queue.steps


def _in_turn(tasks, total: int, count):
    def run(number):
        task = tasks(tasks.data(number))
        state = lax.while_loop(
            lambda state: (number < count) & task.unfinished(state), task.advance, task.begin()
        )
        return task.end(state), task.steps(state)

    results, steps = lax.map(run, jnp.arange(total, dtype=jnp.int32))
    return results, jnp.sum(steps, dtype=jnp.int32)


def _lane(tasks, data, state, fresh, busy, floor):
    """One slot, under `vmap`: advance until no more than `floor` slots are still running."""
    task = tasks(data)
    state = _choose(fresh, task.begin(), state)

    def running(state):
        return busy & task.unfinished(state)

    def waiting(carry):
        return lax.psum(running(carry[0]).astype(jnp.int32), "slots") > floor

    def advance(carry):
        state, steps = carry
        new = _choose(running(state), task.advance(state), state)
        return new, steps + lax.pmax(task.steps(new) - task.steps(state), "slots")

    state, steps = lax.while_loop(waiting, advance, (state, 0 * floor))
    return state, ~task.unfinished(state), task.end(state), steps


def _shapes(tasks, number):
    task = tasks(tasks.data(number))
    state = task.begin()
    return state, task.end(state)


def _zeros(count, shapes):
    return jax.tree.map(lambda leaf: jnp.zeros((count, *leaf.shape), leaf.dtype), shapes)


def _choose(flag, new, old):
    return jax.tree.map(lambda new, old: jnp.where(flag, new, old), new, old)
