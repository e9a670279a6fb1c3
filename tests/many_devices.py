"""Run by test_devices.py in a process of its own, which has four devices.

python many_devices.py ANSWERS_OF_ONE_DEVICE
"""

import re
import sys

import jax
import numpy as np
from jax.sharding import AxisType
from test_batch import BATCH, KEY, METHOD, S, pencils

import sgep_jax as sgep
from sgep_jax import batch, sharded

COLLECTIVE = re.compile(r"all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter")


def loops_with_collectives(text):
    """Names of the computations a while loop calls, directly or not, that hold a collective."""
    bodies = {}
    for part in re.split(r"\n(?=%|ENTRY)", text):
        bodies[part.split(" ", 2)[1 if part.startswith("ENTRY") else 0]] = part
    called = {
        name: set(re.findall(r"%[\w.\-]+", part)) & set(bodies) for name, part in bodies.items()
    }
    todo = {
        name
        for part in bodies.values()
        for name in re.findall(r"(?:body|condition)=(%[\w.\-]+)", part)
    }
    assert todo, "no loop in the compiled program"
    inside = set()
    while todo:
        name = todo.pop()
        inside.add(name)
        todo |= called[name] - inside
    return [name for name in inside if COLLECTIVE.search(bodies[name])]


def main():
    assert len(jax.devices()) == 4
    As, Cs = pencils()
    problems = jax.vmap(sgep.Problem)(As, Cs)
    options = {"method": METHOD, "keys": KEY, "chunk": 3}
    alone = np.load(sys.argv[1])
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = jax.make_mesh((2, 2), ("hosts", "devices"), axis_types=(kind, kind))
        found = sgep.solve_batch(problems, S, mesh=mesh, **options)
        for name in ("x", "objective", "support", "status", "num_steps", "history"):
            assert np.array_equal(alone[name], getattr(found, name)), (kind, name)
        one = sgep.solve_sharded(sgep.Problem(As[1], Cs[1]), S, mesh=mesh, method=METHOD)
        np.testing.assert_allclose(one.objective, alone["objective"][1], rtol=1e-9)
        assert one.num_starts >= 4 * METHOD.lanes and one.times_found >= 4
    data = batch._spread((problems, batch.lane_keys(KEY, BATCH), None), 12, mesh)
    method, count = sharded.everywhere((METHOD, np.int32(BATCH)), mesh)
    compiled = batch._solve_sharded.lower(data, method, count, S, None, 3, mesh).compile()
    assert not COLLECTIVE.search(compiled.as_text()), "solve_batch: a collective"
    data = sharded.everywhere((sgep.Problem(As[1], Cs[1]), METHOD, KEY, None), mesh)
    text = sharded._solve.lower(*data, S, mesh).compile().as_text()
    assert COLLECTIVE.search(text), "the check sees nothing"
    assert not loops_with_collectives(text), loops_with_collectives(text)
    print("same answers on 4 devices, Auto and Explicit; collectives in the loops: 0")


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    main()
