"""From discriminant components to a classifier: the Gaussian rule in their space.

Scores t = Vz, V (c, n) with a component a row. Were the classes Gaussian with means μ_k and the
common covariance C of `fda_problem` (the one within the classes, with its ridge), scores would be
Gaussian with means t_k = Vμ_k and covariance Σ = VCV', and by Bayes' rule

    log P(k | t) = −½ (t − t_k)'Σ⁻¹(t − t_k) + log π_k + const
                 = t'Σ⁻¹t_k − ½ t_k'Σ⁻¹t_k + log π_k + const:

the class with the nearest mean, up to its prior π_k. Components have x'Cx = 1, so that with one of
them, or several that are C-orthogonal, Σ is the identity.
"""

from typing import NamedTuple

import numpy as np


class Rule(NamedTuple):
    """log P(k | t), up to a constant, is `scores @ weights.T + intercepts`."""

    weights: np.ndarray
    intercepts: np.ndarray

    def decide(self, scores):
        """(m, K)."""
        return scores @ self.weights.T + self.intercepts


def gaussian_rule(Z, codes, V, priors, ridge) -> Rule:
    """The rule from data Z (m, n) with classes `codes` (m,) in 0, …, K − 1.

    `ridge` is relative to the mean variance within the classes, as in `fda_problem`. Σ comes from
    the scores: no n × n matrix is formed.
    """
    member = np.eye(len(priors), dtype=Z.dtype)[codes]
    average = (member / member.sum(axis=0)).T
    residuals = Z - (average @ Z)[codes]
    scores = residuals @ V.T
    covariance = scores.T @ scores / len(Z) + ridge * np.mean(residuals**2) * (V @ V.T)
    means = average @ (Z @ V.T)
    weights = means @ np.linalg.pinv(covariance, hermitian=True)  # two components may be parallel
    intercepts = np.log(priors) - np.sum(weights * means, axis=1) / 2
    return Rule(weights, intercepts.astype(Z.dtype))
