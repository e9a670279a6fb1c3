"""A path over sparsities: one program, monotone, and as good as separate solves."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import brute_force, lowest

import sgep_jax as sgep
from sgep_jax import padding
from sgep_jax.matrices import Dense
from sgep_jax.path import _path

PITPROPS = [
    1, 1.954, 2.4753313532, 2.9374789467, 3.4061549468, 3.7709595523, 3.9961896449,
    4.0686073272, 4.1386469071, 4.1726376616, 4.2082759543, 4.2182451865, 4.2186328533,
]  # fmt: skip
METHOD = sgep.Multistart(lanes=8, patience=32)


def test_padded_matrix_is_the_explicit_one():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((5, 5))
    M = M + M.T
    explicit = np.diag([0.0] * 5 + [7.0] * 3)
    explicit[:5, :5] = M
    indices, x = np.array([6, 0, 7, 3, 4]), rng.standard_normal(8)
    rows = indices[1:4]

    @jax.jit
    def answers(padded, indices, rows, x):
        return (
            padded.diagonal(), padded.columns(indices), padded.block(indices),
            padded.block(rows, indices), padded.combination(indices, x[:5]), padded.matvec(x),
        )  # fmt: skip

    padded = padding.Padded(Dense(jnp.asarray(M)), jnp.asarray(7.0), 3)
    diagonal, columns, block, part, combined, image = answers(padded, indices, rows, x)
    np.testing.assert_array_equal(diagonal, np.diagonal(explicit))
    np.testing.assert_array_equal(columns, explicit[:, indices])
    np.testing.assert_array_equal(block, explicit[np.ix_(indices, indices)])
    np.testing.assert_array_equal(part, explicit[np.ix_(rows, indices)])
    np.testing.assert_allclose(combined, explicit[:, indices] @ x[:5], rtol=1e-14)
    np.testing.assert_allclose(image, explicit @ x, rtol=1e-14)


def test_every_sparsity_of_pit_props():
    correlation, _ = sgep.datasets.pitprops()
    before = _path._cache_size()
    path = sgep.solve_path(sgep.Problem(-correlation), range(1, 14), method=METHOD).check()
    np.testing.assert_allclose(-path.objective, PITPROPS, rtol=1e-9)
    for s, x, support in zip(range(1, 14), path.x, path.support, strict=True):
        assert np.count_nonzero(x) <= s
        assert set(np.flatnonzero(x)) <= set(np.asarray(support[:s]).tolist())
        np.testing.assert_array_equal(support[s:], 13)
    assert _path._cache_size() == before + 1


def pencils(number, n=14, seed=1):
    A, B = np.random.default_rng(seed).standard_normal((2, number, n, n))
    return A + A.swapaxes(1, 2), B @ B.swapaxes(1, 2) / n + 0.1 * np.eye(n)


def test_batch_in_any_order_equals_brute_force():
    As, Cs = pencils(3)
    As[1, 0, 0] = np.nan  # one bad lane
    problems = jax.vmap(sgep.Problem)(jnp.asarray(As), jnp.asarray(Cs))
    path = jax.vmap(lambda problem: sgep.solve_path(problem, (4, 1, 3), method=METHOD))(problems)
    assert path.x.shape == (3, 3, 14) and path.support.shape == (3, 3, 4)
    assert (np.asarray(path.status[1]) == sgep.Status.NOT_FINITE).all()
    for lane in (0, 2):
        for place, s in enumerate((4, 1, 3)):
            truth, _ = brute_force(As[lane], Cs[lane], s)
            np.testing.assert_allclose(path.objective[lane, place], truth, rtol=1e-9)


def test_a_target_leaves_the_path_monotone():
    """Each sparsity's own search may end at it; what the one before found still counts."""
    draws = np.random.default_rng(0).standard_normal((20, 24, 24))
    problems = jax.vmap(sgep.Problem)(-jnp.asarray(draws + draws.transpose(0, 2, 1)) / 2)
    sparsities = range(3, 9)

    def objectives(problem, key, target):
        method = sgep.Multistart(lanes=4, patience=64, max_steps=400, target=target)
        return sgep.solve_path(problem, sparsities, method=method, key=key).objective

    keys = jax.random.split(jax.random.key(0), 20)
    whole = jax.vmap(lambda problem, key: objectives(problem, key, -jnp.inf))(problems, keys)
    early = jax.vmap(objectives)(problems, keys, jnp.median(whole, axis=1))
    for path in (whole, early):
        assert (np.diff(path, axis=1) <= 1e-9).all()
    assert (early >= whole - 1e-7).all() and (early > whole + 1e-3).any()
    assert (early[:, -1] <= jnp.median(whole, axis=1) + 1e-6).all()


def test_forced_and_forbidden():
    A, C = (part[0] for part in pencils(1, seed=2))
    path = sgep.solve_path(sgep.Problem(A, C), (2, 4), forced=[5], forbidden=[1, 2], method=METHOD)
    for s, support in zip((2, 4), np.asarray(path.support), strict=True):
        assert 5 in support[:s] and not {1, 2} & set(support.tolist())
    allowed = np.delete(np.arange(14), [1, 2, 5])
    for place, s in enumerate((2, 4)):
        supports = [[5, *rest] for rest in itertools.combinations(allowed, s - 1)]
        truth = min(lowest(A[np.ix_(S, S)], C[np.ix_(S, S)]) for S in supports)
        np.testing.assert_allclose(path.objective[place], truth, rtol=1e-9)


def test_gradient():
    correlation, _ = sgep.datasets.pitprops()
    A = jnp.asarray(-correlation)

    def total(A):
        return jnp.sum(sgep.solve_path(sgep.Problem(A), range(1, 14), method=METHOD).objective)

    x = sgep.solve_path(sgep.Problem(A), range(1, 14), method=METHOD).x
    np.testing.assert_allclose(jax.grad(total)(A), x.T @ x, atol=1e-8)


@pytest.mark.parametrize(
    ("sparsities", "options", "message"),
    [
        ([], {}, "must not be empty"),
        ([3, 0], {}, "between 1 and n"),
        ([1, 3], {"forced": [0, 1]}, "names 2"),
        ([2], {"method": sgep.TruncatedPower()}, "exchanges variables"),
    ],
)
def test_wrong_arguments(sparsities, options, message):
    A, C = (part[0] for part in pencils(1))
    with pytest.raises(ValueError, match=message):
        sgep.solve_path(sgep.Problem(A, C), sparsities, **options)
