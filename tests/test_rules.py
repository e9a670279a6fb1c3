"""Groups, forced and forbidden variables, against brute force over the supports they allow."""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import eigh

import sgep_jax as sgep

N = 9
GROUPS = np.array([0, 1, 0, 1, 1, 0, 2, 2, 0])
METHODS = {
    "default": None,
    "multistart": sgep.Multistart(lanes=4, patience=24),
    "swap": sgep.SwapSearch(),
    "inertia": sgep.Decomposition(
        random=2, swap=4, subproblem="inertia", rest="free", scores="corrective", window=8
    ),
    "bisection": sgep.Decomposition(random=4, swap=4, window=8),
    "coordinate": sgep.Decomposition(random=4, swap=4, window=8, subproblem="coordinate"),
    "exhaustive": sgep.Exhaustive(),
}
EXACT = {"default", "multistart", "exhaustive"}


def pencil(seed):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((2, N, N))
    return (A + A.T) / 2, B @ B.T / N + 0.1 * np.eye(N)


def lowest(A, C, allowed, s):
    """min over all allowed supports, by SciPy."""
    supports = [list(S) for S in combinations(range(N), s) if allowed(set(S))]
    return min(eigh(A[np.ix_(S, S)], C[np.ix_(S, S)], eigvals_only=True)[0] for S in supports)


def counts(support):
    return np.bincount(GROUPS[np.array(sorted(support))], minlength=3).tolist()


@pytest.mark.parametrize("name", METHODS)
def test_groups_forced_and_forbidden(name):
    def allowed(S):
        return counts(S) == [2, 1, 1] and 5 in S and 4 not in S

    for seed in range(3):
        A, C = pencil(seed)
        solution = sgep.solve(
            sgep.Problem(A, C), (2, 1, 1), groups=GROUPS, forced=[5], forbidden=[4],
            method=METHODS[name],
        ).check()  # fmt: skip
        assert allowed(set(np.asarray(solution.support).tolist()))
        truth = lowest(A, C, allowed, 4)
        assert solution.objective >= truth - 1e-10
        x = np.asarray(solution.x)
        np.testing.assert_allclose(x @ A @ x / (x @ C @ x), solution.objective, rtol=1e-9)
        if name in EXACT:
            np.testing.assert_allclose(solution.objective, truth, rtol=1e-9)


def test_forced_and_forbidden_without_groups():
    A, C = pencil(7)
    solution = sgep.solve(sgep.Problem(A, C), 4, forced=[0, 3], forbidden=[1, 2]).check()
    truth = lowest(A, C, lambda S: {0, 3} <= S and not S & {1, 2}, 4)
    np.testing.assert_allclose(solution.objective, truth, rtol=1e-9)


def test_swap_search_ends_where_no_allowed_exchange_improves():
    A, C = pencil(11)
    problem = sgep.Problem(A, C)
    solution = sgep.solve(problem, (2, 1, 1), groups=GROUPS, method=METHODS["swap"])
    support = set(np.asarray(solution.support).tolist())
    for i in support:
        for j in set(range(N)) - support:
            S = sorted(support - {i} | {j})
            if counts(S) == [2, 1, 1]:
                value = eigh(A[np.ix_(S, S)], C[np.ix_(S, S)], eigvals_only=True)[0]
                assert value >= solution.objective - 1e-9


def test_start_is_completed_within_the_rules():
    A, C = pencil(13)
    start = np.zeros(N)
    start[[0, 6]] = 1.0
    solution = sgep.solve(
        sgep.Problem(A, C), (2, 1, 1), groups=GROUPS, start=start, method=METHODS["swap"]
    )
    assert counts(np.asarray(solution.support)) == [2, 1, 1]


def test_gradient_is_that_of_the_support():
    A, C = map(jnp.asarray, pencil(3))

    def value(A):
        return sgep.solve(sgep.Problem(A, C), (2, 1, 1), groups=GROUPS).objective

    x = sgep.solve(sgep.Problem(A, C), (2, 1, 1), groups=GROUPS).x
    expected = jnp.outer(x, x) / (x @ C @ x)
    np.testing.assert_allclose(jax.grad(value)(A), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("sparsity", "rules", "message"),
    [
        (4, {"groups": GROUPS}, "one integer per group"),
        ((2, 1), {"groups": GROUPS}, "each of the 3 groups"),
        ((2, 1, 3), {"groups": GROUPS}, "left in group 2, 2, but it is 3"),
        ((0, 0, 0), {"groups": GROUPS}, "not only"),
        ((1, 1), {"groups": GROUPS[:4]}, r"shape \(9,\)"),
        ((1, 1), {"groups": 2 * (GROUPS // 2)}, "without gaps"),
        (2, {"forced": [0, 1, 2]}, "names 3"),
        (2, {"forced": [0], "forbidden": [0, 1]}, "both have 0"),
        (2, {"forced": [9]}, "from 0 to 8"),
        (2, {"forbidden": [True, False]}, "flatnonzero"),
        (8, {"forbidden": [0, 1]}, "variables left, 7"),
        (2, {"forced": [1], "method": sgep.TruncatedPower()}, "exchanges variables"),
        (2, {"forbidden": [1], "start": np.eye(N)[1]}, "forbidden variables"),
        (2, {"forced": [1], "start": np.eye(N)[2] + np.eye(N)[3]}, "2 at variables not forced"),
        (
            2,
            {"forced": [1], "method": sgep.Decomposition(draw="uniform")},
            "stratified",
        ),
        (
            2,
            {"forced": [1], "method": sgep.Multistart(refine=sgep.Decomposition(draw="uniform"))},
            "stratified",
        ),
    ],
)
def test_wrong_rules(sparsity, rules, message):
    with pytest.raises((ValueError, TypeError), match=message):
        sgep.solve(sgep.Problem(*pencil(0)), sparsity, **rules)


def test_a_duplicate_of_a_forced_variable():
    """It must not be taken first: C would be singular with the forced one beside it."""
    A, C = pencil(17)
    for M in (A, C):  # variable 1 repeats variable 0, and is the better one alone
        M[1], M[:, 1] = M[0], M[:, 0]
        M[1, 1] = M[0, 0]
    solution = sgep.solve(sgep.Problem(A, C), 4, forced=[0]).check()
    truth = lowest(A, C, lambda S: 0 in S and 1 not in S, 4)
    np.testing.assert_allclose(solution.objective, truth, rtol=1e-9)
