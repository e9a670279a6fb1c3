"""One batch over four devices, and over two processes: the answers of one device."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from test_batch import S, batch, pencils

import sgep_jax as sgep
from sgep_jax.multistart import Starts

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


def test_two_processes(alone, tmp_path, cache):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    answers = [tmp_path / f"{i}.npz" for i in range(2)]
    running = [
        start("many_hosts.py", port, i, path, devices=2, cache=cache)
        for i, path in enumerate(answers)
    ]
    for process in running:
        finish(process)
    for path in answers:
        with np.load(path) as found, np.load(alone) as expected:
            for name in found:
                assert np.array_equal(found[name], expected[name]), name


def test_devices_share_the_fresh_starts():
    """Four devices of three lanes begin where one of twelve lanes would."""
    A, C = (arrays[1] for arrays in pencils())
    problem, key = sgep.Problem(A, C), jax.random.key(0)

    def seeds(lanes, share):
        search = sgep.Multistart(lanes=lanes).begin(problem, S)
        search = search._replace(restarts=search.restarts + 1)
        return np.asarray(Starts(problem, S, None, key, share).next(search))

    whole = seeds(12, (0, 1))  # greedy, leading direction, then columns: none is random
    for device in range(4):
        assert np.array_equal(seeds(3, (device, 4)), whole[device::4])
