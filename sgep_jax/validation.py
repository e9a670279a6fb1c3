"""Checks on the host. Each message names the argument, the rule, the value and the remedy.

Checks of values are skipped for tracers: inside `jit` and `vmap` a `Status` tells instead.
"""

import math
import numbers
import operator

import jax
import jax.numpy as jnp
import numpy as np

from .matrices import Dense


def is_concrete(value) -> bool:
    return not isinstance(value, jax.core.Tracer)


def real(name, array):
    """A real, numeric dtype."""
    kind = array.dtype
    if jnp.issubdtype(kind, jnp.complexfloating):
        raise TypeError(
            f"{name} must be real, but its dtype is {kind}. "
            f"Pass {name}.real if the imaginary part is rounding."
        )
    if not (jnp.issubdtype(kind, jnp.number) or jnp.issubdtype(kind, jnp.bool_)):
        raise TypeError(f"{name} must be numeric, but its dtype is {kind}. Convert it to floats.")


def square_real(name, array):
    """Shape (n, n) and a real, numeric dtype."""
    real(name, array)
    if array.ndim == 3:
        raise ValueError(
            f"{name} must be one square matrix, but its shape is {array.shape}. "
            f"For a batch of pencils use jax.vmap(Problem)(As, Cs)."
        )
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] == 0:
        raise ValueError(
            f"{name} must be square with at least one row, but its shape is {array.shape}. "
            f"From a table of data, form a covariance first, such as X.T @ X / len(X)."
        )


def finite(name, array):
    """No NaN, no infinity."""
    if not is_concrete(array):
        return
    bad = ~np.isfinite(np.asarray(array))
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{name} must be finite, but {name}{list(where)} is {np.asarray(array)[where]} "
            f"({int(bad.sum())} such entries). Remove or impute missing values first."
        )


def symmetric(name, array) -> bool:
    """Symmetric up to rounding: `np.corrcoef` is not symmetric to the last bit. True if it is."""
    if not is_concrete(array):
        return False
    values = np.asarray(array)
    gap = np.abs(values - values.T)
    allowed = 1e3 * float(jnp.finfo(values.dtype).eps) * np.abs(values).max(initial=0)
    if gap.max(initial=0) > allowed:
        i, j = (int(k) for k in np.unravel_index(gap.argmax(), gap.shape))
        raise ValueError(
            f"{name} must be symmetric, but {name}[{i}, {j}] = {values[i, j]} and "
            f"{name}[{j}, {i}] = {values[j, i]}. Only its symmetric part matters: "
            f"pass ({name} + {name}.T) / 2 if that is meant."
        )
    return not gap.any()


def same_size(A, C):
    if A.shape != C.shape:
        raise ValueError(
            f"A and C must have the same shape, but A is {A.shape} and C is {C.shape}. "
            f"Both describe the same variables, in the same order."
        )


def positive_semidefinite(name, matrix):
    """No clearly negative eigenvalue: one Cholesky with a shift of rounding size.

    Eigenvalues are computed only to word the error.
    """
    if not (isinstance(matrix, Dense) and is_concrete(matrix.array)):
        return
    values = np.asarray(matrix.array, dtype=np.float64)
    diagonal = np.diagonal(values)
    d = 1 / np.sqrt(np.where(diagonal > 0, diagonal, np.abs(values).max() or 1.0))
    scaled = values * d[:, None] * d[None, :]
    shift = 100 * len(values) * float(jnp.finfo(matrix.dtype).eps)
    try:
        np.linalg.cholesky(scaled + shift * np.eye(len(values)))
    except np.linalg.LinAlgError:
        lowest = np.linalg.eigvalsh(values)[0]
        raise ValueError(
            f"{name} must be positive definite (or semidefinite), but its smallest eigenvalue is "
            f"{lowest:.6g}. If rounding or missing data made it so, add a ridge: "
            f"{name} + ridge * np.eye({len(values)}) with ridge > {max(-lowest, 0):.3g}."
        ) from None


def problem(value):
    """A pencil, and only one of them."""
    if not (hasattr(value, "A") and hasattr(value, "C")):
        raise TypeError(
            f"problem must be a Problem, but it is a {type(value).__name__}. "
            f"Wrap the matrices: Problem(A, C)."
        )
    if len(value.A.shape) != 2:
        raise ValueError(
            f"problem must be one pencil, but its A has shape {value.A.shape}. "
            f"For a batch use solve_batch(problems, sparsity)."
        )


def method(value):
    """One of the methods, made with its arguments."""
    parts = hasattr(value, "search") or hasattr(value, "step")
    if isinstance(value, type) or not (parts and hasattr(value, "lower")):
        raise TypeError(
            f"method must be a method such as SwapSearch() or Decomposition(random=6, swap=6), but "
            f"it is {value!r}. Leave it out for the default."
        )


def key(value):
    """One typed key."""
    typed = isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
    if not typed or value.shape != ():
        raise TypeError(
            f"key must be one key made by jax.random.key(number), but it is {value!r}. "
            f"Wrap an old one with jax.random.wrap_key_data."
        )


def sparsity(value, size: int) -> int:
    """An integer from 1 to n."""
    try:
        if isinstance(value, bool):
            raise TypeError
        count = operator.index(value)
    except TypeError:
        raise TypeError(
            f"sparsity must be an integer, the number of nonzeros allowed, but it is {value!r}."
        ) from None
    if not 1 <= count <= size:
        raise ValueError(
            f"sparsity must be between 1 and n = {size}, the number of variables, "
            f"but it is {count}."
        )
    return count


def start(x, size: int, sparsity: int, lower: float):
    """Starting points: (n,) or (number, n), at most s nonzeros each, not zero, within the bound."""
    shape = jnp.shape(x)
    if len(shape) not in (1, 2) or shape[-1] != size or 0 in shape:
        raise ValueError(
            f"start must have shape (n,) = ({size},), or (number of starts, {size}), "
            f"but its shape is {shape}. Put zeros where a variable is not used."
        )
    if not is_concrete(x):
        return
    values = np.atleast_2d(np.asarray(x))
    finite("start", values)
    most = int((values != 0).sum(axis=1).max())
    if most > sparsity:
        raise ValueError(
            f"start must have at most sparsity = {sparsity} nonzeros, but it has {most}. "
            f"Keep its {sparsity} largest entries."
        )
    if not (values != 0).any(axis=1).all():
        raise ValueError("start must not be zero: x'Ax / x'Cx is 0/0 there. Leave it out.")
    if values.min() < lower:
        raise ValueError(
            f"start must respect x >= {lower:g}, but its smallest entry is {values.min():g}."
        )


def names(values, size: int) -> list[str]:
    """Names of the n variables; without any, their numbers."""
    if values is None:
        return [f"variable {i}" for i in range(size)]
    values = [str(value) for value in values]
    if len(values) != size:
        raise ValueError(
            f"names must be n = {size} names, one per variable, but there are {len(values)}."
        )
    return values


def one_of(owner, name, value, choices):
    if value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{owner}({name}=...) must be one of {known}, but it is {value!r}.")


def count(owner, name, value, least: int):
    """A static whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{owner}({name}=...) must be an integer, but it is {value!r}.")
    if value < least:
        raise ValueError(f"{owner}({name}=...) must be at least {least}, but it is {value}.")


def at_least_one(owner, name, value):
    """A number ≥ 1; tracers pass."""
    if isinstance(value, numbers.Real) and not value >= 1:
        raise ValueError(f"{owner}({name}=...) must be at least 1, but it is {value!r}.")


def below_infinity(owner, name, value):
    """A number < ∞; arrays, one for each problem of a batch, and tracers pass."""
    if isinstance(value, numbers.Real) and not value < math.inf:
        raise ValueError(f"{owner}({name}=...) must be below infinity, but it is {value!r}.")


def scalar_below_infinity(owner, name, value):
    """The same of one problem, as a float whatever its type: so that none compiles anew."""
    if value is None or isinstance(value, (bool, str)):
        raise TypeError(f"{owner}({name}=...) must be a number, but it is {value!r}.")
    if np.shape(value) != ():
        raise ValueError(
            f"{owner}({name}=...) must be one number, but its shape is {np.shape(value)}. "
            f"For one of each problem use jax.vmap over solve."
        )
    if not is_concrete(value):
        return value
    below_infinity(owner, name, float(value))
    return float(value)


def non_negative(owner, name, value):
    """A number ≥ 0; tracers pass (tolerances are traced, so that none of them recompiles)."""
    if isinstance(value, numbers.Real) and not value >= 0:
        raise ValueError(f"{owner}({name}=...) must not be negative or NaN, but it is {value!r}.")
