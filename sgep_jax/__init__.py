"""Sparse generalized eigenvalue problems on JAX: min x'Ax / x'Cx with at most s nonzeros."""

from . import datasets
from .applications import cca_problem, fda_problem, pca_problem
from .baselines.coordinate_wise import CoordinateWise
from .baselines.exhaustive import Exhaustive
from .baselines.quadratic_majorization import QuadraticMajorization
from .baselines.rayleigh_flow import TruncatedRayleighFlow
from .baselines.truncated_power import TruncatedPower
from .batch import solve_batch
from .decomposition import Decomposition
from .multistart import Multistart
from .optimality import block_optimality
from .problem import Problem
from .solution import Solution, SolveError, Status
from .solve import solve
from .swap_search import SwapSearch

__version__ = "0.1.0"

__all__ = [
    "CoordinateWise",
    "Decomposition",
    "Exhaustive",
    "Multistart",
    "Problem",
    "QuadraticMajorization",
    "Solution",
    "SolveError",
    "Status",
    "SwapSearch",
    "TruncatedPower",
    "TruncatedRayleighFlow",
    "block_optimality",
    "cca_problem",
    "datasets",
    "fda_problem",
    "pca_problem",
    "solve",
    "solve_batch",
]
