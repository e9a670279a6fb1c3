"""Components by deflation: formulas, dense eigenvectors, brute force, transformations, errors."""

import dataclasses
import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from helpers import TOLERANCE, brute_force, definite, quotient, symmetric

import sgep_jax as sgep
from sgep_jax import Problem, Status, solve_components
from sgep_jax.deflation import DEFLATIONS, SymmetricUpdate, deflated
from sgep_jax.matrices import Dense

N, SPLIT, FACTOR = 8, 3, np.array([1.0, -2.0, 0.5, 3.0, 0.0, 1.0, 0.3, -1.0])
RNG = np.random.default_rng(3)
X = RNG.standard_normal((60, N)) @ RNG.standard_normal((N, N))
LABELS = np.arange(60) % 4
EXHAUSTIVE = sgep.Exhaustive()
PENCILS = {
    "pca": sgep.pca_problem(X),
    "fda": sgep.fda_problem(X + 0.5 * LABELS[:, None] * FACTOR + (LABELS == 2)[:, None], LABELS),
    "cca": sgep.cca_problem(X[:, :SPLIT], X[:, SPLIT:]),
    "indefinite": Problem(symmetric(RNG, N), definite(RNG, N)),
}


@jax.jit
def columns(problem):
    every = jnp.arange(problem.size, dtype=jnp.int32)
    return problem.A.columns(every), problem.C.columns(every)


def arrays(problem):
    return tuple(map(np.asarray, columns(problem)))


def one_at_a_time(A, C, x, deflation):
    """Mackey's steps for one vector, by NumPy."""
    x = x / np.sqrt(x @ C @ x)
    if deflation == "projection":
        P = np.eye(len(x)) - np.outer(x, C @ x)
        return P.T @ A @ P
    if deflation == "schur":
        return A - np.outer(A @ x, A @ x) / (x @ A @ x)
    return A - (x @ A @ x) * np.outer(C @ x, C @ x)


def orthogonalised(A, C, vectors, deflation):
    """The same for several, each made C-orthogonal to those before it (Schur needs none)."""
    basis = []
    for x in vectors:
        q = x - sum((np.outer(q, q) @ C @ x for q in basis), np.zeros(len(x)))
        basis.append(q / np.sqrt(q @ C @ q))
        A = one_at_a_time(A, C, x if deflation == "schur" else q, deflation)
    return A, np.array(basis).T


@partial(jax.tree_util.register_dataclass, data_fields=["matrix"], meta_fields=[])
@dataclasses.dataclass(frozen=True)
class Hidden:
    """A dense matrix that is not recognised as one."""

    matrix: Dense

    def __getattr__(self, name):
        return getattr(self.matrix, name)


def hidden(A):
    return Hidden(Dense(jnp.asarray(A)))


@jax.jit
def answers(lazy, indices, x):
    return (
        lazy.diagonal(), lazy.columns(indices), lazy.block(indices),
        lazy.block(indices[:2], indices), lazy.combination(indices, x[:3]), lazy.matvec(x),
    )  # fmt: skip


@pytest.mark.parametrize("deflation", DEFLATIONS)
@pytest.mark.parametrize("kind", ["pca", "indefinite"])
def test_formulas(kind, deflation):
    A, C = arrays(PENCILS[kind])
    vectors = RNG.standard_normal((3, N)) * (RNG.uniform(size=(3, N)) < 0.6)
    expected, Q = orthogonalised(A, C, vectors, deflation)
    padded = jnp.asarray(np.hstack([Q, np.zeros((N, 2))]))
    found = deflated(PENCILS[kind], padded, 0.0, deflation)
    np.testing.assert_allclose(found.A.array, expected, atol=1e-9 * np.abs(expected).max())
    if deflation != "hotelling":
        assert np.abs(expected @ Q).max() < 1e-9 * np.abs(expected).max()

    lazy = deflated(Problem(hidden(A), C), padded, 0.0, deflation).A
    assert isinstance(lazy, SymmetricUpdate)
    assert lazy.shape == (N, N)
    indices, x = np.array([5, 0, 6]), RNG.standard_normal(N)
    close = partial(np.testing.assert_allclose, atol=1e-9 * np.abs(expected).max())
    diagonal, columns, block, part, combined, image = answers(lazy, indices, x)
    close(diagonal, np.diagonal(expected))
    close(columns, expected[:, indices])
    close(block, expected[np.ix_(indices, indices)])
    close(part, expected[np.ix_(indices[:2], indices)])
    close(combined, expected[:, indices] @ x[:3])
    close(image, expected @ x)


@pytest.mark.parametrize("deflation", DEFLATIONS)
def test_a_ceiling_is_a_shift(deflation):
    """Deflating A with the ceiling μ is deflating A − μC, and adding μC."""
    A, C = arrays(PENCILS["indefinite"])
    _, Q = orthogonalised(A, C, RNG.standard_normal((2, N)), deflation)
    found = deflated(PENCILS["indefinite"], jnp.asarray(Q), 7.0, deflation).A.array
    expected = deflated(Problem(A - 7 * C, C), jnp.asarray(Q), 0.0, deflation).A.array + 7 * C
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("deflation", DEFLATIONS)
@pytest.mark.parametrize(("kind", "count"), [("pca", 8), ("fda", 3), ("cca", 3)])
def test_all_variables_give_the_eigenvectors(kind, count, deflation):
    problem = PENCILS[kind]
    values, vectors = scipy.linalg.eigh(*arrays(problem))
    if kind != "pca":  # what remains is zero, or positive
        assert values[count] > -1e-9
    for split in (None, SPLIT) if kind == "cca" else (None,):
        found = solve_components(
            problem, N, count, deflation=deflation, split=split, method=EXHAUSTIVE
        ).check()
        np.testing.assert_allclose(found.value, values[:count], rtol=1e-8)
        np.testing.assert_allclose(found.objective, values[:count], rtol=1e-8)
        cosines = found.x @ arrays(problem)[1] @ vectors[:, :count]
        np.testing.assert_allclose(np.abs(cosines), np.eye(count), atol=1e-6)


@pytest.mark.parametrize("deflation", DEFLATIONS)
def test_nothing_is_left(deflation):
    """Four classes have three discriminant directions."""
    options = {"deflation": deflation, "method": EXHAUSTIVE}
    found = solve_components(PENCILS["fda"], N, 5, **options)
    assert [Status(int(code)) == Status.NOTHING_LEFT for code in found.status] == [0, 0, 0, 1, 1]
    with pytest.raises(sgep.SolveError, match=r"NOTHING_LEFT \(component 3, and 1 more\).*fewer"):
        found.check()
    assert "x4: NOTHING_LEFT" in str(found)


@pytest.mark.parametrize("deflation", DEFLATIONS)
def test_positive_values_need_a_ceiling(deflation):
    A, C = -arrays(PENCILS["pca"])[0], np.eye(N)
    values = np.linalg.eigvalsh(A)
    options = {"deflation": deflation, "method": EXHAUSTIVE}
    assert Status.NOTHING_LEFT in solve_components(Problem(A, C), N, 4, **options).status
    found = solve_components(Problem(A, C), N, 4, ceiling=2 * values[-1], **options).check()
    np.testing.assert_allclose(found.value, values[:4], rtol=1e-8)


@pytest.mark.parametrize("deflation", DEFLATIONS)
def test_pit_props_by_brute_force(deflation, dtype):
    correlation, names = sgep.datasets.pitprops()
    A, C, s, tolerance = -correlation, np.eye(13), 5, TOLERANCE[dtype]
    problem = Problem(jnp.asarray(A, dtype))
    found = solve_components(problem, s, 3, deflation=deflation).check()
    assert found.x.dtype == dtype
    assert np.all(np.asarray(found.status) == Status.OPTIMAL)
    first = sgep.solve(problem, s)
    np.testing.assert_array_equal(found.x[0], first.x)
    x = np.asarray(found.x, float)
    for k in range(3):
        explicit, _ = orthogonalised(A, C, x[:k], deflation)
        value, support = brute_force(explicit, C, s)
        assert float(found.objective[k]) == pytest.approx(value, rel=tolerance)
        assert tuple(found.support[k].tolist()) == support
        assert np.flatnonzero(x[k]).tolist() == list(support)
        assert quotient(explicit, C, x[k]) == pytest.approx(value, rel=tolerance)
        assert quotient(A, C, x[k]) == pytest.approx(float(found.value[k]), rel=tolerance)
    text = found.table(names)
    assert len(text.splitlines()) == 3 + len(set(np.asarray(found.support).ravel()))
    assert f"{x[0, 0]:.4f}" in next(line for line in text.splitlines() if "topdiam" in line)


@pytest.mark.parametrize("deflation", DEFLATIONS)
def test_known_truth_is_recovered(deflation):
    X, truth = sgep.datasets.spiked(jax.random.key(4), 400, 13, 5, jnp.array([8.0, 4.0]), 2)
    found = solve_components(sgep.pca_problem(X), 5, 2, deflation=deflation).check()
    np.testing.assert_array_equal(found.x != 0, truth != 0)
    np.testing.assert_allclose(np.abs(np.sum(found.x * truth, axis=1)), 1, atol=0.02)


def test_views_are_deflated_apart():
    """With `split`, later pairs are uncorrelated with both halves of the earlier ones' basis."""
    problem = PENCILS["cca"]
    A, C = arrays(problem)
    options = {"method": EXHAUSTIVE}
    found = solve_components(problem, 5, 2, split=SPLIT, **options).check()
    x = np.asarray(found.x)
    first = np.arange(N) < SPLIT
    halves = np.array([np.where(first, x[0], 0), np.where(first, 0, x[0])])
    explicit, _ = orthogonalised(A, C, halves, "projection")
    value, support = brute_force(explicit, C, 5)
    assert float(found.objective[1]) == pytest.approx(value, rel=1e-9)
    assert tuple(found.support[1].tolist()) == support
    # Hotelling's takes ρ(u, 0)(0, v)' and its mirror out of the covariances across the views.
    found = solve_components(problem, 5, 2, split=SPLIT, deflation="hotelling", **options).check()
    q = halves / np.sqrt(np.einsum("ij,jk,ik->i", halves, C, halves))[:, None]
    pair = (q[0] @ A @ q[1]) * np.outer(C @ q[0], C @ q[1])
    value, _ = brute_force(A - pair - pair.T, C, 5)
    assert float(found.objective[1]) == pytest.approx(value, rel=1e-9)


def test_sparsities_that_differ():
    found = solve_components(PENCILS["pca"], (N, 5), method=EXHAUSTIVE)
    assert found.support.shape == (2, N)
    assert found.support[1, 5:].tolist() == [N] * 3
    assert np.count_nonzero(found.x, axis=1).tolist() == [N, 5]
    assert str(found).splitlines()[0].split() == ["x1", "x2"]


def test_non_negative():
    method = sgep.Decomposition(random=3, swap=0, subproblem="coordinate", lower=0.0, window=30)
    found = solve_components(PENCILS["pca"], 3, 2, method=method).check()
    assert np.all(np.asarray(found.x) >= 0)
    explicit, _ = orthogonalised(*arrays(PENCILS["pca"]), np.asarray(found.x[:1]), "projection")
    best = 0.0
    for support in itertools.combinations(range(N), 3):  # every face of the orthant
        for size in (1, 2, 3):
            for face in itertools.combinations(support, size):
                values, vectors = np.linalg.eigh(explicit[np.ix_(face, face)])
                if np.all(vectors[:, 0] >= 0) or np.all(vectors[:, 0] <= 0):
                    best = min(best, values[0])
    assert float(found.objective[1]) == pytest.approx(best, rel=1e-6)


def test_matrices_that_are_not_formed_agree():
    A, C = arrays(PENCILS["indefinite"])
    expected = solve_components(Problem(A, C), 5, 2, method=EXHAUSTIVE)
    found = solve_components(Problem(hidden(A), C), 5, 2, method=EXHAUSTIVE)
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-9)
    np.testing.assert_array_equal(found.support, expected.support)


def test_jit_vmap_and_gradient():
    A, direction = PENCILS["pca"].A.array, jnp.asarray(symmetric(RNG, N))

    def second(t):
        found = solve_components(Problem(A + t * direction), 5, 2, method=EXHAUSTIVE)
        return found.objective[1], found

    both = jax.jit(jax.vmap(jax.value_and_grad(second, has_aux=True)))
    (_, batch), slopes = both(jnp.array([0.0, 0.1]))
    assert str(batch) == "batch (2,) of 2 components"
    for lane, t in enumerate((0.0, 0.1)):
        expected = second(t)[1]
        np.testing.assert_allclose(batch.objective[lane], expected.objective, rtol=1e-9)
        np.testing.assert_array_equal(batch.support[lane], expected.support)
        difference = float(second(t + 1e-6)[0] - second(t - 1e-6)[0]) / 2e-6
        assert float(slopes[lane]) == pytest.approx(difference, rel=1e-5)


def test_one_compilation_for_all_components_and_solve():
    problem = PENCILS["pca"]
    sgep.solve(problem, 5, method=EXHAUSTIVE)
    program = sgep.components.solve.__globals__["_solve"]
    before = program._cache_size()
    solve_components(problem, 5, 3, method=EXHAUSTIVE)
    solve_components(problem, 5, 2, deflation="schur", ceiling=1.0, method=EXHAUSTIVE)
    assert program._cache_size() == before


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((3,), {}, "needs num_components"),
        (((3, 2), 3), {}, "one for each of the 3, but it has 2"),
        (((),), {}, "has 0 entries"),
        ((3, 9), {}, "at most n = 8"),
        ((3, 0), {}, "num_components.*at least 1"),
        ((3, 2), {"deflation": "gram"}, "must be one of 'projection'"),
        ((3, 2), {"split": 8}, "below n = 8"),
        (((3, 9),), {}, "between 1 and n = 8"),
    ],
)
def test_bad_arguments(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        solve_components(PENCILS["pca"], *arguments, **options)
