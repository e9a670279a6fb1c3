"""What components explain together, against data and NumPy."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from helpers import TOLERANCE

import sgep_jax as sgep
from sgep_jax import measures

RNG = np.random.default_rng(5)
M, N, SPLIT = 50, 6, 2
X = RNG.standard_normal((M, N)) @ RNG.standard_normal((N, N))
X = X - X.mean(axis=0)
LABELS = np.arange(M) % 4
COMPONENTS = np.array(
    [[1.0, 0, 0.5, -1, 0, 0], [0.3, -1, 0, 0, 2, 0], [0, 1, 0.7, 1, 0, -1]]
)  # neither orthogonal nor of length 1


def test_adjusted_variance_is_that_of_zou(dtype):
    problem = sgep.pca_problem(X.astype(dtype))
    V = COMPONENTS.T / np.linalg.norm(COMPONENTS, axis=1)
    expected = np.diagonal(np.linalg.qr(X @ V)[1]) ** 2 / M
    found = measures.adjusted_variance(problem, jnp.asarray(COMPONENTS, dtype))
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE[dtype])


def test_subspace_variance_is_that_of_the_projected_data():
    found = measures.subspace_variance(sgep.pca_problem(X), COMPONENTS)
    for count in (1, 2, 3):
        basis = np.linalg.qr(COMPONENTS[:count].T)[0]
        assert found[count - 1] == pytest.approx(np.sum((X @ basis) ** 2) / M)


def test_dense_components_explain_their_eigenvalues():
    problem = sgep.pca_problem(X)
    values, vectors = np.linalg.eigh(X.T @ X / M)
    dense = vectors.T[::-1]
    np.testing.assert_allclose(measures.adjusted_variance(problem, dense), values[::-1])
    np.testing.assert_allclose(measures.subspace_variance(problem, dense), np.cumsum(values[::-1]))
    assert measures.total_variance(problem) == pytest.approx(values.sum())


def test_a_component_said_twice_explains_nothing_new():
    problem = sgep.pca_problem(X)
    x = COMPONENTS[[0, 0, 1, 2, 2]] * np.array([1, -3, 1, 0, 1])[:, None]
    once = COMPONENTS[[0, 1, 2]]
    found = np.asarray(measures.adjusted_variance(problem, x))
    np.testing.assert_allclose(found[[1, 3]], 0)
    expected = measures.adjusted_variance(problem, once)
    np.testing.assert_allclose(np.delete(found, [1, 3]), expected)
    expected = np.asarray(measures.subspace_variance(problem, once))
    np.testing.assert_allclose(measures.subspace_variance(problem, x), expected[[0, 0, 1, 1, 2]])


def test_class_separation():
    problem = sgep.fda_problem(X, LABELS, scale=False, ridge=0)
    means = np.array([X[k == LABELS].mean(axis=0) for k in range(4)])
    share = np.bincount(LABELS) / M
    between = np.einsum("k,ki,kj->ij", share, means, means)  # X is centred
    within = X.T @ X / M - between
    found = measures.class_separation(problem, COMPONENTS)
    Z = COMPONENTS
    each = np.diagonal(Z @ between @ Z.T) / np.diagonal(Z @ within @ Z.T)
    np.testing.assert_allclose(found.each, each)
    whole = np.trace(np.linalg.solve(Z @ within @ Z.T, Z @ between @ Z.T))
    assert found.cumulative[-1] == pytest.approx(whole)
    largest = scipy.linalg.eigh(between, within, eigvals_only=True)[::-1]
    assert np.all(np.asarray(found.cumulative) <= np.cumsum(largest)[:3] + 1e-12)


def test_canonical_correlations_are_those_of_the_scores():
    problem = sgep.cca_problem(X[:, :SPLIT], X[:, SPLIT:], scale=False, ridge=0)
    x = np.vstack([COMPONENTS, [1.0, 1.0, 0, 0, 0, 0]])
    first, second = X[:, :SPLIT] @ x[:, :SPLIT].T, X[:, SPLIT:] @ x[:, SPLIT:].T
    found = measures.canonical_correlations(problem, x, SPLIT)
    for k in range(3):
        assert found[k] == pytest.approx(np.corrcoef(first[:, k], second[:, k])[0, 1])
    assert found[3] == 0  # one view alone
