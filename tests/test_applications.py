"""Pencils from data: against NumPy, scikit-learn and the paper; transformations; bad data."""

import textwrap
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from helpers import TOLERANCE, lowest
from sklearn.cross_decomposition import CCA
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import sgep_jax as sgep
from sgep_jax import cca_problem, fda_problem, pca_problem

RNG = np.random.default_rng(0)
M, N = 40, 6
EXHAUSTIVE = sgep.Exhaustive()
X = 3 + RNG.standard_normal((M, N)) @ RNG.standard_normal((N, N))
Y = X[:, :2] @ RNG.standard_normal((2, 4)) + RNG.standard_normal((M, 4))
CODES = RNG.permutation(np.arange(M) % 3)
NAMES = np.array(["ash", "beech", "cedar"])[CODES]
TWO = np.where(np.arange(M) < 15, "no", "yes")
PAPER_FDA = {"weighted": False, "scale": False, "ridge": 0, "absolute_ridge": 0.5}
PAPER_CCA = {"center": False, "scale": False, "ridge": 0, "absolute_ridge": 0.1}

BUILDERS = {
    "pca": lambda X, **options: pca_problem(X, **options),
    "fda": lambda X, **options: fda_problem(X, NAMES, **options),
    "cca": lambda X, **options: cca_problem(X[:, :2], X[:, 2:], **options),
}


def close(found, expected, tolerance=1e-12):
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


@jax.jit
def columns(problem):
    every = jnp.arange(problem.size)
    return problem.A.columns(every), problem.C.columns(every)


def dense(problem):
    return tuple(map(np.asarray, columns(problem)))


def check(problem, A, C, tolerance=1e-12):
    for found, expected in zip(dense(problem), (A, C), strict=True):
        close(found, expected, tolerance)


def unit(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def scatters(X, y):
    """Between and within, one sample and one class at a time."""
    between, within = np.zeros((2, X.shape[1], X.shape[1]))
    for label in set(y):
        rows = X[np.asarray(y) == label]
        gap = rows.mean(axis=0) - X.mean(axis=0)
        between += len(rows) / len(X) * np.outer(gap, gap)
        for row in rows - rows.mean(axis=0):
            within += np.outer(row, row) / len(X)
    return between, within


def blocks(S, p):
    across = S.copy()
    across[:p, :p] = across[p:, p:] = 0
    return -across, S - across


def with_ridge(C, ridge):
    return C + ridge * np.trace(C) / len(C) * np.eye(len(C))


# Formulas

INPUTS = {  # how X is passed, and the form of the matrices
    "array": (np.asarray, "auto"),
    "gram": (np.asarray, "gram"),
    "sparse": (scipy.sparse.csr_matrix, "gram"),
    "sparse, formed": (scipy.sparse.coo_array, "dense"),
}


@pytest.mark.parametrize("kind", INPUTS)
def test_pca_formulas(dtype, kind):
    wrap, form = INPUTS[kind]
    S, eye, tolerance = np.cov(X.T, bias=True), np.eye(N), TOLERANCE[dtype]
    data, rms = wrap(X.astype(dtype)), np.sqrt(np.mean(X**2, axis=0))
    build = partial(pca_problem, data, form=form)
    assert build().dtype == dtype
    check(build(), -S, eye, tolerance)
    check(build(center=False), -X.T @ X / M, eye, tolerance)
    check(build(scale=True), -np.corrcoef(X.T), eye, tolerance)
    check(build(center=False, scale=True), -(X / rms).T @ (X / rms) / M, eye, tolerance)


def test_pca_from_covariances(dtype):
    S, eye = np.cov(X.T, bias=True), np.eye(N)
    check(pca_problem(covariance=S.astype(dtype)), -S, eye, TOLERANCE[dtype])
    check(pca_problem(covariance=S, scale=True), -np.corrcoef(X.T), eye)


LABELS = {
    "integers": CODES,
    "strings": NAMES,
    "list": NAMES.tolist(),
    "objects": [(1, "a"), 2.5, "c"],
    "jax": jnp.asarray(CODES),
}


@pytest.mark.parametrize("kind", LABELS)
def test_fda_formulas(kind):
    labels = LABELS[kind]
    labels = [labels[code] for code in CODES] if kind == "objects" else labels
    between, within = scatters(X, NAMES)
    close(between + within, np.cov(X.T, bias=True))
    check(fda_problem(X, labels, scale=False, ridge=0), -between, within)
    check(fda_problem(X, labels, scale=False), -between, with_ridge(within, 1e-3))
    between, within = scatters(unit(X), NAMES)
    check(fda_problem(X, labels), -between, with_ridge(within, 1e-3))
    check(fda_problem(X, labels, ridge=0.2), -between, with_ridge(within, 0.2))


@pytest.mark.parametrize("kind", INPUTS)
def test_fda_forms(kind):
    wrap, form = INPUTS[kind]
    build = partial(fda_problem, wrap(X), NAMES, form=form)
    between, within = scatters(X, NAMES)
    check(build(scale=False, ridge=0), -between, within)
    check(build(scale=False, ridge=0, absolute_ridge=2.0), -between, within + 2 * np.eye(N))
    between, within = scatters(unit(X), NAMES)
    check(build(), -between, with_ridge(within, 1e-3))


def test_fda_pairs_of_classes():
    means = [X[code == CODES].mean(axis=0) for code in range(3)]
    pairs = [(means[k] - means[l]) for k in range(3) for l in range(k)]
    expected = -sum(np.outer(gap, gap) for gap in pairs)
    problem = fda_problem(X, NAMES, weighted=False, scale=False, ridge=0)
    check(problem, expected, scatters(X, NAMES)[1])


def test_fda_from_scatters():
    between, within = scatters(X, NAMES)
    check(fda_problem(between=between, within=within), *dense(fda_problem(X, NAMES)))
    plain = {"scale": False, "ridge": 0, "absolute_ridge": 2.0}
    problem = fda_problem(between=between, within=within, **plain)
    check(problem, -between, within + 2 * np.eye(N))


@pytest.mark.parametrize("kind", INPUTS)
def test_cca_formulas(kind):
    wrap, form = INPUTS[kind]
    build = partial(cca_problem, wrap(X), wrap(Y), form=form)
    A, C = blocks(np.cov(X.T, Y.T, bias=True), N)
    check(build(scale=False, ridge=0), A, C)
    check(build(scale=False, ridge=0.3), A, with_ridge(C, 0.3))
    A, C = blocks(np.corrcoef(X.T, Y.T), N)
    check(build(), A, C + 1e-3 * np.eye(N + 4))


def test_cca_from_covariances():
    S, R = np.cov(X.T, Y.T, bias=True), np.corrcoef(X.T, Y.T)
    A, C = blocks(S, N)
    check(cca_problem(covariance=S, split=N, scale=False, ridge=0), A, C)
    A, C = blocks(R, N)
    check(cca_problem(covariance=S, split=N), A, C + 1e-3 * np.eye(len(R)))


def test_the_papers_conventions():
    check(pca_problem(X, center=False), -X.T @ X / M, np.eye(N))

    first, second = X[TWO == "no"], X[TWO == "yes"]
    gap = first.mean(axis=0) - second.mean(axis=0)
    inside = [(part - part.mean(axis=0)).T @ (part - part.mean(axis=0)) for part in (first, second)]
    problem = fda_problem(X, TWO, **PAPER_FDA)
    check(problem, -np.outer(gap, gap), sum(inside) / M + 0.5 * np.eye(N))

    A, C = blocks(X @ X.T / N, len(first))  # the samples are the variables
    problem = cca_problem(first.T, second.T, **PAPER_CCA)
    check(problem, A, C + 0.1 * np.eye(M))


# scikit-learn


def test_pca_explains_the_variance_of_scikit_learn():
    data = load_wine().data
    variance = PCA().fit(data).explained_variance_[0] * (1 - 1 / len(data))
    close(-lowest(*dense(pca_problem(data))), variance, 1e-9)


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_fda_agrees_with_scikit_learn(load):
    data, labels = load(return_X_y=True)
    direction = LinearDiscriminantAnalysis(solver="eigen").fit(data, labels).scalings_[:, 0]
    between, within = scatters(data, labels)
    ratio = (direction @ between @ direction) / (direction @ within @ direction)
    close(-lowest(*dense(fda_problem(data, labels, ridge=1e-12))), ratio, 1e-6)


def test_fda_direction_is_that_of_scikit_learn():
    direction = LinearDiscriminantAnalysis(solver="eigen").fit(X, NAMES).scalings_[:, 0]
    x = sgep.solve(fda_problem(X, NAMES, ridge=1e-12), N, method=EXHAUSTIVE).x
    found = np.asarray(x) / X.std(axis=0)
    cosine = found @ direction / np.linalg.norm(found) / np.linalg.norm(direction)
    close(abs(cosine), 1.0, 1e-9)


def test_cca_agrees_with_scikit_learn():
    scores = CCA(n_components=1, tol=1e-14, max_iter=10_000).fit(X, Y).transform(X, Y)
    expected = np.corrcoef(scores[0][:, 0], scores[1][:, 0])[0, 1]
    close(-lowest(*dense(cca_problem(X, Y, ridge=1e-12))), expected, 1e-9)


def test_units_do_not_matter():
    """With the default ridge, on wine: without `scale` another triple wins, by the ridge alone."""
    data, labels = load_wine(return_X_y=True)
    other = data * 10.0 ** np.arange(-6, 7)[None, :]
    check(fda_problem(other, labels), *dense(fda_problem(data, labels)), 1e-9)
    views = [(table[:, :6], table[:, 6:]) for table in (other, data)]
    check(cca_problem(*views[0]), *dense(cca_problem(*views[1])), 1e-9)


def test_unit_variance_neither_overflows_nor_underflows():
    expected = np.corrcoef(X.T)
    for factor in (1e-30, 1e30):
        data = (X * factor).astype("float32")
        close(pca_problem(data, scale=True).A.array, -expected, TOLERANCE["float32"])


def test_the_default_ridge_makes_c_definite(dtype):
    few = np.random.default_rng(1).standard_normal((8, 30)).astype(dtype)
    few = np.concatenate([few, few], axis=1)  # duplicated, and far more variables than samples
    for problem in (fda_problem(few, [0, 1] * 4), cca_problem(few, few + 1)):
        C = dense(problem)[1]
        assert np.linalg.eigvalsh(C)[0] > 5e-4 * np.mean(np.diagonal(C))


# Transformations


@pytest.mark.parametrize("name", BUILDERS)
def test_jit_and_vmap(name):
    build = BUILDERS[name]
    tables = jnp.asarray(np.random.default_rng(2).standard_normal((3, M, N)))
    batch = jax.jit(jax.vmap(lambda X: build(X, scale=True)))(tables)
    for lane, table in enumerate(np.asarray(tables)):
        check(jax.tree.map(lambda leaf, i=lane: leaf[i], batch), *dense(build(table, scale=True)))


def test_vmap_over_the_ridge():
    ridges = jnp.asarray([0.0, 0.1, 1.0])
    batch = jax.jit(jax.vmap(lambda ridge: fda_problem(X, NAMES, ridge=ridge)))(ridges)
    for ridge, C in zip(ridges, batch.C.array, strict=True):
        close(C, fda_problem(X, NAMES, ridge=float(ridge)).C.array)


@jax.jit
def answer(problem):
    """A mixture of value and squared loadings (whatever their sign), and the support."""
    solution = sgep.solve(problem, 2, method=EXHAUSTIVE)
    weights = jnp.cos(jnp.arange(problem.size, dtype=problem.dtype))
    return solution.objective + jnp.vdot(weights, solution.x**2), solution.support


@pytest.mark.parametrize(
    ("name", "scale"), [("pca", True), ("fda", True), ("cca", True), ("cca", False)]
)
def test_gradients_with_respect_to_the_data(name, scale):
    build = jax.jit(partial(BUILDERS[name], scale=scale))
    run = jax.value_and_grad(lambda X: answer(build(X)), has_aux=True)
    move, h = np.random.default_rng(3).standard_normal((M, N)), 1e-4
    (_, support), gradient = run(jnp.asarray(X))
    (up, there), _ = run(jnp.asarray(X + h * move))
    (down, here), _ = run(jnp.asarray(X - h * move))
    assert np.array_equal(there, support) and np.array_equal(here, support)
    assert np.linalg.norm(gradient) > 1e-3
    close(np.vdot(gradient, move), (up - down) / (2 * h), 1e-6)


def test_gradients_with_respect_to_covariance_and_ridge():
    S = jnp.cov(X.T)

    def value(S, ridge):
        return jnp.sum(cca_problem(covariance=S, split=2, ridge=ridge).C.array ** 2)

    by_S, by_ridge = jax.grad(value, (0, 1))(S, 0.1)
    assert np.all(np.isfinite(by_S))
    close(by_ridge, (value(S, 0.1 + 1e-5) - value(S, 0.1 - 1e-5)) / 2e-5, 1e-7)


def test_a_constant_column_under_jit_becomes_zero():
    data = jnp.asarray(X).at[:, 0].set(0.1)
    for name, build in BUILDERS.items():
        problem = jax.jit(lambda X, build=build: build(X, scale=True))(data)
        A, C = dense(problem)
        assert not np.any(A[0]) and np.all(np.isfinite(C)), name
        gradient = jax.jit(jax.grad(lambda X, f=build: jnp.sum(f(X, scale=True).A.array)))(data)
        assert np.all(np.isfinite(gradient)), name


def test_dtypes():
    assert pca_problem(np.arange(6).reshape(3, 2) % 4).dtype == "float64"
    assert pca_problem(X > 3).dtype == "float64"
    assert fda_problem(X.astype("float16"), NAMES).dtype == "float32"
    assert cca_problem(X.astype("float32"), Y).dtype == "float64"
    assert cca_problem(X.astype("float32"), Y.astype("float32"), ridge=0.5).dtype == "float32"


# Bad data

NAN = np.where(np.arange(M)[:, None] == 3, np.nan, X)
CONSTANT = np.where(np.arange(N)[None, :] == 4, 0.1, X)
COVARIANCE = np.cov(X.T)


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (NAN, ValueError, r"X must be finite, but X\[3, 0\] is nan.*impute"),
        (np.ma.masked_invalid(NAN), ValueError, r"X must be finite, but X\[3, 0\] is nan"),
        (np.full((3, 2), "a"), TypeError, r"X must be numeric.*<U1.*Convert"),
        ([[1.0, "a"], [2.0, "b"]], TypeError, r"X must be numeric"),
        ([[1.0, 2.0], [3.0]], ValueError, r"X must be a table.*different lengths"),
        (X * 1j, TypeError, r"X must be real.*complex"),
        (X[:1], ValueError, r"X must have at least two rows.*\(1, 6\).*X\.T"),
        (X[0], ValueError, r"X must have shape \(rows, columns\).*\(6,\).*reshape"),
        (X[:, :0], ValueError, r"X must have shape.*at least one column.*\(40, 0\)"),
        (X[None], ValueError, r"X must be one table.*\(1, 40, 6\).*jax\.vmap"),
        (None, ValueError, r"takes either the data X.*"),
    ],
)
def test_bad_tables(bad, error, message):
    for build in (pca_problem, lambda X: fda_problem(X, NAMES), lambda X: cca_problem(X, Y)):
        if bad is None and build is not pca_problem:
            continue
        with pytest.raises(error, match=message):
            build(bad)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: pca_problem(CONSTANT, scale=True), ValueError, r"X.*constant.*column 4.*\(1 such"),
        (
            lambda: fda_problem(CONSTANT, NAMES),
            ValueError,
            r"constant in float64.*scale=False",
        ),
        (lambda: cca_problem(Y, CONSTANT), ValueError, r"Y must not have constant.*column 4"),
        (lambda: cca_problem(X, Y[1:]), ValueError, r"same number of rows.*40.*39.*Keep"),
        (lambda: cca_problem(X, np.full_like(X, np.nan)), ValueError, r"Y must be finite"),
        (lambda: cca_problem(X), ValueError, r"cca_problem needs Y beside X"),
        (lambda: fda_problem(X), ValueError, r"fda_problem needs y beside X"),
        (lambda: fda_problem(X, NAMES[1:]), ValueError, r"one label per row.*40 rows and y 39"),
        (lambda: fda_problem(X, [*NAMES, "a"]), ValueError, r"40 rows and y 41 labels.*Drop"),
        (lambda: fda_problem(X, ["a"] * M), ValueError, r"at least two classes.*only 'a'"),
        (lambda: fda_problem(X, X[:, 0]), ValueError, r"each label occurs once.*bin"),
        (lambda: fda_problem(X, NAN[:, 0]), ValueError, r"y must not miss labels.*y\[3\] is nan"),
        (lambda: fda_problem(X, [None, *NAMES[1:]]), ValueError, r"y\[0\] is None.*Drop"),
        (lambda: fda_problem(X, CODES[:, None]), ValueError, r"one dimension.*\(40, 1\).*ravel"),
        (lambda: fda_problem(X, "labels"), ValueError, r"one label per row"),
        (lambda: fda_problem(X, 1), ValueError, r"one label per row"),
        (lambda: jax.jit(fda_problem)(X, CODES), TypeError, r"y must be known.*Close over it"),
        (lambda: pca_problem(X, covariance=COVARIANCE), ValueError, r"either.*both \(X, cov"),
        (lambda: pca_problem(), ValueError, r"pca_problem takes either.*neither"),
        (lambda: cca_problem(X, Y, split=2), ValueError, r"both \(X, Y, split\)"),
        (lambda: cca_problem(covariance=COVARIANCE), ValueError, r"needs split beside covariance"),
        (lambda: cca_problem(covariance=COVARIANCE, split=6), ValueError, r"below 6.*but it is 6"),
        (lambda: cca_problem(covariance=COVARIANCE, split=0), ValueError, r"at least 1"),
        (lambda: cca_problem(covariance=COVARIANCE, split=2.0), TypeError, r"integer"),
        (lambda: fda_problem(X, NAMES, within=COVARIANCE), ValueError, r"both \(X, y, within\)"),
        (lambda: fda_problem(within=COVARIANCE), ValueError, r"needs between beside within"),
        (
            lambda: fda_problem(between=np.eye(3), within=np.eye(4)),
            ValueError,
            r"between and within must have the same shape.*\(3, 3\).*\(4, 4\)",
        ),
        (lambda: pca_problem(covariance=-COVARIANCE), ValueError, r"negative var.*covariance\[\d"),
        (
            lambda: cca_problem(covariance=2 - np.eye(2), split=1),
            ValueError,
            r"covariance must be positive.*smallest eigenvalue is -1.*ridge",
        ),
        (lambda: pca_problem(covariance=X), ValueError, r"covariance must be square"),
        (lambda: pca_problem(covariance=np.diag([1.0, 0]), scale=True), ValueError, r"column 1 is"),
        (lambda: fda_problem(X, NAMES, ridge=-1), ValueError, r"ridge=...\) must not be negative"),
        (lambda: fda_problem(X, NAMES, ridge=None), TypeError, r"one number.*None"),
        (lambda: fda_problem(X, NAMES, ridge="auto"), TypeError, r"one number.*'auto'"),
        (lambda: cca_problem(X, Y, absolute_ridge=-1.0), ValueError, r"absolute_ridge.*negative"),
        (lambda: cca_problem(X, Y, ridge=[0.1, 0.2]), TypeError, r"ridge=...\) must be one number"),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_docstring_examples_run(monkeypatch):
    monkeypatch.setattr(sgep, "solve", partial(sgep.solve, method=EXHAUSTIVE))  # compiled above
    for function in (pca_problem, fda_problem, cca_problem):
        code = function.__doc__.split("```python")[1].split("```")[0]
        exec(textwrap.dedent(code), names := {"np": np, "sgep_jax": sgep})
        assert np.isfinite(names["solution"].objective)
