"""What a solve returns, and what its status means."""

import dataclasses
import enum
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np


class Status(enum.IntEnum):
    """How a solve ended. Each member carries its message and, where there is one, a remedy."""

    def __new__(cls, value, usable, message, remedy=""):
        member = int.__new__(cls, value)
        member._value_ = value
        member.usable, member.message, member.remedy = usable, message, remedy
        return member

    RUNNING = 0, False, "The solve has not ended.", ""
    OPTIMAL = 1, True, "Every support was examined: this is the global minimum."
    BLOCK_OPTIMAL = (
        2,
        True,
        "No exchange of one variable improves the answer, nor does any of the blocks tried.",
    )
    SWAP_OPTIMAL = 3, True, "No exchange of one variable improves the answer."
    CONVERGED = 4, True, "The method's own stopping rule was met."
    STEP_LIMIT = (
        5,
        False,
        "The step limit was reached before the stopping rule was met; x is the best point so far.",
        "Raise max_steps, or loosen the tolerance.",
    )
    NOT_FINITE = (
        6,
        False,
        "A or C contains NaN or infinity.",
        "Remove or impute missing values before forming the matrices.",
    )
    NO_DEFINITE_SUPPORT = (
        7,
        False,
        "C is not positive definite on any support of the requested size.",
        "Add a ridge to C, lower the sparsity, or remove duplicated and constant variables.",
    )
    DIVERGED = (
        8,
        False,
        "The iteration diverged: its values are not finite, or left the region its step is for.",
        "Use a smaller step size.",
    )
    NOTHING_LEFT = (
        9,
        False,
        "No direction is left whose value is below that of the components already taken out.",
        "Ask for fewer components; where positive values are wanted, raise the ceiling.",
    )


class SolveError(RuntimeError):
    """Raised by `Solution.check()`."""


def check_statuses(status, kind: str):
    """Raise `SolveError` for the first status that is not usable; `kind` says what has one each."""
    codes = np.atleast_1d(np.asarray(status))
    bad = [i for i, code in enumerate(codes.ravel()) if not Status(code).usable]
    if bad:
        status = Status(int(codes.ravel()[bad[0]]))
        where = f" ({kind} {bad[0]}, and {len(bad) - 1} more)" if codes.size > 1 else ""
        raise SolveError(f"{status.name}{where}: {status.message} {status.remedy}".rstrip())


@partial(
    jax.tree_util.register_dataclass,
    data_fields=[
        "x", "objective", "support", "status", "num_steps", "history", "num_starts", "times_found",
    ],
    meta_fields=[],
)  # fmt: skip
@dataclasses.dataclass(frozen=True)
class Solution:
    """The answer of a solve; a pytree, so a batched solve gives batched leaves.

    - `x` (n,): at most s nonzeros, x'Cx = 1, its largest |loading| positive.
    - `objective` (): x'Ax / x'Cx; inf where no answer exists.
    - `support` (s,): sorted indices. A loading on it may be zero.
    - `status` (): a `Status`, as int32.
    - `num_steps` (): steps taken, by the best start; by all together where starts run side by side
      (`Multistart`).
    - `history` (max_steps + 1,): objective after each step, padded with the last value. The final
      polish may lower the objective once more.
    - `num_starts` (): how many starts were run.
    - `times_found` (): how many of them ended at the best objective, to a relative 1e-8 or to
      rounding.
    """

    x: jax.Array
    objective: jax.Array
    support: jax.Array
    status: jax.Array
    num_steps: jax.Array
    history: jax.Array
    num_starts: jax.Array
    times_found: jax.Array

    def check(self) -> "Solution":
        """Return this solution, or raise `SolveError` with what went wrong and the remedy."""
        check_statuses(self.status, "problem")
        return self

    def __str__(self):
        if jnp.ndim(self.objective):
            return self._batch_summary()
        status = Status(int(self.status))
        s, n = self.support.shape[0], self.x.shape[0]
        lines = [
            f"{s} of {n} variables, objective {float(self.objective):.10g}",
            f"{status.name}: {status.message}",
            f"{int(self.num_steps)} steps; best value found by {int(self.times_found)} of "
            f"{int(self.num_starts)} starts",
        ]
        if status.remedy:
            lines.insert(2, f"Remedy: {status.remedy}")
        support, x = np.asarray(self.support), np.asarray(self.x)
        order = support[np.argsort(-np.abs(x[support]), kind="stable")]
        lines += [f"  variable {i:>{len(str(n))}}  {x[i]: .6f}" for i in order[:20]]
        if s > 20:
            lines.append(f"  ... {s - 20} more")
        return "\n".join(lines)

    def _batch_summary(self):
        codes, counts = np.unique(np.asarray(self.status), return_counts=True)
        endings = ", ".join(
            f"{k} {Status(int(c)).name}" for c, k in zip(codes, counts, strict=True)
        )
        return f"batch {jnp.shape(self.objective)} of solutions: {endings}"
