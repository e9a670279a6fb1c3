"""Claim: given the same time, the default is within 0.1 %, and within 1 %, of the best known value
on at least as many instances as any other method; times at which another is ahead are printed.

A performance profile: the fraction of instances on which a method is that close, against wall time.
A method with a single run is one point; the default is drawn over `num_starts` = 1, 2, 4, 8, ...
and what it chooses itself. "Best known" is the lowest of all methods and starts here. Methods that
are defined for C = I alone count on those instances alone. Warm, float64.

    python benchmarks/quality_over_time.py --output quality.json --plot quality.png
    python benchmarks/quality_over_time.py --quick

With `--output` every instance is saved as it is done, and the same command goes on from there.
"""

import methods
import numpy as np
import pencils
import results
from timing import machine

import sgep_jax as sgep

REAL = ("a1a", "w1a", "madelon", "mushrooms")
NOISE = ("randn-100", "randn-500", "randn-1500")
CLOSE = (1e-3, 1e-2)


def instances(options):
    """(set, kind, s, seed): real sets once, noise with three seeds."""
    if options.quick:
        return [("randn-100", "pca", 4, 0)]
    known = options.sets or pencils.available(options.data)
    return [
        (name, kind, s, seed)
        for name in (*REAL, *NOISE)
        if name in known
        for kind in options.kinds or pencils.KINDS
        for s in options.sparsities or (8, 20)
        for seed in (range(3) if name in NOISE else [0])
    ]


def measured(name, kind, s, seed, labels, slow, options):
    """{"n", "points": {method: [[seconds, objective], ...]}, "first": {method: seconds}}."""
    A, C = pencils.load(name, kind, options.data, seed)
    problem = sgep.Problem(A, C)
    curve = methods.anytime(problem, s, options.repeats, (1,) if options.quick else methods.FEW)
    points = {"default": [[point["time"], point["objective"]] for point in curve]}
    first = {}
    for label in labels:
        if (
            label == "default"
            or label in slow
            or (C is not None and label in methods.ONLY_IDENTITY)
        ):
            continue
        row = methods.run(problem, s, methods.METHODS[label], options.repeats, options.limit)
        points[label], first[label] = [[row["best"], row["objective"]]], row["first"]
    return {"n": len(A), "points": points, "first": first}


def seconds_to(cells, close):
    """{method: sorted seconds after which it is that close, infinite where it never is}."""
    found = {}
    for cell in cells:
        best = min(value for curve in cell["points"].values() for _, value in curve)
        for label, curve in cell["points"].items():
            times = [t for t, value in curve if value <= best + close * abs(best)]
            found.setdefault(label, []).append(min(times, default=np.inf))
        for label in cell["slow"]:
            found.setdefault(label, []).append(np.inf)
    return {label: np.sort(times) for label, times in found.items()}


def plot(cells, path):
    drawing, axes = results.figure(1, len(CLOSE), (11, 4.2))
    every = [t for cell in cells for curve in cell["points"].values() for t, _ in curve]
    for axis, close in zip(axes[0], CLOSE, strict=True):
        for place, (label, times) in enumerate(seconds_to(cells, close).items()):
            steps = np.append(times[np.isfinite(times)], 1.5 * max(every))
            share = np.minimum(np.arange(1, len(steps) + 1), len(steps) - 1) / len(times)
            axis.step(np.append(0.7 * min(every), steps), 100 * np.append(0, share), where="post",
                      label=label, color=results.COLORS[place], zorder=3 if place == 0 else 2,
                      linewidth=3 if place == 0 else 1.3)  # fmt: skip
        axis.set(xscale="log", ylim=(-3, 103), xlabel="seconds, warm",
                 title=f"within {close:.1%} of the best known")  # fmt: skip
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel(f"% of {len(cells)} instances")
    drawing.legend(*axes[0][0].get_legend_handles_labels(), loc="center right", fontsize=8)
    results.draw(drawing, path, rect=(0, 0, 0.87, 1))


def ahead(cells, label, close):
    """In words: when more instances are solved by this method than by the default, if ever."""
    cells = [cell for cell in cells if label in cell["points"] or label in cell["slow"]]
    times = seconds_to(cells, close)
    mine, default = times[label], times["default"]
    when = [t for t in mine[np.isfinite(mine)] if np.sum(mine <= t) > np.sum(default <= t)]
    return f", AHEAD between {1e3 * min(when):.1f} and {1e3 * max(when):.1f} ms" if when else ""


def conclude(cells):
    for close in CLOSE:
        print(f"\nwithin {close:.1%} of the best known, % of instances after 10 ms, 100 ms, 1 s, "
              f"10 s, at the end")  # fmt: skip
        for label, times in seconds_to(cells, close).items():
            budgets = (1e-2, 1e-1, 1.0, 10.0, np.finfo(float).max)
            shares = " ".join(f"{np.mean(times <= budget):>6.0%}" for budget in budgets)
            print(f"  {label:<14} {shares}   of {len(times)}{ahead(cells, label, close)}")


def main(argv=None):
    options = methods.choose(results.parser(__doc__, cells=True, plot=True)).parse_args(argv)
    print(machine())
    labels = options.methods or list(methods.METHODS)
    if options.quick:
        labels = ["GCW"]
    record, cells = results.Record(options.output, "quality_over_time"), []
    for name, kind, s, seed in instances(options):
        key = {"set": name, "kind": kind, "s": s, "seed": seed}
        slow = [
            label
            for cell in cells
            if (cell["set"], cell["kind"]) == (name, kind)
            for label, first in cell["first"].items()
            if first > options.limit
        ]
        slow = sorted(set(slow))
        cells.append(
            record.cell(key, lambda key=key, slow=slow: {
                "slow": slow, **measured(*key.values(), labels, slow, options)
            })
        )  # fmt: skip
        best = {
            label: min(value for _, value in curve) for label, curve in cells[-1]["points"].items()
        }
        text = ", ".join(f"{label} {value:.6g}" for label, value in best.items())
        print(f"{name} {kind}, n = {cells[-1]['n']}, s = {s}, seed {seed}: {text}", flush=True)
    conclude(cells)
    if options.plot:
        plot(cells, options.plot)


if __name__ == "__main__":
    main()
