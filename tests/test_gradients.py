"""Derivatives through the solve: finite differences, transformations, ties and failed lanes."""

import dataclasses
import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import definite, symmetric
from jax.sharding import NamedSharding, PartitionSpec

import sgep_jax as sgep
from sgep_jax.polish import polish, polish_nonnegative
from sgep_jax.solution import Status

N, S, LANES = 8, 3, 54
EXHAUSTIVE = sgep.Exhaustive()
SWAPS = sgep.Decomposition(random=2, swap=2, window=5, max_steps=20)


class GreedyState(NamedTuple):
    point: sgep.supports.Point
    status: jax.Array


@jax.tree_util.register_static
@dataclasses.dataclass(frozen=True)
class Greedy:
    """No search: the greedy start, polished. The rule is the same, and it compiles in no time."""

    lower: float = -math.inf

    max_steps = 1

    def init(self, problem, point, key):
        return GreedyState(point, jnp.int32(Status.RUNNING))

    def step(self, problem, state, key):
        return GreedyState(state.point, jnp.int32(Status.CONVERGED))

    def finish(self, problem, point):
        return polish_nonnegative(problem, point) if self.lower == 0 else polish(problem, point)


def answer(A, C, method=None, s=S):
    solution = sgep.solve(sgep.Problem(A, C), s, method=Greedy() if method is None else method)
    return solution.objective, solution.x, solution.support


def objective(A, C):
    return answer(A, C)[0]


def scalar(A, C):
    return mixture(A, C)[0]


def mixture(A, C):
    """A scalar of value and vector, so that one gradient tests both; with value and support."""
    value, x, support = answer(A, C)
    mixed = value + jnp.vdot(jnp.cos(jnp.arange(len(x), dtype=x.dtype)), x)
    return mixed, (value, support)


@partial(jax.jit, static_argnames=("method", "s"))
def tangents(A, C, dA, dC, method, s=S):
    """The answers of a batch and their tangents: one program serves all finite differences."""

    def one(A, C, dA, dC):
        return jax.jvp(lambda A, C: answer(A, C, method, s), (A, C), (dA, dC))

    return jax.vmap(one)(A, C, dA, dC)


# Pencils: each family is a function of data (a pytree), differentiable with respect to it.


def plain(data):
    return data


def pca(X):
    X = X - jnp.mean(X, axis=0, keepdims=True)
    return -X.T @ X / len(X), jnp.eye(N, dtype=X.dtype)


def fda(X):
    first, second = X[::2] + 0.7, X[1::2]
    means = jnp.mean(first, axis=0), jnp.mean(second, axis=0)
    gap = means[0] - means[1]
    inside = [part - mean[None] for part, mean in zip((first, second), means, strict=True)]
    return -jnp.outer(gap, gap), sum(part.T @ part / len(part) for part in inside)


def cca(X):
    X = X - jnp.mean(X, axis=0, keepdims=True)
    covariance = X.T @ X / len(X) + 0.1 * jnp.eye(N, dtype=X.dtype)
    view = jnp.arange(N) < N // 2
    across = view[:, None] != view[None, :]
    return jnp.where(across, -covariance, 0.0), jnp.where(across, 0.0, covariance)


FAMILIES = {"plain": plain, "pca": pca, "fda": fda, "cca": cca}


def draw(family, rng):
    """A batch of data and of directions in which to move it."""
    if family == "plain":
        pencils = [(symmetric(rng, N), definite(rng, N)) for _ in range(LANES)]
        moves = [(symmetric(rng, N), symmetric(rng, N) / 4) for _ in range(LANES)]
        return tuple(jax.tree.map(lambda *leaves: np.stack(leaves), *x) for x in (pencils, moves))
    X = rng.standard_normal((2, LANES, 30, N))
    X[0] += 0.8 * rng.standard_normal((LANES, 30, 1))  # correlated
    return X[0], X[1]


def derivative(function, data, direction, size):
    """Central differences with one Richardson step; `size` (lanes,) is the step of each lane."""

    def along(t):
        def move(x, d):
            return x + (t * size).reshape(-1, *[1] * (x.ndim - 1)) * d

        return jax.device_get(function(jax.tree.map(move, data, direction)))

    def difference(t):
        pair = along(t), along(-t)
        return jax.tree.map(
            lambda a, b: (a - b) / (2 * t * size.reshape(-1, *[1] * (a.ndim - 1))), *pair
        )

    return jax.tree.map(lambda fine, rough: (4 * fine - rough) / 3, difference(0.5), difference(1))


def lowest_gaps(A, C, supports):
    """λ_2 − λ_1 on each support: what sets the scale of a step."""
    gaps = []
    for a, c, support in zip(np.asarray(A), np.asarray(C), np.asarray(supports), strict=True):
        rows = np.ix_(support, support)
        values = np.sort(np.linalg.eigvals(np.linalg.solve(c[rows], a[rows])).real)
        gaps.append(values[1] - values[0])
    return np.asarray(gaps)


def relative_error(found, expected):
    """Per lane."""
    found, expected = (np.asarray(v).reshape(len(v), -1) for v in (found, expected))
    return np.linalg.norm(found - expected, axis=1) / np.linalg.norm(expected, axis=1)


@pytest.mark.parametrize("family", FAMILIES)
def test_finite_differences(family):
    """Four families of 54 pencils each: at least 200 in all, at least 50 of each."""
    build = jax.jit(jax.vmap(FAMILIES[family]))
    data, direction = draw(family, np.random.default_rng(0))
    (A, C), (dA, dC) = jax.jvp(build, (data,), (direction,))
    (_, _, supports), (d_value, d_x, _) = tangents(A, C, dA, dC, EXHAUSTIVE)

    size = np.linalg.norm(dA, axis=(1, 2)) + np.linalg.norm(dC, axis=(1, 2))
    size = 2e-3 * np.minimum(lowest_gaps(A, C, supports), 0.3) / size
    same = np.ones(LANES, bool)

    def evaluate(data):
        nonlocal same
        A, C = build(data)
        value, x, moved = tangents(A, C, dA, dC, EXHAUSTIVE)[0]
        same &= np.all(np.asarray(moved == supports), axis=1)
        return value, x

    value, x = derivative(evaluate, data, direction, size)
    assert same.sum() >= 50
    assert relative_error(value, d_value)[same].max() < 1e-6
    assert relative_error(x, d_x)[same].max() < 1e-6


@jax.jit
@jax.vmap
def slopes(pencil, move):
    """Gradients, values and supports of a batch, and the derivative of all that along a move."""
    slope = jax.grad(lambda pencil: mixture(*pencil), has_aux=True)
    return jax.jvp(slope, (pencil,), (move,))


def test_second_derivatives():
    data, direction = draw("plain", np.random.default_rng(1))

    (_, (_, supports)), (expected, _) = slopes(data, direction)
    same = np.ones(LANES, bool)

    def evaluate(data):
        nonlocal same
        slope, (_, moved) = slopes(data, direction)[0]
        same &= np.all(np.asarray(moved == supports), axis=1)
        return slope

    size = 2e-4 * np.minimum(lowest_gaps(*data, supports), 0.3)
    found = derivative(evaluate, data, direction, size)
    assert same.sum() >= 50
    for slope, wanted in zip(found, expected, strict=True):
        assert relative_error(slope, wanted)[same].max() < 1e-4


gradients = jax.jit(jax.vmap(jax.grad(scalar, (0, 1))))  # shared: one program for six lanes
agree = partial(np.testing.assert_allclose, rtol=1e-10, atol=1e-12)


@pytest.fixture(scope="module")
def pencils():
    data, _ = draw("plain", np.random.default_rng(2))
    return tuple(jnp.asarray(leaf[:6]) for leaf in data)


def test_gradients_are_symmetric_and_known(pencils):
    A, C = pencils[0][0], pencils[1][0]
    value, x, support = answer(A, C)
    by_A, by_C = jax.grad(objective, (0, 1))(A, C)
    agree(by_A, np.outer(x, x))
    agree(by_C, -float(value) * np.outer(x, x))
    problem = jax.grad(lambda problem: sgep.solve(problem, S, method=Greedy()).x[support[0]])(
        sgep.Problem(A, C)
    )
    outside = np.setdiff1d(np.arange(N), support)
    for gradient in map(np.asarray, (problem.A.array, problem.C.array)):
        np.testing.assert_array_equal(gradient, gradient.T)
        assert np.any(gradient) and not np.any(gradient[outside])


def test_the_decomposition_algorithm(pencils):
    def run(A, C):
        solution = sgep.solve(sgep.Problem(A, C), S, method=SWAPS)
        return solution.objective, solution.x

    A, C = pencils[0][0], pencils[1][0]
    (_, x), gradient = jax.jit(jax.value_and_grad(run, has_aux=True))(A, C)
    agree(gradient, np.outer(x, x))


def test_the_answer_itself_does_not_change(pencils):
    def run(A):
        return sgep.solve(sgep.Problem(A, pencils[1][0]), S, method=Greedy())

    A = pencils[0][0]
    solution, tangent = jax.jvp(run, (A,), (jnp.ones_like(A),))
    jax.tree.map(np.testing.assert_array_equal, solution, run(A))
    for name in ("support", "status", "num_steps", "num_starts", "times_found"):
        assert getattr(tangent, name).dtype == jax.dtypes.float0
    assert not np.any(tangent.history)


def test_vmap_jit_scan_and_loop_agree(pencils):
    As, Cs = pencils
    loop = [jax.grad(scalar, (0, 1))(A, C) for A, C in zip(As, Cs, strict=True)]
    loop = jax.tree.map(lambda *leaves: np.stack(leaves), *loop)

    @jax.jit
    @partial(jax.grad, argnums=(0, 1))
    def batched(As, Cs):
        return jnp.sum(jax.vmap(scalar)(As, Cs))

    @jax.jit
    @partial(jax.grad, argnums=(0, 1))
    def scanned(As, Cs):
        def step(carry, pencil):
            return carry + scalar(*pencil), None

        return jax.lax.scan(step, jnp.zeros((), As.dtype), (As, Cs))[0]

    for other in (gradients, batched, scanned):
        jax.tree.map(agree, other(As, Cs), loop)


def test_shard_map(pencils):
    mesh = jax.make_mesh((1,), ("lanes",))
    lanes = PartitionSpec("lanes")
    sharded = jax.jit(
        jax.shard_map(gradients, mesh=mesh, in_specs=lanes, out_specs=lanes, check_vma=False)
    )
    placed = jax.device_put(pencils, NamedSharding(mesh, lanes))
    jax.tree.map(agree, sharded(*placed), gradients(*pencils))


def test_float32(pencils):
    short = gradients(*(leaf.astype("float32") for leaf in pencils))
    for found, expected in zip(short, gradients(*pencils), strict=True):
        assert found.dtype == "float32"
        assert relative_error(found, expected).max() < 1e-3


def spread(values, seed=0):
    """A rotation of diag(values), so that no coordinate is special, and one variable to avoid."""
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((4, 4)))
    A = np.diag([0.0, 0.0, 0.0, 0.0, 100.0])
    A[:4, :4] = Q @ np.diag(np.asarray(values, float)) @ Q.T
    return A


@jax.jit
def everything(A):
    """Vector and value in one array, their Jacobians both ways, and their second derivatives."""
    eye = jnp.eye(len(A), dtype=A.dtype)

    def both(A, C):
        value, x, _ = answer(A, C, s=4)
        return jnp.append(x, value)

    forward, reverse = jax.jacfwd(both, (0, 1)), jax.jacrev(both, (0, 1))
    second = jax.jacfwd(reverse, (0, 1))
    return both(A, eye), forward(A, eye), reverse(A, eye), second(A, eye)


def test_forward_equals_reverse_and_hessians_are_symmetric():
    A = symmetric(np.random.default_rng(3), 5)
    _, forward, reverse, second = everything(A)
    jax.tree.map(agree, forward, reverse)
    (by_AA, by_AC), (by_CA, by_CC) = second
    for hessian, other in ((by_AA, by_AA), (by_AC, by_CA), (by_CC, by_CC)):
        assert np.any(hessian)
        agree(hessian, np.transpose(other, (0, 3, 4, 1, 2)))


def test_other_eigenvalues_may_repeat():
    A, h = spread([-3, 1, 1, 1]), 1e-4
    both, (by_A, _), *others = jax.device_get(everything(A))
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(others))
    assert np.isclose(both[-1], -3)
    move = symmetric(np.random.default_rng(3), 5)
    up, down = (np.asarray(everything(A + step * move)[0]) for step in (h, -h))
    found = (up - down) / (2 * h)
    np.testing.assert_allclose(np.tensordot(by_A, move), found, rtol=1e-6, atol=1e-7)


def test_a_tied_lowest_eigenvalue_is_finite():
    for values in ([-3, -3, 1, 1], [-3, -3, -3, 2], [-1, -1, -1, -1], [0, 0, 0, 0]):
        for leaf in jax.tree.leaves(everything(spread(values))):
            assert np.all(np.isfinite(leaf))


def test_directions_inside_the_tied_eigenspace_get_zero():
    A = spread([-3, -3, 1, 2])
    values, vectors = np.linalg.eigh(A[:4, :4])
    both, (by_A, _), *_ = jax.device_get(everything(A))
    x, move = both[:-1], symmetric(np.random.default_rng(4), 5)
    expected = np.zeros(5)
    for value, v in zip(values[2:], vectors.T[2:], strict=True):
        expected[:4] += v * (v @ (move @ x)[:4]) / (-3 - value)
    np.testing.assert_allclose(np.tensordot(by_A[:-1], move), expected, atol=1e-10)
    np.testing.assert_allclose(by_A[-1], np.outer(x, x), atol=1e-10)


def test_failed_lanes_have_zero_gradient_and_leave_others_alone():
    (As, Cs), move = draw("plain", np.random.default_rng(1))
    spoilt, bad = (As.copy(), Cs.copy()), np.array([1, 2, 3])
    spoilt[0][1, 0, 0], spoilt[0][3, 2, 1], spoilt[1][2] = np.nan, np.inf, 0
    (first, (values, _)), (second, _) = jax.device_get(slopes(spoilt, move))
    (first_alone, _), (second_alone, _) = jax.device_get(slopes((As, Cs), move))
    assert np.all(np.isinf(values[bad]))
    for found, alone in zip((*first, *second), (*first_alone, *second_alone), strict=True):
        assert not np.any(found[bad])
        np.testing.assert_array_equal(np.delete(found, bad, 0), np.delete(alone, bad, 0))


def test_non_negative_derivatives_stay_on_the_positive_face():
    rng, size, lanes = np.random.default_rng(5), 5, 24
    A, dA = (np.array([symmetric(rng, size) for _ in range(lanes)]) for _ in range(2))
    C, dC = (np.array([definite(rng, size) for _ in range(lanes)]) for _ in range(2))
    run = partial(tangents, dA=dA, dC=dC, method=Greedy(lower=0.0), s=4)
    (_, x, supports), (d_value, d_x, _) = jax.device_get(run(A, C))
    same = np.ones(lanes, bool)

    def evaluate(pencil):
        nonlocal same
        value, moved, there = jax.device_get(run(*pencil)[0])
        same &= np.all((moved > 0) == (x > 0), axis=1) & np.all(there == supports, axis=1)
        return value, moved

    value, vector = derivative(evaluate, (A, C), (dA, dC), np.full(lanes, 1e-5))
    held = np.sum(x > 0, axis=1) < 4
    assert same.sum() > 15 and (same & held).sum() > 5
    assert not np.any(np.where(x > 0, 0.0, d_x))
    assert relative_error(value, d_value)[same].max() < 1e-6
    several = same & (np.sum(x > 0, axis=1) > 1)
    assert relative_error(vector, d_x)[several].max() < 1e-6


def test_nothing_recompiles(pencils):
    compiled = []

    def listen(name, *_, **__):
        if "backend_compile" in name:
            compiled.append(name)

    (first, *rest), gradient = zip(*pencils, strict=True), jax.value_and_grad(scalar, (0, 1))
    jax.block_until_ready(gradient(*first))
    jax.monitoring.register_event_duration_secs_listener(listen)
    jax.block_until_ready([gradient(*pencil) for pencil in rest])
    assert not compiled
    jax.block_until_ready(jax.jit(lambda x: 3.25 * x + 1)(first[0]))
    assert compiled  # the listener does listen


def test_start_and_tolerance_carry_no_gradient(pencils):
    A, C = pencils[0][0], pencils[1][0]
    start = jnp.asarray(np.arange(N) < S, float)

    def value(start):
        return sgep.solve(sgep.Problem(A, C), S, method=Greedy(), start=start).objective

    assert not np.any(jax.grad(value)(start))


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_lowers_elsewhere(platform, pencils):
    traced = jax.jit(jax.grad(scalar)).trace(pencils[0][0], pencils[1][0])
    assert traced.lower(lowering_platforms=(platform,)).as_text()
