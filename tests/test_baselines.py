"""Each baseline against its own definition."""

import dataclasses
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.linalg
from helpers import METHODS, ONLY_IDENTITY, PITPROPS, definite, problems, symmetric

import sgep_jax as sgep
from sgep_jax.baselines import quadratic_majorization as qmm
from sgep_jax.baselines.spectrum import largest_eigenvalue
from sgep_jax.matrices import Dense
from sgep_jax.solve import _solve

KNOWN_TO_FIND_SIX = (
    "truncated power", "greedy coordinate-wise", "rayleigh flow", "majorization log",
    "majorization l0",
)  # fmt: skip
N, SPARSITY, LANES = 9, 3, 64


@cache
def pencils(identity):
    rng = np.random.default_rng(1)
    As = np.stack([symmetric(rng, N) for _ in range(LANES)])
    Cs = None if identity else np.stack([definite(rng, N) for _ in range(LANES)])
    return As, Cs


@pytest.mark.parametrize("name", KNOWN_TO_FIND_SIX)
def test_pitprops(name):
    """They find the six variables that explain most; other settings do not recompile."""
    problem = sgep.Problem(-sgep.datasets.pitprops().correlation)
    solution = sgep.solve(problem, 6, method=METHODS[name]).check()
    assert abs(-float(solution.objective) - PITPROPS[5]) < 1e-9
    compiled = _solve._cache_size()
    for field, value in (("tolerance", 1e-3), ("step_size", 0.2), ("p", 0.3)):
        if hasattr(METHODS[name], field):
            method = dataclasses.replace(METHODS[name], **{field: value})
            sgep.solve(problem, 6, method=method).check()
    assert _solve._cache_size() == compiled


def check_monotone(solutions):
    """A is indefinite: the power method needs its shift for this."""
    assert (np.diff(np.asarray(solutions.history), axis=1) <= 1e-12).all()


def check_coordinate_wise(solutions):
    """No feasible point that differs in two coordinates is better: all of them, by SciPy."""
    As, Cs = pencils(False)
    for lane in range(LANES):
        A, C = As[lane], Cs[lane]
        x, support = np.asarray(solutions.x[lane]), np.asarray(solutions.support[lane])
        outside = np.setdiff1d(np.arange(N), support)
        pairs = [((i,), (j,)) for i in support for j in outside]
        pairs += [((i, j), (i, j)) for i in support for j in support if i < j]
        for dropped, added in pairs:
            rest = x.copy()
            rest[list(dropped)] = 0
            basis = np.column_stack([rest, np.eye(N)[:, list(added)]])
            value = scipy.linalg.eigh(basis.T @ A @ basis, basis.T @ C @ basis, eigvals_only=True)
            assert value[0] >= float(solutions.objective[lane]) - 1e-8


@pytest.mark.parametrize(
    "name, checks",
    [
        ("truncated power", [check_monotone]),
        ("greedy coordinate-wise", [check_monotone, check_coordinate_wise]),
        ("partial coordinate-wise", [check_monotone, check_coordinate_wise]),
        ("rayleigh flow", [check_monotone]),
        ("majorization log", []),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_batch(name, checks):
    """All 64 pencils at once equal the loop, and have what the method promises."""
    As, Cs = pencils(name in ONLY_IDENTITY)
    problems = jax.vmap(sgep.Problem)(As) if Cs is None else jax.vmap(sgep.Problem)(As, Cs)

    def solve(problem):
        return sgep.solve(problem, SPARSITY, method=METHODS[name])

    batch = jax.jit(jax.vmap(solve))(problems)
    for lane in range(LANES):  # compiled in test_every_method.py as well
        alone = solve(sgep.Problem(As[lane], None if Cs is None else Cs[lane]))
        assert alone.status == batch.status[lane]
        np.testing.assert_array_equal(batch.support[lane], alone.support)
        np.testing.assert_allclose(batch.objective[lane], alone.objective, rtol=1e-9)
    for check in checks:
        check(batch)


def test_truncated_power_follows_its_definition():
    """Ten steps by NumPy from the same point."""
    A = -sgep.datasets.pitprops().correlation
    x = np.zeros(13)
    x[[2, 3, 4, 5, 10, 11]] = 1 / np.sqrt(6)
    method = sgep.TruncatedPower(max_steps=10, tolerance=0.0)
    solution = sgep.solve(sgep.Problem(A), 6, method=method, start=x)
    expected = [x @ A @ x]
    for _ in range(10):
        y = -A @ x
        y[np.argsort(-np.abs(y))[6:]] = 0
        x = y / np.linalg.norm(y)
        expected.append(x @ A @ x)
    np.testing.assert_allclose(solution.history, expected, rtol=1e-12)
    assert set(np.flatnonzero(x)) == set(np.asarray(solution.support).tolist())


def test_rayleigh_flow_ends_at_a_fixed_point():
    """At its end on FDA data, another step changes nothing."""
    A, C = problems()["fda"]
    method = METHODS["rayleigh flow"]
    solution = sgep.solve(sgep.Problem(A, C), SPARSITY, method=method).check()
    x, f = np.asarray(solution.x), float(solution.objective)
    eta = method.step_size / np.linalg.eigvalsh(C)[-1]
    y = x - eta * (A @ x - f * (C @ x)) / abs(f)
    y[np.argsort(-np.abs(y))[SPARSITY:]] = 0
    cosine = x @ y / np.linalg.norm(x) / np.linalg.norm(y)
    assert cosine > 1 - 1e-8


MOMENTUM = optax.sgd(0.3, momentum=0.5)
SCHEDULED = optax.adam(optax.exponential_decay(0.05, 10, 0.8))


@pytest.mark.parametrize(
    "optimizer, dtype",
    [(MOMENTUM, "float64"), (SCHEDULED, "float32")],
    ids=["momentum", "scheduled adam"],
)
def test_rayleigh_flow_with_optax(optimizer, dtype):
    correlation = jnp.asarray(sgep.datasets.pitprops().correlation, dtype)
    method = sgep.TruncatedRayleighFlow(optimizer=optimizer)
    solution = sgep.solve(sgep.Problem(-correlation), 6, method=method).check()
    assert solution.x.dtype == dtype
    assert abs(-float(solution.objective) - PITPROPS[5]) < 1e-4


def test_a_diverging_step_is_told_and_stays_in_its_lane():
    problem = sgep.Problem(*problems()["indefinite"])

    def solve(step_size):
        method = sgep.TruncatedRayleighFlow(step_size=step_size)
        return sgep.solve(problem, SPARSITY, method=method)

    solutions = jax.vmap(solve)(jnp.array([0.5, jnp.inf, 1e3]))
    assert int(solutions.status[0]) == sgep.Status.CONVERGED
    assert (np.asarray(solutions.status[1:]) == sgep.Status.DIVERGED).all()
    assert np.isfinite(solutions.x).all() and np.isfinite(solutions.objective).all()
    with pytest.raises(sgep.SolveError, match="smaller step size"):
        solutions.check()


@pytest.mark.parametrize("name", ["exp", "log", "lp"])
def test_surrogates_are_majorised(name):
    """g(x) ≤ g(z) + w(z)(x² − z²), with equality at z, and w = g' / 2x."""
    x = np.concatenate([np.linspace(0, 0.1, 101), np.linspace(0.1, 1.5, 141)])
    p, epsilon = 0.2, 0.01

    @jax.jit
    def evaluate(x):
        slope = jax.vmap(jax.grad(lambda x: qmm.surrogate(name, x, p, epsilon)))(x)
        return qmm.surrogate(name, x, p, epsilon), qmm.weights(name, x, p, epsilon), slope

    g, w, slope = map(np.asarray, evaluate(x))
    bound = g[None, :] + w[None, :] * (x[:, None] ** 2 - x[None, :] ** 2)
    assert np.max(g[:, None] - bound) < 1e-12
    np.testing.assert_allclose(slope, 2 * w * x, atol=1e-9)
    assert abs(g[0]) < 0.7 and np.min(np.diff(g)) >= 0


def test_majorization_lowers_the_penalised_objective():
    A, C = problems()["indefinite"]
    problem = sgep.Problem(A, C)
    root, rho, epsilon = np.sqrt(np.diag(C)), 0.5, 1e-2
    iterate = qmm._iterate(problem, jnp.cos(jnp.arange(N, dtype=float)))

    @jax.jit
    def advance(iterate):
        w = qmm.weights("log", iterate.x * root, 0.1, epsilon)
        return qmm.descend(problem, iterate, rho * w * root**2, problem.scale())

    @jax.jit
    def penalised(iterate):
        return (
            iterate.x @ A @ iterate.x
            + rho * qmm.surrogate("log", iterate.x * root, 0.1, epsilon).sum()
        )

    values = [float(penalised(iterate))]
    for _ in range(40):
        iterate = advance(iterate)
        values.append(float(penalised(iterate)))
    assert (np.diff(values) <= 1e-10).all() and values[-1] < values[0]


def test_l0_follows_its_definition():
    """Each step maximises a'x − ρ‖x‖₀ on the sphere: by NumPy, over all cardinalities."""
    A, rho = -sgep.datasets.pitprops().correlation, 0.3
    problem = sgep.Problem(A)
    iterate = qmm._iterate(problem, jnp.cos(jnp.arange(13, dtype=float)))
    method = sgep.QuadraticMajorization("l0", iterations=5)
    state = qmm.QuadraticMajorizationState(None, None, iterate, None, jnp.zeros(()), None, None)
    size, nonzeros = method._closed_form(problem, state, jnp.asarray(rho))

    x = np.asarray(iterate.x)
    for _ in range(5):
        a = -2 * A @ x
        order = np.argsort(-np.abs(a))
        gains = [np.linalg.norm(a[order[:m]]) - rho * m for m in range(1, 14)]
        a[order[np.argmax(gains) + 1 :]] = 0
        x = a / np.linalg.norm(a)
    np.testing.assert_allclose(size, np.abs(x), atol=1e-12)
    assert int(nonzeros) == np.count_nonzero(x) < 13


def test_largest_eigenvalue():
    """Exact up to 30 rows; a lower bound with an honest residual beyond."""
    rng, largest = np.random.default_rng(2), jax.jit(largest_eigenvalue)
    for n in (1, 5, 80):
        A = symmetric(rng, n)
        value, residual = largest(Dense(jnp.asarray(A)))
        exact = np.linalg.eigvalsh(A)[-1]
        assert exact - float(residual) - 1e-9 <= float(value) <= exact + 1e-9
    value, _ = largest(Dense(jnp.eye(6)))  # invariant after one step
    assert abs(float(value) - 1) < 1e-12


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: sgep.TruncatedPower(warm_up=[8, 4]), TypeError, r"tuple of multiples .* \[8, 4\]"),
        (lambda: sgep.TruncatedPower(shift=-1.0), ValueError, "shift=...* not be negative.* -1.0"),
        (lambda: sgep.CoordinateWise("best"), ValueError, "'greedy', 'partial', but it is 'best'"),
        (lambda: sgep.TruncatedRayleighFlow(step_size=-1.0), ValueError, "must not be negative"),
        (lambda: sgep.TruncatedRayleighFlow(optimizer=0.1), TypeError, "optax.adam.* 0.1"),
        (lambda: sgep.QuadraticMajorization("l1"), ValueError, "'exp', 'log', 'lp', 'l0'.* 'l1'"),
        (lambda: sgep.QuadraticMajorization(p=0.0), ValueError, "above 0 and at most 1.* 0.0"),
        (lambda: sgep.QuadraticMajorization(max_steps=0), ValueError, "at least 1, but it is 0"),
    ],
)
def test_wrong_use(make, error, message):
    with pytest.raises(error, match=message):
        make()
