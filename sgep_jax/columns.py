"""One problem too large for one device: its matrices shared out by variables.

Device d of D holds variables d·n/D to (d + 1)·n/D: those columns of the table Z of a Gram matrix
Z'Z, or of an n × n array. XLA's partitioner does the rest, as with any sharded input of a `jit`: of
a product Z'y each device computes its own n/D numbers, and the few columns of Z that a step asks
for are sent to all.
"""

import jax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from . import validation
from .problem import Problem
from .samples import SparseSamples
from .sharded import to_mesh


def shard_columns(problem, mesh) -> Problem:
    """The same problem with each device of `mesh` holding a share of the variables.

    `solve` then gives the answer of one device, up to rounding, and no device ever holds the whole
    table. It pays for what does not fit on one device, and for nothing else: every step of the
    search waits for all devices (`docs/many_hosts.md`).

    **Arguments**

    - `problem`: a `Problem` with any matrices but those of sparse tables; n must be a multiple of
      the number of devices. Best `pca_problem(X, form="gram")` and the like.
    - `mesh`: a `jax.sharding.Mesh`, all of whose devices take part.

    ```python
    problem = shard_columns(pca_problem(X, form="gram"), mesh)
    solution = solve(problem, 8)
    ```
    """
    validation.problem(problem)
    _dividable(problem, mesh.size)
    automatic = (AxisType.Auto,) * len(mesh.axis_names)  # explicit axes would ask at every product
    mesh = Mesh(mesh.devices, mesh.axis_names, axis_types=automatic)

    def share(leaf):
        axes = [None] * leaf.ndim
        if problem.size in leaf.shape:  # of an n × n array, which is read by rows, the columns
            axes[-1 - leaf.shape[::-1].index(problem.size)] = mesh.axis_names
        return to_mesh(leaf, NamedSharding(mesh, PartitionSpec(*axes)))

    return jax.tree.map(share, problem)


def _dividable(problem, devices: int):
    tables = [getattr(matrix, "samples", None) for matrix in (problem.A, problem.C)]
    if any(isinstance(table, SparseSamples) for table in tables):
        raise TypeError(
            "shard_columns(problem) must have dense tables, but this one was made from a sparse "
            "one, whose columns are of different lengths. Pass X.toarray(), or solve it on one "
            "device: only its nonzeros are stored."
        )
    n = problem.size
    if n % devices:
        fewer = max(count for count in range(1, devices) if n % count == 0)
        raise ValueError(
            f"shard_columns(problem) must have a multiple of {devices} variables, the number of "
            f"devices of the mesh, but n = {n}. Leave out {n % devices} of them, those of smallest "
            f"variance say, or use a mesh of {fewer} devices."
        )
