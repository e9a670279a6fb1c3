"""The default search: many local searches side by side, as many as the problem asks for.

`lanes` swap searches (`swap_search.py`) advance together. As soon as half of them have ended, the
ended ones are recorded and given new starts, so that no lane waits for the slowest. A new start
is, in turn,

- fresh: greedy from the next most promising column (random columns once all are used up);
- kicked: one of the best points so far with a random part of its support exchanged at random;
- crossed: what two of the best points share, filled up at random from what they do not.

It ends when fresh starts have met the best value `confirmations` times, or when `patience` starts
in a row brought nothing better, or after `max_starts`.
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
from .loop import Ending
from .solution import Status
from .start import complete
from .supports import Point, membership
from .swap_search import SwapSearch, SwapState

FRESH, KICKED, CROSSED = 0, 1, 2
SAME = 1e-8  # two optima with objectives this close, relative, count as one


class Search(NamedTuple):
    """The carry of the outer loop. `pool` holds the best distinct points, lowest first;
    `restarts` (lanes,) counts how often each lane has started anew."""

    lanes: SwapState
    restarts: jax.Array
    pool: Point
    rounds: jax.Array
    ended: jax.Array
    confirmed: jax.Array
    unimproved: jax.Array
    steps: jax.Array
    history: jax.Array


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["confirmations", "patience", "max_starts"],
    meta_fields=["local", "lanes", "elite", "max_steps"],
)
@dataclasses.dataclass(frozen=True)
class Multistart:
    """Adaptive multistart of a `SwapSearch`; see the top of `multistart.py`.

    - `lanes`: local searches that advance side by side.
    - `elite`: how many of the best points new starts are made from.
    - `confirmations`, `patience`, `max_starts`: when to stop (traced: none recompiles).
    - `max_steps`: a cap on the steps of all lanes together, and the length of the history.
    """

    local: SwapSearch = dataclasses.field(default_factory=SwapSearch)
    lanes: int = 16
    elite: int = 8
    confirmations: int = 12
    patience: int = 96
    max_starts: int = 4096
    max_steps: int = 2000

    lower = -math.inf

    def __post_init__(self):
        for field in ("lanes", "elite", "max_steps"):
            validation.count("Multistart", field, getattr(self, field), 1)

    def search(self, problem, sparsity: int, given, key):
        """All starts; returns the best `Ending`, how many starts ended, how many met the best."""
        starts = Starts(problem, sparsity, given, key)
        scale = problem.scale()
        zero = jnp.int32(0)
        blank = jnp.zeros(sparsity, jnp.int32), jnp.zeros(sparsity, problem.dtype)
        nothing = Point(*blank, jnp.inf + 0 * scale)
        idle = 0 * problem.A.diagonal() != 0
        lane = SwapState(nothing, jnp.int32(Status.STEP_LIMIT), scale, idle)
        search = Search(
            lanes=jax.tree.map(partial(_repeat, self.lanes), lane),
            restarts=jnp.full(self.lanes, -1, jnp.int32),
            pool=jax.tree.map(partial(_repeat, self.elite), nothing),
            rounds=zero,
            ended=zero,
            confirmed=zero,
            unimproved=zero,
            steps=zero,
            history=jnp.full(self.max_steps + 1, jnp.inf, problem.dtype) + 0 * scale,
        )
        search = lax.while_loop(self._unfinished, partial(self._round, problem, starts), search)
        point = first(search.pool)
        found = jnp.isfinite(point.objective)
        status = jnp.where(
            jnp.isnan(scale),
            jnp.int32(Status.NOT_FINITE),
            jnp.where(
                found,
                jnp.where(search.steps < self.max_steps, Status.SWAP_OPTIMAL, Status.STEP_LIMIT),
                jnp.int32(Status.NO_DEFINITE_SUPPORT),
            ).astype(jnp.int32),
        )
        return Ending(point, status, search.steps, search.history), search.ended, search.confirmed

    def _start(self, problem, sparsity, seed) -> SwapState:
        start = complete(problem, seed, sparsity)
        state = self.local.init(problem, start, None)
        dead = ~jnp.isfinite(start.objective)  # NaN, or no definite support
        return state._replace(status=jnp.where(dead, jnp.int32(Status.STEP_LIMIT), state.status))

    def _unfinished(self, search: Search):
        return (
            (search.confirmed < self.confirmations)
            & (search.unimproved < self.patience)
            & (search.ended < self.max_starts)
            & (search.steps < self.max_steps)
        )

    def _round(self, problem, starts, search: Search) -> Search:
        """Start the ended lanes anew, advance until half of all have ended, record those."""
        ended = search.lanes.status != Status.RUNNING
        search = search._replace(restarts=search.restarts + ended.astype(jnp.int32))
        new = jax.vmap(partial(self._start, problem, starts.sparsity))(starts.next(search))
        lanes = jax.tree.map(partial(_choose, ended), new, search.lanes)
        search = self._advance(problem, search._replace(lanes=lanes, rounds=search.rounds + 1))
        return self._record(search, search.lanes.status != Status.RUNNING)

    def _advance(self, problem, search: Search) -> Search:
        def waiting(carry):
            lanes, steps, _ = carry
            ended = jnp.sum(lanes.status != Status.RUNNING, dtype=jnp.int32)
            return (2 * ended < self.lanes) & (steps < self.max_steps)

        def advance(carry):
            lanes, steps, history = carry
            new = jax.vmap(lambda state: self.local.step(problem, state, None))(lanes)
            running = lanes.status == Status.RUNNING
            lanes = jax.tree.map(partial(_choose, running), new, lanes)
            lowest = jnp.minimum(jnp.min(lanes.point.objective), first(search.pool).objective)
            return lanes, steps + 1, history.at[steps + 1].set(lowest)

        begin = (search.lanes, search.steps, search.history)
        lanes, steps, history = lax.while_loop(waiting, advance, begin)
        return search._replace(lanes=lanes, steps=steps, history=history)

    def _record(self, search: Search, ended) -> Search:
        old = first(search.pool).objective
        values = jnp.where(ended, search.lanes.point.objective, jnp.inf)
        pool = merge(search.pool, search.lanes.point._replace(objective=values))
        best = first(pool).objective
        fresh = (search.restarts == 0) | (jnp.asarray(kind_of_lane(self.lanes)) == FRESH)
        met = ended & fresh & (values <= best + SAME * jnp.abs(best))
        count = jnp.sum(ended, dtype=jnp.int32)
        improved = best < old - SAME * jnp.abs(best)
        return search._replace(
            pool=pool,
            ended=search.ended + count,
            confirmed=jnp.where(improved, 0, search.confirmed) + jnp.sum(met, dtype=jnp.int32),
            unimproved=jnp.where(improved, 0, search.unimproved + count),
        )


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
    near = jnp.abs(value[:, None] - value[None, :]) <= SAME * jnp.abs(value[:, None])
    near &= jnp.isfinite(value)[:, None]
    repeated = jnp.any(near & (place[None, :] < place[:, None]), axis=1)
    both = both._replace(objective=jnp.where(repeated, jnp.inf, value))
    order = lax.top_k(-both.objective, size)[1]
    return jax.tree.map(lambda leaf: leaf[order], both)


def _repeat(count, leaf):
    return jnp.broadcast_to(leaf, (count, *leaf.shape))


def _choose(flags, new, old):
    shape = flags.shape + (1,) * (new.ndim - flags.ndim)
    return jnp.where(flags.reshape(shape), new, old)


class Starts:
    """Makes starting vectors (n,), to be completed to s nonzeros."""

    def __init__(self, problem, sparsity, given, key):
        self.problem, self.sparsity, self.given, self.key = problem, sparsity, given, key
        self.columns, self.leading = promising_columns(problem)

    def next(self, search: Search):
        """(lanes, n) new seeds; all fresh in the first round."""
        lanes, n, s = search.restarts.shape[0], self.problem.size, self.sparsity
        kind = jnp.where(search.restarts == 0, FRESH, jnp.asarray(kind_of_lane(lanes)))
        key = jax.random.fold_in(self.key, search.rounds)
        draws = jax.random.uniform(key, (lanes, n + s + 4), jnp.float32)
        number = self._number(search)
        return jax.vmap(partial(self._seed, search.pool))(kind, number, draws)

    def _number(self, search: Search):
        """Fresh starts are numbered without gaps, so that no column is left out."""
        lanes = search.restarts.shape[0]
        lane = jnp.arange(lanes, dtype=jnp.int32)
        fresh_lanes = int(np.sum(kind_of_lane(lanes) == FRESH))
        later = lanes + (search.restarts - 1) * fresh_lanes + lane
        return jnp.where(search.restarts == 0, lane, later)

    def _seed(self, pool: Point, kind, number, draws):
        n, s = self.problem.size, self.sparsity
        distinct = jnp.sum(jnp.isfinite(pool.objective), dtype=jnp.int32)
        column_draw, position_draw = draws[:n], draws[n : n + s]
        pick = draws[n + s : n + s + 2] * distinct.astype(jnp.float32)
        pick = jnp.minimum(pick.astype(jnp.int32), distinct - 1)
        support, other = pool.support[pick[0]], pool.support[pick[1]]

        # kicked: each position leaves with the same random probability, one of them for certain
        leaves = position_draw < 0.1 + 0.4 * draws[n + s + 2]
        leaves = leaves.at[(draws[n + s + 3] * s).astype(jnp.int32)].set(True)
        kicked = column_draw.at[support].set(jnp.where(leaves, 2.0, -1.0))
        # crossed: what both share, and a random part of what they do not
        shared = sum(membership(part, n).astype(jnp.float32) for part in (support, other))
        crossed = column_draw - shared

        rank = jnp.where(kind == KICKED, kicked, jnp.where(kind == CROSSED, crossed, column_draw))
        chosen = lax.top_k(-rank, s)[1]
        x = jnp.zeros(n, self.problem.dtype).at[chosen].set(1.0)
        return jnp.where(kind == FRESH, self._fresh(number, x), x)

    def _fresh(self, number, scattered):
        """The user's own, the leading direction, greedy, columns in order of promise, random."""
        n, dtype = self.problem.size, self.problem.dtype
        own = 0 if self.given is None else self.given.shape[0]
        place = number - own
        column = self.columns[(place - 2) % n]
        x = (jnp.arange(n, dtype=jnp.int32) == column).astype(dtype)
        x = jnp.where(place == 1, 0.0, jnp.where(place == 0, self.leading, x))
        x = jnp.where(place - 2 >= n, scattered, x)
        return jnp.where(place < 0, self.given[jnp.clip(number, 0, own - 1)], x) if own else x


def promising_columns(problem, steps: int = 20):
    """Columns in order of promise, and a leading direction of the dense problem.

    The direction is a power iteration on D^(-1/2) A D^(-1/2), D = diag(C); the promise of column j
    is A_jj / C_jj (its own value) less the size of the direction there. The latter decides where
    all diagonal entries are equal: correlation matrices, and CCA, whose diagonal is zero.
    """
    c, a, scale = problem.C.diagonal(), problem.A.diagonal(), problem.scale()
    positive = c > 0
    d = jnp.where(positive, lax.rsqrt(jnp.where(positive, c, 1.0)), 0.0)
    scale = jnp.where(scale > 0, scale, 1.0)

    def power(_, v):
        image = v - d * problem.A.matvec(d * v) / scale  # favours the low end of the spectrum
        return image / jnp.maximum(jnp.sqrt(jnp.sum(image * image)), jnp.finfo(v.dtype).tiny)

    n = problem.size
    v = jnp.cos(jnp.arange(n, dtype=problem.dtype)) + 0 * c
    v = lax.fori_loop(0, steps, power, v)
    promise = jnp.where(positive, a * d * d - scale * jnp.abs(v), jnp.inf)
    return jnp.argsort(promise).astype(jnp.int32), d * v
