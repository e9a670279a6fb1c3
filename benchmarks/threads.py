"""Claim: on a CPU the default is faster with one XLA thread than with a pool of them, which hands
its many small kernels from thread to thread. `NPROC=1`, set before Python starts, makes it one;
other cores are better used by other processes, or by the threads of `solve_batch`. float64, warm,
the best of several in each of three processes a setting, which take turns.

    python benchmarks/threads.py
    python benchmarks/threads.py --quick    # --output JSON
"""

import argparse

import jax
import numpy as np
import results
from timing import child, machine, measure, report

jax.config.update("jax_enable_x64", True)

import sgep_jax as sgep

SIZES = ((100, 20), (500, 16), (2000, 40))


def run(n, s, starts):
    """In a process of its own: so many starts on noise."""
    X = np.random.default_rng(0).standard_normal((300, n))
    problem = sgep.Problem(-X.T @ X / 300)
    solution, time = measure(lambda: sgep.solve(problem, s, num_starts=starts), repeats=7)
    report(seconds=time.best, objective=float(solution.objective))


def main():
    parser = results.parser(__doc__)
    parser.add_argument("--run", nargs=3, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        return run(*options.run)
    print(machine())
    rounds, starts = (1, 2) if options.quick else (3, 64)
    figures = []
    for n, s in ((50, 4),) if options.quick else SIZES:
        arguments = ["--run", n, s, starts]
        turns = [
            [child(__file__, arguments, environment=setting) for setting in ((), {"NPROC": "1"})]
            for _ in range(rounds)
        ]
        pool, one = (min(row["seconds"] for row in rows) for rows in zip(*turns, strict=True))
        figures.append({"n": n, "s": s, "starts": starts, "pool": pool, "one": one})
        print(f"n = {n}, s = {s}, {starts} starts: {1e3 * pool:.1f} ms with a pool of threads, "
              f"{1e3 * one:.1f} ms with one: {pool / one:.2f} times as fast",
              flush=True)  # fmt: skip
    results.save(options.output, "threads", figures)


if __name__ == "__main__":
    main()
