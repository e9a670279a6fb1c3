"""Claim: a batch is never slower per problem than a Python loop over the jitted single solve, with
the same answers, and the slots of its queue spend less than 1.5 times the steps that the problems
need (`loss`, of the first core's share). Half of the problems are noise and half have a planted
support. float64, warm, the best of repeats taken in turns; `cpu` is the ratio of processor time,
which other work on the machine disturbs less. abess (optional, `pip install abess`) solves the same
sparse PCA problems one by one, and is told the variance it left on the table.

The loop runs over the first 256 problems of a batch, which has all. At most `--seconds` of batch
are spent on a cell: larger ones are left out, and said so. `--starts` gives each problem so many
instead of as many as it needs, so that 4096 of n = 512 take a minute. On a CPU the cores share the
batch, which a loop cannot: `taskset -c 0` shows what one core gains. `--devices 2` shares it among
two virtual CPU devices instead.

    python benchmarks/batch_throughput.py            # about twenty minutes
    python benchmarks/batch_throughput.py --starts 8
    python benchmarks/batch_throughput.py --starts 8 --devices 2 --batches 8 64 512
    python benchmarks/batch_throughput.py --quick    # --output JSON, --plot PNG
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import results
from jax import lax
from timing import in_turns, machine, once

jax.config.update("jax_enable_x64", True)

import sgep_jax as sgep
from sgep_jax import batch as batches
from sgep_jax.batch_arguments import lane_keys
from sgep_jax.cores import cores
from sgep_jax.solve import chosen

SIZES = ((32, 4), (128, 8), (512, 16))
BATCHES = (1, 8, 64, 512, 4096)
LOOPED = 256


@partial(jax.jit, static_argnames=("batch", "n", "s"))
def problems_of(batch, n, s):
    """`batch` problems −X'X/m, m = 2n; every other one has s variables with a common factor."""

    def make(number):
        draws, places, factor = jax.random.split(jax.random.fold_in(jax.random.key(0), number), 3)
        X = jax.random.normal(draws, (2 * n, n))
        common = jax.random.normal(factor, (2 * n, 1)) * (number % 2)
        chosen = jnp.zeros(n).at[jax.random.permutation(places, n)[:s]].set(1.0)
        X = X + common * chosen[None, :]
        return sgep.Problem(-X.T @ X / (2 * n))

    return lax.map(make, jnp.arange(batch))  # one at a time: 4096 of n = 512 are 9 GB as it is


def abess_solver():
    try:
        from abess.decomposition import SparsePCA
    except ImportError:
        return None
    return lambda S, s: np.ravel(SparsePCA(support_size=s).fit(Sigma=S).coef_)


def cell(problems, s, starts, mesh, repeats):
    """The values, and seconds per problem of both, the ratios, and the loss of waiting."""
    batch, n, _ = problems.A.shape
    apart = [jax.tree.map(lambda leaf, i=i: leaf[i], problems) for i in range(min(batch, LOOPED))]
    keys = lane_keys(None, batch)
    single = list(keys[: len(apart)])

    def loop():
        return [
            sgep.solve(problem, s, key=key, num_starts=starts)
            for problem, key in zip(apart, single, strict=True)
        ]

    def together():
        return sgep.solve_batch(problems, s, keys=keys, num_starts=starts, mesh=mesh)

    found, alone = jax.block_until_ready(together()), loop()
    same = all(
        np.array_equal(one.support, many) for one, many in zip(alone, found.support, strict=False)
    )
    method = chosen(None, n, s)
    share = -(-batch // (cores((problems, keys), batch) if mesh is None else mesh.size))
    chunk = batches.default_chunk(method, n, s, share, jax.default_backend())
    first = (problems, keys, None), method, np.int32(0), share
    _, steps = batches._solve_batch(*first, s, starts, chunk, share)
    loss = int(steps) / int(np.sum(found.num_steps[:share]))
    (slow, slow_cpu), (fast, fast_cpu) = in_turns([loop, together], repeats=repeats)
    slow, slow_cpu = (spent / len(apart) for spent in (slow, slow_cpu))
    fast, fast_cpu = (spent / batch for spent in (fast, fast_cpu))
    return np.asarray(found.objective), {
        "n": n, "s": s, "batch": batch, "chunk": chunk, "loss": loss, "same": same,
        "loop": slow, "seconds": fast, "speed-up": slow / fast, "cpu": slow_cpu / fast_cpu,
    }  # fmt: skip


def main():
    parser = results.parser(__doc__, plot=True)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--starts", type=int)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--sizes", nargs="*", help="such as 32,4")
    parser.add_argument("--batches", nargs="*", type=int, default=BATCHES)
    options = parser.parse_args()
    sizes = [tuple(map(int, size.split(","))) for size in options.sizes or ()] or SIZES
    if options.quick:
        sizes, options.batches = [(32, 4)], (4,)
    mesh = None
    if options.devices > 1:
        jax.config.update("jax_num_cpu_devices", options.devices)
        mesh = jax.make_mesh((options.devices,), ("problems",))
    other = abess_solver()
    print(machine())
    print("abess is not installed: left out" if other is None else "abess: one by one, one thread")
    titles = "   n   s  batch chunk   loop /s  batch /s  ratio    cpu  loss  same"
    print(titles + ("" if other is None else "  abess /s  lower by"))
    rows = []
    for n, s in sizes:
        seconds = 0.0
        for batch in options.batches:
            if batch * seconds > options.seconds:
                print(f"{n:>4} {s:>3} {batch:>6} left out: {batch * seconds:.0f} s a run")
                continue
            problems = problems_of(batch, n, s)
            repeats = 1 if options.quick else 20 if batch <= 8 else 3
            values, row = cell(problems, s, options.starts, mesh, repeats)
            seconds, fast = row["loop"], row["seconds"]
            line = (f"{n:>4} {s:>3} {batch:>6} {row['chunk']:>5} {1 / seconds:>9.1f} "
                    f"{1 / fast:>9.1f} {seconds / fast:>5.2f}x {row['cpu']:>5.2f}x "
                    f"{row['loss']:>5.2f} {row['same']!s:>5}")  # fmt: skip
            if other is not None:
                few = -np.asarray(problems.A.array[:64])
                xs, spent, _ = once(lambda few=few, s=s: [other(matrix, s) for matrix in few])
                theirs = np.array([x @ M @ x / (x @ x) for x, M in zip(xs, few, strict=True)])
                row["abess"] = spent / len(few)
                row["abess above"] = float(np.mean(1 + theirs / values[: len(few)]))
                line += f" {1 / row['abess']:>9.1f} {row['abess above']:>9.2%}"
            print(line, flush=True)
            rows.append(row)
    results.save(options.output, "batch_throughput", rows)
    results.lines(
        options.plot,
        {
            f"n = {n}, s = {s}": [
                [row[x] for row in rows if row["n"] == n] for x in ("batch", "speed-up")
            ]
            for n, s in sizes
        },
        xscale="log", xlabel="problems in the batch", ylabel="times as fast as a loop",
    )  # fmt: skip


if __name__ == "__main__":
    main()
