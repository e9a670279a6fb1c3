"""Claim: the figures of Yuan, Shen and Zheng (CVPR 2019), redrawn, with the default beside them:
it ends lowest or equal on every panel.

    python benchmarks/paper_figures.py convergence   # objective against time, all methods
    python benchmarks/paper_figures.py blocks        # the same for the working sets of the paper
    python benchmarks/paper_figures.py accuracy      # objective against s = 4, 8, ..., 40
    python benchmarks/paper_figures.py time          # time against s, on w1a
    python benchmarks/paper_figures.py convergence --quick

Each writes a picture and a JSON file of the same name next to it (`--output NAME`). Objectives are
exact on the final support. The time of a step is that of the whole run divided evenly by its steps;
runs are warm, and the first call, which compiles, is in the JSON. The data folder is an argument:
without it only the random sets are drawn.
"""

import argparse

import jax
import numpy as np
import pencils
import results
from compare_methods import EQUAL, METHODS, ONLY_IDENTITY
from timing import machine, measure

jax.config.update("jax_enable_x64", True)

import sgep_jax as sgep

PAPER = [label for label in METHODS if label not in ("swap search", "TPM 8-4-2", "PCW")]
BLOCKS = {
    f"R{random}S{swap}": sgep.Decomposition(random=random, swap=swap)
    for random, swap in ((6, 0), (10, 0), (0, 6), (0, 10), (6, 6), (8, 8))
}


def run(problem, s, method, repeats):
    """One method on one cell: its history over its own time."""
    solution, time = measure(
        lambda: sgep.solve(problem, s, method=method), repeats=repeats, budget=20
    )
    steps = int(solution.num_steps)
    history = np.asarray(solution.history[: steps + 1]).tolist()
    return {
        "objective": float(solution.objective), "time": time.median, "best": time.best,
        "first": time.first, "steps": steps, "history": history,
        "status": sgep.Status(int(solution.status)).name,
    }  # fmt: skip


def panel(name, kind, s, methods, options):
    A, C = pencils.load(name, kind, options.data)
    problem = sgep.Problem(A, C)
    rows = {
        label: run(problem, s, method, options.repeats)
        for label, method in methods.items()
        if C is None or label not in ONLY_IDENTITY
    }
    best = min(row["objective"] for row in rows.values())
    print(f"\n{name} {kind}, n = {problem.size}, s = {s}")
    for label, row in rows.items():
        row["above"] = (row["objective"] - best) / abs(best)
        print(f"  {label:<14} {row['objective']:>14.9g} {row['above']:>9.3%} above "
              f"{row['time'] * 1e3:>9.1f} ms  {row['status']}", flush=True)  # fmt: skip
    return {"set": name, "kind": kind, "s": s, "n": problem.size, "rows": rows}


def draw_convergence(panels, path):
    """Relative distance from the lowest value of the panel, against time."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(panels), figsize=(4.6 * len(panels), 3.6), squeeze=False)
    for axis, cell in zip(axes[0], panels, strict=True):
        best = min(row["objective"] for row in cell["rows"].values())
        for label, row in cell["rows"].items():
            history = np.append(row["history"], row["objective"])
            times = np.linspace(0, row["time"], len(history) + 1)[1:]
            above = np.maximum((np.minimum.accumulate(history) - best) / abs(best), 1e-7)
            wide = 2.5 if label == "default" else 1.2
            axis.step(times, above, where="post", label=label, linewidth=wide)
            axis.plot(times[-1], above[-1], "o", markersize=3, color=axis.lines[-1].get_color())
        axis.set(xscale="log", yscale="log", xlabel="seconds")
        axis.set_title(f"{cell['set']} {cell['kind']}, n = {cell['n']}, s = {cell['s']}")
    axes[0][0].set_ylabel("above the lowest, relative")
    axes[0][-1].legend(fontsize=7, loc="upper right")
    save(figure, path)


def draw_against_s(panels, path, value, label):
    """`value` of each method against s: a row for each kind, a column for each set."""
    import matplotlib.pyplot as plt

    sets = list(dict.fromkeys(cell["set"] for cell in panels))
    kinds = list(dict.fromkeys(cell["kind"] for cell in panels))
    size = (3.2 * len(sets), 2.8 * len(kinds))
    figure, axes = plt.subplots(len(kinds), len(sets), figsize=size, squeeze=False)
    for row, kind in enumerate(kinds):
        for column, name in enumerate(sets):
            axis = axes[row][column]
            cells = [cell for cell in panels if (cell["set"], cell["kind"]) == (name, kind)]
            for method in METHODS:
                points = [(c["s"], c["rows"][method][value]) for c in cells if method in c["rows"]]
                if points:
                    wide = 2.5 if method == "default" else 1.0
                    axis.plot(*zip(*points, strict=True), "o-", markersize=3, linewidth=wide,
                              label=method)  # fmt: skip
            axis.set(title=f"{name} {kind}", xlabel="s" if row == len(kinds) - 1 else "")
            if value == "time":
                axis.set_yscale("log")
    axes[0][0].set_ylabel(label)
    axes[0][0].legend(fontsize=6)
    save(figure, path)


def save(figure, path):
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    print(f"drew {path}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("figure", choices=["convergence", "blocks", "accuracy", "time"])
    parser.add_argument("--quick", action="store_true", help="one small cell, three methods")
    parser.add_argument("--data", metavar="FOLDER")
    parser.add_argument("--sets", nargs="+", metavar="NAME")
    parser.add_argument("--kinds", nargs="+", choices=pencils.KINDS, default=list(pencils.KINDS))
    parser.add_argument("--sparsities", nargs="+", type=int)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=PAPER)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", metavar="NAME", help="default: the figure's")
    options = parser.parse_args(argv)
    print(machine())
    methods = BLOCKS if options.figure == "blocks" else {m: METHODS[m] for m in options.methods}
    if options.quick:
        sets, sparsities, options.kinds = ["randn-100"], [4], ["pca"]
        methods = dict(list(methods.items())[:2])
    elif options.figure in ("convergence", "blocks"):
        sets, sparsities = options.sets or ["randn-500"], options.sparsities or [20]
    else:
        known = pencils.available(options.data)
        alone = ["w1a"] if options.figure == "time" and "w1a" in known else known
        sets, sparsities = options.sets or alone, options.sparsities or list(range(4, 41, 4))
    panels = [
        panel(name, kind, s, methods, options)
        for name in sets
        for kind in options.kinds
        for s in sparsities
    ]
    name = options.output or options.figure
    results.save(f"{name}.json", options.figure, panels)
    if options.figure in ("convergence", "blocks"):
        draw_convergence(panels, f"{name}.png")
    elif options.figure == "time":
        draw_against_s(panels, f"{name}.png", "time", "seconds")
    else:
        draw_against_s(panels, f"{name}.png", "objective", "objective")
    if "default" in methods:
        failed = [c for c in panels if c["rows"]["default"]["above"] > EQUAL]
        print(f"\nthe default is lowest or equal on {len(panels) - len(failed)} of {len(panels)}")
        for cell in failed:
            print(f"  not on {cell['set']} {cell['kind']}, s = {cell['s']}")


if __name__ == "__main__":
    main()
