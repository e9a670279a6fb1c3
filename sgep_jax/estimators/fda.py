"""Sparse discriminant analysis as a scikit-learn classifier and transformer."""

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ..applications import fda_problem
from ..discriminant import gaussian_rule
from .base import FLOATS, SparseProjection, find, number_of_components, size


class SparseFDA(ClassifierMixin, SparseProjection):
    """Discriminant components that use a given number of variables each, and their classifier.

    Components maximise the variance between the classes over that within them, x'Bx / x'Cx, with
    at most `sparsity` nonzeros. A sample belongs to the class with the nearest mean in their space,
    up to its prior: linear discriminant analysis of the scores (`sgep_jax/discriminant.py`). With
    `sparsity` = n, `ridge` = 0 and one component less than classes, this is ordinary LDA.

    **Parameters**

    - `n_components`: how many, at most one less than classes. `None` is as many as there are.
    - `sparsity`: variables of a component, or one number for each component. `None` is 10, or all
      variables if there are fewer.
    - `priors`: of the classes, in the order of `classes_`; `None` is their shares in y. They change
      the classifier, not the components.
    - `scale`: divide each variable by its standard deviation, so that the ridge acts on all alike.
    - `ridge`: added to the covariance within the classes, relative to its mean variance.
    - `deflation`, `method`, `forced`, `forbidden`, `random_state`: as in `SparsePCA`.

    **Attributes**

    - `components_` (c, n): x'Cx = 1, the largest |loading| of each positive; they weigh the
      standardised variables.
    - `support_` (c, n): which variables each component uses.
    - `classes_` (K,), `priors_` (K,), `mean_`, `scale_` (n,), `n_features_in_`,
      `feature_names_in_`.

    ```python
    X = np.random.default_rng(0).standard_normal((50, 6))
    y = np.where(X[:, 0] + X[:, 3] > 0, "ill", "well")
    SparseFDA(sparsity=2).fit(X, y).predict(X)
    ```
    """

    def __init__(
        self,
        n_components=None,
        sparsity=None,
        *,
        priors=None,
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
        self.priors = priors
        self.scale = scale
        self.ridge = ridge
        self.deflation = deflation
        self.method = method
        self.forced = forced
        self.forbidden = forbidden
        self.random_state = random_state

    def fit(self, X, y):
        """Find the components of X (m, n) that tell the classes y (m,) apart."""
        X, y = validate_data(self, X, y, dtype=FLOATS, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must have at least two classes, but it has one class: {self.classes_[0]!r}. "
                f"Without classes use SparsePCA."
            )
        most = min(len(self.classes_) - 1, X.shape[1])
        number = most if self.n_components is None else self.n_components
        number = number_of_components(
            "SparseFDA", number, most, "one less than the classes, and the number of variables"
        )
        self.priors_ = self._check_priors(np.bincount(codes) / len(codes))
        Z = self._standardise(X)
        unit = size("X", Z)
        problem = fda_problem(Z / unit, codes, scale=False, ridge=self.ridge)
        found = find(self, problem, number, X.dtype)
        self._keep(found._replace(components=found.components / unit))
        self._rule = gaussian_rule(Z, codes, self.components_, self.priors_, self.ridge)
        return self

    def decision_function(self, X):
        """(m, K): log P(class | scores) up to a constant; of two classes (m,), the second's less
        the first's."""
        decision = self._rule_values(X)
        return decision[:, 1] - decision[:, 0] if len(self.classes_) == 2 else decision

    def predict_proba(self, X):
        """(m, K): the probabilities of the classes."""
        return softmax(self._rule_values(X), axis=1)

    def predict(self, X):
        """(m,): the most probable class."""
        decision = self._rule_values(X)
        return self.classes_[np.argmax(decision, axis=1)]

    def _rule_values(self, X):
        Z = self._new(X)
        return self._rule.decide(Z @ self.components_.T)

    def _check_priors(self, shares):
        if self.priors is None:
            return shares
        priors = np.asarray(self.priors, float)
        if priors.shape != shares.shape or not np.all(priors > 0) or abs(priors.sum() - 1) > 1e-6:
            raise ValueError(
                f"SparseFDA(priors=...) must be {len(shares)} positive numbers that add up to 1, "
                f"one for each of the classes {list(self.classes_)}, but it is {self.priors!r}."
            )
        return priors
