"""The default search: many local searches side by side, as many as the problem asks for.

`lanes` swap searches (`swap_search.py`) advance together. As soon as half of them have ended, they
are recorded and given new starts (`restarts.py`), so that no lane waits for the slowest. Likewise
lanes screen columns (`corrective.py`) until half of them find nothing more, and only then are all
pairs scored, for all lanes at once.

The best points so far are a population, which kicked and crossed starts are made from. They soon
resemble each other, so when 96 starts have brought it nothing better, a new population begins with
fresh starts, and owes nothing to the old one.

A search whose screens find nothing more while it is far above the best point is not worth the
look at all pairs, and is given up.

It ends when fresh starts have met the best value `confirmations` times and, lest all of them lead
to one poor optimum, 96 starts of all kinds brought nothing better; or when `patience` starts in a
row brought nothing better; or when the best value is at the `target`; or after `max_starts`; or,
with status STEP_LIMIT, after `max_steps`. Another method may then refine the best point: a
`Decomposition` exchanges several variables at once.
"""

import dataclasses
import math
import numbers
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from . import validation
from .decomposition import Decomposition
from .linalg import lowest_index, quadratic, take
from .loop import Ending, iterate
from .pool import first, merge, slack
from .restarts import Starts
from .solution import Status
from .start import grow
from .supports import Point, normalise
from .swap_search import SwapSearch, SwapState, screened

STALE = 96  # starts without anything better, after which a population is given up
FAR = 0.005  # above the best point, relative: a look at all pairs was seen to bring 0.001


class Search(NamedTuple):
    """The carry of the outer loop. `idle` (lanes,): those that wait for a start; `fresh` (lanes,):
    those whose start was; `born` (lanes,): the population it belongs to. `best` is the best
    point of all; `pool` holds the best distinct ones of this population, lowest first, which is
    `age` rounds old and had `stale` starts that did not improve it; `drawn` counts fresh starts."""

    lanes: SwapState
    idle: jax.Array
    fresh: jax.Array
    born: jax.Array
    best: Point
    pool: Point
    population: jax.Array
    age: jax.Array
    stale: jax.Array
    rounds: jax.Array
    drawn: jax.Array
    started: jax.Array
    ended: jax.Array
    found: jax.Array
    confirmed: jax.Array
    unimproved: jax.Array
    steps: jax.Array
    history: jax.Array


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["local", "refine", "confirmations", "patience", "max_starts", "target"],
    meta_fields=["lanes", "elite", "max_steps"],
)
@dataclasses.dataclass(frozen=True)
class Multistart:
    """An adaptive multistart of a `SwapSearch`; see the top of `multistart.py`. `Multistart()` is
    the default wherever supports are too many to look at all: what is None suits n and s.

    - `local`: the local search; of its limits only the `tolerance` counts here.
    - `refine`: what goes on from the best point, such as `Decomposition(subproblem="inertia",
      rest="free", scores="corrective", tolerance=0.0, window=10)`.
    - `lanes`: local searches that advance side by side.
    - `elite`: how many of the best points of a population new starts are made from.
    - `confirmations`, `patience`, `max_starts`: when to stop (traced: none recompiles).
    - `target`: an objective that is low enough, up to 1e-8 of it (float32: 1e-6). Once a start is
      there the search ends, one of a given number of starts too; `refine` still goes on from it.
    - `max_steps`: a cap on the steps of all lanes together, and the length of the history, which a
      batch copies at every step. It suits the default's patience: raise it with your own.
    """

    local: SwapSearch = dataclasses.field(default_factory=SwapSearch)
    refine: Decomposition | None = None
    lanes: int | None = None
    elite: int = 8
    confirmations: int = 12
    patience: int | None = None
    max_starts: int | None = None
    max_steps: int | None = None
    target: float = -math.inf

    lower = -math.inf

    def __post_init__(self):
        validation.count("Multistart", "elite", self.elite, 1)
        for field in ("lanes", "max_steps"):
            if getattr(self, field) is not None:
                validation.count("Multistart", field, getattr(self, field), 1)
        for field in ("confirmations", "patience", "max_starts"):
            validation.at_least_one("Multistart", field, getattr(self, field))
        validation.below_infinity("Multistart", "target", self.target)

    def sized(self, size: int, sparsity: int) -> "Multistart":
        """The same with a number for what is None.

        As many lanes as fit into a core's cache (where a matrix does not, they share the reading of
        it, and memory is the limit). Larger problems have more optima and ask for more patience,
        until starts are too expensive: it is 1024 up to n s = 10,240, at most 5477 (n s = 54,772),
        and 16 from n s = 18.75 million on. What is found late may make it two such spells.
        """
        work = size * sparsity  # a lane has a few arrays of n × s
        lanes = max(1, min(2**16 // work, 16)) if size < 8192 else max(2, min(2**23 // work, 16))
        patience = max(16, min(3 * 10**8 // work, max(1024, work // 10)))
        steps = min(240_000, (16 + 2 * sparsity) * max(4096, 2 * patience))
        lanes = lanes if self.lanes is None else self.lanes
        patience = patience if self.patience is None else self.patience
        smaller, larger = (
            (min, max) if isinstance(patience, numbers.Real) else (jnp.minimum, jnp.maximum)
        )
        starts = larger(4096, 2 * smaller(patience, 2**30 - 1))
        return dataclasses.replace(
            self,
            lanes=lanes,
            patience=patience,
            max_starts=starts if self.max_starts is None else self.max_starts,
            max_steps=max(1, steps // lanes) if self.max_steps is None else self.max_steps,
            target=validation.scalar_below_infinity("Multistart", "target", self.target),
        )

    def exactly(self, number: int, sparsity: int) -> "Multistart":
        """A given number of starts, of one that is `sized`, in half as many lanes: fewer wait for
        the last. The longest seen took some 60 steps at s = 40; a shorter history is less to copy
        in a batch."""
        return dataclasses.replace(
            self,
            lanes=min(self.lanes, (number + 1) // 2),
            confirmations=number + 1,
            patience=number + 1,
            max_starts=number,
            max_steps=min(self.max_steps, number * (100 + 16 * sparsity)),
        )

    def search(self, problem, sparsity: int, given, key):
        """The best `Ending` of all starts, how many starts ended, how many at the best value."""
        starts = Starts(problem, sparsity, given, key)
        search = self.begin(problem, sparsity)
        search = lax.while_loop(self.unfinished, partial(self.round, problem, starts), search)
        return self.end(problem, search, key)

    def begin(self, problem, sparsity: int) -> Search:
        """Nothing done yet: every lane waits for a start."""
        scale = problem.scale()
        zero = jnp.int32(0)
        blank = jnp.zeros(sparsity, jnp.int32), jnp.zeros(sparsity, problem.dtype)
        nothing = Point(*blank, jnp.inf + 0 * scale)
        none = (0 * problem.A.diagonal() != 0).astype(jnp.int8)
        lane = SwapState(nothing, jnp.int32(Status.STEP_LIMIT), scale, none, none[0] != 0)
        return Search(
            lanes=jax.tree.map(partial(_repeat, self.lanes), lane),
            idle=jnp.ones(self.lanes, bool),
            fresh=jnp.ones(self.lanes, bool),
            born=jnp.zeros(self.lanes, jnp.int32),
            best=nothing,
            pool=jax.tree.map(partial(_repeat, self.elite), nothing),
            population=zero,
            age=zero,
            stale=zero,
            rounds=zero,
            drawn=zero,
            started=zero,
            ended=zero,
            found=zero,
            confirmed=zero,
            unimproved=zero,
            steps=zero,
            history=jnp.full(self.max_steps + 1, jnp.inf, problem.dtype) + 0 * scale,
        )

    def end(self, problem, search: Search, key):
        """What `search` says it returns."""
        ending = self._ending(problem, search)
        if self.refine is None:
            return ending, search.ended, search.found
        begun = self.refine.begin(problem, ending.point)
        idle = self.unfinished(search)  # in a batch: not this one's turn yet
        begun = begun._replace(status=jnp.where(idle, Status.STEP_LIMIT, begun.status))
        refined = iterate(self.refine, problem, ending.point, begun, key)
        value = ending.point.objective
        better = refined.point.objective < value - slack(value)
        return append(ending, refined), search.ended, jnp.where(better, 1, search.found)

    def _ending(self, problem, search: Search) -> Ending:
        point, scale = search.best, problem.scale()
        found = jnp.where(
            search.steps < self.max_steps, jnp.int32(Status.SWAP_OPTIMAL), Status.STEP_LIMIT
        )
        none = jnp.where(jnp.isnan(scale), jnp.int32(Status.NOT_FINITE), Status.NO_DEFINITE_SUPPORT)
        late = jnp.arange(self.max_steps + 1, dtype=jnp.int32) > search.steps
        usable = jnp.isfinite(point.objective)
        value = jnp.where(usable, point.objective, jnp.inf)
        point = Point(point.support, jnp.where(usable, point.loadings, 0.0), value)
        norm = quadratic(problem.C.block(point.support), point.loadings)
        return Ending(
            normalise(point, norm),
            jnp.where(usable, found, none),
            search.steps,
            jnp.where(late, value, search.history),
        )

    def _start(self, problem, scale, seed) -> SwapState:
        support, _, grown = grow(problem, seed)
        state = self.local.begin(problem, support, scale, seed.barred)
        dead = ~(grown & jnp.isfinite(state.point.objective))
        objective = jnp.where(dead | jnp.isnan(state.scale), jnp.inf, state.point.objective)
        return state._replace(
            point=state.point._replace(objective=objective),
            status=jnp.where(jnp.isfinite(objective), state.status, jnp.int32(Status.STEP_LIMIT)),
        )

    def unfinished(self, search: Search):
        lowest = search.best.objective - slack(search.best.objective)
        target = jnp.asarray(self.target).astype(lowest.dtype)
        return (
            ((search.confirmed < self.confirmations) | (search.unimproved < STALE))
            & (search.unimproved < self.patience)
            & ~(lowest <= target)
            & (search.ended < self.max_starts)
            & (search.steps < self.max_steps)
        )

    def round(self, problem, starts, search: Search) -> Search:
        """Start half of the lanes anew, advance until half of all have ended, record those."""
        turn = jnp.cumsum(search.idle, dtype=jnp.int32) - 1  # which of the new starts is whose
        free = search.idle & (turn < self.half) & (search.started + turn < self.max_starts)
        turn = jnp.clip(turn, 0, self.half - 1)
        seeds, fresh = starts.next(search, self.half)
        new = jax.vmap(partial(self._start, problem, search.lanes.scale[0]))(seeds)

        def placed(new, old):
            return _choose(free, take(new, turn), old)

        search = search._replace(
            lanes=jax.tree.map(placed, new, search.lanes),
            idle=search.idle & ~free,
            fresh=placed(fresh, search.fresh),
            born=jnp.where(free, search.population, search.born),
            rounds=search.rounds + 1,
            age=search.age + 1,
            drawn=search.drawn + jnp.sum(fresh, dtype=jnp.int32),
            started=search.started + jnp.sum(free, dtype=jnp.int32),
        )
        search = self._advance(problem, search)
        stopped = search.steps >= self.max_steps  # the points so far count too
        ended = (search.lanes.status != Status.RUNNING) | stopped
        return self._record(search, ended & ~search.idle)

    @property
    def half(self) -> int:
        """How many lanes start at a time."""
        return (self.lanes + 1) // 2

    def _advance(self, problem, search: Search) -> Search:
        going = self.unfinished(search)  # under vmap others may go on: add no steps to theirs
        left = jnp.where(search.started < self.max_starts, self.lanes - self.half, 0)
        local = self.local
        far = search.best.objective + FAR * jnp.abs(search.best.objective)

        def running(lanes):
            return (lanes.status == Status.RUNNING) & ~search.idle

        def waiting(carry):
            lanes, steps, _ = carry
            many = jnp.sum(running(lanes), dtype=jnp.int32) > left
            return going & many & (steps < self.max_steps)

        def advance(carry):
            lanes, steps, history = carry
            moving = running(lanes)
            screening = moving & ~lanes.stalled
            every = jnp.sum(screening, dtype=jnp.int32) <= left
            if screened(problem.size) is not None:
                moving = jnp.where(every, moving, screening)
            choices = jax.vmap(lambda lane: local.choose(problem, lane, every))(lanes)
            new = jax.vmap(partial(local.exchange, problem))(lanes, choices)
            lanes = jax.tree.map(partial(_choose, moving), new, lanes)
            hopeless = lanes.stalled & (lanes.point.objective > far)
            status = jnp.where(running(lanes) & hopeless, Status.STEP_LIMIT, lanes.status)
            lanes = lanes._replace(status=status)
            lowest = jnp.minimum(jnp.min(lanes.point.objective), search.best.objective)
            return lanes, steps + 1, history.at[steps + 1].set(lowest)

        lowest = jnp.minimum(jnp.min(search.lanes.point.objective), search.best.objective)
        begin = (search.lanes, search.steps, search.history.at[search.steps].min(lowest))
        lanes, steps, history = lax.while_loop(waiting, advance, begin)
        return search._replace(lanes=lanes, steps=steps, history=history)

    def _record(self, search: Search, ended) -> Search:
        values = jnp.where(ended, search.lanes.point.objective, jnp.inf)
        points = search.lanes.point._replace(objective=values)
        lowest = jax.tree.map(lambda leaf: take(leaf, lowest_index(values)), points)
        improved = lowest.objective < search.best.objective - slack(lowest.objective)
        best = jax.tree.map(lambda a, b: jnp.where(improved, a, b), lowest, search.best)
        met = ended & (values <= best.objective + slack(best.objective))
        count = jnp.sum(ended, dtype=jnp.int32)
        search = search._replace(
            idle=search.idle | ended,
            best=best,
            ended=search.ended + count,
            found=jnp.where(improved, 0, search.found) + jnp.sum(met, dtype=jnp.int32),
            confirmed=jnp.where(improved, 0, search.confirmed)
            + jnp.sum(met & search.fresh, dtype=jnp.int32),
            unimproved=jnp.where(improved, 0, search.unimproved + count),
        )
        return self._renew(search, points, ended)

    def _renew(self, search: Search, points: Point, ended) -> Search:
        """The population with the points of its own that ended; a new one once it is stale."""
        own = ended & (search.born == search.population)
        values = jnp.where(own, points.objective, jnp.inf)
        pool = merge(search.pool, points._replace(objective=values))
        best = first(pool).objective
        improved = best < first(search.pool).objective - slack(best)
        stale = jnp.where(improved, 0, search.stale + jnp.sum(own, dtype=jnp.int32))
        over = stale >= STALE
        values = jnp.where(over, jnp.inf, pool.objective)  # of no points at all
        return search._replace(
            pool=pool._replace(objective=values),
            population=search.population + over.astype(jnp.int32),
            age=jnp.where(over, 0, search.age),
            stale=jnp.where(over, 0, stale),
        )


def append(first: Ending, second: Ending) -> Ending:
    """What `first` and then `second`, which went on from it, led to."""
    last = second.history[-1]
    history = jnp.append(first.history, jnp.full(len(second.history) - 1, last))
    history = lax.dynamic_update_slice(history, second.history, (first.num_steps,))
    num_steps = first.num_steps + second.num_steps
    late = jnp.arange(len(history), dtype=jnp.int32) > num_steps
    unfinished = (first.status == Status.STEP_LIMIT) & (second.status < Status.NOT_FINITE)
    status = jnp.where(unfinished, first.status, second.status)
    return Ending(second.point, status, num_steps, jnp.where(late, last, history))


def _repeat(count, leaf):
    return jnp.broadcast_to(leaf, (count, *leaf.shape))


def _choose(flags, new, old):
    shape = flags.shape + (1,) * (new.ndim - flags.ndim)
    return jnp.where(flags.reshape(shape), new, old)
