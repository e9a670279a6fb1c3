"""A batch shared among threads, one a core: the same answers, and nothing to wait for."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import definite, symmetric

import sgep_jax as sgep
from sgep_jax import batch, cores, factorizations

BATCH, N, S = 10, 12, 3
METHOD = sgep.Multistart(lanes=4, patience=24, max_steps=100)


@pytest.fixture(scope="module")
def problems():
    rng = np.random.default_rng(0)
    As, Cs = ([make(rng, N) for _ in range(BATCH)] for make in (symmetric, definite))
    return jax.vmap(sgep.Problem)(np.stack(As), np.stack(Cs))


def solved(problems, count, monkeypatch, **options):
    monkeypatch.setattr(batch, "cores", lambda data, most: count)
    return sgep.solve_batch(problems, S, **{"method": METHOD, "chunk": 2} | options)


@pytest.fixture(scope="module")
def alone(problems):
    with pytest.MonkeyPatch.context() as patch:
        return solved(problems, 1, patch)


def test_the_answers_do_not_depend_on_the_cores_and_one_program_serves_all(
    problems, alone, monkeypatch
):
    """Three shares of four problems: the last two overlap."""
    before = batch._solve_batch._cache_size()
    many = solved(problems, 3, monkeypatch)
    assert batch._solve_batch._cache_size() == before + 1
    for name in ("support", "status", "num_steps", "num_starts", "times_found"):
        assert np.array_equal(getattr(alone, name), getattr(many, name)), name
    for name in ("x", "objective", "history"):
        np.testing.assert_allclose(getattr(alone, name), getattr(many, name), rtol=1e-9, atol=1e-9)


def test_other_methods_and_several_starts_are_shared_too(problems, alone, monkeypatch):
    method = sgep.SwapSearch(max_steps=50)
    many = solved(problems, 3, monkeypatch, method=method, num_starts=20)
    assert np.array_equal(alone.support, many.support) and (many.num_starts == 20).all()


def test_what_is_set_for_this_thread_alone_holds_for_all_shares(problems, alone, monkeypatch):
    with jax.enable_x64(False):
        single = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf), jnp.float32), problems)
        many = solved(single, 3, monkeypatch)
    assert many.x.dtype == jnp.float32
    assert np.array_equal(alone.support, many.support)


def test_a_traced_method_stays_in_this_thread(problems, alone):
    def objective(tolerance):
        method = sgep.SwapSearch(tolerance=tolerance, max_steps=50)
        return sgep.solve_batch(problems, S, method=method, num_starts=20).objective

    many = jax.vmap(objective)(jnp.asarray([1e-10, 1e-9]))
    np.testing.assert_allclose(many, np.stack([alone.objective] * 2), rtol=1e-9)


def test_an_error_in_a_thread_is_raised():
    def fail(number):
        if number == 2:
            raise ArithmeticError("in the third")
        return jnp.asarray(number)

    with pytest.raises(ArithmeticError, match="in the third"):
        cores.in_threads(fail, [0, 1, 2])


def test_how_many(problems, monkeypatch):
    """As many as the process may use, NPROC at most, and no more than there are problems; one under
    jit and with several devices."""
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(6)), raising=False)
    assert cores.cores(problems, 99) == 6 and cores.cores(problems, 5) == 5
    monkeypatch.setenv("NPROC", "4")
    assert cores.cores(problems, 99) == 4
    assert jax.eval_shape(
        lambda problems: jnp.zeros(cores.cores(problems, 99)), problems
    ).shape == (1,)
    inside = []
    jax.eval_shape(lambda: inside.append(cores.cores(problems, 99)))  # nothing traced but the call
    assert inside == [1]
    monkeypatch.setattr(jax, "local_device_count", lambda: 2)
    assert cores.cores(problems, 99) == 1


@pytest.fixture(scope="module")
def large():
    """Supports so large that jaxlib would split batches of their factorizations."""
    X = np.random.default_rng(1).standard_normal((8, 150, 100))
    return jax.vmap(lambda X: sgep.Problem(-X.T @ X))(X)


def test_no_factorization_is_split_where_others_run_beside_it(large):
    def batches(share):
        keys = jax.random.split(jax.random.key(0), 8)
        data, method = (large, keys, None), sgep.Multistart(lanes=8, max_steps=50)
        text = batch._solve_batch.lower(data, method, 0, share, 40, 8, 1, share).as_text()
        calls = re.findall(r"@lapack_\w+\(.*-> .*?tensor<(\d+)x(\d+)x(\d+)xf64>", text)
        return [tuple(map(int, call)) for call in calls]

    def split(count, rows, columns):
        return count > 1 and 30 * count * rows * rows * columns > factorizations.UNSPLIT

    assert any(split(*call) for call in batches(8))  # alone: the threads are its own
    shared = batches(4)
    assert shared and not any(split(*call) for call in shared)


def test_four_at_once_do_not_wait_for_each_other(large, monkeypatch):
    monkeypatch.setattr(batch, "cores", lambda data, most: 4)
    method = sgep.Multistart(lanes=8, max_steps=100)
    for key in range(3):
        found = sgep.solve_batch(large, 40, method=method, num_starts=8, keys=jax.random.key(key))
    assert np.isfinite(found.objective).all()
