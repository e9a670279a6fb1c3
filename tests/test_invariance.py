"""The answer does not depend on the units of A, of C, of the variables, nor on their order."""

import jax
import numpy as np
import pytest
from helpers import PENCILS, rescaled

import sgep_jax as sgep

N, S = 9, 4
KINDS = ("general", "components", "diagonal", "blocks", "correlated")
METHODS = {
    "bisection": sgep.Decomposition(random=2, swap=4, window=5),
    "coordinate": sgep.Decomposition(random=2, swap=4, window=5, subproblem="coordinate"),
}
FACTORS = {
    "float64": (1e-12, 1e-7, 1e-3, 1e4, 1e8, 1e12),
    "float32": (1e-6, 1e-3, 1e4, 1e6),
}


@pytest.fixture(scope="module", params=list(METHODS))
def solve_all(request):
    method = METHODS[request.param]
    compiled = jax.jit(jax.vmap(lambda problem: sgep.solve(problem, S, method=method)))
    return lambda As, Cs: compiled(jax.vmap(sgep.Problem)(As, Cs))


def pencils(dtype):
    rng = np.random.default_rng(4)
    made = [PENCILS[kind](rng, N) for kind in KINDS for _ in range(4)]
    return tuple(np.array(matrices, dtype) for matrices in zip(*made, strict=True))


def tolerance(dtype):
    return {"float64": 1e-8, "float32": 1e-3}[dtype]


def used(x):
    """The coordinates that matter: loadings clearly above rounding."""
    x = np.asarray(x, np.float64)
    return [tuple(np.flatnonzero(np.abs(row) > 1e-3 * np.abs(row).max())) for row in x]


def test_units_of_the_matrices(solve_all, dtype):
    As, Cs = pencils(dtype)
    base = solve_all(As, Cs)
    base.check()
    for c in np.asarray(FACTORS[dtype], dtype):
        larger = solve_all(c * As, Cs)
        np.testing.assert_allclose(larger.objective / c, base.objective, rtol=tolerance(dtype))
        assert used(larger.x) == used(base.x)
        denser = solve_all(As, c * Cs)
        np.testing.assert_allclose(denser.objective * c, base.objective, rtol=tolerance(dtype))
        assert used(denser.x) == used(base.x)
        larger.check(), denser.check()


def test_units_of_the_variables(solve_all):
    As, Cs = pencils("float64")
    base = solve_all(As, Cs)
    rng = np.random.default_rng(0)
    for powers in (2.0 ** rng.integers(-20, 21, N), 10 ** rng.uniform(-6, 6, N)):
        As2, Cs2 = (np.array(m) for m in zip(*(
            rescaled(A, C, powers) for A, C in zip(As, Cs, strict=True)
        ), strict=True))  # fmt: skip
        other = solve_all(As2, Cs2)
        np.testing.assert_allclose(other.objective, base.objective, rtol=1e-7)
        assert used(np.asarray(other.x) * powers) == used(base.x)


def test_order_of_the_variables():
    """Every coordinate is in the working set, so the answer is the global one in any order."""
    As, Cs = pencils("float64")
    method = sgep.Decomposition(window=2)
    solve_all = jax.jit(jax.vmap(lambda A, C: sgep.solve(sgep.Problem(A, C), S, method=method)))
    base = solve_all(As, Cs)
    order = np.random.default_rng(1).permutation(N)
    other = solve_all(As[:, order][:, :, order], Cs[:, order][:, :, order])
    np.testing.assert_allclose(other.objective, base.objective, rtol=1e-9)
    generic = slice(0, 12)  # blocks and equal correlations have ties
    assert used(other.x)[generic] == used(np.asarray(base.x)[:, order])[generic]
