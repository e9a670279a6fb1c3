"""Long runs: the answers of one batch, after any interruption; bad checkpoints are refused."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from helpers import brute_force
from test_batch import BATCH, KEY, METHOD, S, pencils

import sgep_jax as sgep
from sgep_jax import long_runs

FIELDS = ("x", "objective", "support", "status", "num_steps", "history", "num_starts")


def problems(seed=0):
    return jax.vmap(sgep.Problem)(*pencils(seed))


def run(checkpoint=None, seed=0, **options):
    options = {"method": METHOD, "keys": KEY, "chunk": 2, "part": 4, "progress": False} | options
    return sgep.solve_long(problems(seed), S, checkpoint=checkpoint, **options)


@pytest.fixture(scope="module")
def whole():
    return run()


def assert_same(one, other, places=slice(None)):
    for name in FIELDS:
        assert np.array_equal(getattr(one, name)[places], getattr(other, name)[places]), name


def test_the_answers_of_one_batch_and_a_report(whole, capsys):
    again = run(progress=True)
    assert_same(whole, again)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["4", "of", "10"], ["8", "of", "10"], ["10", "of", "10"]
    ]  # fmt: skip
    assert "lowest" in lines[0] and lines[-1].endswith("0 s left")
    truth = [brute_force(A, C, S)[0] for A, C in zip(*pencils(), strict=True)]
    np.testing.assert_allclose(whole.objective, truth, rtol=1e-9)


def interrupt_after(monkeypatch, parts):
    """Ctrl-C in the part after so many."""
    real, count = long_runs.solve_batch, iter(range(parts))

    def solve_batch(*arguments, **options):
        if next(count, None) is None:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(long_runs, "solve_batch", solve_batch)


def test_an_interrupt_returns_what_is_done_and_the_run_resumes(
    whole, tmp_path, monkeypatch, capsys
):
    path = tmp_path / "run.npz"
    with monkeypatch.context() as patch:
        interrupt_after(patch, 2)
        partial = run(path)
    assert "8 of 10 problems done" in capsys.readouterr().err
    assert_same(whole, partial, slice(0, 8))
    assert (partial.status[8:] == sgep.Status.RUNNING).all()
    assert (partial.objective[8:] == np.inf).all() and not partial.x[8:].any()
    with monkeypatch.context() as patch:
        interrupt_after(patch, 1)  # one part is left, and no other is solved again
        assert_same(whole, run(path))
    with monkeypatch.context() as patch:
        interrupt_after(patch, 0)  # nothing is left
        assert_same(whole, run(path))
        with pytest.raises(KeyboardInterrupt):
            run()  # without a checkpoint nothing is done
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.npz"]


def test_other_runs_and_damaged_files_are_refused(tmp_path):
    path = tmp_path / "run.npz"
    run(path)
    for other in (
        {"seed": 1},
        {"method": sgep.Multistart(lanes=4, patience=25, max_steps=100)},
        {"keys": jax.random.key(6)},
        {"num_starts": 3},
    ):
        with pytest.raises(ValueError, match=r"belongs to another run.*Pass another path"):
            run(path, **other)
    content = path.read_bytes()
    middle = len(content) // 2
    for damaged in (
        content[:middle],
        content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :],
        b"not a checkpoint",
        b"",
    ):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"damaged or no checkpoint.*Delete it to begin anew"):
            run(path)
        assert path.read_bytes() == damaged
    np.savez(path, fingerprint=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="damaged or no checkpoint"):
        run(path)


def test_a_checkpoint_holds_plain_arrays(tmp_path):
    path = tmp_path / "run.npz"
    run(path)
    with np.load(path, allow_pickle=False) as file:
        assert sorted(file["places"]) == list(range(BATCH))
        assert file["history"].shape[1] <= int(file["num_steps"].max()) + 2


def test_a_run_that_is_killed_loses_no_finished_part(whole, tmp_path):
    path = tmp_path / "run.npz"
    code = (
        "import jax; jax.config.update('jax_enable_x64', True)\n"
        "import sys, time, test_long_runs as t\n"
        "from sgep_jax import long_runs\n"
        "real = long_runs.save\n"
        "def save(*arguments):\n"
        "    real(*arguments)\n"
        "    time.sleep(240)\n"  # the first part is saved; the process dies before the next
        "long_runs.save = save\n"
        "t.run(sys.argv[1])\n"
    )
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here.parent), str(here), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.DEVNULL,  # it holds no pipe of this process open
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 200
        while not path.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    places, _ = long_runs.load(path, path.read_bytes(), np.load(path)["fingerprint"].item())
    assert list(places) == [0, 1, 2, 3]
    assert_same(whole, run(path))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"checkpoint": "run.pickle"}, "must end in .npz"),
        ({"checkpoint": "no/such/folder/run.npz"}, "must be in a folder that exists"),
        ({"part": 0}, r"solve_long\(part=...\) must be at least 1"),
        ({"start": [[1.0, 0.0]]}, r"start must have shape \(batch, n\) = \(10, 12\)"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        run(**options)
