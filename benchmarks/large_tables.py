"""Claim: a table of a million columns and 100 rows is solved on two cores in less than 8 GB, one of
100,000 columns and 300 rows in less than 3 GB, and memory grows no faster than the columns.

A step's growth is printed from size to size: linear once its (s, n) arrays are larger than the
caches, and more where they outgrow them, between 10,000 and 100,000 columns.

Each size runs in a process of its own, whose peak memory is that of the process: Python, JAX, the
table and the solve. 20 variables share a factor, the others are noise; "found" counts those of the
20 that were selected. Beside it, in processes with a time limit and 16 GB, scikit-learn's SparsePCA
(one component, as many nonzeros as its penalty happens to leave) and abess's (20 variables, from
the n × n matrix: from a table it ignores the number).

    python benchmarks/large_tables.py
    python benchmarks/large_tables.py --quick             # small sizes, no peers
    python benchmarks/large_tables.py --sizes 1000000 --no-peers
"""

import argparse
import resource

import numpy as np
import results
from timing import child, compiled, machine, measure, once, report

S = 20
SIZES = ((1_000, 100), (10_000, 100), (100_000, 100), (1_000_000, 100))
QUICK = ((5_000, 20),)
PEERS = ("scikit-learn", "abess")
GIGABYTE = 2**30


def planted(n, m, dtype="float32"):
    """(X, which variables share the factor)."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n), dtype=dtype)
    hidden = np.sort(rng.choice(n, S, replace=False))
    X[:, hidden] += rng.standard_normal((m, 1), dtype=dtype)
    return X, hidden


def solve(n, m, dtype):
    """Build, compile and solve once; then a step of the local search by itself."""
    import jax

    jax.config.update("jax_enable_x64", dtype == "float64")
    import sgep_jax as sgep

    X, hidden = planted(n, m, dtype)
    key = jax.random.key(0)
    problem, build, _ = once(lambda: sgep.pca_problem(X))
    run, compile = compiled(lambda problem, key: sgep.solve(problem, S, key=key), problem, key)
    solution, seconds, _ = once(lambda: run(problem, key))

    method = sgep.SwapSearch()
    state = jax.jit(lambda problem, point: method.init(problem, point, None))(
        problem, sgep.supports.Point(solution.support, solution.x[solution.support], 0.0)
    )
    step = jax.jit(lambda problem, state: method.step(problem, state, None))
    _, timing = measure(lambda: step(problem, state))
    report(
        kind=type(problem.A).__name__,
        build=build,
        compile=compile,
        solve=seconds,
        step=timing.best,
        starts=int(solution.num_starts),
        found=int(np.isin(hidden, solution.support).sum()),
    )


def peer(name, n, m):
    resource.setrlimit(resource.RLIMIT_AS, (16 * GIGABYTE, 16 * GIGABYTE))
    X, hidden = planted(n, m)
    fit = abess if name == "abess" else scikit_learn
    chosen, seconds, _ = once(lambda: np.flatnonzero(fit(X)))
    found = int(np.isin(hidden, chosen).sum())
    report(solve=seconds, selected=len(chosen), found=found)


def abess(X):
    from abess import SparsePCA

    X = (X - X.mean(axis=0)).astype("float64")
    Sigma = X.T @ X / len(X)
    Sigma[np.diag_indices(len(Sigma))] += 1e-6  # it refuses eigenvalues below zero by rounding
    return SparsePCA(support_size=S).fit(Sigma=Sigma).coef_.ravel()


def scikit_learn(X):
    from sklearn.decomposition import SparsePCA

    return SparsePCA(n_components=1, random_state=0).fit(X).components_[0]


def ours(n, m, dtype):
    figures = child(__file__, ["--one", n, m, dtype])
    if isinstance(figures, str):
        print(f"{n:>9,} x {m} {dtype}: {figures}", flush=True)
        return None
    print(
        f"{n:>9,} x {m} {dtype} {figures['kind']:>5}: build {figures['build']:6.1f} s, "
        f"compile {figures['compile']:5.1f} s, solve {figures['solve']:6.1f} s "
        f"({figures['starts']} starts), step {figures['step'] * 1e3:8.2f} ms, "
        f"peak {figures['peak']:5.2f} GB, found {figures['found']} of {S}",
        flush=True,
    )
    return figures


def theirs(name, n, m, limit):
    figures = child(__file__, ["--peer", name, n, m], limit)
    text = figures
    if isinstance(figures, dict):
        text = (
            f"{figures['solve']:.1f} s, peak {figures['peak']:.2f} GB, selects "
            f"{figures['selected']}, found {figures['found']} of {S}"
        )
    print(f"{'':>9} {name}: {text}", flush=True)
    return figures


def growth(sizes, values):
    """The exponents p of value ~ size^p, from each size to the next."""
    exponents = np.diff(np.log(values)) / np.diff(np.log(sizes))
    return ", ".join(f"n^{p:.2f}" for p in exponents)


def main():
    parser = results.parser(__doc__, plot=True)
    parser.add_argument("--sizes", nargs="*", type=int)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--limit", type=float, default=120, help="seconds for a peer")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--peer", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        n, m, dtype = options.one
        return solve(int(n), int(m), dtype)
    if options.peer:
        name, n, m = options.peer
        return peer(name, int(n), int(m))

    print(machine(), flush=True)
    sizes = QUICK if options.quick else SIZES
    sizes = [(n, m) for n, m in sizes if not options.sizes or n in options.sizes]
    rows, peers = [], []
    for n, m in sizes:
        rows.append((n, ours(n, m, "float32")))
        if n == 100_000:
            ours(n, 300, "float64")
        if not (options.quick or options.no_peers):
            for name in PEERS:
                peers.append([name, n, m, theirs(name, n, m, options.limit)])
    done = [(n, row["step"], row["peak"]) for n, row in rows if row and row["kind"] == "Gram"]
    if len(done) > 1:
        n, step, peak = zip(*done, strict=True)
        print(f"Gram, size to size: a step {growth(n, step)}; peak memory {growth(n, peak)}")
    results.save(options.output, "large_tables", {"sgep_jax": rows, "peers": peers})
    kept = [(n, row["step"], row["solve"]) for n, row in rows if row]
    n, step, whole = zip(*kept, strict=True)
    curves = {"a step": (n, step), "a solve, compiled": (n, whole)}
    results.lines(options.plot, curves, xscale="log", yscale="log", xlabel="columns",
                  ylabel="seconds")  # fmt: skip


if __name__ == "__main__":
    main()
