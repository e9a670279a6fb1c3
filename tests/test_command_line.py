"""The command line, in-process: answers against NumPy, files, pictures, messages, exit codes."""

import csv
import json

import jax
import matplotlib
import numpy as np
import pytest
from helpers import brute_force

from sgep_jax import command_line
from sgep_jax.command_line import main

matplotlib.use("Agg")
RNG = np.random.default_rng(2)
M, N = 30, 6
KINDS = np.array(["oak", "elm", "ash"])[np.arange(M) % 3]
X = RNG.standard_normal((M, N)) @ RNG.standard_normal((N, N)) * 10.0 ** np.arange(N)
X[:, [1, 4]] += 2 * X.std(axis=0)[[1, 4]] * (np.arange(M) % 3)[:, None]
NAMES = ["a1", "a2", "a3", "b1", "b2", "b3"]
CORRELATION = np.corrcoef(X.T)


def write(path, names, columns):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(zip(*columns, strict=True))
    return str(path)


@pytest.fixture
def table(tmp_path):
    columns = [*X.T, KINDS, [f"tree {i}" for i in range(M)]]
    return write(tmp_path / "trees.csv", [*NAMES, "kind", "id"], columns)


@pytest.fixture
def say(capsys):
    def say(*arguments):
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return say


def test_pca(table, say, tmp_path):
    output = tmp_path / "out.json"
    code, out, err = say("pca", table, "--drop", "kind,id", "-s", 2, "-c", 2, "--output", output)
    assert code == 0
    assert err.splitlines() == ["component 1 of 2 ...", "component 2 of 2 ..."]
    value, support = brute_force(-CORRELATION, np.eye(N), 2)
    found = json.loads(output.read_text())
    first = found["components"][0]
    assert sorted(first["variables"]) == [NAMES[i] for i in support]
    assert first["objective"] == pytest.approx(value)
    assert first["status"] == "OPTIMAL"
    assert found["variance"][0] == pytest.approx(-value)
    assert found["total_variance"] == pytest.approx(N)
    V = np.zeros((2, N))
    for k, component in enumerate(found["components"]):
        V[k, [NAMES.index(name) for name in component["variables"]]] = component["loadings"]
    R = np.linalg.qr((X - X.mean(axis=0)) / X.std(axis=0) @ V.T)[1]
    np.testing.assert_allclose(found["adjusted_variance"], np.diagonal(R) ** 2 / M)
    share = (np.diagonal(R) ** 2 / M).sum() / N
    assert f"Together: {share:.1%} of the variance" in out
    rows = [line.split() for line in out.splitlines() if line.startswith("  ")]
    assert rows[0][0] == first["variables"][0]
    assert rows[0][1] == f"{first['loadings'][0]:.4f}"
    assert rows[0][2] == "#" * 30


def test_units_matter_without_scale(table, say):
    _, out, _ = say("pca", table, "--drop", "kind,id", "-s", 2, "--no-scale")
    value, _ = brute_force(-np.cov(X.T, bias=True), np.eye(N), 2)
    assert f"variance {-value:.6g}" in out
    assert "standard deviations" not in out


def test_fda(table, say, tmp_path):
    output = tmp_path / "out.csv"
    code, out, _ = say(
        "fda", table, "--label", "kind", "--drop", "id", "-s", 2, "-c", 2, "--ridge", 0,
        "--output", output, "--plot", tmp_path / "out.png",
    )  # fmt: skip
    assert code == 0
    means = np.array([X[kind == KINDS].mean(axis=0) for kind in KINDS])
    between, within = np.cov(means.T, bias=True), np.cov((X - means).T, bias=True)
    value, support = brute_force(-between, within, 2)
    assert f"over within: {-value:.6g}" in out
    with output.open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["variable", "component 1", "component 2"]
    assert [row[0] for row in rows[1:]] == NAMES
    assert tuple(i for i in range(N) if float(rows[1 + i][1])) == support
    assert plt_size(tmp_path / "out.png")[0] > 600


def plt_size(path):
    height, width = matplotlib.image.imread(path).shape[:2]
    return width, height


def test_more_components_than_there_are(table, say):
    """Three classes have two directions, and a Schur complement takes one of them each time."""
    line = f"fda {table} --label kind --drop id -s 2 -c 3 --deflation schur"
    code, out, err = say(*line.split())
    assert code == 1
    assert "component 3" in out
    assert "NOTHING_LEFT (component 2" in err


def test_a_singular_within_scatter(say, tmp_path):
    """No ridge and fewer samples than variables: small supports have an answer, large ones none."""
    path = write(tmp_path / "few.csv", [*NAMES, "kind"], [*X[:6].T, ["oak", "elm"] * 3])
    line = f"fda {path} --label kind --ridge 0 --output {tmp_path / 'out.json'} -s".split()
    code, out, _ = say(*line, 2)
    assert code == 0
    assert "what all 6 variables reach" not in out
    assert "Infinity" not in (tmp_path / "out.json").read_text()
    code, out, err = say(*line, 5)
    assert code == 1
    assert "NO_DEFINITE_SUPPORT: C is not positive definite" in err


def best_pair():
    """The highest correlation of one variable of each view."""
    return np.abs(CORRELATION[:3, 3:]).max()


@pytest.mark.parametrize("views", ["3", "a1,a2,a3:b*", "a*:b1,b2,b3", "b1,b2,b3:a*"])
def test_cca_views(table, say, tmp_path, views):
    code, out, _ = say("cca", table, "--views", views, "--drop", "kind,7", "-s", 2, "--ridge", 0)
    assert code == 0
    assert f"correlation {best_pair():.4f}" in out


def test_cca_of_two_files(say, tmp_path):
    first = write(tmp_path / "first.csv", ["kind", *NAMES[:3]], [KINDS, *X[:, :3].T])
    second = write(tmp_path / "second.csv", NAMES[3:], X[:, 3:].T)
    line = f"cca {first} {second} --drop kind -s 2 --ridge 0 --plot {tmp_path / 'a.svg'}"
    code, out, _ = say(*line.split())
    assert code == 0
    assert f"correlation {best_pair():.4f}" in out
    assert (tmp_path / "a.svg").stat().st_size > 1000
    short = write(tmp_path / "short.csv", NAMES[3:], X[:9, 3:].T)
    code, _, err = say("cca", first, short, "--drop", "kind")
    assert code == 1
    assert "first.csv has 30 and" in err


def test_cca_with_a_sparsity_for_each_view(table, say, tmp_path):
    output = tmp_path / "out.json"
    code, *_ = say("cca", table, "--views", "a*:b*", "-s", "2+1", "--output", output)
    assert code == 0
    (component,) = json.loads(output.read_text())["components"]
    assert [name[0] for name in component["variables"]] == ["a", "a", "b"]


def test_options_reach_the_solver(table, monkeypatch):
    seen = {}

    def record(problem, sparsity, **options):
        seen.update(options, sparsity=sparsity)
        raise ValueError("recorded")

    monkeypatch.setattr(command_line, "solve_components", record)
    line = f"pca {table} --drop kind,id -s 3,2 --non-negative --deflation schur --key 7"
    assert main(line.split()) == 1
    assert seen["method"].lower == 0
    assert seen["sparsity"] == (3, 2)
    assert seen["deflation"] == "schur"
    assert seen["key"] == jax.random.key(7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pca", "none.csv"], "There is no file none.csv"),
        (["pca", "TABLE"], "'kind' must hold numbers, but line 2 reads 'oak'"),
        (["cca", "TABLE", "--views", "3", "--drop", "9"], "no column 9"),
        (["pca", "TABLE", "--drop", "kin"], "no column 'kin'. Its columns are: a1, a2"),
        (["pca", "TABLE", "--drop", "kind,id", "-s", "7"], "at most 6, the number of variables"),
        (["pca", "TABLE", "--drop", "kind,id", "-s", "2", "-c", "7"], "at most 6 components"),
        (["fda", "TABLE", "--label", "colour"], "no column 'colour'"),
        (["fda", "TABLE", "--label", "id", "--drop", "kind"], "30 values occurs once"),
        (["cca", "TABLE", "--views", "a*:c*"], "no column 'c*'"),
        (["cca", "TABLE", "--views", "a*:a1,b1"], "'a1' is in both"),
        (["cca", "TABLE", "--views", "8"], "from 1 to 7 for the first, but it is 8"),
    ],
)
def test_data_errors(table, say, arguments, message):
    code, out, err = say(*[table if argument == "TABLE" else argument for argument in arguments])
    assert (code, out) == (1, "")
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("columns", "arguments", "message"),
    [
        ([[1, 2, 3, 4], [5, 5, 5, 5]], ["pca"], "column 'b' is constant (1 such)"),
        ([[1, 1, 1], [5, 5, 5]], ["pca", "--no-scale"], "all its columns are constant"),
        ([[1, 2, 3, 4], [5, "", 5, 5]], ["pca"], "'b' must not miss values, but line 3"),
        ([[1, 2, 3], [5, 6, 8]], ["cca", "--views", "a:b", "--drop", "b"], "has no column 'b'"),
        ([[1, 2], [5, 6]], ["pca"], "at least 3 rows, one per sample, but it has 2"),
        ([[1, 2, 3, 4], [5, 5, 5, 5]], ["fda", "--label", "b"], "two classes, but it has only"),
    ],
)
def test_bad_tables(tmp_path, say, columns, arguments, message):
    path = write(tmp_path / "bad.csv", ["a", "b"], columns)
    code, _, err = say(arguments[0], path, *arguments[1:])
    assert code == 1
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ica"], "invalid choice: 'ica'"),
        (["pca", "--sparsity", "few"], "must be a number such as 5"),
        (["pca", "--sparsity", "0"], "each from 1"),
        (["pca", "--sparsity", "2+2"], "is for cca"),
        (["pca", "--sparsity", "2,3", "--components", "3"], "--components 3 but 2 sparsities"),
        (["pca", "--output", "out.txt"], "must end with .csv or .json"),
        (["pca", "--plot", "nowhere/out.png"], "there is no folder nowhere"),
        (["fda", "TABLE"], "fda needs --label COLUMN"),
        (["fda", "--ridge", "-1"], "must be a number from 0"),
        (["cca", "TABLE"], "cca needs the two views"),
        (["cca", "TABLE", "--views", "a*"], "must be A:B or a number"),
        (["cca", "TABLE", "TABLE", "TABLE"], "one file or two, but 3"),
        (["cca", "TABLE", "TABLE", "--views", "2"], "--views is for one file"),
        (["pca", "TABLE", "--delimiter", "::"], "must be one character"),
        (["fda", "--label", "kind"], "--label is about a file, but none is given"),
        (["cca", "--views", "a:b"], "--views is about a file, but none is given"),
        (["pca", "--drop", "a"], "--drop is about a file, but none is given"),
        (["pca", "--no-header"], "--header is about a file, but none is given"),
    ],
)
def test_usage_errors(table, capsys, arguments, message):
    with pytest.raises(SystemExit) as exit:
        main([table if argument == "TABLE" else argument for argument in arguments])
    assert exit.value.code == 2
    assert message in capsys.readouterr().err


def test_without_a_file(say):
    code, out, _ = say("pca", "--sparsity", 2)
    assert code == 0
    assert "variance 1.954, adds 15.0% of the total" in out
    assert "reaches 46.3% of what all 13 variables reach" in out
