"""A batch of pencils: one problem a slot, no slot waiting for the slowest, over any devices.

On each device `chunk` problems advance side by side in one compiled loop (`work_queue.py`), and an
ended one makes room for the next. The loop knows nothing of other devices: `jax.shard_map` gives
each its share of the batch, and the answers are gathered once, at the end. On a CPU without a mesh
each core has a share, and a thread (`cores.py`).
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec

from . import validation
from .batch_arguments import (
    check_batch,
    check_own_starts,
    lane_keys,
    lane_sparsities,
    lane_starts,
)
from .batch_tasks import BatchTasks
from .cores import cores, in_threads
from .decomposition import Decomposition
from .factorizations import unsplit
from .multistart import Multistart
from .padding import pad, unpad
from .sharded import everywhere, to_mesh
from .solution import Solution
from .solve import (
    as_solution,
    best_ending,
    chosen,
    examines_all,
    keeps_rules,
    solve,
)
from .whole import Whole
from .work_queue import run_queue


def solve_batch(
    problems, sparsity, *, keys=None, method=None, start=None, num_starts: int | None = None,
    mesh=None, chunk: int | None = None,
) -> Solution:  # fmt: skip
    """`solve` for each of many problems of one size; the answer has batched leaves.

    **Arguments**

    - `problems`: a `Problem` with batched leaves, `jax.vmap(Problem)(As, Cs)`.
    - `sparsity`: s, an integer, or one integer for each problem. Supports shorter than the longest
      are then filled up with n, which is no variable. All run in one program, which costs what the
      largest costs: compiling one for each would take longer than that saves, up to thousands of
      problems.
    - `keys`: one key for each problem, or one key, from which problem i uses
      `jax.random.fold_in(key, i)`; without one, key 0.
    - `method`, `num_starts`: as in `solve`.
    - `start`: (batch, n), or (batch, number, n).
    - `mesh`: a `jax.sharding.Mesh`: the batch is shared among all its devices, on all hosts
      (`docs/many_hosts.md`). The answers come back whole on each. Without one a CPU's cores share
      it, in threads (outside `jit`; `NPROC=1` in the environment forbids it).
    - `chunk`: how many problems (of methods that run one start at a time: starts) are side by side
      on each device, or core; by default as many as pay.

    Problem i gets the answer of `solve(problem_i, sparsity, key=key_i)`, up to rounding, whatever
    the rest of the batch, the chunk and the number of devices or cores; to the last bit where as
    many run side by side, and more than one on each device. A problem that fails says so in its
    status and leaves the others alone. With a sparsity for each, the random numbers are others than
    those of `solve`, and the method must be one that keeps to groups.

    ```python
    batch = solve_batch(jax.vmap(Problem)(As), 5)
    batch.objective, batch.support, batch.status
    ```
    """
    size, batch = check_batch(problems)
    keys = lane_keys(keys, batch)
    if start is not None:
        start = lane_starts(start, batch, size, problems.dtype)
    options = {"method": method, "num_starts": num_starts, "mesh": mesh, "chunk": chunk}
    if np.ndim(sparsity) == 0:
        return _one_sparsity(problems, sparsity, keys, start, **options)
    return _own_sparsities(problems, lane_sparsities(sparsity, batch, size), keys, start, **options)


def default_chunk(method, size: int, sparsity: int, batch: int, platform: str) -> int:
    """How many tasks of a batch pay to run side by side: problems, or their starts.

    On a CPU until their arrays outgrow the cache, and only if most slots are refilled many times;
    other devices want as much at once as fits: 2²⁵ elements are a few gigabytes in all.
    """
    work = method.lanes * size * sparsity if isinstance(method, Multistart) else size * size
    if isinstance(method, Decomposition):  # every support of a block
        block = min(method.random + method.swap, size)
        work += sparsity * math.comb(block, min(sparsity, block // 2))
    if platform == "cpu":
        return max(1, min(2**13 // work, batch // 32, 4))
    return max(1, min(2**25 // work, batch))


def _one_sparsity(problems, sparsity, keys, start, *, method, num_starts, mesh, chunk):
    size, batch = problems.size, keys.shape[0]
    sparsity = validation.sparsity(sparsity, size)
    method = chosen(method, size, sparsity)
    own = 0 if start is None else start.shape[1]
    if start is not None:
        validation.start(start.reshape(-1, size), size, sparsity, method.lower)
    if num_starts is not None:
        validation.count("solve_batch", "num_starts", num_starts, max(own, 1))
    if chunk is not None:
        validation.count("solve_batch", "chunk", chunk, 1)
    if isinstance(method, Whole):  # an eigenproblem each, and no loop
        solution = jax.vmap(lambda problem: solve(problem, sparsity, method=method))(problems)
        return solution if mesh is None else _whole_on_each(solution, mesh)
    if examines_all(method, size, sparsity):
        start, num_starts, own = None if start is None else start[:, :1], None, min(own, 1)
    data = (problems, keys, start)
    few = 1 if size * sparsity > 2**11 else 4  # threads cost as much as a few small problems
    shares = cores((data, method), batch // few) if mesh is None else mesh.size
    share = -(-batch // shares)
    tasks = share if isinstance(method, Multistart) else share * (num_starts or max(own, 1))
    if chunk is None:
        platform = jax.default_backend() if mesh is None else mesh.devices.flat[0].platform
        chunk = default_chunk(method, size, sparsity, tasks, platform)
    static = (sparsity, num_starts, min(int(chunk), tasks), share)
    if mesh is None:
        return _over_cores(data, method, batch, static)
    data = _spread(data, share * shares, mesh)
    method, count = everywhere((method, np.int32(batch)), mesh)
    solution, _ = _solve_sharded(data, method, count, *static, mesh)
    return jax.tree.map(lambda leaf: leaf[:batch], _whole_on_each(solution, mesh))


def _whole_on_each(solution, mesh):
    return jax.device_put(solution, NamedSharding(mesh, PartitionSpec()))


def _over_cores(data, method, batch: int, static) -> Solution:
    """Shares of one size, so that one program serves all: the last may begin within the one before
    it, whose answers then come first."""
    share = static[-1]
    if share == batch:
        return _solve_batch(data, method, None, None, *static)[0]
    firsts = [min(first, batch - share) for first in range(0, batch, share)]
    found = in_threads(
        lambda first: _solve_batch(data, method, np.int32(first), share, *static)[0], firsts
    )
    return _joined(found, batch)


@partial(jax.jit, static_argnames="batch")
def _joined(shares, batch: int) -> Solution:
    def joined(*leaves):
        *before, last = leaves
        left = batch - sum(leaf.shape[0] for leaf in before)
        return jnp.concatenate([*before, last[-left:]])

    return jax.tree.map(joined, *shares)


@partial(jax.jit, static_argnames=("sparsity", "num_starts", "chunk", "share"))
def _solve_batch(data, method, first, count, sparsity, num_starts, chunk, share):
    """The solutions of `share` problems from `first` on (None: 0), of which those from `count` on
    have no meaning (None: all have), and the steps that the slots spent. If others run beside it,
    in other threads, the share is not the whole batch."""
    if data[1].shape[0] == 1:  # no queue, and nothing to copy
        problem, key, start = jax.tree.map(lambda leaf: leaf.reshape(leaf.shape[1:]), data)
        options = {"method": method, "key": key, "start": start, "num_starts": num_starts}
        solution = solve(problem, sparsity, **options)
        return jax.tree.map(lambda leaf: leaf[None], solution), solution.num_steps
    with unsplit(share < data[1].shape[0]):
        return _solve_share(data, method, first, count, sparsity, num_starts, chunk, share)


def _solve_share(data, method, first, count, sparsity, num_starts, chunk, share):
    (exact, *_), (data, method) = data, lax.stop_gradient((data, method))
    adaptive, number = isinstance(method, Multistart), 1
    if adaptive:
        method = method if num_starts is None else method.exactly(num_starts, sparsity)
    elif num_starts is not None or data[2] is not None:
        number = num_starts or data[2].shape[1]
    first, count = 0 if first is None else first, share if count is None else count
    tasks = BatchTasks(data, method, sparsity, first, number)
    found, steps = run_queue(tasks, share * number, jnp.asarray(count * number, jnp.int32), chunk)
    if not adaptive:
        found = jax.tree.map(lambda leaf: leaf.reshape(share, number, *leaf.shape[1:]), found)
        endings, times = jax.vmap(best_ending)(found)
        found = endings, jnp.full(share, number, jnp.int32), times
    if share < data[1].shape[0]:
        exact = jax.tree.map(lambda leaf: lax.dynamic_slice_in_dim(leaf, first, share), exact)
    answer = jax.vmap(lambda problem, *found: as_solution(problem, method, *found))
    return answer(exact, *found), steps


@partial(jax.jit, static_argnames=("sparsity", "num_starts", "chunk", "share", "mesh"))
def _solve_sharded(data, method, count, sparsity, num_starts, chunk, share, mesh):
    """The same with `share` problems on each of the devices of `mesh`, still there."""
    names = mesh.axis_names
    static = (sparsity, num_starts, chunk, share)

    def solve_share(data, method, count):
        mine = jnp.clip(count - share * lax.axis_index(names), 0, share)  # the rest is padding
        solution, steps = _solve_batch(data, method, np.int32(0), mine, *static)
        return solution, steps[None]

    # No collective stands inside, so there is nothing for the check of varying axes to protect.
    return jax.shard_map(
        solve_share, mesh=mesh, in_specs=(PartitionSpec(names), PartitionSpec(), PartitionSpec()),
        out_specs=PartitionSpec(names), check_vma=False,
    )(data, method, count)  # fmt: skip


def _own_sparsities(problems, sparsities, keys, start, *, method, **options) -> Solution:
    """One program with the sparsity traced, up to the largest (`padding.py`)."""
    size, most = problems.size, int(max(sparsities))
    method = Multistart() if method is None else method
    _exchanges(method)
    method = chosen(method, size, most)
    if start is not None:
        check_own_starts(start, sparsities, method.lower)
        start = jnp.pad(start, ((0, 0), (0, 0), (0, most)))
    padded = jax.vmap(partial(pad, most=most))(problems, sparsities)
    solution = _one_sparsity(padded, most, keys, start, method=method, **options)
    return jax.vmap(partial(unpad, size=size))(solution)


def _spread(data, total: int, mesh):
    """The batch padded to `total` problems, each device holding its share."""
    sharding = NamedSharding(mesh, PartitionSpec(mesh.axis_names))

    def spread(leaf):
        if leaf.shape[0] < total:
            last = jnp.repeat(leaf[-1:], total - leaf.shape[0], axis=0)
            leaf = jnp.concatenate([leaf, last])
        return to_mesh(leaf, sharding)

    return jax.tree.map(spread, data)


def _exchanges(method):
    try:
        keeps_rules(method)
    except ValueError:
        raise ValueError(
            f"sparsity with one integer for each problem needs a method that exchanges variables "
            f"(the default, SwapSearch, a stratified Decomposition, Exhaustive), but it is "
            f"{method}. Call solve_batch once for each sparsity."
        ) from None
