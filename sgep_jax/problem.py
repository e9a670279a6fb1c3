"""The problem: minimise x'Ax / x'Cx over x ≠ 0 with at most s nonzeros."""

import jax
import jax.numpy as jnp
import numpy as np

from . import validation
from .matrices import Dense, Identity


@jax.tree_util.register_pytree_with_keys_class
class Problem:
    """The pencil (A, C) of min x'Ax / x'Cx.

    **Arguments**

    - `A`: symmetric, (n, n), any inertia. An array, or a matrix of `sgep_jax.matrices`.
    - `C`: symmetric, (n, n), positive definite; `None` is the identity. It may be singular as a
      whole (more variables than samples): supports on which it is not definite are skipped.

    Arrays are checked on the host when their values are known, and symmetrised. Under `jit` and
    `vmap` only shapes are checked; the solution's status tells the rest. The dtype follows the
    input; integers become the default float, half precision becomes float32.

    A batch of pencils is a problem with batched leaves: `jax.vmap(Problem)(As, Cs)`.

    ```python
    problem = Problem([[-2.0, 1.0], [1.0, -1.0]])
    ```
    """

    def __init__(self, A, C=None):
        A = _matrix("A", A)
        C = Identity(A.shape[0], A.dtype) if C is None else _matrix("C", C)
        validation.same_size(A, C)
        dtype = np.promote_types(A.dtype, C.dtype)  # JAX's own fails where promotion is strict
        self.A, self.C, self.rules = cast(A, dtype), cast(C, dtype), None
        validation.positive_semidefinite("C", self.C)

    @property
    def size(self) -> int:
        """n, the number of variables."""
        return self.A.shape[-1]

    @property
    def dtype(self):
        return self.A.dtype

    def diagonals(self):
        """diag(A) and diag(C)."""
        return self.A.diagonal(), self.C.diagonal()

    def scale(self):
        """A rough size of the eigenvalues, so that tolerances are free of units; NaN if A or C is.

        The largest |A_ii| / C_ii, or the largest entry of D^(-1/2) A D^(-1/2) v with D = diag(C)
        and a fixed v (CCA has a zero diagonal), whichever is larger.
        """
        diagonal = self.C.diagonal()
        usable = diagonal > 0
        d = jnp.where(usable, jax.lax.rsqrt(jnp.where(usable, diagonal, 1.0)), 0.0)
        v = probe(self.size, self.dtype)
        image, own = jnp.abs(d * self.A.matvec(d * v)), jnp.abs(self.A.diagonal()) * d * d
        largest = jnp.max(jnp.maximum(image, own))
        finite = jnp.isfinite(largest)
        if not isinstance(self.C, Identity):
            finite &= jnp.all(jnp.isfinite(self.C.matvec(v)))
        return jnp.where(finite, largest, jnp.nan)

    def restricted(self, rules) -> "Problem":
        """The same pencil where only supports that meet `rules` (`rules.py`) are allowed."""
        return Problem.tree_unflatten(None, (self.A, self.C, rules))

    def __repr__(self):
        kinds = f"A={type(self.A).__name__}, C={type(self.C).__name__}"
        return f"Problem(n={self.size}, {kinds}, {jnp.dtype(self.dtype).name})"

    def tree_flatten_with_keys(self):
        key = jax.tree_util.GetAttrKey
        return tuple((key(name), getattr(self, name)) for name in ("A", "C", "rules")), None

    @classmethod
    def tree_unflatten(cls, _, children):
        problem = object.__new__(cls)  # leaves may be tracers, batches or placeholders: no checks
        problem.A, problem.C, problem.rules = children
        return problem


def probe(size: int, dtype):
    """A fixed vector, evenly spread over [-1, 1): multiples of the golden section."""
    turns = jnp.arange(1, size + 1, dtype=jnp.uint32) * np.uint32(0x9E3779B9)
    return jax.lax.bitcast_convert_type(turns, jnp.int32).astype(dtype) * 2.0**-31


def _matrix(name, value):
    """`value` as a matrix: arrays are checked and symmetrised, matrices pass."""
    parts = ("diagonal", "columns", "block", "combination", "matvec")
    if all(hasattr(value, part) for part in parts):
        return value
    return Dense(symmetric_array(name, value))


def symmetric_array(name, value):
    """`value` as a floating array, checked and symmetrised."""
    array = floating_array(name, value, validation.square_real)
    return array if validation.symmetric(name, array) else (array + array.T) / 2


def floating_array(name, value, check):
    """`value` as a finite floating array; `check(name, value)` judges its shape and dtype."""
    if not isinstance(value, jax.Array):
        value = np.asarray(value)
    check(name, value)
    array = jnp.asarray(value)
    if not jnp.issubdtype(array.dtype, jnp.floating):
        array = array.astype(jnp.result_type(float))
    elif array.dtype.itemsize < 4:
        array = array.astype(jnp.float32)  # no eigendecomposition in half precision
    validation.finite(name, array)
    return array


def cast(matrix, dtype):
    """A matrix, or any tree of arrays, in another precision; labels and indices stay."""
    if isinstance(matrix, Identity):
        return Identity(matrix.size, dtype)

    def one(leaf):
        return leaf.astype(dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

    return jax.tree.map(one, matrix)
