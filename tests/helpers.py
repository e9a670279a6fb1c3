"""One table of methods, one of pencils, brute force by NumPy, and the tolerances."""

import itertools
import subprocess
import sys
from functools import cache

import numpy as np
import scipy.linalg

import sgep_jax as sgep

TOLERANCE = {"float64": 1e-9, "float32": 1e-4}

PITPROPS = (
    1, 1.954, 2.4753313532, 2.9374789467, 3.4061549468, 3.7709595523, 3.9961896449,
    4.0686073272, 4.1386469071, 4.1726376616, 4.2082759543, 4.2182451865, 4.2186328533,
)  # fmt: skip

METHODS = {
    "bisection": sgep.Decomposition(window=10),  # shorter than the default, to save time
    "coordinate": sgep.Decomposition(window=10, subproblem="coordinate"),
    "exhaustive": sgep.Exhaustive(),
    "inertia": sgep.Decomposition(
        random=4, swap=4, subproblem="inertia", rest="free", scores="corrective", window=10
    ),
    "swap search": sgep.SwapSearch(max_steps=100),
    "multistart": sgep.Multistart(lanes=8, max_steps=300, patience=64),
    "truncated power": sgep.TruncatedPower(),
    "truncated power, warm": sgep.TruncatedPower(warm_up=(8, 4, 2), max_steps=200),
    "greedy coordinate-wise": sgep.CoordinateWise(max_steps=100),
    "partial coordinate-wise": sgep.CoordinateWise("partial", max_steps=200),
    "rayleigh flow": sgep.TruncatedRayleighFlow(),
    "majorization exp": sgep.QuadraticMajorization("exp"),
    "majorization log": sgep.QuadraticMajorization("log"),
    "majorization lp": sgep.QuadraticMajorization("lp"),
    "majorization l0": sgep.QuadraticMajorization("l0"),
}

ALWAYS_FIND_PITPROPS = ("bisection", "coordinate", "exhaustive")
ONLY_IDENTITY = ("truncated power", "truncated power, warm", "majorization l0")


def run_script(*arguments, cwd, timeout=240):
    """What a script prints, in a process of its own, which ends before the test is ended."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return done.stdout


def brute_force(A, C, s):
    """The lowest objective and its support, over all supports on which C is clearly definite.

    Eigendecompositions by NumPy; none of the library's code is used.
    """
    supports = np.array(list(itertools.combinations(range(len(A)), s)))
    rows = supports[:, :, None], supports[:, None, :]
    diagonal = np.diagonal(C)
    unit = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1))
    unit = np.where(diagonal > 0, unit, 0)
    units = unit[:, None] * unit[None, :]
    rho, S = np.linalg.eigh((C * units)[rows])
    definite = rho[:, 0] > 1e-11
    F = S / np.sqrt(np.where(definite[:, None], rho, 1))[:, None, :]
    M = F.transpose(0, 2, 1) @ (A * units)[rows] @ F
    values = np.where(definite, np.linalg.eigvalsh((M + M.transpose(0, 2, 1)) / 2)[:, 0], np.inf)
    best = int(values.argmin())
    return float(values[best]), tuple(int(i) for i in supports[best])


def quotient(A, C, x):
    return float(x @ A @ x / (x @ C @ x))


def lowest(A, C):
    """The lowest generalized eigenvalue, by SciPy."""
    return float(scipy.linalg.eigh(A, C, eigvals_only=True, subset_by_index=[0, 0])[0])


@cache
def problems():
    """One pencil of each kind, n = 9: (A, C), C = None for the identity."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((40, 9)) @ rng.standard_normal((9, 9))
    gap, within = rng.standard_normal(9), definite(rng, 9)
    S = np.cov(X.T)
    same = (np.arange(9) < 5)[:, None] == (np.arange(9) < 5)[None, :]
    return {
        "pca": (-S, None),
        "fda": (-np.outer(gap, gap), within),
        "cca": (-np.where(same, 0, S), np.where(same, S, 0) + 0.1 * np.eye(9)),
        "indefinite": (symmetric(rng, 9), definite(rng, 9)),
    }


def symmetric(rng, n):
    A = rng.standard_normal((n, n))
    return A + A.T


def definite(rng, n):
    X = rng.standard_normal((2 * n, n))
    return X.T @ X / (2 * n)


def _blocks(rng, n, make):
    h = n // 2
    M = np.zeros((n, n))
    M[:h, :h], M[h:, h:] = make(rng, h), make(rng, n - h)
    return M


def _repeat(M, j, i):
    M = M.copy()
    M[j] = M[i]
    M[:, j] = M[:, i]
    M[j, j] = M[i, i]
    return M


def _without(M, j):
    M = M.copy()
    M[j] = M[:, j] = 0
    return M


def _nearly_singular(rng, n):
    X = rng.standard_normal((max(n - 1, 1), n))
    return X.T @ X / n + 1e-5 * np.eye(n)


PENCILS = {  # (rng, n) → (A, C); A is indefinite except in "components"
    "general": lambda rng, n: (symmetric(rng, n), definite(rng, n)),
    "components": lambda rng, n: (-definite(rng, n), np.eye(n)),
    "correlated": lambda rng, n: (symmetric(rng, n), 0.95 * np.ones((n, n)) + 0.05 * np.eye(n)),
    "nearly singular": lambda rng, n: (symmetric(rng, n), _nearly_singular(rng, n)),
    "diagonal": lambda rng, n: (symmetric(rng, n), np.diag(rng.uniform(0.01, 10, n))),
    "both diagonal": lambda rng, n: (
        np.diag(rng.standard_normal(n)),
        np.diag(rng.uniform(0.1, 2, n)),
    ),
    "blocks": lambda rng, n: (_blocks(rng, n, symmetric), _blocks(rng, n, definite)),
    "units": lambda rng, n: rescaled(
        symmetric(rng, n), definite(rng, n), 10 ** rng.uniform(-4, 4, n)
    ),
    "zero column": lambda rng, n: (_without(symmetric(rng, n), 0), definite(rng, n)),
    "constant variable": lambda rng, n: (symmetric(rng, n), _without(definite(rng, n), n - 1)),
    "repeated variable": lambda rng, n: (
        _repeat(symmetric(rng, n), 1, 0),
        _repeat(definite(rng, n), 1, 0),
    ),
}  # fmt: skip


def rescaled(A, C, d):
    return A * d[:, None] * d[None, :], C * d[:, None] * d[None, :]
