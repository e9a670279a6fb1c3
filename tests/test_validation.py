"""What bad input gets: on the host an error with the remedy, inside `jit` a status."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import brute_force, definite, quotient, symmetric

import sgep_jax as sgep

EYE = np.eye(3)
NAN = np.array([[1, 0, 0], [0, np.nan, 0], [0, 0, 1]])
SKEW = np.array([[1, 2, 0], [0, 1, 0], [0, 0, 1.0]])
SMALL = sgep.Decomposition(window=3)


@pytest.mark.parametrize(
    ("A", "C", "error", "message"),
    [
        (NAN, None, ValueError, r"A must be finite, but A\[1, 1\] is nan.*impute"),
        (EYE, NAN, ValueError, r"C must be finite, but C\[1, 1\] is nan.*impute"),
        (np.full((3, 3), np.inf), None, ValueError, r"A must be finite.*inf \(9 such entries\)"),
        (np.ones((2, 3)), None, ValueError, r"A must be square.*\(2, 3\).*X\.T @ X"),
        (np.ones(3), None, ValueError, r"A must be square.*\(3,\)"),
        (np.ones((0, 0)), None, ValueError, r"A must be square with at least one row"),
        (np.ones((2, 3, 3)), None, ValueError, r"one square matrix.*jax\.vmap\(Problem\)"),
        (EYE, np.eye(4), ValueError, r"same shape, but A is \(3, 3\) and C is \(4, 4\).*same var"),
        (SKEW, None, ValueError, r"A must be symmetric, but A\[0, 1\] = 2.*\(A \+ A\.T\) / 2"),
        (EYE, SKEW, ValueError, r"C must be symmetric.*\(C \+ C\.T\) / 2"),
        (EYE, np.diag([1, 1, -0.5]), ValueError, r"C must be positive.*-0\.5.*ridge > 0\.5"),
        (EYE, 1 - 2 * EYE, ValueError, r"C must be positive.*smallest eigenvalue is -2.*ridge"),
        (EYE, 1e-20 * np.diag([1, 1, -0.5]), ValueError, r"C must be positive.*ridge"),
        (EYE, 1e20 * np.diag([1, 1, -0.5]), ValueError, r"C must be positive.*ridge"),
        (EYE * 1j, None, TypeError, r"A must be real.*complex128.*A\.real"),
        (EYE, EYE * 1j, TypeError, r"C must be real.*C\.real"),
        (np.full((2, 2), "a"), None, TypeError, r"A must be numeric.*Convert"),
        (np.full((2, 2), None), None, TypeError, r"A must be numeric.*object.*Convert"),
    ],
)
def test_matrices(A, C, error, message):
    with pytest.raises(error, match=message):
        sgep.Problem(A, C)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"sparsity": 0}, ValueError, r"sparsity must be between 1 and n = 3.*but it is 0"),
        ({"sparsity": -2}, ValueError, r"sparsity must be between 1 and n = 3.*-2"),
        ({"sparsity": 4}, ValueError, r"sparsity must be between 1 and n = 3.*but it is 4"),
        ({"sparsity": 2.0}, TypeError, r"sparsity must be an integer.*2\.0"),
        ({"sparsity": "2"}, TypeError, r"sparsity must be an integer.*'2'"),
        ({"sparsity": True}, TypeError, r"sparsity must be an integer.*True"),
        ({"sparsity": None}, TypeError, r"sparsity must be an integer"),
        ({"start": np.ones(4)}, ValueError, r"start must have shape.*\(3,\).*\(4,\).*zeros"),
        ({"start": np.ones((1, 1, 3))}, ValueError, r"start must have shape"),
        ({"start": np.ones(3)}, ValueError, r"start must have at most.*2 nonzeros.*3.*largest"),
        ({"start": np.zeros(3)}, ValueError, r"start must not be zero.*Leave it out"),
        ({"start": [1, np.nan, 0]}, ValueError, r"start must be finite"),
        (
            {
                "start": [1, -1, 0],
                "method": sgep.Decomposition(subproblem="coordinate", lower=0.0),
            },
            ValueError,
            r"start must respect x >= 0.*-1",
        ),
        ({"num_starts": 0}, ValueError, r"num_starts=...\) must be at least 1, but it is 0"),
        ({"num_starts": 2.5}, TypeError, r"num_starts=...\) must be an integer"),
        ({"start": np.eye(3), "num_starts": 2}, ValueError, r"num_starts.*at least 3"),
        ({"method": sgep.SwapSearch}, TypeError, r"method must be a method such as SwapSearch\(\)"),
        ({"method": "swap"}, TypeError, r"method must be a method.*'swap'.*for the default"),
        ({"key": 0}, TypeError, r"key must be one key made by jax.random.key.*it is 0"),
        ({"key": np.zeros(2, np.uint32)}, TypeError, r"Wrap an old one with jax.random.wrap_key"),
    ],
)
def test_arguments_of_solve(arguments, error, message):
    problem = sgep.Problem(EYE)
    with pytest.raises(error, match=message):
        sgep.solve(problem, **{"sparsity": 2, **arguments})


def test_problem_of_solve():
    with pytest.raises(TypeError, match=r"problem must be a Problem.*Problem\(A, C\)"):
        sgep.solve(EYE, 2)
    batch = jax.vmap(sgep.Problem)(np.array([EYE, EYE]))
    with pytest.raises(ValueError, match=r"problem must be one pencil.*\(2, 3, 3\).*solve_batch"):
        sgep.solve(batch, 2)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"swap": 3}, ValueError, r"swap=...\) must be even.*3.*Use 4"),
        ({"swap": -2}, ValueError, r"swap=...\) must be at least 0.*-2"),
        ({"random": 1.5}, TypeError, r"random=...\) must be an integer.*1\.5"),
        ({"random": 0, "swap": 0}, ValueError, r"random \+ swap must be between 2 and 24.*is 0"),
        ({"random": 20, "swap": 6}, ValueError, r"random \+ swap must be between 2 and 24.*is 26"),
        (
            {"subproblem": "newton"},
            ValueError,
            r"subproblem=...\) must be one of 'inertia', 'bis",
        ),
        ({"rest": "loose"}, ValueError, r"rest=...\) must be one of 'frozen', 'free'"),
        ({"scores": "all"}, ValueError, r"scores=...\) must be one of 'paper', 'corrective'"),
        ({"rest": "free"}, ValueError, "needs subproblem='inertia'"),
        ({"scores": "corrective"}, ValueError, "needs rest='free'"),
        ({"subproblem": "inertia", "draw": "uniform"}, ValueError, "needs draw='stratified'"),
        ({"draw": "all"}, ValueError, r"draw=...\) must be one of 'stratified', 'uniform'.*'all'"),
        ({"order": "best"}, ValueError, r"order=...\) must be one of 'cyclic'"),
        ({"lower": 1.0}, ValueError, r"lower=...\) must be 0 or -inf, but it is 1"),
        ({"lower": 0.0}, ValueError, r"lower=0\) needs subproblem='coordinate'"),
        ({"theta": -1.0}, ValueError, r"theta=...\) must not be negative or NaN.*-1"),
        ({"tolerance": np.nan}, ValueError, r"tolerance=...\) must not be negative or NaN"),
        ({"window": 0}, ValueError, r"window=...\) must be at least 1"),
        ({"max_steps": 0}, ValueError, r"max_steps=...\) must be at least 1"),
        ({"chunk": 0}, ValueError, r"chunk=...\) must be at least 1"),
    ],
)
def test_arguments_of_decomposition(arguments, error, message):
    with pytest.raises(error, match=message):
        sgep.Decomposition(**arguments)


@pytest.mark.parametrize("field", ["confirmations", "patience", "max_starts", "lanes", "max_steps"])
def test_numbers_of_multistart(field):
    with pytest.raises(ValueError, match=rf"Multistart\({field}=...\) must be at least 1.*0"):
        sgep.Multistart(**{field: 0})


@pytest.mark.parametrize("target", [np.nan, np.inf])
def test_target_of_multistart(target):
    with pytest.raises(ValueError, match=rf"Multistart\(target=...\) must be below .*{target}"):
        sgep.Multistart(target=target)
    with pytest.raises(ValueError, match=rf"must be below infinity, but it is {target}"):
        sgep.solve(sgep.Problem(EYE), 1, method=sgep.Multistart(target=jnp.asarray(target)))


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        (None, TypeError, r"must be a number, but it is None"),
        (True, TypeError, r"must be a number, but it is True"),
        ("-1", TypeError, r"must be a number, but it is '-1'"),
        (np.zeros(3), ValueError, r"must be one number, but its shape is \(3,\).*vmap"),
    ],
)
def test_targets_that_are_no_number(target, error, message):
    with pytest.raises(error, match=rf"Multistart\(target=...\) {message}"):
        sgep.solve(sgep.Problem(EYE), 1, method=sgep.Multistart(target=target))


def test_exhaustive_refuses_too_many_supports():
    with pytest.raises(ValueError, match=r"Exhaustive.*n = 60.*sparsity = 30.*Use Decomposition"):
        sgep.solve(sgep.Problem(np.eye(60)), 30, method=sgep.Exhaustive())


def test_arguments_of_block_optimality():
    problem = sgep.Problem(EYE)
    with pytest.raises(ValueError, match=r"x must have shape \(3,\), but its shape is \(4,\)"):
        sgep.block_optimality(problem, np.ones(4), 2)
    with pytest.raises(ValueError, match=r"k must be at most 3, but it is 4"):
        sgep.block_optimality(problem, [1.0, 0, 0], 4)
    with pytest.raises(ValueError, match=r"at most sparsity = 1 nonzeros"):
        sgep.block_optimality(problem, [1.0, 1.0, 0], 2, sparsity=1)


def test_forgiven_input():
    """Rounding-level asymmetry, integers, lists, half precision, mixed dtypes; nothing mutated."""
    X = np.random.default_rng(0).standard_normal((50, 30))
    R = np.corrcoef(X, rowvar=False)
    R[0, 1] = np.nextafter(R[0, 1], 2)
    before = R.copy()
    A = np.asarray(sgep.Problem(R, R).A.array)
    assert np.array_equal(A, A.T) and np.array_equal(R, before)
    assert sgep.Problem([[2, 1], [1, 2]]).dtype == jnp.result_type(float)
    assert sgep.Problem(np.eye(2, dtype=bool)).dtype == jnp.result_type(float)
    assert sgep.Problem(np.eye(2, dtype=np.float16)).dtype == jnp.float32
    mixed = sgep.Problem(np.eye(2, dtype=np.float32), np.eye(2))
    assert mixed.A.dtype == mixed.C.dtype == jnp.float64


def test_solve_takes_lists_and_integers():
    solution = sgep.solve(
        sgep.Problem([[2, 1, 0], [1, -3, 0], [0, 0, 1]]), np.int64(1), start=[1, 0, 0]
    )
    assert solution.check().objective == -3 and solution.support.tolist() == [1]
    assert solution.x.tolist() == [0, 1, 0]


N, S = 6, 3


def lanes():
    """Good and bad pencils of one shape, with the status each must get."""
    rng = np.random.default_rng(0)
    A, C = symmetric(rng, N), definite(rng, N)
    nan, infinite, indefinite = A.copy(), C.copy(), C.copy()
    nan[1, 2] = nan[2, 1] = np.nan
    infinite[3, 3] = np.inf
    indefinite[:] = -C
    X = rng.standard_normal((2, N))  # rank 2: no three independent columns
    missing = C.copy()
    missing[0, 1] = missing[1, 0] = np.nan
    ok, lost = sgep.Status.CONVERGED, sgep.Status.NO_DEFINITE_SUPPORT
    return [
        (A, C, ok),
        (nan, C, sgep.Status.NOT_FINITE),
        (A, infinite, sgep.Status.NOT_FINITE),
        (A, missing, sgep.Status.NOT_FINITE),
        (A, indefinite, lost),
        (A, np.zeros((N, N)), lost),
        (A, X.T @ X, lost),
        (symmetric(rng, N), C, ok),
    ]


@pytest.fixture(scope="module")
def solve_lanes():
    def one(A, C):
        return sgep.solve(sgep.Problem(A, C), S, method=SMALL)

    return jax.jit(jax.vmap(one))


def test_statuses_under_jit(solve_lanes):
    As, Cs, expected = (list(column) for column in zip(*lanes(), strict=True))
    solutions = solve_lanes(np.array(As), np.array(Cs))
    assert [sgep.Status(int(code)) for code in solutions.status] == expected
    failed = np.array([not status.usable for status in expected])
    assert np.all(np.asarray(solutions.objective)[failed] == np.inf)
    assert np.all(np.asarray(solutions.x)[failed] == 0)
    assert np.all(np.isfinite(np.asarray(solutions.objective)[~failed]))
    with pytest.raises(sgep.SolveError, match=r"NOT_FINITE \(problem 1, and 5 more\).*impute"):
        solutions.check()
    assert "2 CONVERGED, 3 NOT_FINITE, 3 NO_DEFINITE_SUPPORT" in str(solutions)


def test_a_bad_lane_leaves_its_neighbours_alone(solve_lanes):
    As, Cs, expected = (list(column) for column in zip(*lanes(), strict=True))
    mixed = solve_lanes(np.array(As), np.array(Cs))
    good = [i for i, status in enumerate(expected) if status.usable]
    healthy = [good[0] if i not in good else i for i in range(len(As))]
    clean = solve_lanes(np.array(As)[healthy], np.array(Cs)[healthy])
    for i in good:
        for a, b in zip(jax.tree.leaves(mixed), jax.tree.leaves(clean), strict=True):
            assert np.array_equal(np.asarray(a)[i], np.asarray(b)[i])


def test_singular_but_usable(solve_lanes):
    """Fewer samples than variables, duplicated and constant variables: definite supports only."""
    rng = np.random.default_rng(1)
    As, Cs = [], []
    for i in range(8):
        X = rng.standard_normal((4, N))
        if i % 2:
            X = rng.standard_normal((20, N))
            X[:, 1], X[:, 4] = X[:, 0], 0
            X[:, 2] = -3 * X[:, 0]
        As.append(symmetric(rng, N)), Cs.append(X.T @ X / len(X))
    solutions = solve_lanes(np.array(As), np.array(Cs))
    for A, C, value, x in zip(As, Cs, solutions.objective, np.asarray(solutions.x), strict=True):
        sgep.Problem(A, C)  # accepted on the host too
        best, _ = brute_force(A, C, S)
        assert float(value) == pytest.approx(best, rel=1e-9)
        assert quotient(A, C, x) == pytest.approx(best, rel=1e-9)
    solutions.check()


def test_a_start_on_dependent_columns(solve_lanes):
    rng = np.random.default_rng(2)
    A, X = symmetric(rng, N), rng.standard_normal((20, N))
    X[:, 1], X[:, 2] = X[:, 0], 0
    C = X.T @ X / 20
    start = np.array([1.0, -1.0, 5.0, 0, 0, 0])  # x'Cx = 0, a copy and a constant
    solution = sgep.solve(sgep.Problem(A, C), S, method=SMALL, start=start).check()
    history = np.asarray(solution.history)
    assert np.all(np.diff(history) <= 1e-12)
    assert float(solution.objective) == pytest.approx(brute_force(A, C, S)[0], rel=1e-9)


def test_check_and_words():
    problem = sgep.Problem(-sgep.datasets.pitprops().correlation)
    method = sgep.Decomposition(max_steps=1)
    stopped = sgep.solve(problem, 4, method=method)
    with pytest.raises(sgep.SolveError, match=r"^STEP_LIMIT: The step limit.*Raise max_steps"):
        stopped.check()
    text = str(stopped)
    assert "4 of 13 variables, objective -2.93747894" in text
    assert "STEP_LIMIT" in text and "Remedy: Raise max_steps" in text and "1 steps" in text
    rows = [line for line in text.splitlines() if line.startswith("  variable")]
    assert len(rows) == 4
    sizes = [abs(float(row.split()[-1])) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert all(status.message for status in sgep.Status)
    assert all(status.remedy for status in sgep.Status if not status.usable and status > 0)
