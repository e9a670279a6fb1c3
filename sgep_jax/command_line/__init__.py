"""The command line: sparse components of a table, without a line of Python.

    python -m sgep_jax                                            the built-in example
    python -m sgep_jax pca data.csv --sparsity 5 --components 3
    python -m sgep_jax fda data.csv --label species
    python -m sgep_jax cca data.csv --views 'gene_*:trait_*'

The answer goes to stdout, progress and errors to stderr. Exit codes: 0 done; 1 the data do not
allow it, and the message says why; 2 the command was not understood.
"""

import sys

import jax
import numpy as np

from .. import datasets, plot
from ..components import solve_components
from ..decomposition import Decomposition
from ..problem import Problem
from ..solution import SolveError
from ..solve import solve
from . import jobs
from .arguments import check_without_data, parser, usage_error
from .report import draw, figures, text, write


def main(argv=None) -> int:
    arguments = sys.argv[1:] if argv is None else list(argv)
    if not arguments:
        return example()
    options = parser().parse_args(arguments)
    try:
        run(options)
    except (OSError, ValueError, ImportError, SolveError) as error:
        print(f"sgep_jax {options.kind}: {error}", file=sys.stderr)
        return 1
    return 0


def example() -> int:
    """The sparse principal component of the built-in pit props data."""
    correlation, names = datasets.pitprops()
    solution = solve(Problem(-correlation), 6).check()
    x = np.asarray(solution.x)
    print("Pit props (Jeffers 1967): the 6 of 13 variables that explain most variance\n")
    for i in sorted(np.asarray(solution.support), key=lambda i: -abs(x[i])):
        print(f"  {names[i]:<8} {x[i]: .4f}  {'#' * round(40 * abs(x[i]))}")
    dense = np.linalg.eigvalsh(correlation)[-1]
    value = -float(solution.objective)
    print(f"\nvariance {value:.6f}, {value / dense:.1%} of what all 13 variables reach")
    return 0


def run(options):
    if options.plot is not None:
        plot.require_matplotlib()
    if not options.data:
        check_without_data(options)
    job = {"pca": jobs.pca, "fda": jobs.fda, "cca": jobs.cca}[options.kind](options)
    each = sparsities(options, job)
    constraints = {}
    if isinstance(each[0], tuple):
        constraints["groups"] = (np.arange(len(job.names)) >= job.split).astype(int)
    found = solve_components(
        job.problem, each, deflation=options.deflation, split=job.split,
        method=Decomposition(subproblem="coordinate", lower=0.0) if options.non_negative else None,
        key=jax.random.key(options.key), progress=Progress(len(each)), **constraints,
    )  # fmt: skip
    numbers = figures(options.kind, job, found)
    print(text(options, job, found, numbers))
    if options.output is not None:
        write(options.output, options.kind, job, found, numbers)
    if options.plot is not None:
        draw(options.plot, options.kind, job, found)
    found.check()


def sparsities(options, job) -> tuple:
    """One for each component: a number, or with two views a pair."""
    each = options.sparsity or [min(job.sparsity, len(job.names))]
    if len(each) == 1:
        each = each * (options.components or 1)
    if options.components not in (None, len(each)):
        usage_error(f"--components {options.components} but {len(each)} sparsities")
    pairs = [isinstance(entry, tuple) for entry in each]
    if any(pairs) and not (all(pairs) and options.kind == "cca" and {*map(len, each)} == {2}):
        usage_error("--sparsity 3+2 is for cca, one number for each of the two views")
    views = [len(job.names)] if job.split is None else [job.split, len(job.names) - job.split]
    for entry in each:
        sizes = views if isinstance(entry, tuple) else [len(job.names)]
        for count, size in zip(np.atleast_1d(entry), sizes, strict=True):
            if count > size:
                raise ValueError(
                    f"the sparsity must be at most {size}, the number of variables"
                    f"{' of the view' if len(sizes) == 2 else ''}, but it is {count}."
                )
    if len(each) > len(job.names):
        raise ValueError(
            f"there can be at most {len(job.names)} components, one per variable, not {len(each)}."
        )
    return tuple(each)


class Progress:
    """Where there are several components, a line on stderr before each."""

    def __init__(self, number: int):
        self.number = number
        self._announce(0)

    def __call__(self, k, solution):
        jax.block_until_ready(solution.x)
        self._announce(k + 1)

    def _announce(self, k):
        if self.number > 1 and k < self.number:
            print(f"component {k + 1} of {self.number} ...", file=sys.stderr, flush=True)
