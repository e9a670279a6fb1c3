"""Claim: on every cell the default's objective is the lowest or equal (relative 1e-6) among the
packages that pip installs, all polished in the same way, and it passes each of them sooner than
they end, warm.

Peers, each in a process of its own because some change global settings:

- PCA: abess `SparsePCA(support_size=s).fit(Sigma=...)`; scikit-learn `SparsePCA(1, alpha)`;
- PCA, FDA, CCA: skscope `ScopeSolver` and `GraspSolver` on the Rayleigh quotient, from the s
  largest entries of the dense eigenvector, which is not counted. (ScopeSolver corrupts its own
  memory when the indices it starts from are not sorted.)
- CCA of `views`, where the pencil is that of two tables: cca-zoo's classes, s/2 variables a view
  where there is a cardinality (SpanCCA, OrthogonalMatchingPursuitCCA).

Where a package has a penalty instead, it is bisected until s loadings are left. The objective is
the exact one on the support that a peer selects; its time is the best of its fits (imports and
first calls apart), with all fits of a bisection. `passed` is the time at which the default is at or
below the peer's objective: the least of `solve(problem, s, num_starts=1, 2, 4, 8, ...)` and of the
default itself, warm. With `--per-view` the default is run with s/2 variables a view too, as some
peers are. A peer that fails, or is not done within the limit, is listed with the reason.

    pip install -e ".[bench]"
    python benchmarks/peers.py --quick
    python benchmarks/peers.py --sets a1a madelon randn-500 --sparsities 5 10 20 --output peers.json

With `--output` every cell is saved as it is done, and the same command goes on from there. With
`--packages` what the packages answered is kept in a file of its own, whatever becomes of this
library's code; `--only-packages` runs nothing else.
"""

import argparse
import importlib
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pencils
import results
from timing import child, machine, measure, peak_memory, report

EQUAL = 1e-6
KINDS = (*pencils.KINDS, "views")


# -- the peers: data, s → (indices, fits); run in a process of their own --------------------------


def abess(module, data, s):
    S = -data["A"]
    S = (S + S.T) / 2 + 1e-9 * np.trace(S) / len(S) * np.eye(len(S))  # it tests both exactly
    return np.flatnonzero(module.SparsePCA(support_size=s).fit(Sigma=S, n=1000).coef_), 1


def bisect(fit, low, high, s):
    """The s largest loadings of the sparsest fit with at least s; `high` is the sparse end."""
    best = None
    for fits in range(1, 31):  # noqa: B007
        middle = (low + high) / 2
        x = fit(middle)
        count = np.count_nonzero(np.abs(x) > 1e-9 * np.abs(x).max())
        if count >= s and (best is None or count <= np.count_nonzero(best)):
            best = x
        if count == s:
            break
        low, high = (middle, high) if count > s else (low, middle)
    if best is None:
        raise RuntimeError(f"no penalty leaves {s} loadings")
    return np.argsort(-np.abs(best))[:s], fits


def scikit_learn(module, data, s):
    def fit(alpha):
        return module.SparsePCA(1, alpha=alpha, random_state=0, max_iter=200).fit(X).components_[0]

    X = data["X"]
    return bisect(fit, 0.0, float(np.abs(X.T @ X).max()), s)


def skscope(solver):
    def solve(module, data, s):
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        A, C, start = data["A"], data.get("C"), data["start"]
        n, support = len(A), np.sort(np.argsort(-np.abs(start))[:s])
        A, C = jnp.asarray(A), jnp.eye(n) if C is None else jnp.asarray(C)

        def quotient(x):
            return (x @ A @ x) / (x @ C @ x + 1e-12)  # it is asked for at 0, too

        parameters = np.where(np.isin(np.arange(n), support), start, 0.0)
        search = getattr(module, solver)(n, s, sample_size=n)
        search.solve(quotient, init_support_set=support, init_params=parameters, jit=True)
        return np.asarray(search.get_support()), 1

    return solve


def cca_zoo(model, option, low=None, high=None, **more):
    """With a cardinality when there are no bounds, otherwise with a penalty between them."""

    def solve(module, data, s):
        def fit(value):
            fitted = getattr(module, model)(1, random_state=0, **{option: value}, **more)
            return np.concatenate([np.ravel(w) for w in fitted.fit(views).weights_])

        views = [data["X"], data["Y"]]
        if low is not None:
            return bisect(fit, low, high, s)
        return np.argsort(-np.abs(fit([s // 2, s - s // 2])))[:s], 1

    return solve


PEERS = {  # name: (kinds, module, function)
    "abess": (["pca"], "abess.decomposition", abess),
    "scikit-learn": (["pca"], "sklearn.decomposition", scikit_learn),
    "skscope Scope": (pencils.KINDS, "skscope", skscope("ScopeSolver")),
    "skscope Grasp": (pencils.KINDS, "skscope", skscope("GraspSolver")),
} | {
    name: (["views"], "cca_zoo.sparse", cca_zoo(name, *options, **more))
    for name, options, more in (
        ("SpanCCA", ["span"], {}),
        ("OrthogonalMatchingPursuitCCA", ["n_nonzero_coefs"], {}),
        ("PMDCCA", ["l1_bound", 1.0, 0.0], {}),
        ("ParkhomenkoCCA", ["alpha", 0.0, 1.0], {}),
        ("IPLSCCA", ["alpha", 0.0, 1.0], {}),
        ("ElasticNetCCA", ["alpha", 0.0, 1.0], {"l1_ratio": 1.0}),
    )
}


def run_peer(peer, path, s, repeats):
    """In a process of its own: report what it selected and how long it took."""
    warnings.simplefilter("ignore")
    _, module, function = PEERS[peer]
    module, data = importlib.import_module(module), dict(np.load(path))  # not part of the time
    (support, fits), time = measure(
        lambda: function(module, data, s), repeats=repeats, budget=5, limit=30 if repeats > 1 else 0
    )
    report(support=[int(i) for i in support], fits=fits, time=time.best, first=time.first)


# -- the comparison -------------------------------------------------------------------------------


def cell(name, kind, folder):
    """{"A", "C", "X", "Y"} of one cell; `pca` is centred, `views` are the halves of the columns."""
    X, _ = pencils.data(name, folder)
    if kind == "pca":
        X = X - X.mean(axis=0)  # scikit-learn centres by itself
        return {"A": -X.T @ X / len(X), "X": X}
    if kind != "views":
        A, C = pencils.load(name, kind, folder)
        return {"A": A, "C": C}
    X = X[:, X.std(axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    half = X.shape[1] // 2
    S = X.T @ X / len(X)
    first = np.arange(len(S)) < half
    same = first[:, None] == first[None, :]
    C = np.where(same, S, 0.0) + 1e-2 * np.eye(len(S))
    return {"A": -np.where(same, 0.0, S), "C": C, "X": X[:, :half], "Y": X[:, half:]}


def lowest(A, C, support=None):
    """(value, vector) of the exact optimum on a support, or on all variables, by SciPy."""
    from scipy.linalg import eigh

    rows = np.ix_(support, support) if support is not None else ...
    values, vectors = eigh(A[rows], None if C is None else C[rows], subset_by_index=[0, 0])
    return float(values[0]), vectors[:, 0]


def ours(data, s, *, quick=False, until=-np.inf, per_view=False):
    """{label: row} of the default, with its curve over time as far as `until`."""
    import methods

    import sgep_jax as sgep

    few = (1,) if quick else methods.FEW
    problem = sgep.Problem(data["A"], data.get("C"))
    curves = {"sgep_jax": methods.anytime(problem, s, few=few, until=until)}
    if per_view and "Y" in data:
        groups, half = (np.arange(problem.size) >= data["X"].shape[1]).astype(int), s // 2
        at_once = {"few": (), "until": np.inf}  # the whole default alone
        curves["per view"] = methods.anytime(problem, [half, s - half], groups=groups, **at_once)
    return {
        label: {**{key: curve[-1][key] for key in ("objective", "time", "first")},
                "curve": curve, "peak": peak_memory()}
        for label, curve in curves.items()
    }  # fmt: skip


def theirs(data, kind, s, options):
    """{label: row} of each peer: its figures, or its failure."""
    A, C, rows = data["A"], data.get("C"), {}
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "cell.npz"
        np.savez(path, start=lowest(A, C)[1], **data)
        for peer in options.peers:
            if kind not in PEERS[peer][0]:
                continue
            repeats = 1 if options.quick else 3
            row = child(__file__, ["--peer", peer, path, s, repeats], options.limit)
            if isinstance(row, str):
                rows[peer] = {"failure": row}
            elif not 1 <= len(row["support"]) <= s:
                rows[peer] = {"failure": f"selected {len(row['support'])} variables, not {s}"}
            else:
                rows[peer] = {"objective": lowest(A, C, row.pop("support"))[0], **row}
    return rows


def answered(packages, data, name, kind, s, options):
    """The rows of `theirs`, or those that are there already."""
    key = {"set": name, "kind": kind, "s": s, "peers": options.peers, "limit": options.limit}
    return packages.cell(key, lambda: {"rows": theirs(data, kind, s, options)})["rows"]


def compare(name, kind, s, options, packages):
    data = cell(name, kind, options.data)
    answers = answered(packages, data, name, kind, s, options)
    until = min((row["objective"] for row in answers.values() if "fits" in row), default=np.inf)
    own = ours(data, s, quick=options.quick, until=until, per_view=options.per_view)
    return {"n": len(data["A"]), "rows": together(own, answers)}


def together(own, answers):
    """All rows of a cell: how far each is above the lowest, and when the default passes a peer."""
    from methods import set_above, time_to

    rows = own | {peer: dict(row) for peer, row in answers.items()}
    set_above(rows)
    for row in rows.values():
        if "fits" in row:
            passed = time_to(rows["sgep_jax"]["curve"], row["objective"])
            row["passed"] = passed if np.isfinite(passed) else None
    return rows


def show(cell):
    print(f"\n{cell['set']} {cell['kind']}, n = {cell['n']}, s = {cell['s']}")
    print(f"  {'':<30}{'objective':>14}{'above':>9}{'ms':>10}{'first':>10}{'passed':>10}  fits")
    for label, row in cell["rows"].items():
        if "failure" in row:
            print(f"  {label:<30} {row['failure']}")
            continue
        passed = "" if row.get("passed") is None else f"{row['passed'] * 1e3:.1f}"
        print(f"  {label:<30}{row['objective']:>14.9g}{row['above']:>9.2%}"
              f"{row['time'] * 1e3:>10.1f}{row['first'] * 1e3:>10.0f}{passed:>10}  "
              f"{row.get('fits', '')}", flush=True)  # fmt: skip


def summarise(cells):
    """A line for each peer: answers, how many as low as the default, how far above it they are (in
    the median, at most), and how many times sooner than they end it passes them."""
    print(f"\n{'':<30}{'answers':>12}{'equal':>7}{'above':>9}{'worst':>9}{'sooner':>9}{'least':>9}")
    for peer in dict.fromkeys(peer for cell in cells for peer in cell["rows"] if peer in PEERS):
        rows = [(cell["rows"]["sgep_jax"], cell["rows"].get(peer)) for cell in cells]
        asked = [(own, row) for own, row in rows if row is not None]
        answers = [(own, row) for own, row in asked if "fits" in row]
        above = [(row["objective"] - o["objective"]) / abs(o["objective"]) for o, row in answers]
        sooner = [row["time"] / (row["passed"] or np.inf) for _, row in answers]
        line = f"{peer:<30}{len(answers):>5} of {len(asked):>3}"
        if answers:
            line += f"{np.sum(np.array(above) <= EQUAL):>7}{np.median(above):>9.2%}"
            line += f"{np.max(above):>9.1%}{np.median(sooner):>9.0f}{np.min(sooner):>9.2g}"
        print(line)


def conclude(cells):
    """On how many cells the claim holds, and on which it does not."""
    failed = [cell for cell in cells if cell["rows"]["sgep_jax"]["above"] > EQUAL]
    print(f"\nlowest or equal on {len(cells) - len(failed)} of {len(cells)} cells")
    for cell in failed:
        above = cell["rows"]["sgep_jax"]["above"]
        print(f"  not on {cell['set']} {cell['kind']}, s = {cell['s']}: {above:.1e} above")
    pairs = [(c, peer, row) for c in cells for peer, row in c["rows"].items() if "fits" in row]
    late = [p for p in pairs if p[2]["passed"] is None or p[2]["passed"] > p[2]["time"]]
    print(f"passed a peer sooner than it ended, warm, in {len(pairs) - len(late)} of {len(pairs)}")
    for cell, peer, row in late:
        passed = "never" if row["passed"] is None else f"{row['passed'] * 1e3:.1f} ms"
        print(f"  not {peer} on {cell['set']} {cell['kind']}, s = {cell['s']}: "
              f"{passed} against {row['time'] * 1e3:.1f} ms")  # fmt: skip
    out = [(c, p, r["failure"]) for c in cells for p, r in c["rows"].items() if "failure" in r]
    for cell, peer, reason in out:
        print(f"  no answer of {peer} on {cell['set']} {cell['kind']}, s = {cell['s']}: {reason}")


def choose(parser):
    """The options of scripts that compare packages."""
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each peer")
    return parser


def main(argv=None):
    parser = choose(results.parser(__doc__, cells=True, kinds=KINDS))
    parser.add_argument("--packages", metavar="JSON", help="where to keep what they answered")
    parser.add_argument("--per-view", action="store_true", help="half of the variables each")
    parser.add_argument("--only-packages", action="store_true", help="run nothing else")
    parser.add_argument("--peer", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.peer:
        peer, path, s, repeats = options.peer
        return run_peer(peer, path, int(s), int(repeats))
    if options.only_packages and not options.packages:
        parser.error("--only-packages needs --packages, the file to keep them in")
    print(machine())
    sets, kinds = options.sets or pencils.available(options.data), options.kinds or KINDS
    sparsities = options.sparsities or [4, 10, 20]
    if options.quick:
        sets, kinds, sparsities = ["randn-100"], ["pca"], [4]
        options.peers = ["abess", "scikit-learn"]
    packages = results.Record(options.packages, "packages", own=False)
    record, cells = results.Record(options.output, "peers"), []
    for key in [(name, kind, s) for name in sets for kind in kinds for s in sparsities]:
        if options.only_packages:
            answered(packages, cell(*key[:2], options.data), *key, options)
            continue
        named = dict(zip(("set", "kind", "s"), key, strict=True))
        cells.append(record.cell(named, lambda key=key: compare(*key, options, packages)))
        show(cells[-1])
    if not options.only_packages:
        summarise(cells)
        conclude(cells)


if __name__ == "__main__":
    main()
