"""Derivatives of a solution with respect to the problem, the support taken as locally constant.

Every method ends with the lowest eigenpair of its support's pencil (A, C = A_SS, C_SS from here
on). With x'Cx = 1 and W = A − λC,

    dλ = x'(dA − λ dC)x / x'Cx                              the envelope form,

    [ W     Cx ] [  dx ]   [ −(dA − λ dC)x ]
    [ (Cx)'  0 ] [ −dλ ] = [ −½ x'dC x     ]                the bordered system.

The search runs on a problem without tangents; `reattach` then ties its answer to the problem. The
rule is in terms of λ(A, C) and x(A, C) themselves, so it can be differentiated again.

Choices:

1. The bordered matrix is singular where the lowest eigenvalue is tied, and the eigenvector has no
   derivative there. Its pseudo-inverse is used: directions inside the tied eigenspace get zero.
2. Under x ≥ 0, loadings at zero stay there: the derivative is that on the positive face.
3. Where there is no answer (objective inf) all derivatives are zero.
4. The history and the start carry no derivative.
"""

import dataclasses

import jax
import jax.numpy as jnp
from jax import lax

from .factorizations import eigh
from .linalg import definite_tolerance, product, quadratic, spread, whiten
from .solution import Solution


def reattach(problem, solution: Solution, lower=-jnp.inf) -> Solution:
    """`solution` with `x` and `objective` as differentiable functions of `problem`.

    Their values do not change. `lower` is the bound the method kept: 0 or -inf.
    """
    support, dtype = solution.support, problem.dtype
    value, x = lax.stop_gradient((solution.objective, solution.x[support]))
    usable = jnp.isfinite(value)
    free = usable & (x > lower)
    pair = free[:, None] & free[None, :]
    A = jnp.where(pair, _symmetric(problem.A.block(support)), 0.0)
    C = jnp.where(pair, _symmetric(problem.C.block(support)), jnp.eye(len(x), dtype=dtype))
    objective, loadings = eigenpair(
        A, C, jnp.where(usable, value, 0.0), jnp.where(usable, x, 1.0), free
    )
    return dataclasses.replace(
        solution,
        x=spread(support, jnp.where(usable, loadings, x), problem.size),
        objective=jnp.where(usable, objective, value),
        history=lax.stop_gradient(solution.history),
    )


@jax.custom_jvp
def eigenpair(A, C, value, vector, free):
    """The lowest eigenpair of (A, C), already known: differentiable in A and C.

    Coordinates that are not `free` have zero rows in A, unit rows in C, and a zero loading.
    """
    return value, vector


@eigenpair.defjvp
def _eigenpair_jvp(primals, tangents):
    A, C, _, _, free = primals
    dA, dC, *_ = tangents
    value, x = eigenpair(*primals)
    residual = product(value * dC - dA, x)
    right = jnp.append(residual, -quadratic(dC, x) / 2)
    K = bordered(A - value * C, product(C, x))
    inverse = lax.stop_gradient(bordered(_resolvent(A, C, value, free), x))
    # The inverse is never differentiated: derivatives of a solution solve the same system.
    dx = lax.custom_linear_solve(
        lambda y: product(K, y), right, lambda _, right: product(inverse, right), symmetric=True
    )[:-1]
    return (value, x), (-product(x, residual) / quadratic(C, x), jnp.where(free, dx, 0.0))


def bordered(M, edge):
    """[M, edge; edge', 0]. The inverse of [W, Cx; (Cx)', 0] is [G, x; x', 0], as GCx = 0."""
    corner = jnp.zeros(1, M.dtype)
    return jnp.block([[M, edge[:, None]], [edge[None, :], corner[:, None]]])


def _resolvent(A, C, value, free):
    """G = Σ v_l v_l' / (λ_l − λ) over the eigenpairs of (A, C) with λ_l > λ beyond rounding."""
    A, C, value = lax.stop_gradient((A, C, value))
    F, definite = whiten(C)
    M = product(F.T, product(A, F))
    ceiling = jnp.sum(jnp.abs(M))
    M = (M + M.T) / 2 + jnp.diag(jnp.where(free, 0.0, ceiling))  # held: apart from all others
    values, vectors = eigh(M)
    gaps = values - value
    apart = definite & (gaps > definite_tolerance(len(gaps), gaps.dtype) * jnp.max(jnp.abs(values)))
    V = product(F, vectors)
    return product(V * jnp.where(apart, 1 / jnp.where(apart, gaps, 1.0), 0.0)[None, :], V.T)


def _symmetric(M):
    return (M + M.T) / 2
