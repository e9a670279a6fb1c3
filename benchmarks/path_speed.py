"""Claim: `solve_path` over ten sparsities takes at most a third of the time of ten separate solves
from a cold start, because it compiles once; its objectives never rise with s, and are at least as
low as those of the separate solves. float64.

Each side runs in a fresh process, one after the other; imports are not counted. The objective may
differ by the luck of the starts: cells where the path is above are listed.

    python benchmarks/path_speed.py
    python benchmarks/path_speed.py --quick
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np
import pencils

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

    begin = time.perf_counter()
    values = run()
    cold = time.perf_counter() - begin
    begin = time.perf_counter()
    run()
    print(json.dumps({"cold": cold, "warm": time.perf_counter() - begin, "values": values}))


def measure(side, name, kind, options):
    command = [sys.executable, __file__, "--side", side, "--sets", name, "--kinds", kind]
    if options.quick:
        command.append("--quick")
    if options.data:
        command += ["--data", options.data]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="three sparsities of randn-100")
    parser.add_argument("--data", metavar="FOLDER")
    parser.add_argument("--sets", nargs="+", default=["randn-500"])
    parser.add_argument("--kinds", nargs="+", choices=pencils.KINDS, default=["pca", "fda"])
    parser.add_argument("--side", choices=["path", "separate"], help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    sparsities = [2, 3, 4] if options.quick else SPARSITIES
    if options.side:
        return work(options.side, options.sets[0], options.kinds[0], sparsities, options.data)
    cells = [(name, kind) for name in options.sets for kind in options.kinds]
    if options.quick:
        cells = [("randn-100", "pca")]
    for name, kind in cells:
        path = measure("path", name, kind, options)
        alone = measure("separate", name, kind, options)
        gap = (np.array(path["values"]) - alone["values"]) / np.abs(alone["values"])
        rises = np.diff(path["values"]).max(initial=0) > 1e-9
        print(f"{name} {kind}, s = {sparsities}: cold {path['cold']:.1f} s against "
              f"{alone['cold']:.1f} s, {alone['cold'] / path['cold']:.1f} times faster; warm "
              f"{path['warm']:.2f} s against {alone['warm']:.2f} s; "
              f"{'NOT monotone' if rises else 'monotone'}; path above by at most "
              f"{max(gap.max(), 0):.3%}, below by at most {max(-gap.min(), 0):.3%}")  # fmt: skip


if __name__ == "__main__":
    main()
