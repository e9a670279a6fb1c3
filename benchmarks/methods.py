"""The methods side by side on one cell: data set × problem × sparsity."""

import dataclasses

import jax
import numpy as np
import pencils
from timing import measure

jax.config.update("jax_enable_x64", True)

import sgep_jax as sgep
from sgep_jax.solve import chosen

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
EQUAL = 1e-6  # relative: below this two objectives count as the same
FEW = (1, 2, 4, 8)  # starts, of the default's curve over time


def choose(parser):
    """The options of scripts that compare methods."""
    parser.add_argument("--methods", nargs="+", choices=list(METHODS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--limit", type=float, default=60.0, metavar="SECONDS",
        help="a method whose first call takes longer is left out for larger s of that set and kind",
    )  # fmt: skip
    return parser


def run(problem, s, method, repeats=3, limit=np.inf, history=False):
    """One method: its objective (exact on the final support) and times, in seconds."""
    solution, time = measure(
        lambda: sgep.solve(problem, s, method=method), repeats=repeats, limit=limit
    )
    steps = int(solution.num_steps)
    row = {
        "objective": float(solution.objective), "time": time.median, "best": time.best,
        "first": time.first, "steps": steps, "status": sgep.Status(int(solution.status)).name,
    }  # fmt: skip
    if history:
        row["history"] = np.asarray(solution.history[: steps + 1]).tolist()
    return row


def anytime(problem, s, repeats=5, few=FEW, until=-np.inf, **rules):
    """What the default reaches by when: {"starts", "time", "objective"} (seconds, best of repeats)
    of `num_starts` = `few` and powers of two until it is at `until` or below, and last of the
    default itself, which chooses it.

    A program is compiled for each number of lanes: half of the starts, up to those of the default.
    Powers of two are taken from where they fill all lanes, so that one program serves them.
    """

    def point(method):
        solution, time = measure(
            lambda: sgep.solve(problem, s, method=method, **rules), repeats=repeats, budget=1
        )
        return {"starts": int(solution.num_starts), "time": time.best, "first": time.first,
                "objective": float(solution.objective)}  # fmt: skip

    method = chosen(None, problem.size, int(np.sum(s)))
    whole = point(method)
    if not isinstance(method, sgep.Multistart):
        return [whole]
    most = whole["starts"]
    many = [k for k in 2 ** np.arange(4, 13) if k >= 2 * method.lanes]
    numbers = [int(k) for k in (*few, *many) if k < most]
    curve, lowest = [], np.inf
    for k in numbers:
        if lowest <= until:
            break
        exactly = method.exactly(k, int(np.sum(s)))
        curve.append(point(dataclasses.replace(exactly, max_steps=method.max_steps)))
        lowest = curve[-1]["objective"]
    return [*curve, whole]


def time_to(curve, objective):
    """When a curve of `anytime` is at or below an objective; infinity if it never is."""
    times = [p["time"] for p in curve if p["objective"] <= objective + EQUAL * abs(objective)]
    return min(times, default=np.inf)


def set_above(rows):
    """How far each row is above the lowest of its cell, relative."""
    values = [row["objective"] for row in rows.values() if "objective" in row]
    for row in rows.values():
        if "objective" in row:
            row["above"] = (row["objective"] - min(values)) / max(abs(min(values)), 1e-300)


def side_by_side(record, name, kind, s, methods, options, history=False):
    """The figures of one cell, printed: {"set", "kind", "s", "n", "rows"}."""
    slow = {
        label
        for cell in record.cells
        if (cell["set"], cell["kind"]) == (name, kind) and cell["s"] < s
        for label, row in cell["rows"].items()
        if row.get("first", 0.0) > options.limit and label != "default"
    }

    def measured():
        A, C = pencils.load(name, kind, options.data)
        problem, limits = sgep.Problem(A, C), {"default": np.inf}
        rows = {
            label: {"skipped": f"more than {options.limit:g} s at a smaller s"}
            if label in slow
            else run(problem, s, method, options.repeats, limits.get(label, options.limit), history)
            for label, method in methods.items()
            if C is None or label not in ONLY_IDENTITY
        }
        set_above(rows)
        return {"n": problem.size, "rows": rows}

    key = {"set": name, "kind": kind, "s": s, "methods": list(methods)}
    cell = record.cell(key, measured)
    show(cell)
    return cell


def show(cell):
    print(f"\n{cell['set']} {cell['kind']}, n = {cell['n']}, s = {cell['s']}")
    print(f"  {'method':<14}{'objective':>16}{'above best':>12}{'ms':>10}{'first, s':>10}  status")
    for label, row in cell["rows"].items():
        if "skipped" in row:
            print(f"  {label:<14} left out: {row['skipped']}")
            continue
        print(f"  {label:<14}{row['objective']:>16.9g}{row['above']:>12.2e}"
              f"{1e3 * row['time']:>10.2f}{row['first']:>10.1f}  {row['status']}",
              flush=True)  # fmt: skip


def conclude(cells):
    """Print how often each method is lowest or equal, and the cells on which the default is not."""
    print(f"\n{'method':<14} {'lowest or equal':>16} {'median above':>13} {'worst':>8}")
    for label in dict.fromkeys(label for cell in cells for label in cell["rows"]):
        rows = [cell["rows"][label] for cell in cells if label in cell["rows"]]
        above = np.array([row["above"] for row in rows if "above" in row])
        if len(above):
            print(f"{label:<14} {np.sum(above <= EQUAL):>7} of {len(above):>4}  "
                  f"{np.median(above):>13.3%} {above.max():>8.2%}")  # fmt: skip
    failed = [cell for cell in cells if cell["rows"]["default"]["above"] > EQUAL]
    print(f"\nthe default is lowest or equal on {len(cells) - len(failed)} of {len(cells)} cells")
    for cell in failed:
        above = cell["rows"]["default"]["above"]
        print(f"  not on {cell['set']} {cell['kind']}, s = {cell['s']}: {above:.1e} above")
    return failed
