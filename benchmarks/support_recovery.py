"""Claim: with rows = 8 s log(n − s) samples of a spiked covariance (s = 5 of n = 100 variables,
strength 1.5) the default finds the true support in at least 95 draws of 100, where taking the s
largest variances finds hardly any. Prints the rates over growing numbers of rows.

Theory (Amini and Wainwright, *High-dimensional analysis of semidefinite relaxations for sparse
principal components*, 2009): a search over all supports needs rows in proportion to s log(n − s),
sorting the variances in proportion to s² log(n − s).

    python benchmarks/support_recovery.py
    python benchmarks/support_recovery.py --quick    # --output JSON, --plot PNG
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import results
from timing import machine

import sgep_jax as sgep


@partial(jax.jit, static_argnames=("columns", "sparsity", "rows"))
def draw(key, columns, sparsity, strength, rows):
    """A pencil, its true support, and the one with the largest variances."""
    X, (truth,) = sgep.datasets.spiked(key, rows, columns, sparsity, strength)
    problem = sgep.pca_problem(X)
    largest = jax.lax.top_k(-problem.A.diagonal(), sparsity)[1]
    return problem, jnp.nonzero(truth, size=sparsity)[0], jnp.sort(largest)


def rates(columns, sparsity, strength, rows, draws):
    """How often the solve, and the largest variances, give the true support."""
    hits = []
    for key in jax.random.split(jax.random.key(rows), draws):
        problem, truth, largest = draw(key, columns, sparsity, strength, rows)
        found = sgep.solve(problem, sparsity).check().support
        hits.append([np.array_equal(found, truth), np.array_equal(largest, truth)])
    return np.mean(hits, axis=0)


def main():
    parser = results.parser(__doc__, plot=True)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--sparsity", type=int, default=5)
    parser.add_argument("--strength", type=float, default=1.5)
    parser.add_argument("--draws", type=int, default=100)
    options = parser.parse_args()
    columns, s, draws = options.columns, options.sparsity, 4 if options.quick else options.draws
    print(machine())
    print(f"{s} of {columns} variables, strength {options.strength}, {draws} draws")
    print(f"{'rows':>5} {'rows / s log(n - s)':>20} {'default':>8} {'variances':>10}")
    found = []
    for ratio in (2, 8) if options.quick else (1, 2, 4, 6, 8, 12, 16):
        rows = round(ratio * s * np.log(columns - s))
        solve, sort = rates(columns, s, options.strength, rows, draws)
        print(f"{rows:>5} {ratio:>20} {solve:>8.0%} {sort:>10.0%}", flush=True)
        found.append({"rows": rows, "default": solve, "largest variances": sort})
    results.save(options.output, "support_recovery", found)
    curves = {
        side: ([row["rows"] for row in found], [row[side] for row in found])
        for side in ("default", "largest variances")
    }
    results.lines(options.plot, curves, xlabel="rows", ylabel="true support found")


if __name__ == "__main__":
    main()
