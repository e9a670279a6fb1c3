"""What is left of a pencil (A, C) without the components found so far (`components.py`).

Deflations of Mackey (*Deflation methods for sparse PCA*, 2008), carried over to a pencil by writing
them for C^(-1/2) A C^(-1/2) and C^(1/2) x and going back. The components found so far are
x_1, …, x_t. Q = [q_1, …, q_t] is their Gram-Schmidt basis, Q'CQ = I: sparse components are not
C-orthogonal, and a deflation that forgets this lets earlier ones back in. With P = I − QQ'C,

    "projection"   P'AP                        found directions leave A: A_t q_i = 0
    "schur"        A − AQ (Q'AQ)⁺ Q'A          the Schur complement; A_t q_i = 0
    "hotelling"    A − Σ_i C q_i (q_i'A q_i) q_i'C      only q_i'A_t q_i = 0

On exact eigenvectors, Ax = λCx, all three are A − λCxx'C. On sparse ones they differ. The Schur
complement takes out all that the components predict: the rank falls by one each time, so that K
classes have K − 1 sparse discriminants. The projection takes out less, only the directions
themselves. Where the wanted values are negative, both leave A_t without a value below the lowest
of A; Hotelling's may not.

Deviations from Mackey:

1. His "projection" removes x_t alone, and earlier components may come back; his remedy, the
   orthogonalised form, is the one here. His Schur complements, one after the other, equal the
   single one above (the quotient property), which is computed in the basis Q.
2. A found direction is left with the value `ceiling` = μ, 0 as in his paper, rather than always 0:
   what is deflated is A − μC, and μC is added again. Minimising, a direction with the value 0
   would be found again and again once all that remains is positive. A component whose value is
   not below μ ends with the status NOTHING_LEFT, and takes nothing out.
3. `split`, for CCA: the values of that pencil come in pairs ±ρ, with (u, v) and (u, −v). To take
   out (u, v) alone leaves the variable Xu to the next components, with another partner. With the
   number of variables of the first view given, (u, 0) and (0, v) are both taken out, as two
   columns of Q; Hotelling's q_i'Aq_i is then the 2 × 2 block of the pair.
"""

import copy
import dataclasses
from functools import partial

import jax
import jax.numpy as jnp

from .linalg import product, take
from .matrices import Dense
from .problem import Problem

DEFLATIONS = ("projection", "schur", "hotelling")


def deflated(problem, Q, ceiling, deflation: str, pieces: int = 1) -> Problem:
    """The pencil without the directions Q (n, r), Q'CQ = I; zero columns do nothing.

    A dense A is formed anew, any other becomes a `SymmetricUpdate`. `pieces` columns of Q belong
    to one component.
    """
    pencil = copy.copy(problem)  # C was checked before
    pencil.A = _deflated(problem, Q, ceiling, deflation, pieces)
    return pencil


@partial(jax.jit, static_argnames=("deflation", "pieces"))
def _deflated(problem, Q, ceiling, deflation, pieces):
    AQ, CQ = apply(problem.A, Q), apply(problem.C, Q)
    K = product(Q.T, AQ)
    identity = jnp.eye(Q.shape[1], dtype=Q.dtype)
    if deflation == "projection":
        left, right = product(CQ, (K + ceiling * identity) / 2) - AQ, CQ
    elif deflation == "schur":
        right = AQ - ceiling * CQ
        inverse = jnp.linalg.pinv(product(Q.T, right), hermitian=True)
        left = -product(right, inverse) / 2
    else:
        component = jnp.arange(Q.shape[1], dtype=jnp.int32) // pieces
        within = component[:, None] == component[None, :]
        left, right = -product(CQ, jnp.where(within, K - ceiling * identity, 0.0)) / 2, CQ
    if isinstance(problem.A, Dense):
        half = product(left, right.T)
        return Dense(problem.A.array + (half + half.T))
    return SymmetricUpdate(problem.A, left, right)


@partial(jax.tree_util.register_dataclass, data_fields=["base", "left", "right"], meta_fields=[])
@dataclasses.dataclass(frozen=True)
class SymmetricUpdate:
    """base + LR' + RL' with L and R (n, r), never formed; a matrix as in `matrices.py`."""

    base: object
    left: jax.Array
    right: jax.Array

    definite = False

    @property
    def shape(self):
        return self.base.shape

    @property
    def dtype(self):
        return self.base.dtype

    def diagonal(self):
        return self.base.diagonal() + 2 * jnp.sum(self.left * self.right, axis=-1)

    def columns(self, indices):
        update = product(self.left, take(self.right, indices).T)
        return self.base.columns(indices) + update + product(self.right, take(self.left, indices).T)

    def block(self, rows, columns=None):
        columns = rows if columns is None else columns
        update = product(take(self.left, rows), take(self.right, columns).T)
        update += product(take(self.right, rows), take(self.left, columns).T)
        return self.base.block(rows, columns) + update

    def combination(self, indices, weights):
        update = product(self.left, product(weights, take(self.right, indices)))
        update += product(self.right, product(weights, take(self.left, indices)))
        return self.base.combination(indices, weights) + update

    def matvec(self, x):
        update = product(self.left, product(self.right.T, x))
        return self.base.matvec(x) + update + product(self.right, product(self.left.T, x))


def orthonormal(C, Q, x, tolerance):
    """The part of x that is C-orthogonal to Q, of C-length 1; zero if there is none."""
    length = product(x, C.matvec(x))
    for _ in range(2):  # twice is enough
        x = x - product(Q, product(Q.T, C.matvec(x)))
    left = product(x, C.matvec(x))
    apart = left > tolerance * length
    safe = jnp.where(apart, left, 1.0)
    return jnp.where(apart, x * jax.lax.rsqrt(safe), 0.0), apart


def apply(matrix, Q):
    """matrix · Q, column by column."""
    return jax.vmap(matrix.matvec, in_axes=1, out_axes=1)(Q)
