"""Claim: the figures of Yuan, Shen and Zheng (CVPR 2019), redrawn, with the default beside them:
it ends lowest or equal on every panel. That of accuracy is drawn by `compare_methods.py`.

    python benchmarks/paper_figures.py convergence   # objective against time, all methods
    python benchmarks/paper_figures.py blocks        # the same for the working sets of the paper
    python benchmarks/paper_figures.py time          # time against s, on w1a
    python benchmarks/paper_figures.py convergence --quick

Each writes a picture and a JSON file named after it (`--plot`, `--output`), the JSON after every
panel: the same command goes on where it was cut off. Objectives are exact on the final support. The
time of a step is that of the whole run divided evenly by its steps; runs are warm, and the first
call, which compiles, is in the JSON. Without a data folder only the random sets are drawn.
"""

import methods
import numpy as np
import pencils
import results
from timing import machine

import sgep_jax as sgep

PAPER = [label for label in methods.METHODS if label not in ("swap search", "TPM 8-4-2", "PCW")]
BLOCKS = {
    f"R{random}S{swap}": sgep.Decomposition(random=random, swap=swap)
    for random, swap in ((6, 0), (10, 0), (0, 6), (0, 10), (6, 6), (8, 8))
}


def draw_convergence(panels, path):
    """Relative distance from the lowest value of the panel, against time."""
    size = (4.4 * len(panels) + 1.6, 3.6)
    drawing, axes = results.figure(1, len(panels), size)
    labels, lines = dict.fromkeys(label for cell in panels for label in cell["rows"]), {}
    colors = dict(zip(labels, results.COLORS, strict=False))
    for axis, cell in zip(axes[0], panels, strict=True):
        rows = {label: row for label, row in cell["rows"].items() if "history" in row}
        best = min(row["objective"] for row in rows.values())
        for label, row in rows.items():
            history = np.append(row["history"], row["objective"])
            times = np.linspace(0, row["time"], len(history) + 1)[1:]
            above = np.maximum((np.minimum.accumulate(history) - best) / abs(best), 1e-7)
            wide = 2.5 if label == "default" else 1.2
            (lines[label],) = axis.step(
                times, above, where="post", color=colors[label], linewidth=wide
            )
            axis.plot(times[-1], above[-1], "o", markersize=3, color=colors[label])
        axis.set(xscale="log", yscale="log", xlabel="seconds")
        axis.set_title(f"{cell['set']} {cell['kind']}, n = {cell['n']}, s = {cell['s']}")
    axes[0][0].set_ylabel("above the lowest, relative")
    drawing.legend(list(lines.values()), list(lines), loc="center right", fontsize=9)
    results.draw(drawing, path, rect=(0, 0, 1 - 1.5 / size[0], 1))


def draw_against_s(panels, path, value, label, floor=0.0, **axes_of):
    """`value` of each method against s: a row for each kind, a column for each set (one set: a
    column for each kind)."""
    sets = list(dict.fromkeys(cell["set"] for cell in panels))
    kinds = list(dict.fromkeys(cell["kind"] for cell in panels))
    down, across = (1, len(kinds)) if len(sets) == 1 else (len(kinds), len(sets))
    size = (2.9 * across + 1.6, 2.6 * down)
    drawing, axes = results.figure(down, across, size)
    colors, lines = dict(zip(methods.METHODS, results.COLORS, strict=False)), {}
    for row, kind in enumerate(kinds):
        for column, name in enumerate(sets):
            axis = axes.reshape(len(kinds), len(sets))[row][column]
            cells = [cell for cell in panels if (cell["set"], cell["kind"]) == (name, kind)]
            for method in reversed(methods.METHODS):  # the default on top
                rows = [(cell["s"], cell["rows"].get(method, {})) for cell in cells]
                points = [(s, max(row[value], floor)) for s, row in rows if value in row]
                if points:
                    wide = 2.5 if method == "default" else 1.0
                    (lines[method],) = axis.plot(
                        *zip(*points, strict=True), "o-", markersize=3, linewidth=wide,
                        color=colors[method],
                    )  # fmt: skip
            axis.set(title=f"{name} {kind}", yscale="log", **axes_of)
    for axis in axes[-1]:
        axis.set_xlabel("s")
    for axis in axes[:, 0]:
        axis.set_ylabel(label)
    shown = [method for method in methods.METHODS if method in lines]
    drawing.legend([lines[method] for method in shown], shown, loc="center right", fontsize=9)
    results.draw(drawing, path, rect=(0, 0, 1 - 1.5 / size[0], 1))


def grid(options):
    """(sets, kinds, sparsities) of the chosen figure."""
    if options.quick:
        return ["randn-100"], ["pca"], [4]
    kinds = options.kinds or pencils.KINDS
    if options.figure in ("convergence", "blocks"):
        return options.sets or ["randn-500"], kinds, options.sparsities or [20]
    known = pencils.available(options.data)
    alone = ["w1a"] if "w1a" in known else known
    return options.sets or alone, kinds, sorted(options.sparsities or range(4, 41, 4))


def main(argv=None):
    parser = methods.choose(results.parser(__doc__, cells=True, plot=True))
    parser.add_argument("figure", choices=["convergence", "blocks", "time"])
    options = parser.parse_args(argv)
    print(machine())
    chosen = {label: methods.METHODS[label] for label in options.methods or PAPER}
    if options.figure == "blocks":
        chosen = BLOCKS
    if options.quick:
        chosen = dict(list(chosen.items())[:2])
    sets, kinds, sparsities = grid(options)
    steps = options.figure in ("convergence", "blocks")
    record = results.Record(options.output or f"{options.figure}.json", options.figure)
    panels = [
        methods.side_by_side(record, name, kind, s, chosen, options, history=steps)
        for name in sets
        for kind in kinds
        for s in sparsities
    ]
    path = options.plot or f"{options.figure}.png"
    if steps:
        draw_convergence(panels, path)
    else:
        draw_against_s(panels, path, "time", "seconds")
    if "default" in chosen:
        methods.conclude(panels)


if __name__ == "__main__":
    main()
