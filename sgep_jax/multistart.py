"""The default search: many local searches side by side, as many as the problem asks for.

`lanes` swap searches (`swap_search.py`) advance together. As soon as half of them have ended, the
ended ones are recorded and given new starts, so that no lane waits for the slowest. A new start
is, in turn,

- fresh: greedy from the next most promising column (random columns once all are used up);
- kicked: one of the best points so far with a random part of its support exchanged at random;
- crossed: what two of the best points share, filled up at random from what they do not.

It ends when fresh starts have met the best value `confirmations` times and, lest all of them lead
to one poor optimum, six starts per lane of all kinds brought nothing better; or when `patience`
starts in a row brought nothing better; or after `max_starts`. Another method may then refine the
best point: a `Decomposition` exchanges several variables at once.
"""

import dataclasses
import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import validation
from .decomposition import Decomposition
from .linalg import put, take
from .loop import Ending, iterate
from .solution import Status
from .start import Fresh, complete, lowest_ranks
from .supports import Point, membership
from .swap_search import SwapSearch, SwapState

FRESH, KICKED, CROSSED = 0, 1, 2


class Search(NamedTuple):
    """The carry of the outer loop. `pool` holds the best distinct points, lowest first;
    `restarts` (lanes,) counts how often each lane has started anew."""

    lanes: SwapState
    restarts: jax.Array
    pool: Point
    rounds: jax.Array
    ended: jax.Array
    found: jax.Array
    confirmed: jax.Array
    unimproved: jax.Array
    steps: jax.Array
    history: jax.Array


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["local", "refine", "confirmations", "patience", "max_starts"],
    meta_fields=["lanes", "elite", "max_steps"],
)
@dataclasses.dataclass(frozen=True)
class Multistart:
    """The default: an adaptive multistart of a `SwapSearch`; see the top of `multistart.py`.

    - `local`: the local search.
    - `refine`: what goes on from the best point, such as `Decomposition(subproblem="inertia",
      rest="free", scores="corrective", tolerance=0.0, window=10)`.
    - `lanes`: local searches that advance side by side.
    - `elite`: how many of the best points new starts are made from.
    - `confirmations`, `patience`, `max_starts`: when to stop (traced: none recompiles).
    - `max_steps`: a cap on the steps of all lanes together, and the length of the history.
    """

    local: SwapSearch = dataclasses.field(default_factory=SwapSearch)
    refine: Decomposition | None = None
    lanes: int = 16
    elite: int = 8
    confirmations: int = 12
    patience: int = 256
    max_starts: int = 4096
    max_steps: int = 2000

    lower = -math.inf

    def __post_init__(self):
        for field in ("lanes", "elite", "max_steps"):
            validation.count("Multistart", field, getattr(self, field), 1)

    def exactly(self, number: int) -> "Multistart":
        """The same with a given number of starts."""
        return dataclasses.replace(
            self,
            lanes=min(self.lanes, number),
            confirmations=number + 1,
            patience=number + 1,
            max_starts=number,
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
        idle = 0 * problem.A.diagonal() != 0
        lane = SwapState(nothing, jnp.int32(Status.STEP_LIMIT), scale, idle)
        return Search(
            lanes=jax.tree.map(partial(_repeat, self.lanes), lane),
            restarts=jnp.full(self.lanes, -1, jnp.int32),
            pool=jax.tree.map(partial(_repeat, self.elite), nothing),
            rounds=zero,
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
        point, scale = first(search.pool), problem.scale()
        found = jnp.where(
            search.steps < self.max_steps, jnp.int32(Status.SWAP_OPTIMAL), Status.STEP_LIMIT
        )
        none = jnp.where(jnp.isnan(scale), jnp.int32(Status.NOT_FINITE), Status.NO_DEFINITE_SUPPORT)
        late = jnp.arange(self.max_steps + 1, dtype=jnp.int32) > search.steps
        usable = jnp.isfinite(point.objective)
        return Ending(
            point._replace(loadings=jnp.where(usable, point.loadings, 0.0)),
            jnp.where(usable, found, none),
            search.steps,
            jnp.where(late, point.objective, search.history),
        )

    def _start(self, problem, sparsity, seed) -> SwapState:
        start = complete(problem, seed, sparsity)
        state = self.local.init(problem, start, None)
        dead = ~(jnp.isfinite(start.objective) & jnp.isfinite(state.point.objective))
        objective = jnp.where(dead | jnp.isnan(state.scale), jnp.inf, state.point.objective)
        return state._replace(
            point=state.point._replace(objective=objective),
            status=jnp.where(jnp.isfinite(objective), state.status, jnp.int32(Status.STEP_LIMIT)),
        )

    def unfinished(self, search: Search):
        return (
            ((search.confirmed < self.confirmations) | (search.unimproved < 6 * self.lanes))
            & (search.unimproved < self.patience)
            & (search.ended < self.max_starts)
            & (search.steps < self.max_steps)
        )

    def round(self, problem, starts, search: Search) -> Search:
        """Start the ended lanes anew, advance until half of all have ended, record those."""
        ended = search.lanes.status != Status.RUNNING
        search = search._replace(restarts=search.restarts + ended.astype(jnp.int32))
        new = jax.vmap(partial(self._start, problem, starts.sparsity))(starts.next(search))
        lanes = jax.tree.map(partial(_choose, ended), new, search.lanes)
        search = self._advance(problem, search._replace(lanes=lanes, rounds=search.rounds + 1))
        stopped = search.steps >= self.max_steps  # the points so far count too
        return self._record(search, (search.lanes.status != Status.RUNNING) | stopped)

    def _advance(self, problem, search: Search) -> Search:
        going = self.unfinished(search)  # under vmap others may go on: add no steps to theirs

        def waiting(carry):
            lanes, steps, _ = carry
            ended = jnp.sum(lanes.status != Status.RUNNING, dtype=jnp.int32)
            return going & (2 * ended < self.lanes) & (steps < self.max_steps)

        def advance(carry):
            lanes, steps, history = carry
            new = jax.vmap(lambda state: self.local.step(problem, state, None))(lanes)
            running = lanes.status == Status.RUNNING
            lanes = jax.tree.map(partial(_choose, running), new, lanes)
            lowest = jnp.minimum(jnp.min(lanes.point.objective), first(search.pool).objective)
            return lanes, steps + 1, history.at[steps + 1].set(lowest)

        lowest = jnp.minimum(jnp.min(search.lanes.point.objective), first(search.pool).objective)
        begin = (search.lanes, search.steps, search.history.at[search.steps].min(lowest))
        lanes, steps, history = lax.while_loop(waiting, advance, begin)
        return search._replace(lanes=lanes, steps=steps, history=history)

    def _record(self, search: Search, ended) -> Search:
        old = first(search.pool).objective
        values = jnp.where(ended, search.lanes.point.objective, jnp.inf)
        pool = merge(search.pool, search.lanes.point._replace(objective=values))
        best = first(pool).objective
        fresh = (search.restarts == 0) | (jnp.asarray(kind_of_lane(self.lanes)) == FRESH)
        met = ended & (values <= best + slack(best))
        count = jnp.sum(ended, dtype=jnp.int32)
        improved = best < old - slack(best)
        return search._replace(
            pool=pool,
            ended=search.ended + count,
            found=jnp.where(improved, 0, search.found) + jnp.sum(met, dtype=jnp.int32),
            confirmed=jnp.where(improved, 0, search.confirmed)
            + jnp.sum(met & fresh, dtype=jnp.int32),
            unimproved=jnp.where(improved, 0, search.unimproved + count),
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


def slack(value):
    """Two optima this close count as one: 1e-8 of their value, or rounding if that is coarser."""
    return max(1e-8, 10 * float(jnp.finfo(value.dtype).eps)) * jnp.abs(value)


def kind_of_lane(lanes: int) -> np.ndarray:
    """Which kind of start a lane is given, a third each; in the first round all are fresh."""
    return (np.arange(lanes) * 3 // lanes).astype(np.int32)


def first(pool: Point) -> Point:
    return jax.tree.map(lambda leaf: leaf[0], pool)


def merge(pool: Point, points: Point) -> Point:
    """The lowest distinct points of both, as many as the pool holds."""
    size = pool.objective.shape[0]
    both = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), pool, points)
    value = both.objective
    place = jnp.arange(len(value), dtype=jnp.int32)
    near = jnp.abs(value[:, None] - value[None, :]) <= slack(value)[:, None]
    near &= jnp.isfinite(value)[:, None]
    repeated = jnp.any(near & (place[None, :] < place[:, None]), axis=1)
    both = both._replace(objective=jnp.where(repeated, jnp.inf, value))
    order = lax.top_k(-both.objective, size)[1]
    return jax.tree.map(lambda leaf: take(leaf, order), both)


def _repeat(count, leaf):
    return jnp.broadcast_to(leaf, (count, *leaf.shape))


def _choose(flags, new, old):
    shape = flags.shape + (1,) * (new.ndim - flags.ndim)
    return jnp.where(flags.reshape(shape), new, old)


class Starts:
    """The seeds of each round."""

    def __init__(self, problem, sparsity, given, key, share=(0, 1)):
        self.problem, self.sparsity, self.key, self.share = problem, sparsity, key, share
        self.fresh = Fresh(problem, sparsity, given)

    def next(self, search: Search):
        """(lanes, n) new seeds; all fresh in the first round."""
        lanes, n, s = search.restarts.shape[0], self.problem.size, self.sparsity
        kinds = kind_of_lane(lanes)
        kind = jnp.where(search.restarts == 0, FRESH, jnp.asarray(kinds))
        key = jax.random.fold_in(self.key, search.rounds)
        draws = jax.random.uniform(key, (lanes, n + s + 4), jnp.float32)
        lane = jnp.arange(lanes, dtype=jnp.int32)  # fresh starts are numbered without gaps
        later = lanes + (search.restarts - 1) * int(np.sum(kinds == FRESH)) + lane
        first, every = self.share  # one device's share of the fresh starts; by default all
        number = first + every * jnp.where(search.restarts == 0, lane, later)
        return jax.vmap(partial(self._seed, search.pool))(kind, number, draws)

    def _seed(self, pool: Point, kind, number, draws):
        n, s = self.problem.size, self.sparsity
        distinct = jnp.sum(jnp.isfinite(pool.objective), dtype=jnp.int32)
        column_draw, position_draw, draws = draws[:n], draws[n : n + s], draws[n + s :]
        pick = (draws[:2] * distinct.astype(jnp.float32)).astype(jnp.int32)
        pick = jnp.clip(pick, 0, jnp.maximum(distinct - 1, 0))
        support, other = take(pool.support, pick[0]), take(pool.support, pick[1])

        # kicked: each position leaves with the same random probability, one of them for certain
        leaves = position_draw < 0.1 + 0.4 * draws[2]
        leaves = put(leaves, (draws[3] * s).astype(jnp.int32), True)
        kicked = put(column_draw, support, jnp.where(leaves, 2.0, -1.0).astype(jnp.float32))
        # crossed: what both share, and a random part of what they do not
        shared = sum(membership(part, n).astype(jnp.float32) for part in (support, other))

        rank = jnp.where(kind == KICKED, kicked, column_draw - shared)
        derived = lowest_ranks(rank, s, self.problem.dtype)
        return jnp.where(kind == FRESH, self.fresh.seed(number, column_draw), derived)
