"""Claim: on each of the picture's cells the default is the lowest of all packages and methods, and
with fewer starts it is already lower than they are in less time than they take.

Draws docs/picture.png: distance from the best objective against time, one panel a cell, with the
packages of `peers.py` and the methods of `compare_methods.py`. Needs matplotlib, and the `bench`
extra for the packages: those that are not installed are left out, and said so.

    python benchmarks/picture.py --plot docs/picture.png --output picture.json
    python benchmarks/picture.py --quick

With `--output` every cell is saved as it is done, and the same command goes on from there.
"""

import methods
import numpy as np
import peers
import pencils
import results
from timing import machine

import sgep_jax as sgep

CELLS = [
    ("randn-500", "pca", 16),
    ("a1a", "pca", 10),
    ("randn-500", "fda", 16),
    ("a1a", "views", 10),
]
QUICK = [("randn-100", "pca", 4)]
TITLES = {"pca": "sparse PCA", "fda": "sparse discriminant", "views": "sparse CCA of two tables",
          "cca": "sparse CCA"}  # fmt: skip
SHOWN = ("DEC-B(R6-S6)", "TPM", "GCW", "TRF", "QMM-log")
SHORT = {"DEC-B(R6-S6)": "DEC-B", "OrthogonalMatchingPursuitCCA": "OMP-CCA", "QMM-log": "QMM",
         "ElasticNetCCA": "ElasticNet", "ParkhomenkoCCA": "Parkhomenko"}  # fmt: skip
FLOOR = 1e-3  # per cent: equal to the best is drawn here
OURS, THEIRS, LITERATURE = "#d62728", "#1f5fa8", "#8a8a8a"


def measured(name, kind, s, options):
    """The rows of `peers.py` and of the methods, on one pencil."""
    data = peers.cell(name, kind, options.data)
    answers = peers.theirs(data, kind, s, options)
    rows = peers.together(peers.ours(data, s, quick=options.quick), answers)
    problem = sgep.Problem(data["A"], data.get("C"))
    for label in SHOWN[2:3] if options.quick else SHOWN:
        if "C" not in data or label not in methods.ONLY_IDENTITY:
            row = methods.run(problem, s, methods.METHODS[label], limit=options.limit)
            rows[label] = {**row, "time": row["best"]}
    methods.set_above(rows)
    return {"n": problem.size, "rows": rows}


def place(names, x, y, wide, tall, line, bottom):
    """Heights for the labels beside the points (x, y): none on a point, another label, the line, or
    the `bottom` of the panel.

    `wide` is the width of a letter and `tall` the height of a line, in the units of x and y.
    """
    taken = [(at - wide, at + wide, height) for at, height in zip(x, y, strict=True)]
    taken += [(low, high + wide, h) for low, high, h in zip(*line, strict=True)]
    heights = np.array(y, float)
    for i in np.argsort(y, kind="stable"):
        begin, end = x[i] + 1.5 * wide, x[i] + (len(names[i]) + 2) * wide
        near = [h for low, high, h in taken if low < end and high > begin]
        steps = sorted(range(-8, 20), key=lambda step: (abs(step), step < 0))
        free = (y[i] + step * tall for step in steps if y[i] + step * tall > bottom + tall / 2)
        heights[i] = next(h for h in free if all(abs(h - other) > 0.95 * tall for other in near))
        taken.append((begin, end, heights[i]))
    return heights


def panel(axis, cell):
    rows = {k: row for k, row in cell["rows"].items() if "above" in row}
    best = min(row["objective"] for row in rows.values())

    def height(value):
        return np.log10(max(100 * (value - best) / abs(best), FLOOR))

    curve = sorted((p["time"] * 1e3, height(p["objective"])) for p in rows["sgep_jax"]["curve"])
    times, heights = np.array(curve).T
    heights = np.minimum.accumulate(heights)
    axis.plot(times, heights, "o-", color=OURS, linewidth=2.2,
              markersize=4, zorder=4, drawstyle="steps-post")  # fmt: skip
    end = rows.pop("sgep_jax")
    axis.plot(end["time"] * 1e3, height(end["objective"]), "*", color=OURS, markersize=19, zorder=5)
    names = [SHORT.get(label, label) for label in rows]
    x = np.log10([1e3 * row["time"] for row in rows.values()])
    y = [height(row["objective"]) for row in rows.values()]
    low, high = min(x.min(), np.log10(times.min())) - 0.2, max(x.max(), np.log10(times.max())) + 1
    bottom, top = -3.3, max(*y, heights.max()) + 0.45
    wide, tall = (high - low) / 54, (top - bottom) / 17
    flat = np.log10(times), np.log10(np.append(times[1:], times[-1])), heights
    texts = place(names, x, y, wide, tall, flat, bottom)
    for label, name, at, value, text in zip(rows, names, x, y, texts, strict=True):
        package = label in peers.PEERS
        color = THEIRS if package else LITERATURE
        axis.plot(10**at, value, "s" if package else "o", color=color, markersize=6.5, zorder=4.5)
        line = {"arrowstyle": "-", "color": color, "linewidth": 0.6} if text != value else None
        axis.annotate(name, (10**at, value), (10 ** (at + 1.5 * wide), text), fontsize=9,
                      color=color, va="center", weight="bold" if package else "normal",
                      arrowprops=line)  # fmt: skip
    axis.set(xscale="log", xlim=(10**low, 10**high), ylim=(bottom, top), yticks=range(-3, 3))
    axis.set_yticklabels(["best", "0.01 %", "0.1 %", "1 %", "10 %", "100 %"])
    axis.set_ylim(bottom, top)
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_title(f"{TITLES[cell['kind']]}: {cell['s']} of {cell['n']} variables, {cell['set']}",
                   fontsize=10.5, loc="left")  # fmt: skip


def draw(cells, path):
    """Two panels a row."""
    down, across = -(-len(cells) // 2), min(len(cells), 2)
    tall = 3.4 * down + 0.7
    drawing, axes = results.figure(down, across, (5.4 * across, tall))
    for axis, cell in zip(axes.flat, cells, strict=False):
        panel(axis, cell)
    for axis in axes[-1]:
        axis.set_xlabel("milliseconds, warm")
    for axis in axes[:, 0]:
        axis.set_ylabel("above the best objective")
    lowest = sum(cell["rows"]["sgep_jax"]["above"] <= methods.EQUAL for cell in cells)
    title = f"Lowest objective on {lowest} of {len(cells)}: down is better, left is faster"
    drawing.text(0.02, 1 - 0.2 / tall, title, fontsize=13, weight="bold", va="center")
    top = 1 - 0.5 / tall
    legend = (
        "★ sgep_jax default (• with fewer starts)",
        "■ packages",
        "● methods of the literature",
    )
    for x, text, color in zip((0.02, 0.36, 0.5), legend, (OURS, THEIRS, LITERATURE), strict=True):
        drawing.text(x, top, text, color=color, fontsize=10.5, va="center")
    results.draw(drawing, path, rect=(0, 0, 1, top - 0.1 / tall))


def main(argv=None):
    parser = peers.choose(results.parser(__doc__, plot=True))
    parser.add_argument("--data", metavar="FOLDER")
    options = parser.parse_args(argv)
    if options.quick:
        options.peers = ["abess"]
    print(machine())
    record, cells = results.Record(options.output, "picture"), []
    known = pencils.available(options.data)
    for name, kind, s in QUICK if options.quick else [cell for cell in CELLS if cell[0] in known]:
        key = {"set": name, "kind": kind, "s": s}
        cells.append(record.cell(key, lambda key=key: measured(*key.values(), options)))
        peers.show(cells[-1])
    peers.conclude(cells)
    if options.plot:
        draw(cells, options.plot)


if __name__ == "__main__":
    main()
