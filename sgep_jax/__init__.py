"""Sparse generalized eigenvalue problems on JAX: min x'Ax / x'Cx with at most s nonzeros."""

from . import datasets, measures, plot
from .applications import cca_problem, fda_problem, pca_problem
from .baselines.coordinate_wise import CoordinateWise
from .baselines.exhaustive import Exhaustive
from .baselines.quadratic_majorization import QuadraticMajorization
from .baselines.rayleigh_flow import TruncatedRayleighFlow
from .baselines.truncated_power import TruncatedPower
from .batch import solve_batch
from .columns import shard_columns
from .components import Components, solve_components
from .decomposition import Decomposition
from .long_runs import solve_long
from .multistart import Multistart
from .optimality import block_optimality
from .path import solve_path
from .problem import Problem
from .resampling import (
    bootstrap,
    permutation_test,
    permute_columns,
    permute_rows,
    selection_frequencies,
)
from .sharded import solve_sharded
from .solution import Solution, SolveError, Status
from .solve import solve
from .swap_search import SwapSearch

__version__ = "0.3.0"

__all__ = [
    "Components",
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
    "bootstrap",
    "cca_problem",
    "datasets",
    "fda_problem",
    "measures",
    "pca_problem",
    "permutation_test",
    "permute_columns",
    "permute_rows",
    "plot",
    "selection_frequencies",
    "shard_columns",
    "solve",
    "solve_batch",
    "solve_components",
    "solve_long",
    "solve_path",
    "solve_sharded",
]
