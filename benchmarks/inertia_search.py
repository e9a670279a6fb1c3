"""Claim: the inertia search is at least 20 times faster than batched `eigvalsh` over the same
candidates at (k, q) = (12, 6) and 40 times at (16, 8), and at least 200 times faster than the
paper's form (all masks up to q, eigendecomposition, bisection) at k = 12. float64, warm, best of
several; every row is measured in one run, side by side.

"one round" is a pass over all candidates, which is all it takes to prove a block optimal, as most
blocks are; "search" goes from the block's first support to the best one and its proof, with all
rounds and exact solves.

    python benchmarks/inertia_search.py            # about two minutes
    python benchmarks/inertia_search.py --quick
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import results
import scipy.linalg
from timing import machine, measure

jax.config.update("jax_enable_x64", True)

from sgep_jax.reduction import eliminate
from sgep_jax.search import bisection, inertia
from sgep_jax.search.enumerate import best_support


def pencil(k, seed=0):
    """A reduced pencil of k block coordinates and one for the frozen rest."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((2, 3 * k, k + 1))
    return jnp.asarray(-X.T @ X), jnp.asarray(Y.T @ Y)


def proof_round(k, q):
    """One pass of the inertia search: the lowest pivots of all C(k, q) candidates."""
    table = jnp.asarray(inertia.supports_table(k, q))
    return jax.jit(lambda W: jnp.min(inertia.lowest_pivots(eliminate(W, k), table)))


def whole_search(k, q):
    """The inertia search from a poor start to the proof: all its rounds and exact solves."""
    return jax.jit(lambda A, C, f: inertia.search(A, C, eliminate(C, k), k, q, f, 1e-10).value)


def eigenvalues(k, q):
    """The same candidates by batched `eigvalsh`, whitened by nothing: the cheapest way."""
    table = np.asarray(inertia.supports_table(k, q)).T.astype(np.int32)
    rows = np.concatenate([table, np.full((len(table), 1), k, np.int32)], axis=1)

    def lowest(W):
        blocks = W[rows[:, :, None], rows[:, None, :]]
        return jnp.min(jnp.linalg.eigvalsh(blocks))

    return jax.jit(lowest)


def paper(k, q):
    """All masks of at most q coordinates, each by eigendecomposition and bisection."""

    def of_size(A, C, count):
        def solve(positions, present):
            return bisection.solve_candidate(A, C, positions, present)

        return best_support(k, count, count, min(1024, math.comb(k, count)), solve).value

    sizes = [jax.jit(partial(of_size, count=count)) for count in range(1, q + 1)]
    return lambda A, C: jnp.min(jnp.stack([search(A, C) for search in sizes]))


def main():
    options = results.parser(__doc__, plot=True).parse_args()
    quick, rows = options.quick, []
    print(machine())
    print(f"{'k':>3} {'q':>3} {'supports':>9} {'one round':>11} {'supports/s':>12} "
          f"{'search':>10} {'eigvalsh':>11} {'ratio':>7} {'paper':>11} {'ratio':>7}")  # fmt: skip
    for k in (8,) if quick else (8, 10, 12, 14, 16, 18, 20):
        q = k // 2
        A, C = pencil(k)
        some = np.ix_(np.r_[:q, k], np.r_[:q, k])  # the first support
        alpha = scipy.linalg.eigh(A[some], C[some], eigvals_only=True)[0]
        W = A + 20 * abs(alpha) * C  # below every candidate: no pivot is negative
        repeats = 5 if quick else 20
        round_ = proof_round(k, q)
        _, one = measure(lambda round_=round_, W=W: round_(W), repeats=repeats)
        search = whole_search(k, q)
        value, whole = measure(lambda s=search, A=A, C=C, a=alpha: s(A, C, a), repeats=repeats)
        line = f"{k:>3} {q:>3} {math.comb(k, q):>9} {one.best * 1e3:>8.3f} ms"
        line += f" {math.comb(k, q) / one.best:>12.3g} {whole.best * 1e3:>7.2f} ms"
        rows.append({"k": k, "q": q, "one round": one.best, "search": whole.best})
        if k <= 16:
            lowest = eigenvalues(k, q)
            _, eigen = measure(lambda f=lowest, W=W: f(W), repeats=5)
            rows[-1]["eigvalsh"] = eigen.best
            line += f" {eigen.best * 1e3:>8.2f} ms {eigen.best / one.best:>6.0f}x"
        if k <= 12:
            reference = paper(k, q)
            truth, slow = measure(lambda f=reference, A=A, C=C: f(A, C), repeats=3)
            assert abs(float(truth) - float(value)) < 1e-9 * abs(float(truth)), (truth, value)
            rows[-1]["paper"] = slow.best
            line += f" {slow.best * 1e3:>8.1f} ms {slow.best / one.best:>6.0f}x"
        print(line, flush=True)
    results.save(options.output, "inertia_search", rows)
    sides = {
        side: zip(*((row["k"], row[side]) for row in rows if side in row), strict=True)
        for side in ("one round", "search", "eigvalsh", "paper")
    }
    results.lines(options.plot, sides, yscale="log", xlabel="coordinates", ylabel="seconds")


if __name__ == "__main__":
    main()
