"""Claim: on every cell (data set × problem × sparsity) the objective of the default,
`solve(problem, s)`, is the lowest or equal.

    python benchmarks/compare_methods.py --quick
    python benchmarks/compare_methods.py --sets randn-100 a1a --kinds pca fda --sparsities 8 20

prints, per method and cell, the objective (exact on the final support), how far it is above the
lowest of the cell, the time of a solve and of its first call (with compilation), and at the end on
which cells the claim fails. All methods but the default and QMM begin at the same greedy start.
Without options the grid is the paper's, which takes hours on two cores; with `--output` every cell
is saved as it is done, and the same command goes on where it was cut off. `--plot` draws it: the
paper's figure of accuracy.
"""

import methods
import pencils
import results
from paper_figures import draw_against_s
from timing import machine

QUICK = ("default", "TPM", "GCW")


def draw(cells, path):
    draw_against_s(
        cells, path, "above", "above the lowest", floor=1e-5, ylim=(5e-6, 0.7),
        yticks=[1e-5, 1e-4, 1e-3, 1e-2, 1e-1],
        yticklabels=["lowest", "0.01 %", "0.1 %", "1 %", "10 %"],
    )  # fmt: skip


def main(argv=None):
    options = methods.choose(results.parser(__doc__, cells=True, plot=True)).parse_args(argv)
    print(machine())
    labels = options.methods or list(methods.METHODS)
    sets, sparsities = options.sets or pencils.available(options.data), options.sparsities
    kinds = options.kinds or pencils.KINDS
    if options.quick:
        sets, kinds, sparsities, labels = ["randn-100"], ["pca"], [4], QUICK
    chosen = {label: methods.METHODS[label] for label in ("default", *labels)}
    record = results.Record(options.output, "compare_methods")
    cells = [
        methods.side_by_side(record, name, kind, s, chosen, options)
        for name in sets
        for kind in kinds
        for s in sorted(sparsities or range(4, 41, 4))
    ]
    failed = methods.conclude(cells)
    if options.plot:
        draw(cells, options.plot)
    return failed


if __name__ == "__main__":
    main()
