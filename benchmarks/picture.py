"""Claim: on each of the picture's cells no method is lower than the default, and none that comes
near it is faster. Draws docs/picture.png: distance from the best objective against time, one panel
a cell. Needs matplotlib.

    python benchmarks/picture.py --output docs/picture.png
"""

import argparse

import compare_methods
import jax
import timing

import sgep_jax as sgep

CELLS = [("randn-500", "pca", 16), ("randn-500", "fda", 16), ("a1a", "cca", 12)]
FLOOR = 1e-3  # per cent: where the best method is drawn on the logarithmic axis


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="docs/picture.png")
    parser.add_argument("--data", default=None)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    print(timing.machine())
    figure, axes = plt.subplots(1, len(CELLS), figsize=(11, 3.6), sharey=True)
    for axis, (name, kind, s) in zip(axes, CELLS, strict=True):
        rows = compare_methods.measure_cell(name, kind, s, list(compare_methods.METHODS),
                                            options.data, repeats=3)  # fmt: skip
        values = {label: float(solution.objective) for label, (solution, _) in rows.items()}
        best = min(values.values())
        for label, (solution, time) in rows.items():
            gap = max(100 * (values[label] - best) / abs(best), FLOOR)
            ours = label in ("default", "swap search")
            axis.scatter(1e3 * time.median, gap, s=70 if ours else 28, zorder=3,
                         color="tab:red" if ours else "tab:gray")  # fmt: skip
            axis.annotate(label, (1e3 * time.median, gap), xytext=(5, 4), fontsize=8,
                          textcoords="offset points",
                          color="tab:red" if ours else "black")  # fmt: skip
            print(name, kind, s, label, values[label], f"{1e3 * time.median:.1f} ms",
                  sgep.Status(int(solution.status)).name)  # fmt: skip
        axis.set(xscale="log", yscale="log", xlabel="milliseconds, warm",
                 title=f"{name}, sparse {kind.upper()}, {s} variables")  # fmt: skip
        axis.margins(x=0.25)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("above the best objective, %\n(bottom: the best)")
    figure.tight_layout()
    figure.savefig(options.output, dpi=110)


if __name__ == "__main__":
    main()
