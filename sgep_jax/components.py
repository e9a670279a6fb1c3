"""Several components: find x, take it out of A (`deflation.py`), find the next."""

import dataclasses
import operator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from . import validation
from .deflation import DEFLATIONS, apply, deflated, orthonormal
from .solution import Status, check_statuses
from .solve import solve


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
        q, apart = orthonormal(problem.C, Q, piece, 1e2 * eps)
        Q = Q.at[:, k * len(pieces) + number].set(q)
        fresh |= apart
    new &= fresh
    over = (solution.status < Status.NOT_FINITE) & ~new
    status = jnp.where(over, jnp.int32(Status.NOTHING_LEFT), solution.status)
    return jnp.where(new, Q, before), status


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
