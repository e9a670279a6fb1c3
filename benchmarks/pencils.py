"""The pencils of the paper's experiments, with NumPy only.

At most 2000 random rows of a data set X (m × d, labels y in two classes), then

- pca: A = −X'X/m, not centred; C = I (given as None);
- fda: A = −(μ₁ − μ₂)(μ₁ − μ₂)', C = (S₁ + S₂)/m + 0.5·I, with S the centred scatters;
- cca: the *samples* are the variables, split by label: S = XX'/d, A = −(the off-diagonal blocks of
  S), C = its diagonal blocks + 0.1·I.

`randn-d` is 300 × d standard normal, half of the rows in each class; it needs no file. The others
are looked for in the data folder: `a1a/a1a`, `w1a/w1a`, `w2a/w2a` and `mushrooms/mushrooms` as
LIBSVM's collection has them, `madelon/madelon_train.data` and `.labels` as the UCI repository.
"""

from pathlib import Path

import numpy as np

COLUMNS = {"a1a": 123, "w1a": 300, "w2a": 300, "mushrooms": 112}
FILES = (*COLUMNS, "madelon")
RANDOM = ("randn-100", "randn-500", "randn-1500", "randn-2000")
KINDS = ("pca", "fda", "cca")
MOST_ROWS = 2000
DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"


def load(name, kind, folder=None, seed=0):
    """(A, C) of one cell, C = None for the identity. The draw depends on `seed` alone."""
    X, y = data(name, folder, seed)
    return {"pca": pca, "fda": fda, "cca": cca}[kind](X, y)


def available(folder=None):
    """The names that can be loaded from here."""
    folder = Path(folder or DEFAULT_FOLDER)
    return (*(name for name in FILES if (folder / name).is_dir()), *RANDOM)


def data(name, folder=None, seed=0):
    """(X, y): rows, and whether each is of the first class."""
    rng = np.random.default_rng(seed)
    if name.startswith("randn-"):
        return rng.standard_normal((300, int(name.removeprefix("randn-")))), np.arange(300) < 150
    folder = Path(folder or DEFAULT_FOLDER) / name
    if name in FILES and not folder.is_dir():
        raise SystemExit(f"--data must name a folder that has {name}/ (see pencils.py), but "
                         f"{folder} is not there. The sets randn-… need none.")  # fmt: skip
    if name == "madelon":
        X = np.loadtxt(folder / "madelon_train.data")
        y = np.loadtxt(folder / "madelon_train.labels")
    elif name in COLUMNS:
        X, y = svmlight(folder / name, COLUMNS[name])
    else:
        raise ValueError(f"name must be one of {(*FILES, *RANDOM)}, but it is {name!r}.")
    if len(X) > MOST_ROWS:
        rows = rng.choice(len(X), MOST_ROWS, replace=False)
        X, y = X[rows], y[rows]
    return X, y == y.min()


def svmlight(path, columns):
    """A dense table from lines `label index:value ...`, indices from 1."""
    lines = [line.split() for line in Path(path).read_text().splitlines() if line.strip()]
    X, y = np.zeros((len(lines), columns)), np.empty(len(lines))
    for row, (label, *entries) in enumerate(lines):
        y[row] = float(label)
        for entry in entries:
            index, value = entry.split(":")
            X[row, int(index) - 1] = float(value)
    return X, y


def pca(X, y):
    return -X.T @ X / len(X), None


def fda(X, y):
    gap = X[y].mean(axis=0) - X[~y].mean(axis=0)
    centred = [part - part.mean(axis=0) for part in (X[y], X[~y])]
    scatter = sum(part.T @ part for part in centred)
    return -np.outer(gap, gap), scatter / len(X) + 0.5 * np.eye(X.shape[1])


def cca(X, y):
    S = X @ X.T / X.shape[1]
    same = y[:, None] == y[None, :]
    return -np.where(same, 0.0, S), np.where(same, S, 0.0) + 0.1 * np.eye(len(X))
