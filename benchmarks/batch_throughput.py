"""Claim: a batch is never slower per problem than a Python loop over the jitted single solve, with
the same answers, and the slots of its queue spend less than 1.5 times the steps that the problems
need. Half of the problems are noise and half have a planted support. float64, warm, the best of
repeats taken in turns; `cpu` is the ratio of processor time, which other work on the machine
disturbs less. abess (optional, `pip install abess`) solves the same sparse PCA problems one by one,
and is told the variance it left on the table.

At most `--seconds` of single solves are spent on a cell: larger ones are left out, and said so.

    python benchmarks/batch_throughput.py            # about twenty minutes
    python benchmarks/batch_throughput.py --quick    # --output JSON, --plot PNG
"""

import jax
import numpy as np
import results
from timing import in_turns, machine, once

jax.config.update("jax_enable_x64", True)

import sgep_jax as sgep
from sgep_jax import batch as batches
from sgep_jax.solve import default_method

SIZES = ((32, 4), (128, 8), (512, 16))
BATCHES = (1, 8, 64, 512, 4096)


def covariances(batch, n, s, seed=0):
    """(batch, n, n), of 2n samples each; every other one has s variables with a common factor."""
    rng = np.random.default_rng(seed)
    S = np.empty((batch, n, n))
    for i in range(batch):
        X = rng.standard_normal((2 * n, n))
        if i % 2:
            X[:, rng.choice(n, s, replace=False)] += rng.standard_normal((2 * n, 1))
        S[i] = X.T @ X / len(X)
    return S


def abess_solver():
    try:
        from abess.decomposition import SparsePCA
    except ImportError:
        return None
    return lambda S, s: np.ravel(SparsePCA(support_size=s).fit(Sigma=S).coef_)


def cell(n, s, S, repeats):
    """The values, and seconds per problem of both, the ratios, and the loss of waiting."""
    problems = jax.vmap(sgep.Problem)(-S)
    apart = [jax.tree.map(lambda leaf, i=i: leaf[i], problems) for i in range(len(S))]
    keys = batches.lane_keys(None, len(S))
    single = list(keys)

    def loop():
        return [sgep.solve(problem, s, key=key) for problem, key in zip(apart, single, strict=True)]

    def batch():
        return sgep.solve_batch(problems, s, keys=keys)

    found, alone = jax.block_until_ready(batch()), loop()
    same = all(
        np.array_equal(one.support, many) for one, many in zip(alone, found.support, strict=True)
    )
    method = default_method(n, s)
    chunk = batches.default_chunk(method, n, s, len(S), jax.default_backend())
    _, steps = batches._solve_batch((problems, keys, None), method, len(S), s, None, chunk)
    loss = int(steps) / int(np.sum(found.num_steps))
    (slow, slow_cpu), (fast, fast_cpu) = in_turns([loop, batch], repeats=repeats)
    return np.asarray(found.objective), {
        "n": n, "s": s, "batch": len(S), "chunk": chunk, "loss": loss, "same": same,
        "loop": slow / len(S), "seconds": fast / len(S), "speed-up": slow / fast,
        "cpu": slow_cpu / fast_cpu,
    }  # fmt: skip


def main():
    parser = results.parser(__doc__, plot=True)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--sizes", nargs="*", help="such as 32,4")
    parser.add_argument("--batches", nargs="*", type=int, default=BATCHES)
    options = parser.parse_args()
    sizes = [tuple(map(int, size.split(","))) for size in options.sizes or ()] or SIZES
    if options.quick:
        sizes, options.batches = [(32, 4)], (4,)
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
                print(f"{n:>4} {s:>3} {batch:>6} left out: {batch * seconds:.0f} s a loop")
                continue
            S = covariances(batch, n, s)
            repeats = 1 if options.quick else 10 if batch <= 8 else 3
            values, row = cell(n, s, S, repeats)
            seconds, fast = row["loop"], row["seconds"]
            line = (f"{n:>4} {s:>3} {batch:>6} {row['chunk']:>5} {1 / seconds:>9.1f} "
                    f"{1 / fast:>9.1f} {seconds / fast:>5.2f}x {row['cpu']:>5.2f}x "
                    f"{row['loss']:>5.2f} {row['same']!s:>5}")  # fmt: skip
            if other is not None:
                few = S[:64]
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
