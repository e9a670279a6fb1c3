"""Data: the pit props, samples whose sparse truth is known, and files."""

from .files import Table, csv_names, load_csv, load_svmlight
from .pitprops import PitProps, pitprops
from .samples import Spiked, TwoClasses, TwoViews, gaussian, spiked, two_classes, two_views

__all__ = [
    "PitProps",
    "Spiked",
    "Table",
    "TwoClasses",
    "TwoViews",
    "csv_names",
    "gaussian",
    "load_csv",
    "load_svmlight",
    "pitprops",
    "spiked",
    "two_classes",
    "two_views",
]
