"""What components found on some samples are worth on others; NumPy on the host."""

import numpy as np


def moments(name, X, scale, names=None):
    """Means and, under `scale`, standard deviations (divided by m) of the columns, else ones."""
    mean = X.mean(axis=0, dtype=np.float64)
    if not scale:
        return mean.astype(X.dtype), np.ones_like(mean, X.dtype)
    deviation = X.std(axis=0, dtype=np.float64)
    rounding = 10 * np.finfo(X.dtype).eps * np.abs(X).max(axis=0)
    constant = np.flatnonzero(~(deviation > rounding))
    if len(constant):
        first = constant[0] if names is None else f"{constant[0]} ({names[constant[0]]!r})"
        raise ValueError(
            f"{name} must not have constant columns under scale=True, but column {first} is "
            f"constant ({len(constant)} such). Remove them, for example with scikit-learn's "
            f"VarianceThreshold in a pipeline, or pass scale=False."
        )
    return mean.astype(X.dtype), deviation.astype(X.dtype)


def explained_share(Z, V):
    """1 − ‖Z − Ẑ‖² / ‖Z‖², Ẑ the projection of the rows of Z (m, n) on the span of V (c, n)."""
    rest = Z - Z @ V.T @ np.linalg.pinv(V.T)
    return float(1 - np.sum(rest**2) / np.sum(Z**2))


def correlations(S, T):
    """(c,): of the columns of two tables (m, c); 0 where one is constant."""
    S, T = S - S.mean(axis=0), T - T.mean(axis=0)
    lengths = np.sqrt(np.sum(S**2, axis=0) * np.sum(T**2, axis=0))
    return np.sum(S * T, axis=0) / np.where(lengths > 0, lengths, 1)
