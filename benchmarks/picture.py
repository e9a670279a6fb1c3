"""Claim: on each of the picture's cells the default is the lowest of all methods.

Draws docs/picture.png: distance from the best objective against time, one panel a cell. Needs
matplotlib.

    python benchmarks/picture.py --output docs/picture.png
"""

import argparse

import compare_methods
import jax
import timing

CELLS = [("randn-500", "pca", 16), ("randn-500", "fda", 16), ("a1a", "cca", 12)]
FLOOR = 1e-3  # per cent: where the best method is drawn on the logarithmic axis


def draw(cells, path):
    """`cells`: {(name, kind, s): {method: (objective, milliseconds)}}."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    labels = list(dict.fromkeys(label for rows in cells.values() for label in rows))
    markers = dict(zip(labels, "*oDsPX<>^vhp8d", strict=False))
    figure, axes = plt.subplots(1, len(cells), figsize=(12, 3.7), sharey=True)
    handles = {}
    for axis, ((name, kind, s), rows) in zip(axes, cells.items(), strict=True):
        best = min(value for value, _ in rows.values())
        for label in reversed(labels):
            if label in rows:
                value, milliseconds = rows[label]
                gap = max(100 * (value - best) / abs(best), FLOOR)
                big = label == "default"
                handles[label] = axis.scatter(
                    milliseconds, gap, s=260 if big else 45, marker=markers[label], zorder=3,
                    color="tab:red" if big else f"C{1 + labels.index(label) % 9}",
                )  # fmt: skip
        axis.set(xscale="log", yscale="log", xlabel="milliseconds, warm",
                 title=f"{name}, sparse {kind.upper()}, {s} variables")  # fmt: skip
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("above the best objective, %\n(bottom: the best)")
    figure.legend([handles[label] for label in labels], labels, loc="center right", fontsize=8)
    figure.tight_layout(rect=(0, 0, 0.88, 1))
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="docs/picture.png")
    parser.add_argument("--data", default=None)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    print(timing.machine())
    cells = {}
    for name, kind, s in CELLS:
        methods = list(compare_methods.METHODS)
        rows = compare_methods.measure_cell(name, kind, s, methods, options.data, repeats=3)
        cells[name, kind, s] = {
            label: (float(solution.objective), 1e3 * time.median)
            for label, (solution, time) in rows.items()
        }
        for label, (value, milliseconds) in cells[name, kind, s].items():
            print(name, kind, s, label, value, f"{milliseconds:.1f} ms", flush=True)
    draw(cells, options.output)


if __name__ == "__main__":
    main()
