"""What the estimators share: standardised tables, the search, and the projection."""

from typing import NamedTuple

import jax
import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import validation
from ..components import solve_components
from ..deflation import DEFLATIONS
from ..held_out import moments
from ..solution import Status
from ..solve import solve

FLOATS = (np.float64, np.float32)
FEW = 10  # variables a component has when nobody says how many


class Found(NamedTuple):
    """Components (c, n), and which variables each of them was given (c, n)."""

    components: np.ndarray
    support: np.ndarray


class SparseProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A table is centred, scaled if asked, and projected on `components_`."""

    def transform(self, X):
        """(m, c): the scores, ((X − mean_) / scale_) components_'."""
        return self._new(X) @ self.components_.T

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _new(self, X):
        """New data, checked and standardised as those of the fit were."""
        check_is_fitted(self)
        return self._standardised(validate_data(self, X, dtype=FLOATS, reset=False))

    def _standardised(self, X):
        return (X - self.mean_) / self.scale_

    def _standardise(self, X):
        """X standardised by its own means and scales, which are kept."""
        names = getattr(self, "feature_names_in_", None)
        self.mean_, self.scale_ = moments("X", X, self.scale, names)
        return self._standardised(X)

    def _keep(self, found: Found):
        self.components_, self.support_ = found

    @property
    def _n_features_out(self):
        return self.components_.shape[0]


def size(name, Z):
    """The root mean square of centred data. The search is given Z / size: no square of it
    overflows or vanishes in float32."""
    largest = np.abs(Z).max()
    if not largest > 0:
        raise ValueError(
            f"{name} must vary, but all its columns are constant. Pass more rows, or other columns."
        )
    return largest * np.sqrt(np.mean((Z / largest) ** 2))


def number_of_components(owner, value, most: int, reason: str) -> int:
    validation.count(owner, "n_components", value, 1)
    if value > most:
        raise ValueError(
            f"{owner}(n_components=...) must be at most {most}, {reason}, but it is {value}."
        )
    return int(value)


def find(estimator, problem, number: int, dtype, groups=None, split=None) -> Found:
    """The sparse components of a pencil, by the settings of an estimator.

    Where its `n_components` is None, `number` is the most: fewer if the pencil has no more.
    """
    n, sparsity = problem.size, estimator.sparsity
    options = {"groups": groups, "forced": estimator.forced, "forbidden": estimator.forbidden}
    options = {name: value for name, value in options.items() if value is not None}
    options |= {"method": estimator.method, "key": _key(estimator.random_state)}
    if sparsity is None:
        sparsity = min(FEW, n - len(set(options.get("forbidden", ()))))
    validation.one_of(type(estimator).__name__, "deflation", estimator.deflation, DEFLATIONS)
    if number == 1 and (groups or not np.iterable(sparsity)):
        found = solve(problem, sparsity, **options).check()  # half of it to compile
    else:
        options |= {"deflation": estimator.deflation, "split": split}
        found = solve_components(problem, sparsity, number, **options)
        if estimator.n_components is None:
            some = np.asarray(found.status) != Status.NOTHING_LEFT
            found = jax.tree.map(lambda leaf: leaf[: max(some.sum(), 1)], found)
        found.check()
    x, indices = np.atleast_2d(np.asarray(found.x, dtype)), np.atleast_2d(found.support)
    support = np.zeros((len(x), n + 1), bool)
    np.put_along_axis(support, indices, True, axis=1)  # padded with n
    return Found(x, support[:, :n])


def _key(random_state):
    """A key from a seed or a generator; None is key 0, so that fits are reproducible."""
    if random_state is None:
        return None
    return jax.random.key(check_random_state(random_state).randint(np.iinfo(np.int32).max))
