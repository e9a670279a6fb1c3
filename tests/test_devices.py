"""One batch over four devices, and over two processes: the answers of one device."""

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest
import scipy.sparse
from test_batch import S, batch, pencils

import sgep_jax as sgep
from sgep_jax.restarts import Starts

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """The processes share what they compile."""
    return tmp_path_factory.mktemp("compiled")


LIMIT = 240  # seconds; a test may take 300


@contextmanager
def running(folder, *commands, devices, cache):
    """One process for each command, [script, *arguments]. None of them outlives the block.

    They write to files: from a pipe that nobody reads they would wait for ever.
    """
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {
        "XLA_FLAGS": flags,
        "PYTHONPATH": path,
        "PYTHONUNBUFFERED": "1",
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
    }
    processes = []
    try:
        for i, (script, *arguments) in enumerate(commands):
            text = folder / f"{i}.txt"
            with text.open("w") as file:
                command = [sys.executable, str(HERE / script), *map(str, arguments)]
                process = subprocess.Popen(command, env=environment, stdout=file, stderr=file)
            processes.append(SimpleNamespace(process=process, read=text.read_text))
        yield processes
    finally:
        for each in processes:
            each.process.kill()
            each.process.wait(30)


def wait(processes, done):
    """Until `done()`; the first process that fails, or the time limit, ends the test."""
    end = time.monotonic() + LIMIT
    while not done():
        for each in processes:
            assert not each.process.poll(), each.read()
        assert time.monotonic() < end, [each.read() for each in processes]
        time.sleep(0.1)


def finish(processes):
    """What they have written when all have ended."""
    wait(processes, lambda: all(each.process.poll() == 0 for each in processes))
    return [each.read() for each in processes]


FIELDS = ("x", "objective", "support", "status", "num_steps", "history")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The answers of one device, as a file."""
    path = tmp_path_factory.mktemp("alone") / "answers.npz"
    found = batch(*pencils())
    np.savez(path, **{name: getattr(found, name) for name in FIELDS})
    return path


def test_four_devices(alone, tmp_path, cache):
    with running(tmp_path, ["many_devices.py", alone], devices=4, cache=cache) as processes:
        (text,) = finish(processes)
    assert "collectives in the loops: 0" in text


def pair(folder, kind, *arguments, cache):
    """Two processes of two devices each; `arguments` are pairs, one for each process."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    commands = [
        ["many_hosts.py", port, i, kind, *mine]
        for i, mine in enumerate(zip(*arguments, strict=True))
    ]
    return running(folder, *commands, devices=2, cache=cache)


def assert_same_answers(path, expected):
    with np.load(path) as found, np.load(expected) as expected:
        for name in found:
            assert np.array_equal(found[name], expected[name]), name


def test_two_processes(alone, tmp_path, cache):
    answers = [tmp_path / f"{i}.npz" for i in range(2)]
    with pair(tmp_path, "batch", answers, cache=cache) as processes:
        finish(processes)
    for path in answers:
        assert_same_answers(path, alone)


def test_a_long_run_on_two_hosts_goes_on_after_one_has_died(alone, tmp_path, cache):
    """Each host has a disk of its own: what the first one saved is what counts."""
    disks = [tmp_path / str(i) for i in range(2)]
    for disk in disks:
        disk.mkdir()
    answers, checkpoints = ([disk / name for disk in disks] for name in ("answers.npz", "run.npz"))
    # The second stops; the first waits for it, in the second of three parts.
    with pair(tmp_path, "long", answers, checkpoints, (1, 1), cache=cache) as processes:
        first, second = processes
        wait(processes, lambda: "4 of 10 problems" in first.read() and "stopped" in second.read())
    with np.load(checkpoints[0]) as saved:
        assert list(saved["places"]) == [0, 1, 2, 3]
    assert not checkpoints[1].exists()

    with pair(tmp_path, "long", answers, checkpoints, (3, 3), cache=cache) as processes:
        report, other = finish(processes)
    assert "8 of 10 problems" in report and "4 of 10" not in report  # no part is solved again
    assert "problems" not in other
    for path in answers:
        assert_same_answers(path, alone)


def test_devices_share_the_fresh_starts():
    """Four devices of three starts begin where one of twelve would."""
    A, C = (arrays[1] for arrays in pencils())
    problem, key = sgep.Problem(A, C), jax.random.key(0)

    @partial(jax.jit, static_argnums=(0, 2))
    def seeds(lanes, device, devices):
        search = sgep.Multistart(lanes=lanes).sized(problem.size, S).begin(problem, S)
        seeds, fresh = Starts(problem, S, None, key, (device, devices)).next(search, lanes)
        return seeds.support, seeds.loadings, fresh

    whole = seeds(12, 0, 1)  # columns and the leading direction: none is random
    assert whole[2].all()
    for device in range(4):
        for mine, all_of_them in zip(seeds(3, device, 4), whole, strict=True):
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
