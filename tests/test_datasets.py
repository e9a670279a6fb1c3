"""Generated samples have the moments they promise; files load, or say what is wrong and where."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from sgep_jax import datasets

KEY = jax.random.key(0)
ROWS = 20_000
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def test_spiked_covariance(dtype):
    strength = jnp.asarray([8.0, 4.0], dtype)
    X, V = jax.jit(lambda key: datasets.spiked(key, ROWS, 12, 3, strength, 2, dtype))(KEY)
    assert X.dtype == V.dtype == dtype
    V = np.asarray(V)
    assert np.count_nonzero(V, axis=1).tolist() == [3, 3]
    np.testing.assert_allclose(V @ V.T, np.eye(2), atol=1e-6)  # disjoint supports, length 1
    expected = np.eye(12) + V.T @ np.diag([8.0, 4.0]) @ V
    np.testing.assert_allclose(np.cov(np.asarray(X).T), expected, atol=0.15)


def test_two_classes():
    X, labels, direction = jax.jit(lambda key: datasets.two_classes(key, ROWS, 10, 4, 3.0))(KEY)
    X, labels = np.asarray(X), np.asarray(labels)
    gap = X[labels == 1].mean(axis=0) - X[labels == 0].mean(axis=0)
    np.testing.assert_allclose(gap, 3 * np.asarray(direction), atol=0.06)
    np.testing.assert_allclose(np.cov(X[labels == 0].T), np.eye(10), atol=0.06)
    assert np.count_nonzero(direction) == 4


def test_two_views():
    X, Y, u, v = jax.jit(lambda key: datasets.two_views(key, ROWS, (6, 4), (3, 2), 0.8))(KEY)
    joint = np.cov(np.hstack([X, Y]).T)
    expected = np.eye(10)
    expected[:6, 6:] = 0.8 * np.outer(u, v)
    expected[6:, :6] = expected[:6, 6:].T
    np.testing.assert_allclose(joint, expected, atol=0.04)
    assert (np.count_nonzero(u), np.count_nonzero(v)) == (3, 2)


def test_supports_must_fit():
    with pytest.raises(ValueError, match=r"3 supports of 5 variables.*only 12 columns"):
        datasets.spiked(KEY, 10, 12, 5, 1.0, 3)


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "data.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_with_names_and_labels(write, delimiter):
    text = "\ufeffheight,kind,'a b'\n1,oak,-2e1\n\n3, elm ,4\n".replace(",", delimiter)
    table = datasets.load_csv(write(text), label="kind")
    assert table.names == ("height", "'a b'")
    assert table.labels.tolist() == ["oak", "elm"]
    np.testing.assert_array_equal(table.X, [[1, -20], [3, 4]])
    assert datasets.load_csv(write(text), drop=[1]).labels is None


def test_csv_without_names(write):
    table = datasets.load_csv(write("1,2,oak\n3,4,elm\n"), label=-1)
    assert table.names == ("column 0", "column 1")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    table = datasets.load_csv(write("2001,2002\n1,2\n"), header=True)
    assert table.names == ("2001", "2002")


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=5))
def test_csv_round_trip(write, rows):
    text = "\n".join(["a,b,c", *(",".join(map(repr, row)) for row in rows)])
    np.testing.assert_array_equal(datasets.load_csv(write(text)).X, rows)


def test_rows_with_missing_values_can_be_dropped(write):
    path = write("a,b,c\n1,2,x\nNA,3,x\n4,,x\n5,6,\n7,8,y\n")
    table = datasets.load_csv(path, label="c", drop_missing=True)
    np.testing.assert_array_equal(table.X, [[1, 2], [7, 8]])
    table = datasets.load_csv(path, drop=["a", "c"], drop_missing=True)
    np.testing.assert_array_equal(table.X[:, 0], [2, 3, 6, 8])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "it is empty"),
        ("a,b\n", {}, "only a header"),
        ("a,b\n1,2\n3\n", {}, "2 fields like the first, but line 3 has 1"),
        ("a,b\n1,2\n3,oak\n", {}, "'b' must hold numbers, but line 3 reads 'oak'.*label"),
        ("a,b\n1,2\n\n3,\n", {}, r"'b' must not miss values, but line 4 reads ''.*\(1 such"),
        ("a,b\n1,NaN\n3,?\n", {}, r"line 2 reads 'NaN' \(2 such"),
        ("a,b\n1,inf\n", {}, "'b' must be finite, but line 2"),
        ("a,b\n1,2\n", {"label": "c"}, "no column 'c'. Its columns are: a, b."),
        ("a,b\n1,2\n", {"drop": [2]}, "no column 2"),
        ("a,a\n1,2\n", {"drop": ["a"]}, "2 columns 'a'"),
        ("a,b\n1,2\n", {"drop": ["a", "b"]}, "none is left"),
        ("a,b\n1,\n", {"label": "b"}, "must not miss labels, but line 2"),
        ("a,b\n1,\n", {"drop_missing": True}, "every row misses"),
        ('a,b\n1,"' + "2\n" * 100_000, {}, "no row of fields.*Check its quotes"),
    ],
)
def test_bad_tables(write, text, options, message):
    with pytest.raises(ValueError, match=message):
        datasets.load_csv(write(text), **options)


def test_missing_files(tmp_path):
    for load in (datasets.load_csv, datasets.load_svmlight):
        with pytest.raises(FileNotFoundError, match=r"There is no file .*none\.csv"):
            load(tmp_path / "none.csv")


def test_svmlight_agrees_with_scikit_learn(tmp_path):
    rng = np.random.default_rng(0)
    X = np.where(rng.uniform(size=(7, 5)) < 0.4, rng.standard_normal((7, 5)), 0)
    y = rng.choice([-1.0, 1.0], 7)
    for zero_based in (False, True):
        path = str(tmp_path / "data.txt")
        dump_svmlight_file(X, y, path, zero_based=zero_based, comment="a comment")
        found = datasets.load_svmlight(path, num_columns=5, zero_based=zero_based)
        np.testing.assert_allclose(found.X, X)
        np.testing.assert_array_equal(found.labels, y)
        thin = datasets.load_svmlight(path, num_columns=5, zero_based=zero_based, sparse=True).X
        np.testing.assert_array_equal(thin.toarray(), found.X)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "it is empty"),
        ("1 0:3\n", {}, "begin at 1, but line 1 has '0:3'"),
        ("1 1:3\n-1 2:x\n", {}, "line 2 has '2:x'"),
        ("1 1:3 1:4\n", {}, "line 1 has the index of '1:4' twice"),
        ("1 4:3\n", {"num_columns": 3}, "has 4 columns, but num_columns is 3"),
    ],
)
def test_bad_svmlight(write, text, options, message):
    with pytest.raises(ValueError, match=message):
        datasets.load_svmlight(write(text), **options)
