"""Bootstrap and permutation: planted variables are found again, noise is not significant."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sgep_jax as sgep

ROWS, N = 60, 8
NUMBER = 19  # of resamples everywhere: one shape, one compilation


def table(strength, seed=0):
    """Variables 2 and 5 share a factor."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, N))
    X[:, [2, 5]] += strength * rng.standard_normal((ROWS, 1))
    return X


def best_pair(X):
    """The pair of largest leading variance, by NumPy."""
    S = np.cov(X.T, bias=True)
    values = {
        pair: np.linalg.eigvalsh(S[np.ix_(pair, pair)])[-1]
        for pair in itertools.combinations(range(N), 2)
    }
    pair = max(values, key=values.get)
    return pair, values[pair]


@pytest.fixture(scope="module")
def resamples():
    return sgep.bootstrap(sgep.pca_problem, table(2.0), 2, NUMBER, key=jax.random.key(1))


def test_planted_variables_are_selected_every_time(resamples):
    frequencies = sgep.selection_frequencies(resamples)
    assert frequencies.shape == (N,) and np.isclose(frequencies.sum(), 2)
    assert frequencies[2] > 0.9 and frequencies[5] > 0.9
    assert (np.asarray(resamples.status) == sgep.Status.OPTIMAL).all()
    assert len(np.unique(np.asarray(resamples.objective))) > 15  # each sample is another


def test_the_pencil_is_that_of_the_rows_drawn():
    """Each solution is the best pair of its own resample, which `make_problem` reveals."""
    X = table(0.5)
    numbered = np.hstack([X, np.arange(ROWS, dtype=float)[:, None]])
    seen = []

    def make(Z):
        jax.debug.callback(lambda rows: seen.append(np.asarray(rows)), Z[:, N])
        return sgep.pca_problem(Z[:, :N])

    batch = sgep.bootstrap(make, numbered, 2, NUMBER, key=jax.random.key(2))
    jax.effects_barrier()
    rows = {tuple(r.astype(int)) for r in seen if r.ndim == 1}
    expected = sorted(-best_pair(X[list(r)])[1] for r in rows)
    assert len(expected) == NUMBER
    np.testing.assert_allclose(np.sort(batch.objective), expected, rtol=1e-9)


def test_strata_keep_the_labels():
    rng = np.random.default_rng(3)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, ROWS)]
    codes = np.unique(y, return_inverse=True)[1].astype(float)

    def make(Z):  # the label is a column: it must stay what it was
        same = jnp.all(Z[:, 0] == jnp.asarray(codes))
        return sgep.Problem(jnp.diag(jnp.where(same, -1.0, 1.0) * jnp.arange(1.0, N + 1)))

    batch = sgep.bootstrap(make, codes[:, None], 2, NUMBER, strata=y)
    np.testing.assert_allclose(batch.objective, -N)


def test_p_values():
    """Planted structure is significant; on noise p is spread as its definition says."""
    test = sgep.permutation_test(
        sgep.pca_problem, table(2.0), 2, NUMBER, permute=sgep.permute_columns, key=jax.random.key(4)
    )
    assert test.p_value == 1 / 20
    assert (
        test.permuted.shape == (NUMBER,) and (test.permuted > float(test.solution.objective)).all()
    )
    noise = [
        sgep.permutation_test(
            sgep.pca_problem, table(0.0, seed), 2, NUMBER, permute=sgep.permute_columns
        ).p_value
        for seed in range(10)
    ]
    assert np.sum(np.array(noise) == 1 / 20) <= 2 and 0.2 < np.mean(noise) < 0.8


def test_permutations_for_two_views_and_for_labels():
    X = table(0.0)
    y = np.arange(ROWS) % 2
    apart = X + 1.5 * y[:, None] * (np.arange(N) == 3)[None, :]
    test = sgep.permutation_test(
        lambda X: sgep.fda_problem(X, y), apart, 2, NUMBER, permute=sgep.permute_rows
    )
    assert test.p_value == 1 / 20 and 3 in test.solution.support

    X, Y = X[:, :5], table(0.0, 1)[:, :3]  # eight variables in all
    Y[:, 1] += 2 * X[:, 4]
    test = sgep.permutation_test(
        sgep.cca_problem, (X, Y), 2, NUMBER,
        permute=lambda key, views: (views[0], sgep.permute_rows(key, views[1])),
    )  # fmt: skip
    assert test.p_value == 1 / 20 and list(test.solution.support) == [4, 6]


def test_permutations_without_an_answer_prove_nothing():
    test = sgep.permutation_test(
        sgep.pca_problem, table(2.0), 2, NUMBER, permute=lambda key, X: jnp.nan * X
    )
    assert test.p_value == 1 and (test.permuted == np.inf).all()


def test_permutations_keep_what_they_should():
    X = jnp.asarray(table(1.0))
    mixed = sgep.permute_columns(jax.random.key(0), X)
    assert np.array_equal(np.sort(mixed, axis=0), np.sort(X, axis=0))
    rows = sgep.permute_rows(jax.random.key(0), X)
    assert {tuple(r) for r in np.asarray(rows).tolist()} == {
        tuple(r) for r in np.asarray(X).tolist()
    }
    assert not np.array_equal(rows, X) and not np.array_equal(mixed, X)


def test_bad_arguments():
    with pytest.raises(ValueError, match="the same samples, a row each"):
        sgep.bootstrap(sgep.cca_problem, (np.ones((5, 2)), np.ones((4, 2))), 1, 3)
    with pytest.raises(ValueError, match=r"one label per row, \(60,\)"):
        sgep.bootstrap(sgep.pca_problem, table(0.0), 1, 3, strata=[1, 2])
    with pytest.raises(ValueError, match=r"bootstrap\(num_resamples=...\) must be at least 1"):
        sgep.bootstrap(sgep.pca_problem, table(0.0), 1, 0)
    missing = table(0.0)
    missing[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"data must be finite, but data\[3, 1\] is nan"):
        sgep.bootstrap(sgep.pca_problem, missing, 1, 3)
    nothing = sgep.Solution(*[np.full((2, 3), np.inf)] * 8)
    with pytest.raises(ValueError, match="at least one answer"):
        sgep.selection_frequencies(nothing)
