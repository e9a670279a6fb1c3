"""Claim: on every cell (data set × problem × sparsity) the objective of the default,
`solve(problem, s)`, is the lowest or equal.

    python benchmarks/compare_methods.py --quick
    python benchmarks/compare_methods.py --sets randn-100 a1a --kinds pca fda --sparsities 8 20

prints, per method and cell, the objective (exact on the final support), how far it is above the
lowest of the cell, the time of a solve and of its first call (with compilation), and at the end on
which cells the claim fails. All methods but the default and QMM begin at the same greedy start.
`--quick` takes two cells in about a minute; without options the grid is the paper's, which takes
hours on two cores.
"""

import argparse

import jax
import pencils
import timing

import sgep_jax as sgep

METHODS = {
    "default": None,
    "DEC-B(R6-S6)": sgep.Decomposition(),
    "DEC-C(R6-S6)": sgep.Decomposition(subproblem="coordinate"),
    "swap search": sgep.SwapSearch(),
    "TPM": sgep.TruncatedPower(),
    "TPM 8-4-2": sgep.TruncatedPower(warm_up=(8, 4, 2)),
    "GCW": sgep.CoordinateWise(),
    "PCW": sgep.CoordinateWise("partial"),
    "TRF": sgep.TruncatedRayleighFlow(),
    "QMM-exp": sgep.QuadraticMajorization("exp"),
    "QMM-log": sgep.QuadraticMajorization("log"),
    "QMM-lp": sgep.QuadraticMajorization("lp"),
    "QMM-l0": sgep.QuadraticMajorization("l0"),
}
ONLY_IDENTITY = ("TPM", "TPM 8-4-2", "QMM-l0")
QUICK = ("default", "TPM", "GCW", "TRF")
EQUAL = 1e-6  # relative: below this two objectives count as the same


def measure_cell(name, kind, sparsity, methods, folder, repeats):
    """{method: (solution, timing)} of one cell, side by side."""
    A, C = pencils.load(name, kind, folder)
    problem = sgep.Problem(A, C)
    print(f"\n{name} {kind}, n = {problem.size}, s = {sparsity}")
    return {
        label: timing.measure(
            lambda method=METHODS[label]: sgep.solve(problem, sparsity, method=method),
            repeats=repeats,
        )
        for label in methods
        if C is None or label not in ONLY_IDENTITY
    }


def compare(name, kind, sparsity, methods, folder, repeats):
    """Print one cell; return whether the claim holds on it."""
    rows = measure_cell(name, kind, sparsity, methods, folder, repeats)
    print(f"  {'method':<14}{'objective':>16}{'above best':>12}{'ms':>10}{'first, s':>10}  status")
    values = {label: float(solution.objective) for label, (solution, _) in rows.items()}
    best = min(values.values())
    for label, (solution, time) in rows.items():
        above = (values[label] - best) / max(abs(best), 1e-300)
        print(
            f"  {label:<14}{values[label]:>16.9g}{above:>12.2e}{1e3 * time.median:>10.2f}"
            f"{time.first:>10.1f}  {sgep.Status(int(solution.status)).name}",
            flush=True,
        )
    return values["default"] <= best + EQUAL * abs(best)


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="two small cells, four methods")
    parser.add_argument("--data", metavar="FOLDER", help="default: ../shared/data if it exists")
    parser.add_argument("--sets", nargs="+", metavar="NAME")
    parser.add_argument("--kinds", nargs="+", choices=pencils.KINDS, default=list(pencils.KINDS))
    parser.add_argument("--sparsities", nargs="+", type=int, default=list(range(4, 44, 4)))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args(argv)


def main(argv=None):
    jax.config.update("jax_enable_x64", True)
    options = arguments(argv)
    print(timing.machine())
    if options.quick:
        cells = [("randn-100", "pca", 4), ("randn-100", "fda", 4)]
        methods = QUICK
    else:
        sets = options.sets or pencils.available(options.data)
        cells = [(x, kind, s) for x in sets for kind in options.kinds for s in options.sparsities]
        methods = list(dict.fromkeys(["default", *options.methods]))
    failed = [cell for cell in cells if not compare(*cell, methods, options.data, options.repeats)]
    held = len(cells) - len(failed)
    print(f"\nthe default is lowest or equal on {held} of {len(cells)} cells")
    for name, kind, s in failed:
        print(f"  not on {name} {kind}, s = {s}")
    return failed


if __name__ == "__main__":
    main()
