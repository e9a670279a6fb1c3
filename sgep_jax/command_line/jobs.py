"""From arguments to a pencil. Errors in the data name the file, the column and the remedy."""

from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import jax
import numpy as np

from .. import datasets
from ..applications import cca_problem, fda_problem, pca_problem
from ..datasets.files import column_number
from ..problem import Problem
from .arguments import names_of, usage_error


class Job(NamedTuple):
    """What a subcommand made of its arguments.

    `names` of the variables; `sparsity` by default; `X` the samples as the loadings weigh them
    (None if there are none), their `labels`; `split`: the number of variables of the first view.
    """

    title: str
    problem: Problem
    names: list
    sparsity: int
    X: Any = None
    labels: Any = None
    split: int | None = None


def pca(options) -> Job:
    """A table, or the pit props."""
    if options.data is None:
        correlation, names = datasets.pitprops()
        problem = pca_problem(covariance=correlation)
        return Job("Pit props (Jeffers 1967)", problem, list(names), 5)
    table = _load(options, options.data)
    X = _standardised(options, table)
    return Job(options.data, pca_problem(X), list(table.names), 5, X)


def fda(options) -> Job:
    """A table with a column of classes, or two generated ones."""
    if options.data is None:
        X, labels, truth = datasets.two_classes(jax.random.key(options.key), 80, 20, 4, 4.0)
        names = tuple(f"x{j + 1}" for j in range(20))
        table = datasets.Table(np.asarray(X), names, np.array(["ill", "well"])[labels])
        title = f"Generated: two classes that differ in {_listed(names, truth)}"
    else:
        if options.label is None:
            usage_error("fda needs --label COLUMN, the column that holds the classes")
        table = _load(options, options.data, label=options.label)
        title = options.data
        _check_classes(options, table.labels)
    X = _standardised(options, table)
    problem = fda_problem(X, table.labels, scale=False, ridge=options.ridge)
    sparsity = 4 if options.data is None else 5
    return Job(title, problem, list(table.names), sparsity, X, table.labels)


def cca(options) -> Job:
    """Columns of one file, two files, or two generated views."""
    if len(options.data) > 2:
        usage_error(f"cca takes one file or two, but {len(options.data)} were given")
    sparsity = 5
    if not options.data:
        X, Y, u, v = datasets.two_views(jax.random.key(options.key), 200, 10, 2, 0.8)
        names = [f"x{j + 1}" for j in range(10)], [f"y{j + 1}" for j in range(10)]
        tables = [
            datasets.Table(np.asarray(view), tuple(name), None)
            for view, name in zip((X, Y), names, strict=True)
        ]
        found = _listed(names[0], u), _listed(names[1], v)
        title, sparsity = f"Generated: {found[0]} agree with {found[1]}", 4
    elif len(options.data) == 2:
        if options.views is not None:
            usage_error("--views is for one file; with two, each file is a view")
        tables = _load_both(options)
        title = " and ".join(options.data)
    else:
        if options.views is None:
            usage_error(
                "cca needs the two views: --views 'a,b:c,d', or --views N for the first N columns, "
                "or a second file"
            )
        title, tables = options.data[0], _load_views(options)
    views = [_standardised(options, table) for table in tables]
    names = [name for table in tables for name in table.names]
    problem = cca_problem(*views, scale=False, ridge=options.ridge)
    return Job(title, problem, names, sparsity, np.hstack(views), None, views[0].shape[1])


def _listed(names, truth) -> str:
    return ", ".join(names[int(j)] for j in np.flatnonzero(truth))


def _load(options, path, label=None, used=None, drop=None):
    """The table, without what --drop names; only the columns `used`, where given."""
    rows = {"header": options.header, "delimiter": options.delimiter}
    names = datasets.csv_names(path, **rows)
    drop = _places(path, names, options.drop if drop is None else drop)
    if label is not None:
        (label,) = _places(path, names, [label])
    if used is not None:
        drop += [j for j, name in enumerate(names) if name not in used]
    table = datasets.load_csv(
        path, label=label, drop=drop, drop_missing=options.drop_missing, **rows
    )
    if len(table.X) < 3:
        raise ValueError(
            f"{path} must have at least 3 rows, one per sample, but it has {len(table.X)}."
        )
    return table


def _load_both(options):
    """Two files with the same rows; a column to drop need not be in both."""
    paths = options.data
    names = [
        datasets.csv_names(path, header=options.header, delimiter=options.delimiter)
        for path in paths
    ]
    tables = []
    for path, these, others in zip(paths, names, names[::-1], strict=True):
        drop = [column for column in options.drop if column in these or column not in others]
        tables.append(_load(options, path, drop=drop))
    rows = [len(table.X) for table in tables]
    if rows[0] != rows[1]:
        raise ValueError(
            f"both files must have the same rows, but {paths[0]} has {rows[0]} and {paths[1]} has "
            f"{rows[1]}."
        )
    return tables


def _places(path, names, columns) -> list[int]:
    """Where columns are, given by names or by numbers as they were typed."""
    numbers = [
        int(column) if column not in names and column.lstrip("-").isdigit() else column
        for column in columns
    ]
    return [column_number(path, list(names), column) for column in numbers]


def _load_views(options):
    """The two views among the columns of one file; columns of neither are not looked at."""
    (path,) = options.data
    every = datasets.csv_names(path, header=options.header, delimiter=options.delimiter)
    dropped = _places(path, every, options.drop)
    names = [name for j, name in enumerate(every) if j not in dropped]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"{path} has {names.count(twice[0])} columns {twice[0]!r}. Rename them.")
    if options.views.isdigit():
        count = int(options.views)
        if not 1 <= count < len(names):
            raise ValueError(
                f"--views must leave a column to each view, from 1 to {len(names) - 1} for the "
                f"first, but it is {count}."
            )
        views = names[:count], names[count:]
    else:
        first, colon, second = options.views.partition(":")
        if not colon:
            usage_error(f"--views must be A:B or a number, but it is {options.views!r}")
        views = [_matching(path, names, part) for part in (first, second)]
        for this, other in ((0, 1), (1, 0)):
            views[this] = views[this] or [name for name in names if name not in views[other]]
    both = [name for name in views[0] if name in views[1]]
    if both or not all(views):
        found = f"{both[0]!r} is in both" if both else "one is empty"
        raise ValueError(f"--views must be two sets of columns without overlap, but {found}.")
    table = _load(options, path, used={*views[0], *views[1]})
    place = {name: j for j, name in enumerate(table.names)}
    return [
        datasets.Table(table.X[:, [place[name] for name in view]], tuple(view), None)
        for view in views
    ]


def _matching(path, names, text):
    """The names that a list of names and wildcards stands for."""
    found = []
    for pattern in names_of(text):
        matches = [name for name in names if name == pattern or fnmatchcase(name, pattern)]
        if not matches:
            known = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
            raise ValueError(f"{path} has no column {pattern!r}. Its columns are: {known}.")
        found += [name for name in matches if name not in found]
    return found


def _standardised(options, table):
    """Centred, and divided by the standard deviations under --scale."""
    X = table.X - table.X.mean(axis=0)
    deviation = X.std(axis=0)
    size = np.abs(table.X).max(axis=0)
    constant = [
        name for name, flat in zip(table.names, deviation <= 1e-13 * size, strict=True) if flat
    ]
    if constant and options.scale:
        raise ValueError(
            f"column {constant[0]!r} is constant ({len(constant)} such): it has no standard "
            f"deviation to divide by. Leave it out: --drop {','.join(constant[:5])}"
        )
    if len(constant) == len(table.names):
        raise ValueError("the table must vary, but all its columns are constant.")
    return X / deviation if options.scale else X


def _check_classes(options, labels):
    classes = np.unique(labels)
    if len(classes) == 1:
        raise ValueError(
            f"the label column {options.label!r} must have at least two classes, but it has only "
            f"{classes[0]!r}."
        )
    if len(classes) == len(labels):
        raise ValueError(
            f"the label column {options.label!r} must have classes of several rows, but each of "
            f"its {len(labels)} values occurs once. Is it a name or a measurement?"
        )
