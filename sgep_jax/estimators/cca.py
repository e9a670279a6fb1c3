"""Sparse canonical correlations as a scikit-learn transformer of two views."""

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from ..applications import cca_problem
from ..held_out import correlations, moments
from .base import FLOATS, find, number_of_components, size


class SparseCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Pairs of components of two views, X and y = Y, as correlated as few variables allow.

    The first pair maximises the correlation of Xu and Yv (with a ridge) over u and v with at most
    `sparsity` nonzeros; the next ones do so on what is uncorrelated with those before, in each
    view. With all variables and no ridge this is ordinary CCA.

    **Parameters**

    - `n_components`: how many pairs.
    - `sparsity`: variables of a pair, shared between u and v as serves the correlation, or a tuple
      of two, those of u and those of v. `None` is 10, or all variables if there are fewer.
    - `scale`: divide each variable by its standard deviation, so that the ridge acts on all alike.
    - `ridge`: added to the covariance within each view, relative to its mean variance.
    - `deflation`, `method`, `random_state`: as in `SparsePCA`.
    - `forced`, `forbidden`: as in `SparsePCA`; the variables of y are counted on after those of X.

    **Attributes**

    - `x_components_` (c, p), `y_components_` (c, q): u and v, a pair a row; they weigh the
      standardised variables, and the scores of the fitted data have variance 1.
    - `x_support_` (c, p), `y_support_` (c, q): which variables each of them uses.
    - `correlations_` (c,): of the scores of the fitted data.
    - `x_mean_`, `y_mean_`, `x_scale_`, `y_scale_`, `n_features_in_` = p, `feature_names_in_`.

    ```python
    X, Y = np.random.default_rng(0).standard_normal((2, 50, 4))
    SparseCCA(sparsity=(2, 1)).fit(X, Y).score(X, Y)
    ```
    """

    def __init__(
        self,
        n_components=1,
        sparsity=None,
        *,
        scale=True,
        ridge=1e-3,
        deflation="projection",
        method=None,
        forced=None,
        forbidden=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.sparsity = sparsity
        self.scale = scale
        self.ridge = ridge
        self.deflation = deflation
        self.method = method
        self.forced = forced
        self.forbidden = forbidden
        self.random_state = random_state

    def fit(self, X, y):
        """Find the pairs for two views of the same samples, X (m, p) and y (m, q) or (m,)."""
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
        Y = _second_view(y)
        check_consistent_length(X, Y)
        p, q = X.shape[1], Y.shape[1]
        most = min(len(X), p, q)
        number = number_of_components(
            "SparseCCA", self.n_components, most, "the samples, and the variables of each view"
        )
        self._check_sparsity()
        names = getattr(self, "feature_names_in_", None)
        self.x_mean_, self.x_scale_ = moments("X", X, self.scale, names)
        self.y_mean_, self.y_scale_ = moments("y", Y, self.scale)
        Zx, Zy = self._standardised(X, Y)
        problem = cca_problem(
            Zx / size("X", Zx), Zy / size("y", Zy), center=False, scale=False, ridge=self.ridge
        )
        views = (0,) * p + (1,) * q if np.iterable(self.sparsity) else None
        found = find(self, problem, number, X.dtype, groups=views, split=p)
        self.x_support_, self.y_support_ = np.split(found.support, [p], axis=1)
        u, v = np.split(found.components, [p], axis=1)
        self.x_components_, self.y_components_ = _unit_variance(u, Zx), _unit_variance(v, Zy)
        self.correlations_ = correlations(Zx @ self.x_components_.T, Zy @ self.y_components_.T)
        return self

    def transform(self, X, y=None):
        """(m, c): the scores of X; with y, those of both."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        if y is None:
            return (X - self.x_mean_) / self.x_scale_ @ self.x_components_.T
        Y = _second_view(y, len(self.y_mean_))
        check_consistent_length(X, Y)
        Zx, Zy = self._standardised(X, Y)
        return Zx @ self.x_components_.T, Zy @ self.y_components_.T

    def score(self, X, y):
        """The correlation of the two scores, the mean over the pairs. For `GridSearchCV`."""
        return float(np.mean(correlations(*map(np.asarray, self.transform(X, y)))))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    def _check_sparsity(self):
        least = 1 if np.iterable(self.sparsity) else 2
        if self.sparsity is not None and np.any(np.less(self.sparsity, least)):
            raise ValueError(
                f"SparseCCA(sparsity=...) must leave a variable to each view: at least 2, or "
                f"(1, 1), but it is {self.sparsity!r}."
            )

    def _standardised(self, X, Y):
        return (X - self.x_mean_) / self.x_scale_, (Y - self.y_mean_) / self.y_scale_

    @property
    def _n_features_out(self):
        return self.x_components_.shape[0]


def _second_view(y, columns=None):
    if y is None:
        raise ValueError(
            "SparseCCA requires y to be passed, but the target y is None. It is the second view, "
            "a row for each row of X."
        )
    y = check_array(y, dtype=FLOATS, ensure_2d=False, input_name="y")
    y = y.reshape(-1, 1) if y.ndim == 1 else y
    if columns not in (None, y.shape[1]):
        raise ValueError(
            f"y must have {columns} columns, as when SparseCCA was fitted, but its shape is "
            f"{y.shape}."
        )
    return y


def _unit_variance(components, Z):
    deviation = (Z @ components.T).std(axis=0)
    return components / np.where(deviation > 0, deviation, 1)[:, None]
