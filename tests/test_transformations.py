"""jit, vmap, lowering for other devices, compilations, dtypes, and what an import may not do."""

import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import definite, symmetric

import sgep_jax as sgep

N, S = 8, 3
METHOD = sgep.Decomposition(random=2, swap=2, window=4)


def compiled_solves():
    return sys.modules["sgep_jax.solve"]._solve._cache_size()


def pencils(count, dtype="float64"):
    rng = np.random.default_rng(0)
    As = np.array([symmetric(rng, N) for _ in range(count)], dtype)
    return As, np.array([definite(rng, N) for _ in range(count)], dtype)


def test_vmap_equals_the_loop_and_one_compilation_serves_all():
    As, Cs = pencils(100)
    sgep.solve(sgep.Problem(As[0], Cs[0]), S, method=METHOD)
    before = compiled_solves()
    one_by_one = [
        sgep.solve(sgep.Problem(A, C), S, method=METHOD) for A, C in zip(As, Cs, strict=True)
    ]
    assert compiled_solves() == before
    problems = jax.vmap(sgep.Problem)(As, Cs)
    batch = jax.vmap(lambda problem: sgep.solve(problem, S, method=METHOD))(problems)
    for i, single in enumerate(one_by_one):
        assert np.array_equal(single.support, batch.support[i])
        assert single.num_steps == batch.num_steps[i] and single.status == batch.status[i]
        np.testing.assert_allclose(single.objective, batch.objective[i], rtol=1e-12)
        np.testing.assert_allclose(single.x, batch.x[i], rtol=1e-7, atol=1e-9)


def test_nothing_recompiles():
    """New keys, data, tolerances and θ share one program; another start shares a second."""
    (A, B), (C, _) = pencils(2)
    x, y = np.eye(N)[0], np.eye(N)[1] - np.eye(N)[2]

    def run(A, key, start=None, **options):
        method = sgep.Decomposition(random=2, swap=2, window=4, **options)
        key = jax.random.key(key)
        return sgep.solve(sgep.Problem(A, C), S, method=method, key=key, start=start)

    run(A, 0), run(A, 0, start=x)
    before = compiled_solves()
    run(B, 1), run(A, 2, theta=1e-3), run(A, 3, tolerance=0.5), run(B, 4, theta=0.0, tolerance=0.0)
    run(A, 5, start=y), run(B, 6, start=list(x))
    assert compiled_solves() == before


def test_float32_stays_float32():
    As, Cs = pencils(1, "float32")
    method = sgep.Decomposition(
        random=2, swap=2, window=4, theta=np.float64(1e-5), tolerance=np.float64(1e-5)
    )
    solution = sgep.solve(sgep.Problem(As[0], Cs[0]), S, method=method, start=np.eye(N)[0])
    for leaf in (solution.x, solution.objective, solution.history):
        assert leaf.dtype == jnp.float32
    for leaf in (solution.support, solution.status, solution.num_steps):
        assert leaf.dtype == jnp.int32


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
@pytest.mark.parametrize(
    "method",
    [
        sgep.Decomposition(),
        sgep.Decomposition(subproblem="coordinate", lower=0.0),
        sgep.Decomposition(draw="uniform", subproblem="coordinate", order="random"),
        sgep.Exhaustive(),
    ],
    ids=["bisection", "non-negative", "uniform", "exhaustive"],
)
def test_lowering(method, platform):
    shape = jax.ShapeDtypeStruct((13, 13), jnp.float32)

    def run(A, C, key):
        return sgep.solve(sgep.Problem(A, C), 5, method=method, key=key).objective

    traced = jax.jit(run).trace(shape, shape, jax.random.key(0))
    text = traced.lower(lowering_platforms=(platform,)).as_text()
    assert "stablehlo.while" in text
    arithmetic = r"stablehlo\.(add|subtract|multiply|divide|sqrt|rsqrt|dot_general|custom_call)\b"
    assert re.search(arithmetic + r".*xf32", text)
    assert not re.search(arithmetic + r".*xf64", text)  # selections of literals aside


def test_tolerance_may_be_a_batch_axis():
    As, Cs = pencils(1)
    problem = sgep.Problem(As[0], Cs[0])

    def run(tolerance):
        method = sgep.Decomposition(random=2, swap=2, window=4, tolerance=tolerance)
        return sgep.solve(problem, S, method=method).objective

    values = jax.vmap(run)(jnp.array([1e-6, 0.0]))
    assert values.shape == (2,) and np.all(np.isfinite(values))


def test_import_is_clean():
    """No array, no backend, no changed setting."""
    code = """
import jax
before = dict(jax.config.values)
import sgep_jax
assert dict(jax.config.values) == before, "configuration changed"
from jax._src import xla_bridge
assert not xla_bridge.backends_are_initialized(), "a device was initialised"
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
