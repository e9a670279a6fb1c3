"""A batched solve as bytes, run by JAX alone."""

import subprocess
import sys

import jax
import numpy as np
from jax import export
from test_batch import BATCH, KEY, METHOD, S, batch, pencils

import sgep_jax as sgep
from sgep_jax.batch_arguments import lane_keys

LOADER = """
import sys
sys.modules["sgep_jax"] = None  # cannot be imported
import jax, numpy as np
from jax import export
jax.config.update("jax_enable_x64", True)
folder = sys.argv[1]
with np.load(folder + "/input.npz") as given:
    arguments = given["As"], given["Cs"], given["keys"]
with open(folder + "/solve.bin", "rb") as file:
    found = export.deserialize(file.read()).call(*arguments)
np.savez(folder + "/output.npz", **found)
"""


def test_export_and_run_without_the_package(tmp_path):
    def answers(As, Cs, keys):
        problems = jax.vmap(sgep.Problem)(As, Cs)
        keys = jax.random.wrap_key_data(keys)
        found = sgep.solve_batch(problems, S, method=METHOD, keys=keys, chunk=3)
        return {"x": found.x, "support": found.support, "status": found.status}

    As, Cs = pencils()
    keys = np.asarray(jax.random.key_data(lane_keys(KEY, BATCH)))
    (tmp_path / "solve.bin").write_bytes(export.export(jax.jit(answers))(As, Cs, keys).serialize())
    np.savez(tmp_path / "input.npz", As=As, Cs=Cs, keys=keys)
    command = [sys.executable, "-c", LOADER, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stderr
    here = batch(As, Cs)
    with np.load(tmp_path / "output.npz") as found:
        for name in found:
            assert np.array_equal(found[name], getattr(here, name)), name
