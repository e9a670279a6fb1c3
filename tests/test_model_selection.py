"""The choice of the number of variables: folds, scores, the rule, planted truth."""

import jax
import numpy as np
import pytest
from helpers import brute_force, quotient
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from sgep_jax.model_selection import (
    SparsityScores,
    cca_task,
    choose_sparsity,
    fda_task,
    folds,
    pca_task,
)

RNG = np.random.default_rng(0)
M, N = 81, 8
FACTOR = RNG.standard_normal((M, 1))
LABELS = np.where(FACTOR[:, 0] > 0.3, "ill", "well")
PLANTED = [1, 2, 5, 6]  # two variables of each view
X = 5 + RNG.standard_normal((M, N))
X[:, PLANTED] += 1.5 * FACTOR
ROWS = np.arange(60), np.arange(60, M)


@given(st.integers(2, 60), st.integers(2, 10), st.integers(1, 5), st.integers(0, 99))
def test_folds(num_rows, num_folds, classes, seed):
    num_folds = min(num_folds, num_rows)
    codes = np.random.default_rng(seed).integers(classes, size=num_rows)
    for kept in (None, codes):
        parts = folds(num_rows, num_folds, jax.random.key(seed), kept)
        tests = [test for _, test in parts]
        np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(num_rows))
        assert len({len(train) for train, _ in parts}) == 1
        for train, test in parts:
            assert len(np.unique(train)) == len(train) >= num_rows - len(test) - 1
            assert not np.intersect1d(train, test).size
    counts = [[np.sum(codes[test] == code) for test in tests] for code in range(classes)]
    assert max(max(row) - min(row) for row in counts) <= 1
    assert {*codes[train]} >= {code for code in codes if np.sum(codes == code) > num_folds}


def test_folds_follow_the_key():
    first, again, other = (folds(30, 3, jax.random.key(k))[0][1].tolist() for k in (1, 1, 2))
    assert first == again != other


def test_one_standard_error():
    scores = SparsityScores((1, 2, 4, 8), np.array([[0, 0], [3, 5], [4, 6], [5, 4.2]]))
    np.testing.assert_allclose(scores.mean, [0, 4, 5, 4.6])
    np.testing.assert_allclose(scores.standard_error, [0, 1, 1, 0.4])
    assert (scores.best, scores.one_standard_error) == (4, 2)
    lines = str(scores).splitlines()
    assert lines[2].split() == ["2", "4.0000", "1.0000", "one", "standard", "error"]
    assert lines[3].split() == ["4", "5.0000", "1.0000", "best"]
    level = SparsityScores((3, 5), np.ones((2, 4)))
    assert (level.best, level.one_standard_error) == (3, 3)
    assert "best, one standard error" in str(level)


# Scores of a dense solution, against scikit-learn


def test_score_of_pca():
    train, test = ROWS
    unit = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    model = PCA(1).fit(unit[train])
    rest = unit[test] - model.inverse_transform(model.transform(unit[test]))
    expected = 1 - np.sum(rest**2) / np.sum(unit[test] ** 2)
    found = pca_task(X, scale=True).score(3 * model.components_[0], train, test)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_score_of_fda():
    train, test = ROWS
    model = LinearDiscriminantAnalysis("eigen").fit(X[train], LABELS[train])
    direction = model.coef_[0] * X[train].std(axis=0)
    found = fda_task(X, LABELS, ridge=0).score(direction, train, test)
    np.testing.assert_allclose(found, model.score(X[test], LABELS[test]))
    assert found > 0.7


def test_score_of_cca():
    train, test = ROWS
    views = X[:, :4], X[:, 4:]
    model = CCA(1, tol=1e-12, max_iter=10_000).fit(*(view[train] for view in views))
    weights = np.concatenate([model.x_rotations_, model.y_rotations_])[:, 0]
    scores = model.transform(*(view[test] for view in views))
    expected = np.corrcoef(*(score[:, 0] for score in scores))[0, 1]
    np.testing.assert_allclose(cca_task(*views).score(weights, train, test), expected, rtol=1e-6)


# The whole, with one compilation for both tasks


@pytest.mark.parametrize(
    "task", [fda_task(X, LABELS), cca_task(X[:, :4], X[:, 4:])], ids=["fda", "cca"]
)
def test_whole(task):
    seen = []

    def score(x, train, test):
        seen.append((x, train))
        return task.score(x, train, test)

    scores = choose_sparsity(task._replace(score=score), [4, 2, 6, 2], num_folds=4)
    assert scores.sparsities == (2, 4, 6)
    assert scores.scores.shape == (3, 4)
    for (x, train), s in zip(seen, [2, 4, 6] * 4, strict=True):
        problem = task.problem(train)
        A, C = np.asarray(problem.A.array), np.asarray(problem.C.array)
        value, support = brute_force(A, C, s)
        assert tuple(np.flatnonzero(x)) == support
        np.testing.assert_allclose(quotient(A, C, x), value, rtol=1e-9)
    assert scores.mean.max() > 0.7
    assert scores.one_standard_error <= len(PLANTED)


def test_bad_arguments():
    task = pca_task(X)
    with pytest.raises(ValueError, match=r"num_folds=.*at most 81"):
        choose_sparsity(task, [2], num_folds=82)
    with pytest.raises(ValueError, match=r"num_folds=.*at least 2"):
        choose_sparsity(task, [2], num_folds=1)
    with pytest.raises(ValueError, match="sparsity must be between 1 and n = 8"):
        choose_sparsity(task, [2, 9])
    with pytest.raises(TypeError, match="sparsity must be an integer"):
        choose_sparsity(task, [2, 2.5])
    with pytest.raises(ValueError, match="sparsities must not be empty"):
        choose_sparsity(task, [])
    with pytest.raises(ValueError, match="X must be finite"):
        pca_task(np.where(X > 6, np.nan, X))
    with pytest.raises(ValueError, match="one label per row"):
        fda_task(X, LABELS[1:])
    with pytest.raises(ValueError, match="same number of rows"):
        cca_task(X, X[1:])
    with pytest.raises(TypeError, match=r"X must be a dense array.*X.toarray"):
        pca_task(csr_array(X))
    broken = fda_task(X, LABELS)._replace(score=lambda x, train, test: np.nan)
    with pytest.raises(ValueError, match="for sparsity 2 and fold 0 it gives nan"):
        choose_sparsity(broken, [2, 4, 6], num_folds=4)
