"""One table of methods, one of problems, brute force by NumPy, and the tolerances."""

import itertools
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
    "bisection": sgep.Decomposition(),
    "coordinate": sgep.Decomposition(subproblem="coordinate"),
    "exhaustive": sgep.Exhaustive(),
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


def brute_force(A, C, s):
    """The lowest objective and its support, by SciPy, over all supports with definite C."""
    best = np.inf, None
    for support in itertools.combinations(range(len(A)), s):
        rows = np.ix_(support, support)
        try:
            value = scipy.linalg.eigh(A[rows], C[rows], eigvals_only=True, subset_by_index=[0, 0])
        except np.linalg.LinAlgError:
            continue
        best = min(best, (float(value[0]), support))
    return best


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
