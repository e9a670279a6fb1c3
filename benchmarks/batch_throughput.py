"""Claim: a batch is never slower per problem than a Python loop over the jitted single solve, with
the same answers, and the slots of its queue spend less than 1.5 times the steps that the problems
need. Half of the problems are noise and half have a planted support. float64, warm, the best of
repeats taken in turns; `cpu` is the ratio of processor time, which other work on the machine
disturbs less. abess (optional, `pip install abess`) solves the same sparse PCA problems one by one,
and is told the variance it left on the table.

At most `--seconds` of single solves are spent on a cell: larger ones are left out, and said so.

    python benchmarks/batch_throughput.py            # about twenty minutes
    python benchmarks/batch_throughput.py --quick
"""

import argparse
import time

import jax
import numpy as np
from timing import machine

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


def in_turns(functions, repeats):
    """The least (seconds, processor seconds) of each function, measured in turns."""
    best = [(np.inf, np.inf)] * len(functions)
    for _ in range(repeats):
        for place, function in enumerate(functions):
            begin = time.perf_counter(), time.process_time()
            jax.block_until_ready(function())
            spent = time.perf_counter() - begin[0], time.process_time() - begin[1]
            best[place] = tuple(map(min, best[place], spent))
    return best


def abess_solver():
    try:
        from abess.decomposition import SparsePCA
    except ImportError:
        return None
    return lambda S, s: np.ravel(SparsePCA(support_size=s).fit(Sigma=S).coef_)


def cell(n, s, S, repeats):
    """One row: seconds per problem of both, the ratios, the loss of waiting, and the values."""
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
    (slow, slow_cpu), (fast, fast_cpu) = in_turns([loop, batch], repeats)
    return found, same, chunk, loss, slow / len(S), fast / len(S), slow_cpu / fast_cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--sizes", nargs="*", help="such as 32,4")
    parser.add_argument("--batches", nargs="*", type=int, default=BATCHES)
    options = parser.parse_args()
    sizes = [tuple(map(int, size.split(","))) for size in options.sizes or ()] or SIZES
    if options.quick:
        sizes, options.batches = [(32, 4)], (1, 8)
    other = abess_solver()
    print(machine())
    print("abess is not installed: left out" if other is None else "abess: one by one, one thread")
    titles = "   n   s  batch chunk   loop /s  batch /s  ratio    cpu  loss  same"
    print(titles + ("" if other is None else "  abess /s  lower by"))
    for n, s in sizes:
        seconds = 0.0
        for batch in options.batches:
            if batch * seconds > options.seconds:
                print(f"{n:>4} {s:>3} {batch:>6} left out: {batch * seconds:.0f} s a loop")
                continue
            S = covariances(batch, n, s)
            repeats = 1 if options.quick else 10 if batch <= 8 else 3
            found, same, chunk, loss, seconds, fast, cpu = cell(n, s, S, repeats)
            row = (f"{n:>4} {s:>3} {batch:>6} {chunk:>5} {1 / seconds:>9.1f} {1 / fast:>9.1f} "
                   f"{seconds / fast:>5.2f}x {cpu:>5.2f}x {loss:>5.2f} {same!s:>5}")  # fmt: skip
            if other is not None:
                few = S[:64]
                begin = time.perf_counter()
                xs = [other(matrix, s) for matrix in few]
                rate = len(few) / (time.perf_counter() - begin)
                theirs = np.array([x @ M @ x / (x @ x) for x, M in zip(xs, few, strict=True)])
                ours = -np.asarray(found.objective)[: len(few)]
                row += f" {rate:>9.1f} {np.mean(1 - theirs / ours):>9.2%}"
            print(row, flush=True)


if __name__ == "__main__":
    main()
