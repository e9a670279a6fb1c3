"""How many variables? Cross-validation of a path over sparsities.

The rows are dealt into folds. For each fold a path of solutions is found on the other rows, and
every solution is scored on the fold. With the mean of its scores and their standard error,

- `best` is the sparsity with the highest mean;
- `one_standard_error` is the smallest one whose mean is within a standard error of that: no worse
  as far as the data tell, and simpler.

What is solved and scored is a `Task`: `pca_task`, `fda_task`, `cca_task`, or your own.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from . import validation
from .applications import cca_problem, fda_problem, pca_problem, tables
from .applications.cca import same_rows
from .applications.fda import class_codes
from .discriminant import gaussian_rule
from .held_out import correlations, explained_share, moments
from .path import solve_path


class Task(NamedTuple):
    """What to cross-validate, in terms of rows (indices).

    - `num_rows`: m.
    - `problem(train)`: the `Problem` of some rows.
    - `score(x, train, test)`: what the solution x (n,) of that problem is worth on other rows;
      higher is better.
    - `codes`: (m,) integers; folds have about the same number of each. None for any folds.
    """

    num_rows: int
    problem: Callable
    score: Callable
    codes: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class SparsityScores:
    """Held-out scores, (sparsities, folds), and what they say; `print` shows a table."""

    sparsities: tuple[int, ...]
    scores: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        return self.scores.mean(axis=1)

    @property
    def standard_error(self) -> np.ndarray:
        return self.scores.std(axis=1, ddof=1) / math.sqrt(self.scores.shape[1])

    @property
    def best(self) -> int:
        """The sparsity with the highest mean, the smallest of equals."""
        return self.sparsities[int(np.argmax(self.mean))]

    @property
    def one_standard_error(self) -> int:
        """The smallest sparsity within one standard error of the best."""
        top = int(np.argmax(self.mean))
        enough = self.mean >= self.mean[top] - self.standard_error[top]
        return self.sparsities[int(np.argmax(enough))]

    def __str__(self):
        notes = {self.one_standard_error: "one standard error"}
        notes[self.best] = ", ".join(["best", *filter(None, [notes.get(self.best)])])
        lines = [f"{'variables':>9}  {'held-out score':>14}  {'standard error':>14}"]
        for s, mean, error in zip(self.sparsities, self.mean, self.standard_error, strict=True):
            lines.append(f"{s:>9}  {mean:>14.4f}  {error:>14.4f}  {notes.get(s, '')}".rstrip())
        return "\n".join(lines)


def choose_sparsity(
    task: Task, sparsities, *, num_folds: int = 5, method=None, key=None, **options
) -> SparsityScores:
    """Held-out scores of the solutions with each of several sparsities.

    **Arguments**

    - `task`: a `Task`.
    - `sparsities`: integers from 1 to n.
    - `num_folds`: at least 2.
    - `method`, `key`, `forced`, `forbidden`: as for `solve_path`; the key also deals the rows.

    All folds and sparsities share one compilation.

    ```python
    scores = choose_sparsity(fda_task(X, y), range(1, 11))
    print(scores)
    solution = solve(fda_problem(X, y), scores.one_standard_error)
    ```
    """
    counts = sorted(set(sparsities))
    key_folds, key_solve = jax.random.split(jax.random.key(0) if key is None else key)
    columns = []
    for train, test in folds(task.num_rows, num_folds, key_folds, task.codes):
        path = solve_path(task.problem(train), counts, method=method, key=key_solve, **options)
        columns.append([task.score(x, train, test) for x in np.asarray(path.check().x)])
    scores = np.array(columns, float).T
    if not np.isfinite(scores).all():
        place, fold = np.argwhere(~np.isfinite(scores))[0]
        raise ValueError(
            f"task.score must give finite numbers, but for sparsity {counts[place]} and fold "
            f"{fold} it gives {scores[place, fold]}. Do the rows of a fold vary?"
        )
    return SparsityScores(tuple(map(int, counts)), scores)


def folds(num_rows: int, num_folds: int, key, codes=None):
    """Rows to train on and rows to test on, (train, test) for each fold.

    All training sets have the same length, so that programs are compiled once: where m is not a
    multiple of the number of folds some lack a row, one of the largest class.
    """
    validation.count("choose_sparsity", "num_folds", num_folds, 2)
    if num_folds > num_rows:
        raise ValueError(
            f"choose_sparsity(num_folds=...) must be at most {num_rows}, the number of rows, but "
            f"it is {num_folds}."
        )
    order = np.random.default_rng(np.asarray(jax.random.key_data(key))).permutation(num_rows)
    if codes is not None:
        sizes = np.bincount(codes)[codes[order]]
        order = order[np.lexsort((codes[order], sizes))]
    fold = np.arange(num_rows) % num_folds
    least = num_rows - math.ceil(num_rows / num_folds)
    return [(order[fold != k][:least], order[fold == k]) for k in range(num_folds)]


def pca_task(X, *, scale=False) -> Task:
    """The share of the held-out variance that the component explains."""
    X = _dense_table("X", X)

    def score(x, train, test):
        mean, deviation = moments("X", X[train], scale)
        return explained_share((X[test] - mean) / deviation, x[None])

    return Task(len(X), lambda train: pca_problem(X[train], scale=scale), score)


def fda_task(X, y, *, scale=True, ridge=1e-3) -> Task:
    """The share of the held-out samples that the component classifies correctly."""
    X = _dense_table("X", X)
    codes = class_codes(y, len(X))

    def score(x, train, test):
        mean, deviation = moments("X", X[train], scale)
        Z = (X - mean) / deviation
        classes, known = np.unique(codes[train], return_inverse=True)
        priors = np.bincount(known) / len(train)
        rule = gaussian_rule(Z[train], known, x[None], priors, ridge)
        found = classes[np.argmax(rule.decide(Z[test] @ x[:, None]), axis=1)]
        return np.mean(found == codes[test])

    def problem(train):
        return fda_problem(X[train], codes[train], scale=scale, ridge=ridge)

    return Task(len(X), problem, score, codes)


def cca_task(X, Y, *, scale=True, ridge=1e-3) -> Task:
    """The correlation of the two held-out scores."""
    X, Y = _dense_table("X", X), _dense_table("Y", Y)
    same_rows(X, Y)

    def score(x, train, test):
        u, v = np.split(x, [X.shape[1]])
        u, v = u / moments("X", X[train], scale)[1], v / moments("Y", Y[train], scale)[1]
        return correlations(X[test] @ u[:, None], Y[test] @ v[:, None])[0]

    def problem(train):
        return cca_problem(X[train], Y[train], scale=scale, ridge=ridge)

    return Task(len(X), problem, score)


def _dense_table(name, X) -> np.ndarray:
    if hasattr(X, "tocsc"):
        raise TypeError(
            f"{name} must be a dense array, whose rows can be dealt into folds, but it is a "
            f"{type(X).__name__}. Pass {name}.toarray()."
        )
    return np.asarray(tables.table(name, X))
