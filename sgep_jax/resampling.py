"""How sure is a selection? Bootstrap frequencies, and a permutation p-value of the leading value.

Both solve the pencils of many resamples of the same data, as batches. A resample is a set of row
indices or a key; its pencil is formed on the device when its turn comes, never all at once.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from . import validation
from .batch import solve_batch
from .solution import Solution
from .solve import solve


def bootstrap(
    make_problem, data, sparsity: int, num_resamples: int, *, key=None, strata=None, **options
) -> Solution:
    """The solutions of `num_resamples` bootstrap samples, as a batch.

    **Arguments**

    - `make_problem`: from resampled data to a `Problem`, such as `pca_problem`; it is traced.
    - `data`: an array, or a tuple of arrays, a row per sample. Rows are drawn with replacement,
      the same of each array; `make_problem(*arrays)` for a tuple.
    - `sparsity`: s.
    - `key`: for the draws and the solves; without one, key 0.
    - `strata`: a label per row. Each row is replaced by one of its own label, so that labels can
      stay as they are: `bootstrap(lambda X: fda_problem(X, y), X, 5, 100, strata=y)`.
    - `options`: `method`, `num_starts`, `mesh`, `chunk` of `solve_batch`.

    ```python
    batch = bootstrap(pca_problem, X, 5, 200)
    selection_frequencies(batch)
    ```
    """
    validation.count("bootstrap", "num_resamples", num_resamples, 1)
    rows = _rows(data)
    data = jax.tree.map(jnp.asarray, data)
    for array in jax.tree.leaves(data):
        validation.finite("data", array)  # `make_problem` is traced, and cannot tell
    strata = np.zeros(rows, int) if strata is None else _codes(strata, rows)
    sizes = np.bincount(strata)
    draw = _Draw(
        order=np.argsort(strata, kind="stable").astype(np.int32),
        first=(np.cumsum(sizes) - sizes)[strata].astype(np.int32),
        size=sizes[strata].astype(np.int32),
    )
    return _solve_all(make_problem, (data, draw), _resample, sparsity, num_resamples, key, options)


class _Draw(NamedTuple):
    """For each row, where the rows of its label begin in `order`, and how many they are."""

    order: jax.Array
    first: jax.Array
    size: jax.Array


def _resample(key, given):
    data, draw = given
    share = jax.random.uniform(key, draw.size.shape, jnp.float32)
    place = (share * draw.size.astype(jnp.float32)).astype(jnp.int32)
    rows = draw.order[draw.first + jnp.minimum(place, draw.size - 1)]
    return jax.tree.map(lambda array: array[rows], data)


def selection_frequencies(batch: Solution) -> np.ndarray:
    """(n,): the share of the batch's answers in which each variable has a nonzero loading.

    Resamples without an answer (objective inf) do not count.
    """
    usable = np.isfinite(np.asarray(batch.objective))
    if not usable.any():
        raise ValueError(
            "batch must have at least one answer, but every objective is inf. "
            "batch.check() says why."
        )
    return (np.asarray(batch.x)[usable] != 0).mean(axis=0)


class PermutationTest(NamedTuple):
    """`p_value`; the `solution` on the data; the objectives (number,) of permuted data."""

    p_value: float
    solution: Solution
    permuted: np.ndarray


def permutation_test(
    make_problem, data, sparsity: int, num_permutations: int, *, permute, key=None, **options
) -> PermutationTest:
    """Is the leading value lower than chance makes it?

        p = (1 + #{permutations with an objective ≤ that of the data}) / (1 + permutations),

    which is valid for any number of permutations: under the hypothesis P(p ≤ α) ≤ α. Permutations
    without an answer (objective inf) count as lower, so that they never make p smaller.

    **Arguments**

    - `make_problem`, `data`, `sparsity`, `options`: as in `bootstrap`.
    - `permute`: `(key, data)` → data without the structure in question, traced. `permute_columns`
      for PCA; `permute_rows` of X for discriminant analysis, which leaves the labels in place; for
      CCA the rows of one view, `lambda key, views: (views[0], permute_rows(key, views[1]))`.

    ```python
    permutation_test(pca_problem, X, 5, 199, permute=permute_columns).p_value
    ```
    """
    validation.count("permutation_test", "num_permutations", num_permutations, 1)
    key = jax.random.key(0) if key is None else key
    data = jax.tree.map(jnp.asarray, data)
    single = {name: options[name] for name in ("method", "num_starts") if name in options}
    solution = solve(_apply(make_problem, data), sparsity, key=key, **single).check()
    batch = _solve_all(make_problem, data, permute, sparsity, num_permutations, key, options)
    observed, permuted = float(solution.objective), np.asarray(batch.objective)
    rounding = 1e3 * float(jnp.finfo(permuted.dtype).eps) * abs(observed)
    below = int(np.sum((permuted <= observed + rounding) | ~np.isfinite(permuted)))
    return PermutationTest((1 + below) / (1 + num_permutations), solution, permuted)


def permute_columns(key, X):
    """X with the rows of each column in an order of its own: no two columns go together."""
    order = jnp.argsort(jax.random.uniform(key, X.shape, jnp.float32), axis=0)
    return jnp.take_along_axis(X, order, axis=0)


def permute_rows(key, X):
    """X with its rows in another order."""
    return X[jax.random.permutation(key, X.shape[0])]


def _solve_all(make_problem, data, change, sparsity, number, key, options) -> Solution:
    """The answers for `number` changed copies of the data, a part of them at a time."""
    key = jax.random.key(0) if key is None else key
    keys = jax.vmap(lambda i: jax.random.split(jax.random.fold_in(key, i)))(
        jnp.arange(number, dtype=jnp.uint32)
    )
    pencils = partial(_pencils, make_problem=make_problem, change=change)
    shapes = jax.tree.leaves(jax.eval_shape(pencils, keys[:1, 0], data))
    most = max(1, 2**26 // sum(leaf.size for leaf in shapes))  # half a gigabyte of pencils
    part = -(-number // -(-number // most))
    answers = []
    for begin in range(0, number, part):
        here = keys[np.minimum(np.arange(begin, begin + part), number - 1)]  # one shape for all
        problems = pencils(here[:, 0], data)
        answers.append(solve_batch(problems, sparsity, keys=here[:, 1], **options))
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves)[:number], *answers)


@partial(jax.jit, static_argnames=("make_problem", "change"))
def _pencils(keys, data, make_problem, change):
    return jax.vmap(lambda key: _apply(make_problem, change(key, data)))(keys)


def _apply(make_problem, data):
    return make_problem(*data) if isinstance(data, tuple) else make_problem(data)


def _rows(data) -> int:
    counts = {np.shape(leaf)[0] if np.ndim(leaf) else 0 for leaf in jax.tree.leaves(data)}
    if len(counts) != 1 or 0 in counts:
        raise ValueError(
            f"data must be arrays with the same samples, a row each, but their numbers of rows "
            f"are {sorted(counts)}."
        )
    return counts.pop()


def _codes(labels, rows: int) -> np.ndarray:
    labels = np.asarray(labels)
    if labels.shape != (rows,):
        raise ValueError(
            f"strata must have one label per row, ({rows},), but its shape is {labels.shape}."
        )
    return np.unique(labels, return_inverse=True)[1]
