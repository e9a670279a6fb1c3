"""Algorithm 1 of Yuan, Shen and Zheng (CVPR 2019): decomposition with combinatorial search.

Deviations from the paper (the mathematical corrections are listed where they belong, in
`fractional.py` and `search/`):

1. Only supports of exactly q coordinates are searched; smaller ones are contained in them.
2. x'Cx = 1 after each step, and θ multiplies diag(C) and the problem's scale: the answer does not
   depend on the units of A, C or the variables.
3. Gains are relative to |f| (or to the problem's scale where f is nearly 0), and a stop needs a
   full window of M of them.
4. When the rule says stop, the loadings are made exact on the support (a polish) and one more
   block is searched, with θ = 0: the solve ends only if that finds nothing lower. With swapping,
   that block holds the best exchange, so the answer is block-2 optimal; with k ≥ n it is global.
5. A point is replaced only by a lower one.
6. The random part may be stratified, and by default is.

Beyond the paper: `subproblem="inertia"`, `rest="free"` and `scores="corrective"`; see
`search/inertia.py`, `reduction.py` and `corrective.py`.
"""

import dataclasses
import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from . import validation, working_set
from .corrective import exchanges, inverse
from .factorizations import after, cholesky
from .linalg import definite_tolerance, product, quadratic, take
from .polish import polish, polish_nonnegative
from .reduction import Block, free_rest, frozen_rest, reduce
from .search import bisection, coordinate_descent, inertia
from .search.enumerate import best_support
from .solution import Status
from .supports import Point, normalise

SUBPROBLEMS = ("inertia", "bisection", "coordinate")
RESTS = ("frozen", "free")
SCORES = ("paper", "corrective")
DRAWS = ("stratified", "uniform")


class DecompositionState(NamedTuple):
    """The point, its status, and the last M gains with how many of them are filled."""

    point: Point
    status: jax.Array
    scale: jax.Array
    gains: jax.Array
    filled: jax.Array


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["theta", "tolerance"],
    meta_fields=[
        "random", "swap", "subproblem", "rest", "scores", "draw", "order", "lower",
        "window", "max_steps", "chunk",
    ],
)  # fmt: skip
@dataclasses.dataclass(frozen=True)
class Decomposition:
    """DEC of Yuan, Shen and Zheng: each step solves a block of k = i + j coordinates globally.

    **Arguments** (in the paper's letters: DEC-B(Ri-Sj) is `subproblem="bisection"`, DEC-C(Ri-Sj)
    is `subproblem="coordinate"`)

    - `random`: i, coordinates drawn at random.
    - `swap`: j, coordinates chosen by their best exchange; even.
    - `subproblem`: how the block's supports are searched. `"inertia"` and `"bisection"` are exact,
      the former much faster; `"coordinate"` is coordinate descent, which can keep a lower bound.
    - `rest`: the loadings of the support outside the block are `"frozen"` up to a common factor,
      as in the paper, or `"free"`, re-optimised with each candidate (inertia only).
    - `scores`: exchanges are ranked with all other loadings held (`"paper"`, D_ij) or re-optimised
      (`"corrective"`, which needs a free rest).
    - `draw`: `"stratified"` or the paper's `"uniform"`; see `working_set.py`.
    - `order`: `"cyclic"`, `"random"` or `"gauss-southwell"`, for coordinate descent.
    - `lower`: 0 for x ≥ 0 (coordinate descent only), -inf for no bound. f does not change when x
      is scaled, so another negative bound would be none at all, and a positive one forbids zeros.
    - `theta`, `tolerance`, `window`, `max_steps`: the paper's θ, ε, M, T. The first two are traced:
      a new value does not recompile.
    - `chunk`: candidate supports solved at once; bounds memory.

    ```python
    solve(problem, 8, method=Decomposition(random=6, swap=6, subproblem="bisection"))
    ```
    """

    random: int = 6
    swap: int = 6
    subproblem: str = "bisection"
    rest: str = "frozen"
    scores: str = "paper"
    draw: str = "stratified"
    order: str = "cyclic"
    lower: float = -math.inf
    theta: float = 1e-5
    tolerance: float = 1e-5
    window: int = 50
    max_steps: int = 1000
    chunk: int = 1024

    def __post_init__(self):
        name = type(self).__name__
        for field, least in (("random", 0), ("swap", 0), ("window", 1), ("max_steps", 1)):
            validation.count(name, field, getattr(self, field), least)
        validation.count(name, "chunk", self.chunk, 1)
        if self.swap % 2:
            raise ValueError(
                f"{name}(swap=...) must be even, half to drop and half to add, but it is "
                f"{self.swap}. Use {self.swap + 1}."
            )
        if not 2 <= self.random + self.swap <= 24:
            raise ValueError(
                f"{name}: random + swap must be between 2 and 24, but it is "
                f"{self.random + self.swap}; the search visits every support of the block."
            )
        validation.one_of(name, "subproblem", self.subproblem, SUBPROBLEMS)
        validation.one_of(name, "rest", self.rest, RESTS)
        validation.one_of(name, "scores", self.scores, SCORES)
        validation.one_of(name, "draw", self.draw, DRAWS)
        validation.one_of(name, "order", self.order, coordinate_descent.ORDERS)
        if self.lower not in (-math.inf, 0.0):
            raise ValueError(
                f"{name}(lower=...) must be 0 or -inf, but it is {self.lower}. The objective does "
                f"not change when x is scaled, so a negative bound is no constraint and a positive "
                f"one forbids zeros."
            )
        if self.lower == 0 and self.subproblem != "coordinate":
            raise ValueError(
                f"{name}(lower=0) needs subproblem='coordinate', but it is {self.subproblem!r}."
            )
        if self.rest == "free" and self.subproblem != "inertia":
            raise ValueError(
                f"{name}(rest='free') needs subproblem='inertia', but it is {self.subproblem!r}."
            )
        if self.scores == "corrective" and self.rest != "free":
            raise ValueError(
                f"{name}(scores='corrective') needs rest='free', but it is {self.rest!r}: the "
                f"scores hold at points whose loadings are optimal on their support."
            )
        if self.subproblem == "inertia" and self.draw == "uniform":
            raise ValueError(
                f"{name}(subproblem='inertia') needs draw='stratified', which fixes the number of "
                f"support coordinates in a block, but it is 'uniform'."
            )
        validation.non_negative(name, "theta", self.theta)
        validation.non_negative(name, "tolerance", self.tolerance)

    def init(self, problem, point: Point, key) -> DecompositionState:
        return self.begin(problem, polish(problem, point) if self.rest == "free" else point)

    def begin(self, problem, point: Point) -> DecompositionState:
        """The first state; with a free rest the loadings must be exact."""
        scale = problem.scale()
        gains = jnp.zeros(self.window, problem.dtype) + 0 * scale
        status = jnp.int32(Status.RUNNING)
        return DecompositionState(point, status, scale, gains, jnp.zeros_like(status))

    def step(self, problem, state: DecompositionState, key) -> DecompositionState:
        key_set, key_search = jax.random.split(key)
        n, s = problem.size, state.point.support.shape[0]
        size = working_set.sizes(n, s, self.random, self.swap)

        tolerance = jnp.asarray(self.tolerance, problem.dtype)
        stalled = (state.filled >= self.window) & (jnp.mean(state.gains) <= tolerance)
        point, rounding = state.point, self._rounding(state.scale, state.point)
        if self.rest == "frozen":
            polished = lax.cond(stalled, partial(self.finish, problem), lambda point: point, point)
            exact = polished.objective <= point.objective + rounding  # else C_SS is near singular
            point = jax.tree.map(lambda new, old: jnp.where(exact, new, old), polished, point)

        scores = self._scores(problem, point, state.scale) if size.swap_in else None
        if self.draw == "stratified":
            fixed = None if problem.rules is None else problem.rules.fixed
            block = working_set.select(key_set, point, scores, size, n, fixed)
        else:
            block = working_set.select_uniform(key_set, point, scores, size, n)
        theta = jnp.where(stalled, 0.0, jnp.asarray(self.theta, problem.dtype) * state.scale)
        found = self._search(problem, point, block, size, theta, rounding, key_search)

        ended = stalled & ~(found.objective < point.objective - rounding)
        lower = (found.objective < point.objective) & ~ended
        if self._ending(size, n) == Status.OPTIMAL:
            ended |= True  # one search of all supports is the proof
        new = jax.tree.map(lambda new, old: jnp.where(lower, new, old), found, point)
        size_f = jnp.maximum(jnp.abs(point.objective), rounding)
        gain = (point.objective - new.objective) / jnp.where(size_f > 0, size_f, 1.0)
        return DecompositionState(
            point=new,
            status=jnp.where(ended, jnp.int32(self._ending(size, n)), state.status),
            scale=state.scale,
            gains=jnp.roll(state.gains, 1).at[0].set(gain),
            filled=jnp.where(stalled, 0, state.filled) + 1,
        )

    def finish(self, problem, point: Point) -> Point:
        """The exact loadings on the final support; with a free rest they always are."""
        if self.rest == "free":
            return point
        return polish_nonnegative(problem, point) if self.lower == 0 else polish(problem, point)

    def examines_all(self, n: int, s: int) -> bool:
        """Whether one block holds all supports."""
        total = working_set.sizes(n, s, self.random, self.swap).total
        return self.rest == "free" and total == n

    def _ending(self, size, n: int) -> Status:
        """What has been shown when the search stops."""
        if self.rest == "free" and size.total == n:
            return Status.OPTIMAL
        exchanged = self.scores == "corrective" and size.swap_in > 0  # else none was looked at
        return Status.BLOCK_OPTIMAL if exchanged else Status.CONVERGED

    def _scores(self, problem, point: Point, scale):
        """(s, n): the change of the objective by each exchange, exactly or as estimated."""
        if self.scores == "corrective":
            G = inverse(problem, point, scale)
            return exchanges(problem, problem.diagonals(), point, G).change
        return working_set.exchange_values(problem, point, self.lower) - point.objective

    def _rounding(self, scale, point):
        return 100 * jnp.finfo(scale.dtype).eps * jnp.maximum(jnp.abs(point.objective), scale)

    def _search(self, problem, point: Point, block: Block, size, theta, rounding, key) -> Point:
        """The best point that differs from this one only within the block."""
        k, s = block.indices.shape[0], point.support.shape[0]
        width = size.inside if self.draw == "stratified" else min(k, s)
        if self.rest == "free":
            reduced = reduce(problem, point, block, free_rest(point, block, s - size.inside), 0.0)
        elif self.subproblem == "inertia" and size.inside == s:  # x_N = 0
            reduced = reduce(problem, point, block, free_rest(point, block, 0), 0.0)
        else:
            reduced = reduce(problem, point, block, frozen_rest(point, block), theta)
        allowed = None
        if problem.rules is not None:
            current = jnp.arange(k, dtype=jnp.int32) < size.inside
            allowed = problem.rules.same_counts(block.indices, current)
        if self.subproblem == "inertia":
            found = inertia.search(
                reduced.proximal, reduced.C, reduced.conditional, k, size.inside,
                point.objective, rounding, allowed,
            )  # fmt: skip
        else:
            found = self._enumerate(reduced, k, width, block, size, allowed, key)
        coefficients = jnp.zeros(k, problem.dtype)
        slots = jnp.where(found.present, found.positions, k)
        chosen, rest = found.vector[: len(slots)], found.vector[len(slots) :]
        coefficients = coefficients.at[slots].set(chosen, mode="drop")
        coefficients = jnp.concatenate([coefficients, rest])
        norm = quadratic(reduced.C, coefficients)
        value = quadratic(reduced.A, coefficients) / jnp.where(norm > 0, norm, 1.0)
        usable = jnp.isfinite(found.value) & (norm > 0)
        value = jnp.where(usable, value, jnp.inf)
        return assemble(point, block, found, product(reduced.rest, rest), value, norm)

    def _enumerate(self, reduced, k, width, block: Block, size, allowed, key):
        """Every candidate support solved by itself."""

        def solve_candidate(positions, present):
            value, vector = solve_definite(positions, present)
            if allowed is None:
                return value, vector
            flags = jnp.zeros(k, bool).at[positions].max(present)
            return jnp.where(allowed(flags[:, None])[0], value, jnp.inf), vector

        def solve_definite(positions, present):
            if self.subproblem == "bisection":
                solve = bisection.solve_candidate
                value, vector = solve(reduced.proximal, reduced.C, positions, present)
            else:
                value, vector = self._descend(reduced, positions, present, key)
            if reduced.conditional is None:
                return value, vector
            pair = present[:, None] & present[None, :]
            conditional = reduced.conditional[positions[:, None], positions[None, :]]
            conditional = after(value, conditional)
            identity = jnp.eye(len(positions), dtype=conditional.dtype)
            pivots = jnp.diagonal(cholesky(jnp.where(pair, conditional, identity))) ** 2
            definite = jnp.all(pivots > definite_tolerance(len(positions), pivots.dtype))
            return jnp.where(definite, value, jnp.inf), vector

        count = size.inside if self.draw == "stratified" else block.count
        total = math.comb(k, width if self.draw == "stratified" else min(width, k // 2))
        return best_support(k, count, width, min(self.chunk, total), solve_candidate)

    def _descend(self, reduced, positions, present, key):
        order = jnp.append(positions, reduced.C.shape[0] - 1)
        used = jnp.append(present, True)
        pair = used[:, None] & used[None, :]
        identity = jnp.eye(len(order), dtype=reduced.C.dtype)
        A = jnp.where(pair, reduced.proximal[order[:, None], order[None, :]], 0.0)
        C = jnp.where(pair, reduced.C[order[:, None], order[None, :]], identity)
        movable = used & (jnp.arange(len(order)) < len(positions))
        x = coordinate_descent.descend(
            A, C, jnp.where(used, reduced.current[order], 0.0),
            lower=self.lower, sweeps=50, movable=movable, order=self.order, key=key,
        )  # fmt: skip
        norm = quadratic(C, x)
        return quadratic(A, x) / jnp.where(norm > 0, norm, jnp.nan), x


def assemble(point: Point, block: Block, found, rest, value, norm) -> Point:
    """The new point: what the search chose within B, and the `rest` (s,) outside it.

    Exactly s indices: should fewer be in use, old ones fill up with zero loadings.
    """
    s = point.support.shape[0]
    in_block = jnp.any(point.support[:, None] == block.indices[None, :], axis=1)
    chosen = take(block.indices, found.positions)
    indices = jnp.concatenate([chosen, point.support])
    loadings = jnp.concatenate([found.vector[: len(chosen)], rest])
    rank = jnp.concatenate(
        [jnp.where(found.present, 0, 3), jnp.where(block.kept, 0, jnp.where(in_block, 2, 1))]
    )
    order = jnp.argsort(rank, stable=True)[:s]
    return normalise(Point(take(indices, order), take(loadings, order), value), norm)
