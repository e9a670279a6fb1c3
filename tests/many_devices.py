"""Run by test_devices.py in a process of its own, which has four devices.

python many_devices.py ANSWERS_OF_ONE_DEVICE
"""

import re
import sys
from collections import Counter

import jax
import numpy as np
from helpers import brute_force
from jax.sharding import AxisType
from test_batch import BATCH, KEY, METHOD, S, pencils

import sgep_jax as sgep
from sgep_jax import batch, sharded
from sgep_jax.batch_arguments import lane_keys
from sgep_jax.solve import chosen

COLLECTIVE = re.compile(r"all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter")
FIELDS = ("x", "objective", "support", "status", "num_steps", "history")


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


def a_mesh(kind):
    return jax.make_mesh((2, 2), ("hosts", "devices"), axis_types=(kind, kind))


def a_batch(As, Cs, alone):
    """The answers of one device to the last bit, without any exchange."""
    problems = jax.vmap(sgep.Problem)(As, Cs)
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = a_mesh(kind)
        found = sgep.solve_batch(problems, S, mesh=mesh, method=METHOD, keys=KEY, chunk=3)
        for name in FIELDS:
            assert np.array_equal(alone[name], getattr(found, name)), (mesh, name)
    whole = sgep.solve_batch(problems, As.shape[-1], mesh=mesh)  # an eigenproblem each
    assert all(leaf.sharding.is_fully_replicated for leaf in jax.tree.leaves(whole))
    data = batch._spread((problems, lane_keys(KEY, BATCH), None), 12, mesh)
    method, count = sharded.everywhere((METHOD.sized(problems.size, S), np.int32(BATCH)), mesh)
    compiled = batch._solve_sharded.lower(data, method, count, S, None, 3, 3, mesh).compile()
    assert not COLLECTIVE.search(compiled.as_text()), "solve_batch: a collective"


def no_exchange_in_a_loop(problem, mesh, method):
    data = sharded.everywhere((problem, chosen(method, problem.size, S), KEY, None), mesh)
    text = sharded._solve.lower(*data, S, mesh).compile().as_text()
    assert COLLECTIVE.search(text), "the check sees nothing"
    assert not loops_with_collectives(text), loops_with_collectives(text)


def starts_of_their_own(problem, lowest):
    mesh = a_mesh(AxisType.Explicit)
    found = sgep.solve_sharded(problem, S, mesh=mesh, method=METHOD, key=KEY)
    np.testing.assert_allclose(found.objective, lowest, rtol=1e-9)
    assert found.num_starts >= 4 * METHOD.lanes and found.times_found >= 4
    no_exchange_in_a_loop(problem, mesh, METHOD)


def all_supports(problem, lowest, lowest_of_all):
    """220 of them, 55 a device, 16 at a time: everything is as on one device, to the last bit."""
    mesh, method = a_mesh(AxisType.Auto), sgep.Exhaustive(chunk=16)
    alone = sgep.solve(problem, S, method=method, key=KEY)
    assert alone.status == sgep.Status.OPTIMAL
    np.testing.assert_allclose(alone.objective, lowest, rtol=1e-9)
    found = sgep.solve_sharded(problem, S, mesh=mesh, method=method, key=KEY)
    for one, other in zip(jax.tree.leaves(alone), jax.tree.leaves(found), strict=True):
        assert np.array_equal(one, other)
    no_exchange_in_a_loop(problem, mesh, method)
    found = sgep.solve_sharded(problem, problem.size, mesh=mesh, method=method)  # one support
    np.testing.assert_allclose(found.objective, lowest_of_all, rtol=1e-9)


def a_table_in_four(kind):
    """Answers as on one device, and no array of the program is as long and as wide as the table."""
    n, m = 240, 37
    rng = np.random.default_rng(4)
    X = rng.standard_normal((m, n)) * (1 + rng.random(n))
    options = {"method": METHOD, "key": KEY}
    if kind in ("pca", "dense"):  # n × n in four, too
        form, m = ("gram", m) if kind == "pca" else ("dense", n)
        problem, sparsity = sgep.pca_problem(X, form=form), S
    else:  # views, groups, and a ridge for each variable
        problem = sgep.cca_problem(X[:, :100], X[:, 100:], ridge=0.1, form="gram")
        problem = sgep.Problem(problem.A, problem.C.ridged(rng.random(n)))
        sparsity = (1, 2)
        options |= {"groups": np.repeat([0, 1], [100, 140]), "forbidden": [3]}
    alone = sgep.solve(problem, sparsity, **options)
    shared = sgep.shard_columns(problem, jax.make_mesh((2, 2), ("hosts", "devices")))
    for leaf in jax.tree.leaves(shared):
        sizes = {part.data.size for part in leaf.addressable_shards}
        assert sizes == ({leaf.size // 4} if n in leaf.shape else {leaf.size})
    run = jax.jit(lambda problem: sgep.solve(problem, sparsity, **options))
    compiled = run.lower(shared).compile()
    found = compiled(shared)
    assert np.array_equal(alone.support, found.support)
    np.testing.assert_allclose(alone.x, found.x, rtol=1e-7, atol=1e-9)
    assert alone.num_starts == found.num_starts and alone.status == found.status
    text = compiled.as_text()
    shapes = {tuple(map(int, dims.split(","))) for dims in re.findall(r"\w\[([\d,]+)\]", text)}
    assert any({n // 4, m} <= set(shape) for shape in shapes), "the check sees nothing"
    whole = [shape for shape in shapes if not Counter((n, m)) - Counter(shape) or n * m in shape]
    assert not whole, whole


def larger_supports():
    """Factorizations that jaxlib would split, on four devices at once: it ends, each at a value
    that its support has."""
    rng = np.random.default_rng(5)
    As = rng.standard_normal((8, 30, 30))
    As = As + As.transpose(0, 2, 1)
    problems = jax.vmap(sgep.Problem)(As, np.stack([np.eye(30)] * 8))
    method = sgep.Multistart(max_starts=32)
    found = sgep.solve_batch(problems, 24, method=method, mesh=a_mesh(AxisType.Auto)).check()
    blocks = [A[np.ix_(S, S)] for A, S in zip(As, found.support, strict=True)]
    np.testing.assert_allclose(found.objective, np.linalg.eigvalsh(blocks)[:, 0], rtol=1e-9)


def main():
    assert len(jax.devices()) == 4
    As, Cs = pencils()
    a_batch(As, Cs, np.load(sys.argv[1]))
    problem = sgep.Problem(As[1], Cs[1])
    lowest, lowest_of_all = (brute_force(As[1], Cs[1], s)[0] for s in (S, problem.size))
    starts_of_their_own(problem, lowest)
    all_supports(problem, lowest, lowest_of_all)
    a_table_in_four("pca")
    a_table_in_four("cca")
    a_table_in_four("dense")
    larger_supports()
    print("same answers on 4 devices, Auto and Explicit; collectives in the loops: 0")


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_numpy_dtype_promotion", "strict")
    jax.config.update("jax_numpy_rank_promotion", "raise")
    main()
