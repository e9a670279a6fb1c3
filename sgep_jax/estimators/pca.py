"""Sparse principal components as a scikit-learn transformer."""

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..applications import pca_problem
from ..held_out import explained_share
from .base import FLOATS, SparseProjection, find, number_of_components, size


class SparsePCA(SparseProjection):
    """Principal components that use a given number of variables each.

    The first maximises the variance of Zx over unit x with at most `sparsity` nonzeros, where Z is
    X less its means (and divided by its standard deviations if `scale`); the next ones do so on
    what deflation leaves. With `sparsity` = n this is ordinary PCA.

    **Parameters**

    - `n_components`: how many.
    - `sparsity`: variables of a component, or one number for each component. `None` is 10, or all
      variables if there are fewer.
    - `scale`: divide each variable by its standard deviation: for variables in different units.
    - `deflation`: how a component is taken out, see `sgep_jax.solve_components`.
    - `method`: how to search, see `sgep_jax.solve`. Non-negative loadings:
      `Decomposition(subproblem="coordinate", lower=0.0)`.
    - `forced`, `forbidden`: indices of variables that every component, or none, is given.
    - `random_state`: a seed or a generator for the search; `None` is always the same seed.

    **Attributes**

    - `components_` (c, n): unit rows, the largest |loading| of each positive; they weigh the
      standardised variables.
    - `support_` (c, n): which variables each component uses.
    - `explained_variance_` (c,): the variance of each component's scores that those before it do
      not predict (Zou, Hastie and Tibshirani 2006), since sparse components are correlated;
      divided by m − 1, as in scikit-learn's `PCA`.
    - `explained_variance_ratio_` (c,): the same over the variance of all variables.
    - `mean_`, `scale_` (n,), `n_features_in_`, `feature_names_in_`.

    ```python
    X = np.random.default_rng(0).standard_normal((50, 6))
    scores = SparsePCA(n_components=2, sparsity=3).fit_transform(X)
    ```
    """

    def __init__(
        self,
        n_components=1,
        sparsity=None,
        *,
        scale=False,
        deflation="projection",
        method=None,
        forced=None,
        forbidden=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.sparsity = sparsity
        self.scale = scale
        self.deflation = deflation
        self.method = method
        self.forced = forced
        self.forbidden = forbidden
        self.random_state = random_state

    def fit(self, X, y=None):
        """Find the components of X (m, n); y is ignored."""
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
        number = number_of_components(
            "SparsePCA", self.n_components, min(X.shape), "the smaller side of X"
        )
        Z = self._standardise(X)
        self._keep(find(self, pca_problem(Z / size("X", Z), center=False), number, X.dtype))
        freedom = len(Z) - 1
        R = np.linalg.qr(Z @ self.components_.T, mode="r")
        self.explained_variance_ = np.diagonal(R) ** 2 / freedom
        self.explained_variance_ratio_ = self.explained_variance_ * freedom / np.sum(Z**2)
        return self

    def inverse_transform(self, X):
        """(m, n): the table nearest to the one transformed, in the span of the components.

        With V the components, scores T lead back to T (VV')⁻¹ V.
        """
        check_is_fitted(self)
        T = check_array(X, dtype=FLOATS)
        if T.shape[1] != self._n_features_out:
            raise ValueError(
                f"X must have as many columns as components, {self._n_features_out}, "
                f"but its shape is {T.shape}."
            )
        return T @ np.linalg.pinv(self.components_.T) * self.scale_ + self.mean_

    def score(self, X, y=None):
        """The share of the variance of X, about `mean_`, that the span of the components holds:
        1 − ‖Z − Ẑ‖² / ‖Z‖² with Ẑ from `inverse_transform`. For `GridSearchCV` and friends."""
        return explained_share(self._new(X), self.components_)
