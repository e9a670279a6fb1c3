"""One batch over four devices, and over two processes: the answers of one device."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest
import scipy.sparse
from test_batch import KEY, METHOD, S, batch, pencils

import sgep_jax as sgep
from sgep_jax.restarts import Starts

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """The processes share what they compile."""
    return tmp_path_factory.mktemp("compiled")


def start(script, *arguments, devices, cache):
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {
        "XLA_FLAGS": flags,
        "PYTHONPATH": path,
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
    }
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process):
    try:
        out, error = process.communicate(timeout=400)
    finally:
        process.kill()
    assert process.returncode == 0, error
    return out


FIELDS = ("x", "objective", "support", "status", "num_steps", "history")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The answers of one device, as a file."""
    path = tmp_path_factory.mktemp("alone") / "answers.npz"
    found = batch(*pencils())
    np.savez(path, **{name: getattr(found, name) for name in FIELDS})
    return path


def test_four_devices(alone, cache):
    out = finish(start("many_devices.py", alone, devices=4, cache=cache))
    assert "collectives in the loops: 0" in out


def start_pair(kind, *arguments, cache):
    """Two processes of two devices each; `arguments` are pairs, one for each process."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    return [
        start("many_hosts.py", port, i, kind, *mine, devices=2, cache=cache)
        for i, mine in enumerate(zip(*arguments, strict=True))
    ]


def assert_same_answers(path, expected):
    with np.load(path) as found:
        for name in found:
            assert np.array_equal(found[name], expected[name]), name


def test_two_processes(alone, tmp_path, cache):
    answers = [tmp_path / f"{i}.npz" for i in range(2)]
    for process in start_pair("batch", answers, cache=cache):
        finish(process)
    for path in answers:
        assert_same_answers(path, np.load(alone))


def test_a_long_run_on_two_hosts_goes_on_after_one_has_died(tmp_path, cache):
    """Each host has a disk of its own: what the first one saved is what counts."""
    disks = [tmp_path / str(i) for i in range(2)]
    for disk in disks:
        disk.mkdir()
    answers, checkpoints = ([disk / name for disk in disks] for name in ("answers.npz", "run.npz"))
    first, second = start_pair("long", answers, checkpoints, (1, 1), cache=cache)
    try:  # both lines come, or the process ends
        assert "stopped\n" in iter(second.stdout.readline, "")
        assert any("4 of 10 problems" in line for line in iter(first.stderr.readline, ""))
    finally:
        for process in (second, first):  # the first waits for it, in the second of three parts
            process.kill()
            process.communicate()
    with np.load(checkpoints[0]) as saved:
        assert list(saved["places"]) == [0, 1, 2, 3]
    assert not checkpoints[1].exists()

    first, second = start_pair("long", answers, checkpoints, (3, 3), cache=cache)
    out = [process.communicate(timeout=400) for process in (first, second)]
    assert first.returncode == second.returncode == 0, out
    report = out[0][1]
    assert "8 of 10 problems" in report and "4 of 10" not in report  # no part is solved again
    assert "problems" not in out[1][1]
    problems = jax.vmap(sgep.Problem)(*pencils())
    whole = sgep.solve_long(problems, S, method=METHOD, keys=KEY, chunk=1, progress=False)
    for path in answers:
        assert_same_answers(path, {name: getattr(whole, name) for name in FIELDS})


def test_devices_share_the_fresh_starts():
    """Four devices of three starts begin where one of twelve would."""
    A, C = (arrays[1] for arrays in pencils())
    problem, key = sgep.Problem(A, C), jax.random.key(0)

    def seeds(lanes, share):
        search = sgep.Multistart(lanes=lanes).begin(problem, S)
        seeds, fresh = Starts(problem, S, None, key, share).next(search, lanes)
        assert fresh.all()
        return np.asarray(seeds.support), np.asarray(seeds.loadings)

    whole = seeds(12, (0, 1))  # columns and the leading direction: none is random
    for device in range(4):
        for mine, all_of_them in zip(seeds(3, (device, 4)), whole, strict=True):
            assert np.array_equal(mine, all_of_them[device::4])


def test_what_cannot_be_shared_says_so():
    mesh = jax.make_mesh((1,), ("devices",))
    three = SimpleNamespace(size=3)
    problem = sgep.Problem(np.eye(8))
    with pytest.raises(
        TypeError, match=r"a Multistart.* or Exhaustive\(\).* is a SwapSearch.* use"
    ):
        sgep.solve_sharded(problem, 2, mesh=mesh, method=sgep.SwapSearch())
    with pytest.raises(ValueError, match=r"a multiple of 3 variables.* n = 8.*a mesh of 2 devices"):
        sgep.shard_columns(problem, three)
    table = sgep.pca_problem(scipy.sparse.eye_array(8), form="gram")
    with pytest.raises(TypeError, match=r"dense tables.*Pass X.toarray\(\)"):
        sgep.shard_columns(table, mesh)
