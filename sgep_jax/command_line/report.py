"""What a person reads: a table on the terminal, a file, a picture."""

import csv
import json

import jax
import numpy as np

from .. import measures, plot
from ..applications import cca_problem
from ..linalg import lowest_pair
from ..solution import Status

DENSE_LIMIT = 1000  # the optimum of all variables is computed up to so many of them


def figures(kind: str, job, found) -> dict:
    """What the components explain, a number for each; see `sgep_jax.measures`."""
    problem, x = job.problem, found.x
    if kind == "pca":
        numbers = {
            "variance": -found.value,
            "adjusted_variance": measures.adjusted_variance(problem, x),
            "total_variance": measures.total_variance(problem),
        }
    elif kind == "fda":
        each, cumulative = measures.class_separation(problem, x)
        numbers = {"separation": each, "cumulative_separation": cumulative}
    else:
        plain = cca_problem(job.X[:, : job.split], job.X[:, job.split :], scale=False, ridge=0)
        numbers = {"correlation": measures.canonical_correlations(plain, x, job.split)}
    if len(job.names) <= DENSE_LIMIT:
        every = np.arange(len(job.names))
        blocks = problem.A.block(every), problem.C.block(every)
        whole = -float(jax.jit(lowest_pair)(*blocks)[0])
        if np.isfinite(whole):  # C is not definite where variables outnumber samples
            numbers["all_variables"] = whole
    return {name: np.asarray(value).tolist() for name, value in numbers.items()}


def text(options, job, found, numbers) -> str:
    n = len(job.names)
    samples = "" if job.X is None else f", {len(job.X)} samples"
    lines = [f"{job.title}: {n} variables{samples}"]
    if job.X is not None and options.scale:
        lines.append("Loadings weigh the variables divided by their standard deviations.")
    width = max(len(job.names[i]) for i in np.unique(found.support) if i < n)
    for k in range(len(found.x)):
        x, status = np.asarray(found.x[k]), Status(int(found.status[k]))
        lines += ["", f"component {k + 1}: {_headline(options.kind, numbers, k)}"]
        for i in _order(job, found, k):
            bar = "#" * round(30 * abs(x[i]) / (np.abs(x).max() or 1.0))
            lines.append(f"  {job.names[i]:<{width}}  {x[i]:>8.4f}  {bar}")
        lines.append(f"  {status.name}: {status.message}")
    return "\n".join([*lines, "", *_summary(options.kind, job, found, numbers)])


def _order(job, found, k):
    """The support, the first view before the second, large loadings before small ones."""
    x, n = np.asarray(found.x[k]), len(job.names)
    used = [int(i) for i in np.asarray(found.support[k]) if i < n]
    return sorted(used, key=lambda i: (i >= (job.split or n), -abs(x[i])))


def _headline(kind, numbers, k):
    if kind == "pca":
        share = numbers["adjusted_variance"][k] / numbers["total_variance"]
        return f"variance {numbers['variance'][k]:.6g}, adds {share:.1%} of the total"
    if kind == "fda":
        return f"variance between the classes over within: {numbers['separation'][k]:.6g}"
    return f"correlation {numbers['correlation'][k]:.4f}"


def _summary(kind, job, found, numbers):
    n, lines = len(job.names), []
    if len(found.x) > 1 and kind == "pca":
        share = sum(numbers["adjusted_variance"]) / numbers["total_variance"]
        lines.append(f"Together: {share:.1%} of the variance, what they share counted once.")
    if len(found.x) > 1 and kind == "fda":
        whole = numbers["cumulative_separation"][-1]
        lines.append(f"Together: {whole:.6g}, what they share counted once.")
    if "all_variables" in numbers:
        share = -float(found.value[0]) / numbers["all_variables"]
        lines.append(f"The first reaches {share:.1%} of what all {n} variables reach.")
    return lines


def write(path, kind: str, job, found, numbers):
    """csv: the loadings, a variable a row. json: everything."""
    x = np.asarray(found.x)
    if path.suffix.lower() == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["variable", *(f"component {k + 1}" for k in range(len(x)))])
            writer.writerows([name, *map(float, x[:, i])] for i, name in enumerate(job.names))
        return
    components = [
        {
            "variables": [job.names[i] for i in _order(job, found, k)],
            "loadings": [float(x[k, i]) for i in _order(job, found, k)],
            "objective": _number(found.objective[k]),
            "status": Status(int(found.status[k])).name,
        }
        for k in range(len(x))
    ]
    content = {"kind": kind, "data": job.title, "components": components, **numbers}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _number(value):
    """For JSON, which has no infinity: None where there is no answer."""
    return float(value) if np.isfinite(value) else None


def draw(path, kind: str, job, found):
    """The loadings, and beside them the samples where there are any."""
    from matplotlib.figure import Figure

    x, split = np.asarray(found.x), job.split
    rows = np.count_nonzero((x != 0).any(axis=0))
    panels = 1 if job.X is None else 2
    figure = Figure((1.5 + 4 * panels, max(3.6, 1 + 0.28 * rows)), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, panels))
    plot.loadings(x, job.names, ax=axes[0])
    if job.X is not None and kind == "cca":
        pair = [job.X[:, :split] @ x[0, :split], job.X[:, split:] @ x[0, split:]]
        axis = plot.scores(np.stack(pair, axis=1), ax=axes[1])
        axis.set(xlabel="first view", ylabel="second view", title="component 1")
    elif job.X is not None:
        plot.scores(job.X @ x[:2].T, job.labels, ax=axes[1])
    figure.savefig(path, dpi=130)
