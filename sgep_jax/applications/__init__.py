"""Pencils from data: principal components, discriminant analysis, canonical correlations."""

from .cca import cca_problem
from .fda import fda_problem
from .pca import pca_problem

__all__ = ["cca_problem", "fda_problem", "pca_problem"]
