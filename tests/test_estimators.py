"""The estimators: scikit-learn's own checks, known truth, conventions, bad data."""

import pickle
import subprocess
import sys

import jax
import numpy as np
import pytest
import sklearn.cross_decomposition
from helpers import brute_force, quotient
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_linnerud, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import sgep_jax as sgep
from sgep_jax.estimators import SparseCCA, SparseFDA, SparsePCA
from sgep_jax.estimators.base import _key

WINE, CULTIVAR = load_wine(return_X_y=True)
UNIT = StandardScaler().fit_transform(WINE)
EXERCISE, BODY = load_linnerud(return_X_y=True)  # 20 × 3 each
EXHAUSTIVE = sgep.Exhaustive()


@pytest.mark.filterwarnings("ignore:Skipping check check_array_api_input")  # needs a setting
@pytest.mark.parametrize("estimator", [SparsePCA(), SparseFDA(), SparseCCA()], ids=repr)
def test_scikit_learn_checks(estimator):
    """All of them, for two views as well; in one test, so that compiled programs are shared."""
    check_estimator(estimator)


# Principal components


@pytest.fixture(scope="module")
def wine_components():
    return SparsePCA(2, 5, scale=True).fit(WINE)


def test_pca_of_wine(wine_components):
    variance = 3.4397784220  # by enumeration, of the correlation matrix
    model, m = wine_components, len(WINE)
    np.testing.assert_allclose(model.explained_variance_[0], variance * m / (m - 1), rtol=1e-9)
    np.testing.assert_allclose(model.explained_variance_ratio_[0], variance / 13, rtol=1e-9)
    np.testing.assert_array_equal(model.support_.sum(axis=1), 5)
    np.testing.assert_array_equal(model.support_, model.components_ != 0)
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1, rtol=1e-12)
    model = SparsePCA(1, 10, scale=True, method=EXHAUSTIVE).fit(WINE)
    np.testing.assert_allclose(model.score(WINE), 4.5942932418 / 13, rtol=1e-9)


def test_pca_adjusted_variance(wine_components):
    """Of the second scores, what a regression on the first leaves."""
    first, second = wine_components.transform(WINE).T
    slope = first @ second / (first @ first)
    left = np.var(second - slope * first, ddof=1)
    np.testing.assert_allclose(wine_components.explained_variance_[1], left, rtol=1e-9)
    assert left < np.var(second, ddof=1)
    problem = sgep.pca_problem(WINE, scale=True)
    adjusted = sgep.measures.adjusted_variance(problem, wine_components.components_) / 13
    np.testing.assert_allclose(wine_components.explained_variance_ratio_, adjusted, rtol=1e-9)


def test_pca_inverse_transform(wine_components):
    """The least squares reconstruction of the standardised table from the components."""
    V = wine_components.components_
    scores = wine_components.transform(WINE)
    nearest = np.linalg.lstsq(V.T, UNIT.T)[0].T @ V
    back = wine_components.inverse_transform(scores)
    np.testing.assert_allclose(back, nearest * WINE.std(axis=0) + WINE.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(wine_components.transform(back), scores, atol=1e-9)
    explained = 1 - np.sum((UNIT - nearest) ** 2) / np.sum(UNIT**2)
    np.testing.assert_allclose(wine_components.score(WINE), explained, rtol=1e-9)


def test_pca_with_all_variables_is_pca():
    ours, theirs = SparsePCA(3, 13, scale=True).fit(WINE), PCA(3).fit(UNIT)
    signs = np.sign(np.sum(ours.components_ * theirs.components_, axis=1))
    np.testing.assert_allclose(ours.components_ * signs[:, None], theirs.components_, atol=1e-9)
    np.testing.assert_allclose(ours.transform(WINE) * signs, theirs.transform(UNIT), atol=1e-8)
    for name in ("explained_variance_", "explained_variance_ratio_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9)


# Discriminant analysis


@pytest.mark.parametrize("priors", [None, (0.2, 0.3, 0.5)])
def test_fda_with_all_variables_is_lda(priors):
    ours = SparseFDA(sparsity=13, ridge=0, priors=priors).fit(WINE, CULTIVAR)
    theirs = LinearDiscriminantAnalysis("lsqr").fit(WINE, CULTIVAR)
    expected = theirs.predict_proba(WINE)
    if priors is not None:  # theirs change the covariance, too: by Bayes' rule instead
        expected = expected * priors / theirs.priors_
        expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ours.predict_proba(WINE), expected, atol=1e-8)
    np.testing.assert_array_equal(ours.predict(WINE), expected.argmax(axis=1))
    decision = ours.decision_function(WINE)
    odds = np.log(expected[:, 1] / expected[:, 0])
    np.testing.assert_allclose(decision[:, 1] - decision[:, 0], odds, atol=1e-6)


def test_fda_of_classes_in_a_row():
    """Where the means lie on one line there is one discriminant component, of three classes."""
    means = np.stack([UNIT[code == CULTIVAR].mean(axis=0) for code in range(3)])
    row = UNIT - means[CULTIVAR] + 2 * CULTIVAR[:, None]
    assert SparseFDA(sparsity=13).fit(row, CULTIVAR).components_.shape == (1, 13)
    with pytest.raises(sgep.SolveError, match="NOTHING_LEFT"):
        SparseFDA(2, 13).fit(row, CULTIVAR)


def test_fda_of_breast_cancer():
    """Two of 30 variables, against all 435 pairs; one component, so scores have unit variance."""
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.array(["malignant", "benign"])[y]
    model = SparseFDA(sparsity=2, ridge=0.1, method=EXHAUSTIVE).fit(X, labels)
    Z = StandardScaler().fit_transform(X)
    means = np.stack([Z[y == code].mean(axis=0) for code in (0, 1)])
    within = (Z - means[y]).T @ (Z - means[y]) / len(Z)
    C = within + 0.1 * np.trace(within) / 30 * np.eye(30)
    A = within - Z.T @ Z / len(Z)
    value, support = brute_force(A, C, 2)
    x = model.components_[0]
    assert tuple(np.flatnonzero(model.support_[0])) == support
    np.testing.assert_allclose(quotient(A, C, x), value, rtol=1e-9)
    np.testing.assert_allclose(x @ C @ x, 1, rtol=1e-9)

    assert list(model.classes_) == ["benign", "malignant"]
    distance = (Z @ x - (means @ x)[:, None]) ** 2  # to malignant, to benign
    odds = (distance[1] - distance[0]) / 2 + np.log(np.mean(y == 0) / np.mean(y == 1))
    np.testing.assert_allclose(model.decision_function(X), odds, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-odds)), atol=1e-9)
    assert model.score(X, labels) > 0.9


# Canonical correlations


def joint_pencil(ridge):
    S = np.corrcoef(EXERCISE.T, BODY.T)
    same = np.kron(np.eye(2), np.ones((3, 3)))
    return -S * (1 - same), S * same + ridge * np.eye(6)


def test_cca_with_all_variables_is_cca():
    model = SparseCCA(2, (3, 3), ridge=0).fit(EXERCISE, BODY)
    bases = [np.linalg.qr(view - view.mean(axis=0))[0] for view in (EXERCISE, BODY)]
    expected = np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)[:2]
    np.testing.assert_allclose(model.correlations_, expected, rtol=1e-9)
    np.testing.assert_allclose(model.score(EXERCISE, BODY), expected.mean(), rtol=1e-9)
    scores = np.concatenate(model.transform(EXERCISE, BODY), axis=1)
    wanted = np.eye(4) + np.diag(expected, 2) + np.diag(expected, -2)
    np.testing.assert_allclose(scores.T @ scores / 20, wanted, atol=1e-9)
    theirs = sklearn.cross_decomposition.CCA(1).fit(EXERCISE, BODY).transform(EXERCISE)
    np.testing.assert_allclose(abs(np.corrcoef(scores[:, 0], theirs[:, 0])[0, 1]), 1, rtol=1e-6)


def test_cca_views_forced_and_forbidden():
    """Two variables of one view and one of the other, against all such supports."""
    A, C = joint_pencil(0.05)
    every = [(i, j, 3 + k) for i in range(3) for j in range(i) for k in range(3)]
    values = {
        support: brute_force(A[np.ix_(support, support)], C[np.ix_(support, support)], 3)[0]
        for support in every
    }

    def found(**options):
        model = SparseCCA(1, (2, 1), ridge=0.05, **options).fit(EXERCISE, BODY)
        u, v = model.x_components_[0], model.y_components_[0]
        across = -u @ A[:3, 3:] @ v
        value = -across / np.sqrt((u @ C[:3, :3] @ u) * (v @ C[3:, 3:] @ v))
        return value, (*np.flatnonzero(model.x_support_[0]), *(3 + np.flatnonzero(v)))

    def best(supports):
        return min((values[s], tuple(sorted(s))) for s in supports)

    value, support = found()
    expected = best(every)
    np.testing.assert_allclose(value, expected[0], rtol=1e-9)
    assert support == expected[1]
    forced, forbidden = next(i for i in range(3) if i not in expected[1]), expected[1][2]
    expected = best([s for s in every if forced in s and forbidden not in s])
    value, support = found(forced=[forced], forbidden=[forbidden])
    np.testing.assert_allclose(value, expected[0], rtol=1e-9)
    assert support == expected[1]


# Conventions


def test_clone_and_pickle(wine_components):
    again = pickle.loads(pickle.dumps(wine_components))
    np.testing.assert_array_equal(again.transform(WINE), wine_components.transform(WINE))
    model = SparsePCA(2, 5, method=sgep.Decomposition(random=4), forced=[1], random_state=3)
    assert clone(model).get_params() == model.get_params()


def test_grid_search_over_sparsity():
    search = GridSearchCV(SparsePCA(scale=True), {"sparsity": [5, 13]}, cv=3).fit(WINE)
    train, test = list(KFold(3).split(WINE))[1]
    by_hand = [SparsePCA(1, s, scale=True).fit(WINE[train]).score(WINE[test]) for s in (5, 13)]
    np.testing.assert_allclose(search.cv_results_["split1_test_score"], by_hand, rtol=1e-9)
    pipeline = make_pipeline(StandardScaler(), SparseFDA(sparsity=13))
    assert cross_val_score(pipeline, WINE, CULTIVAR).mean() > 0.95
    held_out = cross_val_score(SparseCCA(sparsity=6), EXERCISE, BODY, cv=2)
    assert np.all(np.abs(held_out) <= 1)


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    wine = load_wine(as_frame=True).data
    model = SparsePCA(3, 13, scale=True).set_output(transform="pandas").fit(wine)
    scores = model.transform(wine)
    assert isinstance(scores, pandas.DataFrame)
    assert list(scores.columns) == ["sparsepca0", "sparsepca1", "sparsepca2"]
    assert list(model.feature_names_in_) == list(wine.columns)
    classifier = SparseFDA(sparsity=13).set_output(transform="pandas").fit(wine, CULTIVAR)
    assert list(classifier.transform(wine).columns) == ["sparsefda0", "sparsefda1"]
    assert classifier.score(wine, CULTIVAR) == 1


def test_random_state():
    def data(state):
        return jax.random.key_data(_key(state)).tolist()

    assert _key(None) is None
    assert data(1) == data(1) == data(np.random.RandomState(1)) != data(2)


@pytest.fixture
def single_precision():
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", True)


def test_without_64_bits(single_precision):
    """Attributes keep the dtype of the data; neither large means nor small units cost digits."""
    plain = SparsePCA(1, 13).fit(UNIT)
    for data in (UNIT + 1e6, 1e-30 * UNIT, 1e30 * UNIT):
        model = SparsePCA(1, 13).fit(data)
        np.testing.assert_allclose(model.components_, plain.components_, atol=1e-5)
    single = SparsePCA(1, 13).fit(UNIT.astype(np.float32))
    for model, dtype in ((plain, np.float64), (single, np.float32)):
        data = UNIT.astype(dtype)
        names = ("components_", "explained_variance_", "explained_variance_ratio_", "mean_")
        for value in (getattr(model, name) for name in (*names, "scale_")):
            assert type(value) is np.ndarray and value.dtype == dtype
        assert model.transform(data).dtype == model.inverse_transform(data[:, :1]).dtype == dtype
    theirs = PCA(1).fit(UNIT).explained_variance_
    np.testing.assert_allclose(plain.explained_variance_, theirs, rtol=1e-5)


def test_without_scikit_learn():
    script = """
import sys
sys.modules["sklearn"] = None
import sgep_jax, sgep_jax.model_selection
assert not {"optax", "scipy"} & set(sys.modules), "slow to import: only where they are used"
try:
    import sgep_jax.estimators
except ModuleNotFoundError as error:
    print(error)
"""
    command = [sys.executable, "-c", script]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert "needs scikit-learn" in text
    assert "sgep_jax[sklearn]" in text


# Bad data


def changed(X, where, value):
    X = X.astype(object if isinstance(value, str) else float)
    X[where] = value
    return X


CONSTANT = changed(WINE, (slice(None), 2), 7.0)
BAD = {
    "missing value": (SparsePCA(), (changed(WINE, (3, 4), np.nan),), "X contains NaN"),
    "text": (SparsePCA(), (changed(WINE, (3, 4), "red"),), "could not convert.*red"),
    "no rows": (SparsePCA(), (WINE[:1],), "minimum of 2"),
    "constant column": (SparsePCA(scale=True), (CONSTANT,), "column 2 is constant.*Variance"),
    "constant table": (SparsePCA(), (np.ones((9, 4)),), "X must vary"),
    "too sparse": (SparsePCA(sparsity=0), (WINE,), "sparsity must be between 1 and n = 13"),
    "not sparse": (SparsePCA(sparsity=14), (WINE,), "sparsity must be between 1 and n = 13"),
    "sparsity": (SparsePCA(sparsity=0.5), (WINE,), "sparsity must be an integer"),
    "many components": (SparsePCA(14), (WINE,), r"SparsePCA\(n_components=.*at most 13"),
    "no components": (SparsePCA(0), (WINE,), r"SparsePCA\(n_components=.*at least 1"),
    "deflation": (SparsePCA(deflation="no"), (WINE,), r"SparsePCA\(deflation=.*one of"),
    "one class": (SparseFDA(), (WINE, 0 * CULTIVAR), "one class: .*SparsePCA"),
    "classes of one": (SparseFDA(), (WINE[:5], list("abcde")), "a class of two rows"),
    "more labels": (SparseFDA(), (WINE[1:], CULTIVAR), "inconsistent numbers of samples"),
    "missing label": (SparseFDA(), (WINE, changed(CULTIVAR, 3, np.nan)), "y contains NaN"),
    "numbers": (SparseFDA(), (WINE, WINE[:, 0]), "Unknown label type: continuous"),
    "discriminants": (SparseFDA(3), (WINE, CULTIVAR), "at most 2, one less than the classes"),
    "priors": (SparseFDA(priors=(0.5, 0.5)), (WINE, CULTIVAR), "3 positive numbers"),
    "ridge": (SparseFDA(ridge=-1), (WINE, CULTIVAR), "ridge.*must not be negative"),
    "constant in a class": (SparseFDA(), (CONSTANT, CULTIVAR), "column 2 is constant"),
    "rows": (SparseCCA(), (EXERCISE, BODY[1:]), "inconsistent numbers of samples"),
    "one view": (SparseCCA(), (EXERCISE, None), "requires y to be passed"),
    "constant view": (SparseCCA(scale=False), (EXERCISE, 0 * BODY), "y must vary"),
    "one variable": (SparseCCA(sparsity=1), (EXERCISE, BODY), "a variable to each view"),
    "no variable": (SparseCCA(sparsity=(3, 0)), (EXERCISE, BODY), "a variable to each view"),
    "three views": (SparseCCA(sparsity=(1, 1, 1)), (EXERCISE, BODY), "each of the 2 groups"),
    "per view": (SparseCCA(sparsity=(4, 1)), (EXERCISE, BODY), "in group 0, 3, but it is 4"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_data(kind):
    estimator, data, message = BAD[kind]
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(*data)


def test_repeated_columns():
    """Harmless where a support can do without; otherwise the error names the remedy."""
    twice = np.column_stack([WINE[:, :12], WINE[:, 0]])
    with pytest.raises(sgep.SolveError, match=r"NO_DEFINITE_SUPPORT.*ridge"):
        SparseFDA(sparsity=13, ridge=0).fit(twice, CULTIVAR)
    assert SparseFDA(sparsity=13).fit(twice, CULTIVAR).score(twice, CULTIVAR) > 0.95


def test_bad_new_data():
    model = SparsePCA(1, 13).fit(UNIT)
    with pytest.raises(ValueError, match="as many columns as components, 1"):
        model.inverse_transform(WINE)
    with pytest.raises(ValueError, match="expecting 13 features"):
        model.transform(WINE[:, :3])
    model = SparseCCA(sparsity=6).fit(EXERCISE, BODY)
    with pytest.raises(ValueError, match="y must have 3 columns"):
        model.score(EXERCISE, BODY[:, :2])
    with pytest.raises(ValueError, match="y contains NaN"):
        model.transform(EXERCISE, changed(BODY, (2, 2), np.nan))
