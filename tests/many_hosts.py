"""Run by test_devices.py: one of two processes that work together.

python many_hosts.py PORT PROCESS batch ANSWERS
python many_hosts.py PORT PROCESS long ANSWERS CHECKPOINT LAST_PART
"""

import sys
import time

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_cpu_collectives_implementation", "gloo")
PORT, PROCESS = sys.argv[1], int(sys.argv[2])
jax.distributed.initialize(f"localhost:{PORT}", num_processes=2, process_id=PROCESS)

from helpers import brute_force
from test_batch import KEY, METHOD, S, pencils

import sgep_jax as sgep
from sgep_jax import long_runs
from sgep_jax.gram import gram_matrix
from sgep_jax.samples import DenseSamples

FIELDS = ("x", "support", "objective", "status", "history")


def save(path, found):
    np.savez(path, **{name: getattr(found, name) for name in FIELDS})


def batch(answers):
    problems = jax.vmap(sgep.Problem)(*pencils())
    save(answers, sgep.solve_batch(problems, S, method=METHOD, keys=KEY, chunk=3, mesh=MESH))
    one_problem()
    refused()


def on_the_mesh(array):
    """Rows of `array` on the devices, of which each host fills in its own."""
    rows = NamedSharding(MESH, PartitionSpec("devices"))
    return jax.make_array_from_callback(array.shape, rows, lambda part: array[part])


def one_problem():
    """A table of which no host has all; all supports of a pencil."""
    Z = np.random.default_rng(4).standard_normal((40, 9))
    problems = [
        sgep.Problem(gram_matrix(DenseSamples(place(Z)), -1 / 9))
        for place in (on_the_mesh, np.asarray)
    ]
    shared = sgep.shard_columns(problems[0], MESH)
    assert {part.data.shape for part in shared.A.samples.transposed.addressable_shards} == {(10, 9)}
    found, alone = (sgep.solve(each, S, method=sgep.SwapSearch()) for each in (shared, problems[1]))
    np.testing.assert_allclose(found.x, alone.x, rtol=1e-7, atol=1e-9)
    A, C = (arrays[1] for arrays in pencils())
    found = sgep.solve_sharded(sgep.Problem(A, C), S, mesh=MESH, method=sgep.Exhaustive())
    np.testing.assert_allclose(found.objective, brute_force(A, C, S)[0], rtol=1e-9)


def refused():
    """A run whose problems no host can see cannot be told from another."""
    problems = jax.vmap(sgep.Problem)(on_the_mesh(pencils()[0][:8]))
    try:
        sgep.solve_long(problems, S, mesh=MESH, checkpoint="run.npz")
    except ValueError as error:
        assert "lies on several hosts. Pass the whole batch" in str(error)
    else:
        raise AssertionError("not refused")


def long(answers, checkpoint, last):
    """Process 1 stops for good before it begins the part after the last."""
    real, left = long_runs.solve_batch, int(last)

    def solve_batch(*arguments, **options):
        nonlocal left
        if left == 0 and PROCESS == 1:
            print("stopped", flush=True)
            time.sleep(240)
        left -= 1
        return real(*arguments, **options)

    long_runs.solve_batch = solve_batch
    options = {"method": METHOD, "keys": KEY, "chunk": 3, "mesh": MESH}
    problems = jax.vmap(sgep.Problem)(*pencils())
    save(answers, sgep.solve_long(problems, S, part=4, checkpoint=checkpoint, **options))


assert jax.process_count() == 2 and len(jax.devices()) == 4
MESH = jax.make_mesh((4,), ("devices",))
{"batch": batch, "long": long}[sys.argv[3]](*sys.argv[4:])
