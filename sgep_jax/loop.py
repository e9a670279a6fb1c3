"""The one loop. It owns stopping, status and history; it knows no method.

A method supplies

- `max_steps`, static;
- `init(problem, point, key)` → state, a pytree with `point` and `status`;
- `step(problem, state, key)` → state, with another status than RUNNING to stop;
- `finish(problem, point)` → point, the exact loadings on the final support;
- `lower`, the bound its starts must keep.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from .solution import Status
from .supports import Point


class Run(NamedTuple):
    """The loop's carry. A and C are not in it: they are loop-invariant."""

    step: jax.Array
    state: Any
    history: jax.Array


class Ending(NamedTuple):
    """What one start led to."""

    point: Point
    status: jax.Array
    num_steps: jax.Array
    history: jax.Array


def run(method, problem, start: Point, key) -> Ending:
    """Iterate `method` from one start until it ends or `max_steps` is reached."""
    return iterate(method, problem, start, method.init(problem, start, key), key)


def iterate(method, problem, start: Point, state, key) -> Ending:
    """The same from a state of the method's own."""
    run = lax.while_loop(
        lambda run: unfinished(method, run),
        lambda run: advance(method, problem, key, run),
        begin(method, problem, start, state),
    )
    return end(method, problem, run)


def begin(method, problem, start: Point, state) -> Run:
    failed = _failed(problem, start.objective)
    state = state._replace(status=jnp.where(failed == Status.RUNNING, state.status, failed))
    history = jnp.zeros(method.max_steps + 1, problem.dtype) + 0 * problem.scale()
    return Run(0 * state.status, state, history.at[0].set(start.objective))


def unfinished(method, run: Run):
    return (run.step < method.max_steps) & (run.state.status == Status.RUNNING)


def advance(method, problem, key, run: Run) -> Run:
    state = method.step(problem, run.state, jax.random.fold_in(key, run.step))
    history = run.history.at[run.step + 1].set(state.point.objective)
    return Run(run.step + 1, state, history)


def end(method, problem, run: Run) -> Ending:
    steps, state, history = run
    point = method.finish(problem, state.point)
    started = _failed(problem, history[0]) == Status.RUNNING
    usable = jnp.isfinite(point.objective) & started
    point = Point(
        point.support,
        jnp.where(usable, point.loadings, 0.0),
        jnp.where(usable, point.objective, jnp.inf),
    )
    last = jnp.where(usable, state.point.objective, jnp.inf)
    history = jnp.where(jnp.arange(method.max_steps + 1, dtype=jnp.int32) <= steps, history, last)
    status = jnp.where(state.status == Status.RUNNING, jnp.int32(Status.STEP_LIMIT), state.status)
    return Ending(point, status, steps, history)


def _failed(problem, objective):
    """Why there is no start, or RUNNING."""
    return jnp.where(
        jnp.isnan(problem.scale()),
        jnp.int32(Status.NOT_FINITE),
        jnp.where(
            jnp.isfinite(objective),
            jnp.int32(Status.RUNNING),
            jnp.int32(Status.NO_DEFINITE_SUPPORT),
        ),
    )
