"""Claim: `solve_path` over ten sparsities takes at most a third of the time of ten separate solves
from a cold start, because it compiles once; its objectives never rise with s, and are at least as
low as those of the separate solves. float64.

Each side runs in a fresh process, one after the other; imports are not counted. The objective may
differ by the luck of the starts: cells where the path is above are listed.

    python benchmarks/path_speed.py
    python benchmarks/path_speed.py --quick
"""

import argparse

import numpy as np
import pencils
import results
from timing import child, machine, once, report

SPARSITIES = list(range(2, 21, 2))


def work(side, name, kind, sparsities, folder):
    """In a process of its own: print the time and the objectives."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import sgep_jax as sgep

    problem = sgep.Problem(*pencils.load(name, kind, folder))

    def run():
        if side == "path":
            return np.asarray(sgep.solve_path(problem, sparsities).objective).tolist()
        return [float(sgep.solve(problem, s).objective) for s in sparsities]

    values, cold, _ = once(run)
    report(cold=cold, warm=once(run)[1], values=values)


def measure(side, name, kind, options):
    command = ["--side", side, "--sets", name, "--kinds", kind]
    command += ["--quick"] * options.quick + ["--data", options.data] * bool(options.data)
    if options.sparsities:
        command += ["--sparsities", *options.sparsities]
    return child(__file__, command)


def main(argv=None):
    parser = results.parser(__doc__, cells=True)
    parser.add_argument("--side", choices=["path", "separate"], help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    sparsities = [3, 4] if options.quick else options.sparsities or SPARSITIES
    if options.side:
        return work(options.side, options.sets[0], options.kinds[0], sparsities, options.data)
    print(machine())
    sets, kinds, rows = options.sets or ["randn-500"], options.kinds or ["pca", "fda"], []
    if options.quick:
        sets, kinds = ["randn-100"], ["pca"]
    for name, kind in [(name, kind) for name in sets for kind in kinds]:
        path = measure("path", name, kind, options)
        alone = measure("separate", name, kind, options)
        gap = (np.array(path["values"]) - alone["values"]) / np.abs(alone["values"])
        rises = np.diff(path["values"]).max(initial=0) > 1e-9
        print(f"{name} {kind}, s = {sparsities}: cold {path['cold']:.1f} s against "
              f"{alone['cold']:.1f} s, {alone['cold'] / path['cold']:.1f} times faster; warm "
              f"{path['warm']:.2f} s against {alone['warm']:.2f} s; "
              f"{'NOT monotone' if rises else 'monotone'}; path above by at most "
              f"{max(gap.max(), 0):.3%}, below by at most {max(-gap.min(), 0):.3%}")  # fmt: skip
        rows.append({"set": name, "kind": kind, "s": sparsities, "path": path, "separate": alone})
    results.save(options.output, "path_speed", rows)


if __name__ == "__main__":
    main()
