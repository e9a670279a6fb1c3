"""Several components, one after the other: find x, take it out of A, find the next.

Deflations of Mackey (*Deflation methods for sparse PCA*, 2008), carried over to a pencil (A, C) by
writing them for C^(-1/2) A C^(-1/2) and C^(1/2) x and going back. The components found so far are
x_1, …, x_t. Q = [q_1, …, q_t] is their Gram-Schmidt basis, Q'CQ = I: sparse components are not
C-orthogonal, and a deflation that forgets this lets earlier ones back in. With P = I − QQ'C,

    "projection"   P'AP                        found directions leave A: A_t q_i = 0
    "schur"        A − AQ (Q'AQ)⁺ Q'A          the Schur complement; A_t q_i = 0
    "hotelling"    A − Σ_i C q_i (q_i'A q_i) q_i'C      only q_i'A_t q_i = 0

On exact eigenvectors, Ax = λCx, all three are A − λCxx'C. On sparse ones they differ. The Schur
complement takes out all that the components predict: the rank falls by one each time, so that K
classes have K − 1 sparse discriminants. The projection takes out less, only the directions
themselves. Where the wanted values are negative, both leave A_t without a value below the lowest
of A; Hotelling's may not.

Deviations from Mackey:

1. His "projection" removes x_t alone, and earlier components may come back; his remedy, the
   orthogonalised form, is the one here. His Schur complements, one after the other, equal the
   single one above (the quotient property), which is computed in the basis Q.
2. A found direction is left with the value `ceiling` = μ, 0 as in his paper, rather than always 0:
   what is deflated is A − μC, and μC is added again. Minimising, a direction with the value 0
   would be found again and again once all that remains is positive. A component whose value is
   not below μ ends with the status NOTHING_LEFT, and takes nothing out.
3. `split`, for CCA: the values of that pencil come in pairs ±ρ, with (u, v) and (u, −v). To take
   out (u, v) alone leaves the variable Xu to the next components, with another partner. With the
   number of variables of the first view given, (u, 0) and (0, v) are both taken out, as two
   columns of Q; Hotelling's q_i'Aq_i is then the 2 × 2 block of the pair.
"""

import copy
import dataclasses
import operator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from . import validation
from .linalg import product, take
from .matrices import Dense
from .problem import Problem
from .solution import Status, check_statuses
from .solve import solve

DEFLATIONS = ("projection", "schur", "hotelling")


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["x", "objective", "value", "support", "status"],
    meta_fields=[],
)
@dataclasses.dataclass(frozen=True)
class Components:
    """Several sparse components, in the order in which they were found; a pytree.

    - `x` (c, n): a component a row, x'Cx = 1, its largest |loading| positive.
    - `objective` (c,): the value of each on its deflated pencil, which is what was minimised.
    - `value` (c,): x'Ax / x'Cx on the pencil given.
    - `support` (c, s): sorted indices, padded with n where sparsities differ.
    - `status` (c,): a `Status` each, as int32.

    Components are not C-orthogonal in general: see `sgep_jax.measures` for what they explain
    together.
    """

    x: jax.Array
    objective: jax.Array
    value: jax.Array
    support: jax.Array
    status: jax.Array

    def check(self) -> "Components":
        """Return these components, or raise `SolveError` with what went wrong and the remedy."""
        check_statuses(self.status, "component")
        return self

    def __str__(self):
        return self.table()

    def table(self, names=None) -> str:
        """The loadings, a variable a row, those that no component uses left out."""
        if jnp.ndim(self.x) > 2:
            return f"batch {jnp.shape(self.x)[:-2]} of {jnp.shape(self.x)[-2]} components"
        x, support = np.asarray(self.x), np.asarray(self.support)
        n = x.shape[1]
        names = validation.names(names, n)
        rows = [i for i in np.unique(support) if i < n]
        width = max([len(names[i]) for i in rows] + [len("objective")])

        def line(name, cells):
            return f"{name:<{width}}  " + "  ".join(f"{cell:>10}" for cell in cells).rstrip()

        lines = [line("", [f"x{k + 1}" for k in range(len(x))])]
        for i in rows:
            used = (support == i).any(axis=1)
            cells = [f"{x[k, i]:.4f}" if used[k] else "" for k in range(len(x))]
            lines.append(line(names[i], cells))
        for name in ("objective", "value"):
            lines.append(line(name, [f"{value:.6g}" for value in np.asarray(getattr(self, name))]))
        for k, code in enumerate(np.asarray(self.status)):
            if not Status(int(code)).usable:
                lines.append(f"x{k + 1}: {Status(int(code)).name}: {Status(int(code)).message}")
        return "\n".join(lines)


def solve_components(
    problem,
    sparsity,
    num_components: int | None = None,
    *,
    deflation: str = "projection",
    ceiling=0.0,
    split: int | None = None,
    method=None,
    key=None,
    num_starts: int | None = None,
    progress=None,
    **options,
) -> Components:
    """Sparse components one after the other, each on the pencil deflated by those before it.

    **Arguments**

    - `problem`: a `Problem`.
    - `sparsity`: s, or one for each component. With `groups` (see `solve`) a flat sequence is one
      number per group, as there, and a nested one has such a sequence for each component.
    - `num_components`: how many; may be left out where `sparsity` has one for each.
    - `deflation`: `"projection"`, `"schur"` or `"hotelling"`; see the top of `deflation.py`.
    - `ceiling`: the value left to found directions. The default, 0, is for pencils whose wanted
      values are negative: PCA, FDA and CCA. To go on among positive values give a number above
      all of them, such as the largest eigenvalue.
    - `split`: for CCA, the number of variables of the first view: the two halves of each found
      pair are taken out separately, so that the next ones are uncorrelated within each view.
    - `method`, `key`, `num_starts`, and all further arguments: as for `solve`, for every component.
      Non-negative ones: `method=Decomposition(subproblem="coordinate", lower=0.0)`.
    - `progress`: called as `progress(k, solution)` on the host after component k = 0, 1, …

    The first component is that of `solve`. All components of one sparsity share a compilation, and
    with a dense A share it with `solve`. Works under `jit` (with static `sparsity`), where each
    component is compiled, under `vmap`, and under `grad`.

    ```python
    components = solve_components(Problem(-correlation), 5, 3).check()
    print(components)
    ```
    """
    validation.problem(problem)
    validation.one_of("solve_components", "deflation", deflation, DEFLATIONS)
    sparsities = _sparsities(sparsity, num_components, problem.size, options.get("groups"))
    if split is not None:
        validation.count("solve_components", "split", split, 1)
        if split >= problem.size:
            raise ValueError(
                f"solve_components(split=...) must leave a variable to each view: it must be "
                f"below n = {problem.size}, but it is {split}."
            )
    pieces = 1 if split is None else 2
    Q = jnp.zeros((problem.size, pieces * len(sparsities)), problem.dtype)
    Q = Q + 0 * problem.A.diagonal()[:, None]
    ceiling = jnp.asarray(ceiling, problem.dtype)
    solutions = []
    for k, s in enumerate(sparsities):
        pencil = deflated(problem, Q, ceiling, deflation, pieces)
        solution = solve(pencil, s, method=method, key=key, num_starts=num_starts, **options)
        Q, status = _take_out(problem, Q, solution, ceiling, jnp.int32(k), split)
        solutions.append(dataclasses.replace(solution, status=status))
        if progress is not None:
            progress(k, solutions[-1])
    return _collect(problem, solutions)


def deflated(problem, Q, ceiling, deflation: str, pieces: int = 1) -> Problem:
    """The pencil without the directions Q (n, r), Q'CQ = I; zero columns do nothing.

    A dense A is formed anew, any other becomes a `SymmetricUpdate`. `pieces` columns of Q belong
    to one component.
    """
    pencil = copy.copy(problem)  # C was checked before
    pencil.A = _deflated(problem, Q, ceiling, deflation, pieces)
    return pencil


@partial(jax.jit, static_argnames=("deflation", "pieces"))
def _deflated(problem, Q, ceiling, deflation, pieces):
    AQ, CQ = apply(problem.A, Q), apply(problem.C, Q)
    K = product(Q.T, AQ)
    identity = jnp.eye(Q.shape[1], dtype=Q.dtype)
    if deflation == "projection":
        left, right = product(CQ, (K + ceiling * identity) / 2) - AQ, CQ
    elif deflation == "schur":
        right = AQ - ceiling * CQ
        inverse = jnp.linalg.pinv(product(Q.T, right), hermitian=True)
        left = -product(right, inverse) / 2
    else:
        component = jnp.arange(Q.shape[1], dtype=jnp.int32) // pieces
        within = component[:, None] == component[None, :]
        left, right = -product(CQ, jnp.where(within, K - ceiling * identity, 0.0)) / 2, CQ
    if isinstance(problem.A, Dense):
        half = product(left, right.T)
        return Dense(problem.A.array + (half + half.T))
    return SymmetricUpdate(problem.A, left, right)


@partial(jax.tree_util.register_dataclass, data_fields=["base", "left", "right"], meta_fields=[])
@dataclasses.dataclass(frozen=True)
class SymmetricUpdate:
    """base + LR' + RL' with L and R (n, r), never formed; a matrix as in `matrices.py`."""

    base: object
    left: jax.Array
    right: jax.Array

    definite = False

    @property
    def shape(self):
        return self.base.shape

    @property
    def dtype(self):
        return self.base.dtype

    def diagonal(self):
        return self.base.diagonal() + 2 * jnp.sum(self.left * self.right, axis=-1)

    def columns(self, indices):
        update = product(self.left, take(self.right, indices).T)
        return self.base.columns(indices) + update + product(self.right, take(self.left, indices).T)

    def block(self, rows, columns=None):
        columns = rows if columns is None else columns
        update = product(take(self.left, rows), take(self.right, columns).T)
        update += product(take(self.right, rows), take(self.left, columns).T)
        return self.base.block(rows, columns) + update

    def combination(self, indices, weights):
        update = product(self.left, product(weights, take(self.right, indices)))
        update += product(self.right, product(weights, take(self.left, indices)))
        return self.base.combination(indices, weights) + update

    def matvec(self, x):
        update = product(self.left, product(self.right.T, x))
        return self.base.matvec(x) + update + product(self.right, product(self.left.T, x))


@partial(jax.jit, static_argnames=("split",))
def _take_out(problem, Q, solution, ceiling, k, split):
    """Q with the new directions of component k, and the component's status."""
    x, eps = solution.x, jnp.finfo(Q.dtype).eps
    first = jnp.arange(problem.size, dtype=jnp.int32) < (problem.size if split is None else split)
    pieces = [x] if split is None else [jnp.where(first, x, 0.0), jnp.where(first, 0.0, x)]
    taken = jnp.max(jnp.abs(jnp.sum(Q * apply(problem.A, Q), axis=0)))
    scale = jnp.maximum(jnp.maximum(problem.scale(), taken), jnp.abs(ceiling))
    rounding = (1e2 if problem.C.definite else 1e4) * eps  # C may be badly conditioned
    new = solution.objective < ceiling - rounding * scale
    before, fresh = Q, jnp.zeros_like(new)
    for number, piece in enumerate(pieces):
        q, apart = _orthonormal(problem.C, Q, piece, 1e2 * eps)
        Q = Q.at[:, k * len(pieces) + number].set(q)
        fresh |= apart
    new &= fresh
    over = (solution.status < Status.NOT_FINITE) & ~new
    status = jnp.where(over, jnp.int32(Status.NOTHING_LEFT), solution.status)
    return jnp.where(new, Q, before), status


def _orthonormal(C, Q, x, tolerance):
    """The part of x that is C-orthogonal to Q, of C-length 1; zero if there is none."""
    length = product(x, C.matvec(x))
    for _ in range(2):  # twice is enough
        x = x - product(Q, product(Q.T, C.matvec(x)))
    left = product(x, C.matvec(x))
    apart = left > tolerance * length
    safe = jnp.where(apart, left, 1.0)
    return jnp.where(apart, x * jax.lax.rsqrt(safe), 0.0), apart


def apply(matrix, Q):
    """matrix · Q, column by column."""
    return jax.vmap(matrix.matvec, in_axes=1, out_axes=1)(Q)


def _collect(problem, solutions) -> Components:
    n, width = problem.size, max(solution.support.shape[0] for solution in solutions)
    padded = [
        jnp.pad(solution.support, (0, width - solution.support.shape[0]), constant_values=n)
        for solution in solutions
    ]
    x = jnp.stack([solution.x for solution in solutions])
    return Components(
        x=x,
        objective=jnp.stack([solution.objective for solution in solutions]),
        value=rayleigh_quotients(problem, x),
        support=jnp.stack(padded),
        status=jnp.stack([solution.status for solution in solutions]),
    )


def rayleigh_quotients(problem, x):
    """x'Ax / x'Cx for each row of x; 0 where x is."""
    top = jnp.sum(x * apply(problem.A, x.T).T, axis=1)
    norm = jnp.sum(x * apply(problem.C, x.T).T, axis=1)
    return top / jnp.where(norm > 0, norm, 1.0)


def _sparsities(sparsity, number, size: int, groups) -> tuple:
    """What `solve` is given for each component."""
    grouped = groups is not None
    if number is not None:
        validation.count("solve_components", "num_components", number, 1)
    several = np.iterable(sparsity) and not isinstance(sparsity, str)
    if several and (not grouped or any(np.iterable(entry) for entry in sparsity)):
        each = tuple(sparsity)
        if number not in (None, len(each)) or not each:
            raise ValueError(
                f"sparsity must be one integer, or one for each of the {number or 'components'}, "
                f"but it has {len(each)} entries."
            )
    else:
        if number is None:
            raise ValueError(
                f"solve_components needs num_components beside sparsity = {sparsity}, or one "
                f"sparsity for each component: sparsity=(5, 5, 3)."
            )
        each = (sparsity,) * operator.index(number)
    if not grouped:
        each = tuple(validation.sparsity(entry, size) for entry in each)
    if len(each) > size:
        raise ValueError(
            f"solve_components(num_components=...) must be at most n = {size}, the number of "
            f"variables, but it is {len(each)}."
        )
    return each
