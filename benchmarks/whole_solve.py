"""Claim: from the same greedy start, the engine's objective is not above that of the paper's
DEC-B(R6-S6), at a fraction of its time, over PCA, FDA and CCA pencils of the paper's grid; the runs
in which it is above, and the lowest and the median ratio of times, are printed at the end. float64,
warm, one after the other in one run; of each cell several keys, and the mean of their best times.

Both begin where greedy from the most promising column leads. DEC-B goes on with the paper's
parameters; the engine is `solve(problem, s, method=Multistart(lanes=2, patience=5))`: that start,
and others of its own until five in a row have brought nothing better.

    python benchmarks/whole_solve.py               # a quarter of an hour
    python benchmarks/whole_solve.py --quick       # --output JSON
"""

import jax
import numpy as np
import pencils
import results
from timing import machine, measure

jax.config.update("jax_enable_x64", True)

import sgep_jax as sgep

CELLS = [
    (name, kind, s)
    for name in ("a1a", "w1a", "madelon", "randn-100", "randn-500", "randn-2000")
    for kind in ("pca", "fda", "cca")
    for s in (4, 12, 24, 40)
    if (name, kind) not in {("w1a", "cca"), ("madelon", "cca")}  # n = 2000 rows, as a1a with 1605
]
QUICK = [("randn-100", "pca", 4)]


def compare(name, kind, s, options):
    A, C = pencils.load(name, kind, options.data)
    problem = sgep.Problem(A, C)
    methods = {
        "DEC-B": (sgep.Decomposition(random=6, swap=6), 1 if options.quick else 2),
        "engine": (sgep.Multistart(lanes=2, patience=options.patience), 1 if options.quick else 5),
    }
    row = {"n": len(A)}
    for label, (method, repeats) in methods.items():
        runs = [
            measure(
                lambda method=method, key=key: sgep.solve(
                    problem, s, method=method, key=jax.random.key(key)
                ),
                repeats=repeats,
            )
            for key in range(options.keys)
        ]
        row[label] = [float(solution.objective) for solution, _ in runs]
        row[f"{label} time"] = sum(time.best for _, time in runs) / len(runs)
    row["starts"] = sum(int(solution.num_starts) for solution, _ in runs) / len(runs)
    return row


def main():
    parser = results.parser(__doc__, cells=True)
    parser.add_argument("--patience", type=int, default=5)
    parser.add_argument("--keys", type=int, default=4)
    options = parser.parse_args()
    if options.quick:
        options.keys = 1
    known = pencils.available(options.data)
    cells = [cell for cell in (QUICK if options.quick else CELLS) if cell[0] in known]
    cells = [cell for cell in cells if not options.sets or cell[0] in options.sets]
    cells = [cell for cell in cells if not options.kinds or cell[1] in options.kinds]
    cells = [cell for cell in cells if not options.sparsities or cell[2] in options.sparsities]
    print(machine())
    print(f"{'set':<11} {'kind':<4} {'n':>5} {'s':>3} {'best DEC-B':>17} {'engine lower by':>18} "
          f"{'starts':>6} {'DEC-B':>9} {'engine':>9} {'ratio':>6}")  # fmt: skip
    ratios, above, below = [], [], 0
    record = results.Record(options.output, "whole_solve")
    for name, kind, s in cells:
        key = {"set": name, "kind": kind, "s": s, "patience": options.patience,
               "keys": options.keys, "quick": options.quick}  # fmt: skip
        row = record.cell(key, lambda c=(name, kind, s): compare(*c, options))
        pairs = zip(row["DEC-B"], row["engine"], strict=True)
        gains = [(dec - new) / abs(dec) for dec, new in pairs]
        slow, fast = row["DEC-B time"], row["engine time"]
        ratios.append(slow / fast)
        above += [(name, kind, s, key) for key, gain in enumerate(gains) if gain < -1e-9]
        below += min(gains) > 1e-9
        print(f"{name:<11} {kind:<4} {row['n']:>5} {s:>3} {min(row['DEC-B']):>17.8f} "
              f"{min(gains):>8.3%}, {max(gains):>8.3%} {row['starts']:>6.1f} {slow:>7.3f} s "
              f"{fast * 1e3:>6.1f} ms {ratios[-1]:>5.0f}x",
              flush=True)  # fmt: skip
    print(f"{options.keys} keys each: engine above DEC-B in {len(above)} of "
          f"{options.keys * len(cells)} runs {above or ''}; lower with all keys on {below} of "
          f"{len(cells)} cells; speed ratio: lowest {min(ratios):.0f}, median "
          f"{np.median(ratios):.0f}, 20 and more on {sum(r >= 20 for r in ratios)}")  # fmt: skip


if __name__ == "__main__":
    main()
