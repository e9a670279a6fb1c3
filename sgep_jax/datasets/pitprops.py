"""The pit props, which ship with the package."""

from typing import NamedTuple

import numpy as np


class PitProps(NamedTuple):
    """`correlation` (13, 13) and the `names` of the variables."""

    correlation: np.ndarray
    names: tuple[str, ...]


def pitprops() -> PitProps:
    """Correlations of 13 measurements on 180 pit props (Jeffers 1967).

    The classic of sparse PCA: the sparse components are known exactly, by enumeration.
    """
    names = (
        "topdiam", "length", "moist", "testsg", "ovensg", "ringtop", "ringbut",
        "bowmax", "bowdist", "whorls", "clear", "knots", "diaknot",
    )  # fmt: skip
    lower = """
    0.954
    0.364 0.297
    0.342 0.284 0.882
    -0.129 -0.118 -0.148 0.220
    0.313 0.291 0.153 0.381 0.364
    0.496 0.503 -0.029 0.174 0.296 0.813
    0.424 0.419 -0.054 -0.059 0.004 0.090 0.372
    0.592 0.648 0.125 0.137 -0.039 0.211 0.465 0.482
    0.545 0.569 -0.081 -0.014 0.037 0.274 0.679 0.557 0.526
    0.084 0.076 0.162 0.097 -0.091 -0.036 -0.113 0.061 0.085 -0.319
    -0.019 -0.036 0.220 0.169 -0.145 0.024 -0.232 -0.357 -0.127 -0.368 0.029
    0.134 0.144 0.126 0.015 -0.208 -0.329 -0.424 -0.202 -0.076 -0.291 0.007 0.184
    """
    correlation = np.eye(13)
    correlation[np.tril_indices(13, -1)] = [float(value) for value in lower.split()]
    return PitProps(correlation + np.tril(correlation, -1).T, names)
