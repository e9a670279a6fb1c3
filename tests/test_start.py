"""Where searches begin: greedy completion against SciPy, dependent columns, their order."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from helpers import definite, symmetric

import sgep_jax as sgep
from sgep_jax.matrices import peaks
from sgep_jax.padding import pad
from sgep_jax.rules import make_rules
from sgep_jax.start import Fresh, Seed, complete, promising_columns, seed_of

N = 12
complete, promising_columns = jax.jit(complete), jax.jit(promising_columns)
seed_of = jax.jit(seed_of, static_argnums=1)


def greedy(A, C, support, x, s):
    """The lowest plane {x, e_j} again and again, by SciPy."""
    support = list(support)
    while len(support) < s:
        best = (np.inf, None, None)
        for j in set(range(len(A))) - set(support):
            plane = np.stack([x, np.eye(len(A))[j]], axis=1)
            values, vectors = scipy.linalg.eigh(plane.T @ A @ plane, plane.T @ C @ plane)
            if values[0] < best[0]:
                best = (values[0], j, plane @ vectors[:, 0])
        support, x = [*support, best[1]], best[2]
    return support, x


def test_completion_is_greedy():
    rng = np.random.default_rng(0)
    for identity in (True, False):
        A, C = symmetric(rng, N), np.eye(N) if identity else definite(rng, N)
        x = np.zeros(N)
        x[[2, 7]] = 1.0, -0.5
        problem = sgep.Problem(A) if identity else sgep.Problem(A, C)
        point = complete(problem, seed_of(jnp.asarray(x), 5))
        support, x = greedy(A, C, [2, 7], x, 5)
        assert list(point.support) == support
        np.testing.assert_allclose(point.objective, x @ A @ x / (x @ C @ x), rtol=1e-9)


def test_barred_columns_come_last():
    A = -np.diag(np.arange(1.0, 7.0))
    barred = jnp.asarray([False, False, False, True, True, True])
    seed = Seed(jnp.asarray([0, 0, 0], jnp.int32), jnp.asarray([1.0, 0.0, 0.0]), barred)
    assert set(np.asarray(complete(sgep.Problem(A), seed).support)) == {0, 1, 2}
    everything = Seed(*seed[:2], jnp.ones(6, bool))
    assert len(set(np.asarray(complete(sgep.Problem(A), everything).support))) == 3


def test_dependent_columns_are_left_out():
    """C of rank three, with two equal columns: any start ends on an independent support, if the
    rank allows it."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((3, 8))
    X[:, 5] = X[:, 2]
    A, C = symmetric(rng, 8), X.T @ X
    problem = sgep.Problem(A, C)
    x = np.zeros(8)
    x[[2, 5]] = 1.0  # a seed that is dependent itself
    support = np.asarray(complete(problem, seed_of(x, 3)).support)
    assert np.linalg.matrix_rank(X[:, support]) == 3
    assert complete(problem, seed_of(x, 4)).objective == np.inf


def test_a_zero_diagonal_is_ordered_by_pairs():
    rng = np.random.default_rng(2)
    S = symmetric(rng, N)
    across = (np.arange(N) < 5)[:, None] != (np.arange(N) < 5)[None, :]
    A, C = np.where(across, S, 0), np.diag(rng.uniform(0.5, 2, N))
    d = 1 / np.sqrt(np.diagonal(C))
    best = np.max(np.abs(A) * d[:, None] * d[None, :], axis=0)
    columns = np.asarray(promising_columns(sgep.Problem(A, C))[0])
    assert (np.diff(best[columns]) <= 1e-12).all() and len(set(columns)) == N


def test_a_strong_pair_among_very_many():
    """Two views of 3000 variables from a table of 60 rows: the one strong pair is found."""
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((2, 60, 3000))
    Y[:, 7] += 5 * X[:, 42]
    problem = sgep.cca_problem(X, Y)
    assert type(problem.A).__name__ == "Gram"
    assert list(sgep.solve(problem, 2, num_starts=4).support) == [42, 3007]


def test_fresh_seeds_are_numbered():
    """Own, best column, leading direction, the other columns, random supports without repeats."""
    rng = np.random.default_rng(4)
    problem = sgep.Problem(symmetric(rng, N))
    own = np.zeros((1, N))
    own[0, [4, 9]] = 1.0

    @jax.jit
    def numbered(numbers):
        fresh, draws = Fresh(problem, 3, jnp.asarray(own)), jnp.asarray([0.1, 0.12, 0.9], "float32")
        return jax.vmap(lambda number: fresh.seed(number, draws))(numbers), fresh.columns

    seeds, columns = numbered(np.arange(20, dtype="int32"))
    pairs = zip(np.asarray(seeds.support), np.asarray(seeds.loadings), strict=True)
    used = [set(support[loadings != 0]) for support, loadings in pairs]
    assert used[0] == {4, 9} and len(used[2]) == 1
    columns = np.asarray(columns).tolist()
    assert [used[1], *used[3 : N + 2]] == [{c} for c in columns]
    assert used[N + 2] == {1, 10}  # 0.1 and 0.12 are the same column
    leading = np.asarray(jax.jit(lambda: promising_columns(problem)[1])())
    second = jax.jit(lambda: Fresh(problem, 8).seed(np.int32(1), jnp.zeros(8, "float32")))()
    strongest = np.asarray(second.support)[np.asarray(second.loadings) != 0]
    np.testing.assert_array_equal(strongest, np.argsort(-np.abs(leading))[:2])
    _, rules = make_rules(N, 8, None, (), strongest.tolist())  # the strongest allowed
    second = jax.jit(
        lambda: Fresh(problem.restricted(rules), 8).seed(np.int32(1), jnp.zeros(8, "float32"))
    )()
    allowed = np.asarray(second.support)[np.asarray(second.loadings) != 0]
    np.testing.assert_array_equal(allowed, np.argsort(-np.abs(leading))[2:4])


def test_columns_go_by_their_best_pair_whatever_the_form_of_the_problem():
    """Dense and Gram against NumPy, and padded for a traced sparsity, which adds a diagonal."""
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((30, 6)), rng.standard_normal((30, 7))
    Y[:, 4] += 2 * X[:, 1]
    for form in ("dense", "gram"):
        problem = sgep.cca_problem(X, Y, form=form)
        A, diagonal = jax.jit(lambda P: (P.A.columns(jnp.arange(13)), P.C.diagonal()))(problem)
        weights = 1 / np.sqrt(np.asarray(diagonal))
        order = rng.permutation(13)
        expected = np.max(np.abs(np.asarray(A)) * weights[:, None], axis=0)[order]
        found = jax.jit(partial(peaks, strip=4))(problem.A, order, weights)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        for each in (problem, jax.jit(partial(pad, most=3))(problem, 2)):
            assert set(np.asarray(promising_columns(each)[0])[:2].tolist()) == {1, 10}
