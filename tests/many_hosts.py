"""Run by test_devices.py: one of two processes that solve one batch together.

python many_hosts.py PORT PROCESS ANSWERS
"""

import sys

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"localhost:{sys.argv[1]}", num_processes=2, process_id=int(sys.argv[2]))

from test_batch import KEY, METHOD, S, pencils

import sgep_jax as sgep

assert jax.process_count() == 2 and len(jax.devices()) == 4
mesh = jax.make_mesh((4,), ("devices",))
As, Cs = pencils()
found = sgep.solve_batch(
    jax.vmap(sgep.Problem)(As, Cs), S, method=METHOD, keys=KEY, chunk=3, mesh=mesh
)
np.savez(
    sys.argv[3], x=found.x, support=found.support, objective=found.objective,
    status=found.status, history=found.history,
)  # fmt: skip
