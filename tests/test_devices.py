"""One batch over four devices, and over two processes: the answers of one device."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_batch import batch, pencils

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


def test_four_devices(cache):
    out = finish(start("many_devices.py", devices=4, cache=cache))
    assert "collectives in the loops: 0" in out


def test_two_processes(tmp_path, cache):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    answers = [tmp_path / f"{i}.npz" for i in range(2)]
    running = [
        start("many_hosts.py", port, i, answers[i], devices=2, cache=cache) for i in range(2)
    ]
    for process in running:
        finish(process)
    alone = batch(*pencils())
    first, second = map(np.load, answers)
    for name in ("x", "support", "objective", "status", "history"):
        assert np.array_equal(first[name], second[name]), name
        assert np.array_equal(first[name], getattr(alone, name)), name
    np.testing.assert_allclose(first["one"], alone.objective[1], rtol=1e-9)
