"""Pictures of sparse components, each on a matplotlib `Axes` taken and returned.

Without `ax` a new figure is made, in the current style. matplotlib is an extra.
"""

import numpy as np

from . import validation
from .solution import Solution


def loadings(x, names=None, *, ax=None):
    """The loadings: bars for one component, a coloured table for several.

    **Arguments**

    - `x`: (n,) or (c, n), a component a row; or a `Solution`, or `Components`.
    - `names`: of the n variables. Variables that no component uses are left out.
    """
    x = np.atleast_2d(np.asarray(getattr(x, "x", x), float))
    if x.ndim != 2:
        raise ValueError(
            f"x must be one component (n,) or several (c, n), but its shape is {x.shape}. "
            f"Pick one of the batch."
        )
    names = validation.names(names, x.shape[1])
    used = np.flatnonzero((x != 0).any(axis=0))
    if len(used) == 0:
        raise ValueError("x must have a nonzero loading, but all of them are zero.")
    if len(x) == 1:
        ax = _axes(ax, (5, 0.6 + 0.28 * len(used)))
        return _bars(x[0], names, used, ax)
    ax = _axes(ax, (2.2 + 0.7 * len(x), 0.9 + 0.28 * len(used)))
    return _coloured_table(x, names, used, ax)


def _bars(x, names, used, ax):
    order = used[np.argsort(np.abs(x[used]), kind="stable")]
    colours = np.where(x[order] < 0, "C1", "C0")
    bars = ax.barh([names[i] for i in order], x[order], color=colours, height=0.7)
    ax.bar_label(bars, [f"{value:.2f}" for value in x[order]], padding=3, fontsize=8)
    ax.axvline(0, color="0.4", linewidth=0.8)
    ax.margins(x=0.15, y=0.02)
    ax.set_xlabel("loading")
    ax.tick_params(left=False)
    _bare(ax, "top", "right", "left")
    return ax


def _coloured_table(x, names, used, ax):
    """Variables in the order of the component that uses them first, the largest loadings first."""
    first = (x != 0).argmax(axis=0)
    order = sorted(used, key=lambda i: (first[i], -abs(x[first[i], i])))
    shares = (x / np.abs(x).max(axis=1, keepdims=True).clip(min=np.finfo(float).tiny))[:, order].T
    ax.imshow(shares, cmap="RdBu", vmin=-1.8, vmax=1.8, aspect="auto")
    for row, i in enumerate(order):
        for k in np.flatnonzero(x[:, i]):
            ax.text(k, row, f"{x[k, i]:.2f}", ha="center", va="center", fontsize=8)
    ax.set_xticks(range(len(x)), [str(k + 1) for k in range(len(x))])
    ax.set_yticks(range(len(order)), [names[i] for i in order])
    ax.set_xlabel("component")
    ax.tick_params(length=0)
    ax.set_xticks(np.arange(len(x) - 1) + 0.5, minor=True)
    ax.grid(which="minor", axis="x", color="white", linewidth=4)
    ax.tick_params(which="minor", length=0)
    _bare(ax, "top", "right", "left", "bottom")
    return ax


def explained_variance(sparsities, values, *, dense=None, ax=None):
    """The value reached with so many variables, and the optimum of all of them as reference.

    **Arguments**

    - `sparsities`, `values`: the same number of each; variance explained, separation or
      correlation, that is minus the objective.
    - `dense`: the value with all variables.
    """
    sparsities, values = np.asarray(sparsities), np.asarray(values, float)
    if sparsities.shape != values.shape or sparsities.ndim != 1 or not len(values):
        raise ValueError(
            f"sparsities and values must have the same length, but their shapes are "
            f"{sparsities.shape} and {values.shape}."
        )
    ax = _axes(ax, (5.2, 3.4))
    ax.plot(sparsities, values, "o-", markersize=4.5, clip_on=False, zorder=3)
    top = values.max()
    if dense is not None:
        top = max(top, float(dense))
        ax.axhline(float(dense), color="0.4", linestyle="--", linewidth=1)
        ax.annotate(
            f"all variables: {float(dense):.4g}", (0, float(dense)), (4, 4),
            xycoords=("axes fraction", "data"), textcoords="offset points",
            color="0.3", fontsize=9,
        )  # fmt: skip
        share = ax.secondary_yaxis("right", functions=(_times(100 / dense), _times(dense / 100)))
        share.set_ylabel("% of all variables")
        share.spines["right"].set_visible(False)
    ax.set_ylim(min(0, values.min()), top + 0.12 * abs(top))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="number of variables", ylabel="variance explained")
    ax.grid(axis="y", alpha=0.3)
    _bare(ax, "top", "right")
    return ax


def convergence(runs, *, best=None, ax=None):
    """How far above the best objective each run is, by steps or by time.

    **Arguments**

    - `runs`: {name: run}. A run is a `Solution`, drawn over its steps, or a pair (times,
      objectives), drawn over time; not both kinds in one picture.
    - `best`: the objective that counts as best; by default the lowest of all runs.
    """
    over_steps = {isinstance(run, Solution) for run in runs.values()}
    if len(over_steps) != 1:
        raise ValueError(
            "runs must all be solutions, drawn over steps, or all be pairs (times, objectives), "
            "drawn over time, and at least one."
        )
    ax = _axes(ax, (5.6, 3.6))
    curves = {name: _curve(name, run) for name, run in runs.items()}
    lowest = min(values[np.isfinite(values)].min(initial=np.inf) for _, values in curves.values())
    best = lowest if best is None else float(best)
    size = abs(best) if best else 1.0
    gaps = {name: 100 * (values - best) / size for name, (_, values) in curves.items()}
    smallest = [gap[np.isfinite(gap) & (gap > 1e-8)].min(initial=1.0) for gap in gaps.values()]
    floor = min(smallest) / 5  # where the best itself is drawn
    end = max(position[-1] for position, _ in curves.values())
    for name, (position, _) in curves.items():
        gap = np.maximum(gaps[name], floor)
        line = ax.step(position, gap, where="post", label=name, clip_on=False)[0]
        ax.plot(position[-1], gap[-1], "o", color=line.get_color(), markersize=5, clip_on=False)
    ax.set_yscale("log")
    if over_steps == {True}:
        ax.set_xlabel("steps")
        ax.xaxis.get_major_locator().set_params(integer=True)
    else:
        ax.set_xlabel("seconds")
    ax.set_xlim(0 if over_steps == {True} else None, 1.03 * end)
    ax.set_ylim(bottom=floor / 2)  # clear of the axis
    ax.set_ylabel("above the best objective, %\n(bottom: the best)")
    ax.grid(axis="y", alpha=0.3)
    ax.legend(frameon=False)
    _bare(ax, "top", "right")
    return ax


def _curve(name, run):
    """Positions and objectives of one run."""
    if isinstance(run, Solution):
        history = np.asarray(run.history, float)
        if history.ndim != 1:
            raise ValueError(f"runs[{name!r}] must be one solution, but it is a batch.")
        history = np.append(history[: int(run.num_steps) + 1], float(run.objective))
        position = np.append(np.arange(len(history) - 1), len(history) - 2)  # the final polish
    else:
        position, history = (np.asarray(part, float) for part in run)
        if position.shape != history.shape or position.ndim != 1 or not len(position):
            raise ValueError(
                f"runs[{name!r}] must be as many times as objectives, but their shapes are "
                f"{position.shape} and {history.shape}."
            )
    return position, history


def scores(Z, labels=None, *, ax=None):
    """The samples in the first two components, or one component's distribution in each class.

    **Arguments**

    - `Z`: (m, c), the samples' scores, such as X @ x.T. One column is drawn as histograms.
    - `labels`: m labels, for colours.
    """
    Z = np.asarray(Z, float)
    Z = Z[:, None] if Z.ndim == 1 else Z
    if Z.ndim != 2 or 0 in Z.shape:
        raise ValueError(f"Z must have shape (samples, components), but its shape is {Z.shape}.")
    labels = np.zeros(len(Z)) if labels is None else np.asarray(labels)
    if labels.shape != (len(Z),):
        raise ValueError(
            f"labels must be one for each of the {len(Z)} samples, not {labels.shape}."
        )
    ax = _axes(ax, (5, 4))
    classes = np.unique(labels)
    edges = np.histogram_bin_edges(Z[:, 0], 24)
    for label in classes:
        part = Z[labels == label]
        if Z.shape[1] == 1:
            ax.hist(part[:, 0], edges, alpha=0.6, label=str(label))
        else:
            ax.scatter(part[:, 0], part[:, 1], s=18, alpha=0.75, linewidth=0, label=str(label))
    ax.set_xlabel("component 1")
    ax.set_ylabel("samples" if Z.shape[1] == 1 else "component 2")
    if len(classes) > 1:
        ax.legend(frameon=False)
    _bare(ax, "top", "right")
    return ax


def _axes(ax, size):
    if ax is not None:
        return ax
    require_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def require_matplotlib():
    """An error with the remedy, where it is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError('sgep_jax.plot needs matplotlib: pip install "sgep_jax[plot]".') from None


def _times(factor):
    return lambda value: value * factor


def _bare(ax, *sides):
    for side in sides:
        ax.spines[side].set_visible(False)
