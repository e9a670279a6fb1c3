"""Matrices that are never formed: against NumPy, under transformations, and through a solve."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from helpers import TOLERANCE, brute_force
from hypothesis import given, settings
from hypothesis import strategies as st
from test_gradients import Greedy

import sgep_jax as sgep
from sgep_jax.applications import tables
from sgep_jax.gram import gram_matrix
from sgep_jax.linalg import is_definite
from sgep_jax.samples import SparseSamples

is_definite = jax.jit(is_definite)
M, N = 7, 9
PATTERN = np.random.default_rng(0).random((M, N)) < 0.4
PATTERN[:, 2], PATTERN[:, 5] = False, True  # an empty column, and a full one
LABELS = np.arange(N) % 3
VIEWS = LABELS[None, :] == np.arange(3)[:, None]
CODES = np.arange(M) % 2
PARTS = {  # views, across, and which pairs of variables are kept
    "whole": (None, False, np.ones((N, N))),
    "within": (VIEWS, False, LABELS[:, None] == LABELS[None, :]),
    "across": (VIEWS, True, LABELS[:, None] != LABELS[None, :]),
}


def close(found, expected, tolerance=1e-12):
    scale = np.max(np.abs(expected), initial=1e-300)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


@jax.jit
def columns(gram, indices):
    return gram.columns(indices)


def matrix(gram):
    return np.asarray(columns(gram, np.arange(gram.shape[0])))


def samples(X, sparse):
    return tables.table("X", scipy.sparse.coo_array(X) if sparse else X)


@jax.jit
def answers(gram, indices, rows, x):
    return (
        gram.formed(), gram.diagonal(), gram.columns(indices), gram.block(indices),
        gram.block(rows, indices), gram.combination(indices, x[:5]), gram.matvec(x),
    )  # fmt: skip


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("part", PARTS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 999))
def test_every_answer_is_that_of_the_formed_matrix(part, sparse, seed):
    rng = np.random.default_rng(seed)
    X = np.where(PATTERN, rng.standard_normal((M, N)) * 10 ** rng.uniform(-3, 3, N), 0)
    X[PATTERN] += 1e-3
    views, across, kept = PARTS[part]
    views = None if views is None else jnp.asarray(views)
    ridge = rng.uniform(0, 2, N) if sparse else rng.uniform(0, 2)
    gram = gram_matrix(samples(X, sparse), -0.5, views, across).ridged(ridge)
    expected = -0.5 * kept * (X.T @ X) + ridge * np.eye(N)
    indices, rows, x = rng.integers(0, N, 5), rng.integers(0, N, 3), rng.standard_normal(N)
    found = answers(gram, jnp.asarray(indices), jnp.asarray(rows), jnp.asarray(x))
    truth = (
        expected, np.diagonal(expected), expected[:, indices], expected[np.ix_(indices, indices)],
        expected[np.ix_(rows, indices)], expected[:, indices] @ x[:5], expected @ x,
    )  # fmt: skip
    for one, other in zip(found, truth, strict=True):
        close(one, other)


@pytest.mark.parametrize("sparse", [False, True])
def test_implicit_means(sparse, dtype):
    """Means a thousand times the deviations: no cancellation of squares."""
    rng = np.random.default_rng(1)
    X = 1000.0 * PATTERN + rng.standard_normal((M, N)) * PATTERN
    X = X.astype(dtype).astype(float)  # the same numbers in both precisions
    means = np.stack([X[code == CODES].mean(axis=0) for code in (0, 1)])
    Z = X - means[CODES]
    table = tables.standardised("X", samples(X.astype(dtype), sparse), False, False)
    gram = gram_matrix(table.less(jnp.asarray(means, dtype), jnp.asarray(CODES, jnp.int32)), 1 / M)
    tolerance = 1e3 * TOLERANCE[dtype]
    close(matrix(gram), Z.T @ Z / M, tolerance)
    close(gram.diagonal(), np.diagonal(Z.T @ Z / M), tolerance)


@pytest.mark.parametrize("sparse", [False, True])
def test_lanes(sparse):
    """Batched indices on one matrix, a batch of matrices, and both."""
    X = np.where(PATTERN, np.random.default_rng(2).standard_normal((M, N)), 0)
    table = tables.standardised("X", samples(X, sparse), True, False)
    indices = np.array([[0, 4, 5], [8, 2, 5]])
    ridges = np.array([0.5, 2.0])
    gram = gram_matrix(table, 1.0)
    Z = X - X.mean(axis=0)
    for i, found in enumerate(jax.jit(jax.vmap(gram.columns))(indices)):
        close(found, (Z.T @ Z)[:, indices[i]])
    batch = jax.vmap(gram.ridged)(ridges)
    for i, found in enumerate(jax.vmap(columns)(batch, indices)):
        close(found, (Z.T @ Z + ridges[i] * np.eye(N))[:, indices[i]])
    twice = jax.tree.map(lambda a: np.stack([a, a]), gram)
    assert twice.samples.shape[-1] == N
    for i, found in enumerate(jax.vmap(columns)(twice, indices)):
        close(found, (Z.T @ Z)[:, indices[i]])


def test_many_columns_of_a_sparse_table():
    """300,000 columns: neither n × n nor the dense table fits a test."""
    X = scipy.sparse.random_array((5_000, 300_000), density=1e-4, format="csr", rng=3)
    X = X.astype("float32")
    problem = sgep.pca_problem(X)
    j = [5, 17, 200_000]
    Z = X.tocsc()[:, j].toarray()
    close(problem.A.diagonal()[jnp.asarray(j)], -Z.var(axis=0), 1e-5)
    products = X.T @ Z / 5_000 - np.outer(X.mean(axis=0), Z.mean(axis=0))
    close(columns(problem.A, np.array(j)), -products, 1e-5)
    assert "300000" in str(problem) and "Gram" in str(problem)


def test_other_platforms_lower():
    gram = gram_matrix(samples(np.where(PATTERN, 1.0, 0), True), 1.0)
    traced = jax.jit(jax.vmap(gram.columns)).trace(jnp.zeros((2, 3), jnp.int32))
    for platform in ("cuda", "tpu"):
        assert traced.lower(lowering_platforms=(platform,)).as_text()


# Definite


def test_what_is_known_to_be_definite():
    Z = np.random.default_rng(4).standard_normal((3, 40))
    plain = gram_matrix(Z, 1 / 3)
    assert not plain.definite and not plain.ridged(0.0).definite
    assert plain.ridged(1e-3).definite and plain.ridged(np.full(40, 1e-3)).definite
    assert not plain.ridged(np.r_[np.full(39, 1e-3), 0]).definite
    assert not plain.ridged(1e-12).definite  # lost in rounding
    assert not plain.ridged(-1.0).definite
    assert not gram_matrix(Z, -1 / 3).ridged(1.0).definite
    assert not gram_matrix(Z.astype("float32"), 1 / 3).ridged(1e-3).definite
    known = []
    jax.jit(lambda ridge: known.append(plain.ridged(ridge).definite))(1.0)
    assert known == [False]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 999), exponent=st.floats(-9, 1))
def test_definite_supports_pass_the_check(seed, exponent):
    """Repeated variables, whose pivots the ridge alone keeps from zero."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((3, 6)) * 10 ** rng.uniform(-1, 1, 6)
    gram = gram_matrix(np.concatenate([Z, Z], axis=1), 1 / 3).ridged(10**exponent)
    if gram.definite:
        assert is_definite(gram.formed())


# Solves

RNG = np.random.default_rng(5)
TABLE = np.where(RNG.random((40, 12)) < 0.5, RNG.standard_normal((40, 12)), 0)
TABLE[:, :4] += RNG.standard_normal((40, 1)) * (TABLE[:, :4] != 0)
CLASSES = np.where(TABLE[:, 0] + TABLE[:, 5] > 0.3, "a", "b")
BUILDERS = {
    "pca": sgep.pca_problem,
    "fda": lambda X, **options: sgep.fda_problem(X, CLASSES, **options),
    "cca": lambda X, **options: sgep.cca_problem(X[:, :5], X[:, 5:], **options),
}


def build(name, form, sparse=False, dtype="float64"):
    X = TABLE.astype(dtype)
    return BUILDERS[name](scipy.sparse.csc_array(X) if sparse else X, form=form)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", BUILDERS)
def test_single_precision_is_the_same_pencil(name, sparse):
    """The formed one is tested against NumPy in test_applications."""
    formed, problem = build(name, "dense"), build(name, "gram", sparse, "float32")
    assert problem.dtype == "float32"
    for found, expected in ((problem.A, formed.A), (problem.C, formed.C)):
        close(matrix(found), matrix(expected), TOLERANCE["float32"])


@pytest.mark.parametrize(
    ("name", "sparse", "dtype"),
    [("pca", True, "float32"), ("fda", False, "float64"), ("cca", False, "float32")],
)  # fmt: skip
def test_a_solve_finds_the_best_support(name, sparse, dtype):
    formed = build(name, "dense")
    value, support = brute_force(matrix(formed.A), matrix(formed.C), 3)
    problem = build(name, "gram", sparse, dtype)
    solution = sgep.solve(problem, 3, method=sgep.Exhaustive()).check()
    assert tuple(int(i) for i in solution.support) == support
    close(solution.objective, value, TOLERANCE[dtype])


def test_the_default_method():
    """CCA of a sparse table, under jit; equal columns, on which C is singular."""
    X = scipy.sparse.csr_array(np.concatenate([TABLE, TABLE[:, :2], TABLE[:, :2]], axis=1))
    problem = sgep.cca_problem(X[:, :5], X[:, 5:], ridge=0, form="gram")
    assert not problem.C.definite
    A, C = matrix(problem.A), matrix(problem.C)
    value, _ = brute_force(A, C, 4)
    method = sgep.Multistart(lanes=4, max_steps=200, patience=64)
    solution = jax.jit(lambda problem: sgep.solve(problem, 4, method=method))(problem).check()
    close(solution.objective, value, 1e-9)
    assert is_definite(C[np.ix_(solution.support, solution.support)])


def test_gradients_through_a_solve():
    def value(X, form):
        solution = sgep.solve(sgep.pca_problem(X, form=form), 3, method=Greedy())
        return solution.objective + jnp.vdot(jnp.cos(jnp.arange(12.0)), solution.x**2)

    found, formed = (
        jax.grad(partial(value, form=form))(jnp.asarray(TABLE)) for form in ("gram", "dense")
    )
    assert np.linalg.norm(formed) > 1e-3
    close(found, formed, 1e-9)


@pytest.mark.parametrize("name", ["fda", "cca"])
def test_gradients_of_blocks(name):
    """All that a solution's derivative asks of a matrix."""

    def value(X, form):
        problem, support = BUILDERS[name](X, form=form), jnp.asarray([1, 4, 8])
        weights = jnp.cos(jnp.arange(9.0)).reshape(3, 3)
        return jnp.vdot(weights, problem.A.block(support) + problem.C.block(support) ** 2)

    found, formed = (
        jax.jit(jax.grad(partial(value, form=form)))(jnp.asarray(TABLE))
        for form in ("gram", "dense")
    )
    assert np.linalg.norm(formed) > 1e-3
    close(found, formed, 1e-9)


def test_jit_and_vmap_of_gram_problems():
    batch = jnp.asarray(np.stack([TABLE, TABLE[::-1] ** 2]))
    for name, build in BUILDERS.items():
        many = jax.device_get(jax.jit(jax.vmap(partial(build, form="gram")))(batch))
        assert many.A.shape == (2, 12, 12), name
        for i, table in enumerate(batch):
            one = build(table, form="dense")
            problem = jax.tree.map(lambda leaf, i=i: leaf[i], many)
            close(matrix(problem.A), one.A.array)
            close(matrix(problem.C), matrix(one.C))


# Together with the other kinds of solve


def test_a_path_of_a_sparse_table():
    formed = build("fda", "dense")
    method = sgep.Multistart(lanes=4, patience=24, max_steps=200)
    path = sgep.solve_path(build("fda", "gram", sparse=True), (1, 3), method=method).check()
    for place, s in enumerate((1, 3)):
        value, support = brute_force(matrix(formed.A), matrix(formed.C), s)
        assert tuple(path.support[place, :s].tolist()) == support
        close(path.objective[place], value, 1e-9)


def test_components_of_two_views_with_a_sparsity_each():
    options = {"groups": np.repeat([0, 1], [5, 7]), "split": 5, "method": sgep.Exhaustive()}
    expected = sgep.solve_components(build("cca", "dense"), (2, 1), 2, **options).check()
    found = sgep.solve_components(build("cca", "gram"), (2, 1), 2, **options).check()
    assert np.array_equal(found.support, expected.support)
    close(found.x, expected.x, 1e-7)
    close(found.value, expected.value, 1e-9)


def test_a_batch_of_tables():
    tables = jnp.asarray(np.stack([TABLE, TABLE[::-1] ** 2]))
    many = jax.vmap(partial(sgep.pca_problem, form="gram"))(tables)
    batch = sgep.solve_batch(many, 3, method=sgep.Exhaustive()).check()
    for i, table in enumerate(np.asarray(tables)):
        value, support = brute_force(-np.cov(table.T, bias=True), np.eye(12), 3)
        assert tuple(batch.support[i].tolist()) == support
        close(batch.objective[i], value, 1e-9)


# The rule, and sparse tables at the door


def test_the_rule(monkeypatch):
    monkeypatch.setattr(tables, "DENSE_SIZE", 10)

    def kind(X, **options):
        return type(sgep.pca_problem(X, **options).A).__name__

    assert kind(TABLE) == "Dense"  # no more columns than rows
    assert kind(TABLE[:5]) == "Gram"
    assert kind(TABLE[:5, :10]) == "Dense"
    assert kind(TABLE[:5], form="dense") == "Dense" and kind(TABLE, form="gram") == "Gram"
    assert jax.jit(kind_of_c)(TABLE[:8]) and not jax.jit(kind_of_c)(TABLE)  # static: the shapes
    with pytest.raises(ValueError, match=r"pca_problem\(form=.*'auto', 'dense', 'gram'.*'lazy'"):
        sgep.pca_problem(TABLE, form="lazy")


def kind_of_c(X):
    C = sgep.cca_problem(X[:, :5], X[:, 5:]).C
    return jnp.asarray(type(C).__name__ == "Gram")


def test_sparse_entries_given_twice_and_left_as_they_are():
    entries = [1.0, 2, 3, 4], ([0, 0, 1, 3], [1, 1, 0, 2])
    X = scipy.sparse.coo_array(entries, shape=(4, 3))
    csc = scipy.sparse.csc_array(([1.0, 2, 3], [0, 0, 2], [0, 2, 3]), shape=(3, 2))
    for table in (X, csc):
        before = table.copy()
        close(sgep.pca_problem(table, form="dense").A.array, -np.cov(table.toarray().T, bias=True))
        assert np.array_equal(table.data, before.data)
    assert sgep.pca_problem(X.astype(int)).dtype == "float64"
    nothing = sgep.pca_problem(scipy.sparse.csr_array((4, 3)), form="gram")
    assert not matrix(nothing.A).any()


def test_a_dense_view_beside_a_sparse_one():
    X, Y = scipy.sparse.csr_matrix(TABLE[:, :5]), TABLE[:, 5:]
    for views, back in (((X, Y), (0, 1)), ((Y, X), (1, 0))):
        problem = sgep.cca_problem(*views, form="gram")
        assert isinstance(problem.A.samples, SparseSamples)
        arrays = [np.asarray(TABLE[:, :5]), Y]
        formed = sgep.cca_problem(*(arrays[i] for i in back), form="dense")
        close(matrix(problem.A), formed.A.array)
        close(matrix(problem.C), formed.C.array)


def csr(array):
    return scipy.sparse.csr_array(array)


BAD = np.where(np.arange(40)[:, None] == 3, np.nan, TABLE)


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (csr(BAD), ValueError, r"X must be finite, but X\[3, 0\] is nan \(12 such.*impute"),
        (csr(TABLE * 1j), TypeError, r"X must be real.*complex"),
        (csr(TABLE[:1]), ValueError, r"X must have at least two rows.*\(1, 12\)"),
        (csr((4, 0)), ValueError, r"X must have shape.*at least one column"),
        (csr(TABLE[:, :0]), ValueError, r"X must have shape.*at least one column"),
    ],
)
def test_bad_sparse_tables(bad, error, message):
    with pytest.raises(error, match=message):
        sgep.pca_problem(bad)


def test_too_many_entries():
    with pytest.raises(ValueError, match=r"X must have fewer than 2\^31 stored.*2147483648"):
        tables.countable("X", 2**31)


def test_constant_columns_of_sparse_tables():
    X = TABLE.copy()
    X[:, 4], X[:, 7] = 0.1, 0
    for build in (partial(sgep.pca_problem, scale=True), BUILDERS["fda"]):
        with pytest.raises(ValueError, match=r"constant.*column 4 is constant.*\(2 such"):
            build(csr(X))
    A = matrix(sgep.pca_problem(csr(X), form="gram").A)
    close(A, -np.cov(X.T, bias=True))


def test_units_of_sparse_tables_neither_overflow_nor_underflow():
    for factor in (1e-30, 1e30):
        X = csr((TABLE * factor).astype("float32"))
        close(matrix(sgep.pca_problem(X, scale=True).A), -np.corrcoef(TABLE.T), 1e-5)
