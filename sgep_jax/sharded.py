"""One problem over many devices: each searches a share of it, and they agree once, at the end.

Device d of D runs a multistart of its own, with fresh starts d, d + D, d + 2D, … and random
numbers from `jax.random.fold_in(key, d)`; or, of an exhaustive search, it examines part d of the
supports in the order of their ranks. A and C are on every device. No device waits for another
before the end, where the best point is chosen by one small exchange.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec

from . import validation
from .baselines.exhaustive import Exhaustive
from .loop import iterate
from .multistart import Multistart
from .pool import slack
from .restarts import Starts
from .solution import Solution
from .solve import as_solution, chosen, start_point
from .start import Fresh


def solve_sharded(problem, sparsity: int, *, mesh, method=None, key=None, start=None) -> Solution:
    """`solve` on the D devices of `mesh`, in the time of the slowest: D times the starts, or all
    supports in a D-th of the time.

    **Arguments**

    - `problem`, `sparsity`, `key`, `start`: as in `solve`.
    - `mesh`: a `jax.sharding.Mesh`; all its devices take part, on all hosts.
    - `method`: a `Multistart`, which each device runs to its own end, at a `target` too; or
      `Exhaustive()`, whose answer is that of one device, whatever their number.

    The answer is the same for the same key and number of devices. `num_starts` and `times_found`
    count the starts of all devices; `num_steps` and `history` are those of the one that won.

    ```python
    mesh = jax.make_mesh((len(jax.devices()),), ("devices",))
    solution = solve_sharded(problem, 8, mesh=mesh)
    proven = solve_sharded(problem, 4, mesh=mesh, method=Exhaustive())
    ```
    """
    validation.problem(problem)
    sparsity = validation.sparsity(sparsity, problem.size)
    method = Multistart() if method is None else method
    if not isinstance(method, (Multistart, Exhaustive)):
        raise TypeError(
            f"solve_sharded(method=...) must be a Multistart, whose starts it shares among the "
            f"devices, or Exhaustive(), whose supports, but it is a {type(method).__name__}. For "
            f"one run of it use solve, for many problems solve_batch."
        )
    method = chosen(method, problem.size, sparsity)
    key = jax.random.key(0) if key is None else key
    if start is not None:
        validation.start(start, problem.size, sparsity, method.lower)
        start = jnp.atleast_2d(jnp.asarray(start, problem.dtype))
    data = everywhere((problem, method, key, start), mesh)
    return _solve(*data, sparsity, mesh)


def everywhere(tree, mesh):
    """Every leaf whole on every device of every host."""
    return jax.tree.map(lambda leaf: to_mesh(leaf, NamedSharding(mesh, PartitionSpec())), tree)


def to_mesh(leaf, sharding):
    """`leaf`, of the same value on each host, laid out by `sharding`."""
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        kind = jax.random.key_impl(leaf)
        return jax.random.wrap_key_data(to_mesh(jax.random.key_data(leaf), sharding), impl=kind)
    if jax.process_count() == 1 or not validation.is_concrete(leaf):
        return jax.device_put(leaf, sharding)
    if isinstance(leaf, jax.Array) and not leaf.is_fully_addressable:
        return jax.device_put(leaf, sharding)  # it lies on several hosts already
    values = np.asarray(leaf)
    return jax.make_array_from_callback(values.shape, sharding, lambda part: values[part])


@partial(jax.jit, static_argnames=("sparsity", "mesh"))
def _solve(problem, method, key, start, sparsity, mesh) -> Solution:
    names = mesh.axis_names
    search = _every_support if isinstance(method, Exhaustive) else _own_starts

    def share(problem, method, key, start):
        mine = lax.axis_index(names), mesh.size
        ending, tried, found = search(problem, method, key, start, sparsity, mine)
        values = lax.all_gather(ending.point.objective, names)
        best = jnp.min(values)
        found = jnp.where(ending.point.objective <= best + slack(best), found, 0)
        winner = jnp.argmin(values).astype(jnp.int32) == mine[0]
        ending = jax.tree.map(lambda leaf: jnp.where(winner, leaf, jnp.zeros_like(leaf)), ending)
        return lax.psum((ending, tried, found), names)

    # Every device runs its own loop to its own end: nothing inside is the same on all of them.
    agree = jax.shard_map(
        share, mesh=mesh, in_specs=PartitionSpec(), out_specs=PartitionSpec(), check_vma=False
    )
    ending, tried, found = agree(*lax.stop_gradient((problem, method, key, start)))
    if isinstance(method, Exhaustive):  # one search, however many devices did it
        tried = found = jnp.ones_like(tried)
    return as_solution(problem, method, ending, tried, found)


def _own_starts(problem, method, key, start, sparsity, share):
    """The `Ending` of a multistart of this device's own, its starts, how many met the best."""
    key = jax.random.fold_in(key, share[0])
    starts = Starts(problem, sparsity, start, key, share)
    search = lax.while_loop(
        method.unfinished,
        partial(method.round, problem, starts),
        method.begin(problem, sparsity),
    )
    return method.end(problem, search, key)


def _every_support(problem, method, key, start, sparsity, share):
    """The same of this device's part of all supports."""
    point, key = start_point(Fresh(problem, sparsity, start), method, key, jnp.int32(0))
    state = method.init(problem, point, key, share)
    return iterate(method, problem, point, state, key), jnp.int32(1), jnp.int32(1)
