"""Tables from files, with nothing but NumPy. Errors say where in the file to look."""

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

MISSING = ("", "na", "n/a", "nan", "null", "none", "?", ".")


class Table(NamedTuple):
    """`X` (rows, columns), the `names` of its columns, and the `labels` (rows,) or None."""

    X: np.ndarray
    names: tuple[str, ...]
    labels: np.ndarray | None


def load_csv(
    path, *, label=None, drop=(), header=None, delimiter=None, drop_missing=False
) -> Table:
    """A table of numbers from a text file, with at most one column of labels.

    **Arguments**

    - `path`: the file.
    - `label`: the name or number (from 0) of the column that holds the labels.
    - `drop`: names or numbers of columns to leave out.
    - `header`: whether the first row has the names. By default it has if none of it is a number.
    - `delimiter`: by default the one of `,` `;` and tab that the first row has most of.
    - `drop_missing`: leave out rows with missing values (empty, NA, NaN, null, ?), which are an
      error otherwise.
    """
    names, lines, rows = _read(path, header, delimiter)
    width = len(names)
    label = None if label is None else column_number(path, names, label)
    dropped = {column_number(path, names, column) for column in drop}
    used = [j for j in range(width) if j != label and j not in dropped]
    if not used:
        raise ValueError(f"{path} must have a column of numbers, but none is left.")
    if drop_missing:
        needed = used if label is None else [*used, label]
        kept = [not any(_is_missing(row[j]) for j in needed) for row in rows]
        lines = [line for line, keep in zip(lines, kept, strict=True) if keep]
        rows = [row for row, keep in zip(rows, kept, strict=True) if keep]
        if not rows:
            raise ValueError(f"{path}: every row misses a value. Drop the columns that do.")
    columns = [_numbers(path, names[j], lines, [row[j] for row in rows]) for j in used]
    labels = None if label is None else _labels(path, names[label], lines, rows, label)
    return Table(np.column_stack(columns), tuple(names[j] for j in used), labels)


def csv_names(path, *, header=None, delimiter=None) -> tuple[str, ...]:
    """The names of all columns of a file, as `load_csv` knows them."""
    return tuple(_read(path, header, delimiter)[0])


def _read(path, header, delimiter):
    """The names of the columns, and the rows with their line numbers, all of one length."""
    lines, rows = _read_rows(path, delimiter)
    width = len(rows[0])
    for line, row in zip(lines, rows, strict=True):
        if len(row) != width:
            raise ValueError(
                f"{path}: every row must have {width} fields like the first, but line {line} has "
                f"{len(row)}. Check its quotes and delimiters."
            )
    if header is None:
        header = not any(_is_number(field) or _is_missing(field) for field in rows[0])
    if not header:
        return [f"column {j}" for j in range(width)], lines, rows
    if len(rows) == 1:
        raise ValueError(f"{path} must have rows of data, but it has only a header.")
    return [name.strip() for name in rows[0]], lines[1:], rows[1:]


def _read_rows(path, delimiter):
    """The rows that are not blank, and their line numbers."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            text = file.read()
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path}. Check its name and folder.") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} must be a text file in UTF-8, but it is not.") from None
    first = next((line for line in text.splitlines() if line.strip()), None)
    if first is None:
        raise ValueError(f"{path} must have rows of data, but it is empty.")
    delimiter = max(",;\t", key=first.count) if delimiter is None else delimiter
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, skipinitialspace=True)
    lines, rows = [], []
    try:
        for row in reader:
            if any(field.strip() for field in row):
                lines.append(reader.line_num)
                rows.append(row)
    except csv.Error as error:  # a quote that is never closed, say
        raise ValueError(
            f"{path}: line {reader.line_num} is no row of fields ({error}). Check its quotes."
        ) from None
    return lines, rows


def column_number(path, names, column) -> int:
    """The place of a column given by its name or number."""
    if column in names:
        if names.count(column) > 1:
            raise ValueError(f"{path} has {names.count(column)} columns {column!r}. Rename them.")
        return names.index(column)
    if isinstance(column, int) and -len(names) <= column < len(names):
        return column % len(names)
    known = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    raise ValueError(f"{path} has no column {column!r}. Its columns are: {known}.")


def _numbers(path, name, lines, fields):
    """One column as floats."""
    try:
        values = np.array([float(field) for field in fields])
        if np.isfinite(values).all():
            return values
    except ValueError:
        pass
    missing = sum(_is_missing(field) for field in fields)
    for line, field in zip(lines, fields, strict=True):
        if _is_missing(field):
            raise ValueError(
                f"{path}: column {name!r} must not miss values, but line {line} reads {field!r} "
                f"({missing} such in this column). Fill them in, leave the rows out "
                f"(drop_missing), or leave the column out (drop)."
            )
        if not _is_number(field):
            raise ValueError(
                f"{path}: column {name!r} must hold numbers, but line {line} reads {field!r}. "
                f"Name it as the label if it holds the classes, or leave it out (drop)."
            )
        if not np.isfinite(float(field)):
            raise ValueError(
                f"{path}: column {name!r} must be finite, but line {line} reads {field!r}."
            )
    raise AssertionError("a column is either numbers or not")


def _labels(path, name, lines, rows, column):
    labels = [row[column].strip() for row in rows]
    for line, label in zip(lines, labels, strict=True):
        if _is_missing(label):
            raise ValueError(
                f"{path}: the label column {name!r} must not miss labels, but line {line} reads "
                f"{label!r}. Leave such rows out (drop_missing)."
            )
    return np.array(labels)


def _is_number(field) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _is_missing(field) -> bool:
    return field.strip().lower() in MISSING


def load_svmlight(path, *, num_columns=None, zero_based=False, sparse=False) -> Table:
    """Rows of `label index:value index:value …`, as in the LIBSVM collection.

    **Arguments**

    - `path`: the file.
    - `num_columns`: by default the largest index met; give it where files must agree.
    - `zero_based`: whether indices begin at 0; those of the collection begin at 1.
    - `sparse`: X as a `scipy.sparse.csr_array`, which needs SciPy, instead of a dense array.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path}. Check its name and folder.") from None
    labels, rows, columns, values = [], [], [], []
    for line, content in enumerate(text.splitlines(), start=1):
        fields = content.split("#")[0].split()
        if not fields:
            continue
        seen = set()
        for field in fields[1:]:
            index, value = _pair_of_numbers(path, line, field)
            index -= 0 if zero_based else 1
            if index < 0:
                raise ValueError(
                    f"{path}: indices must begin at 1, but line {line} has {field!r}. Pass "
                    f"zero_based=True if they begin at 0."
                )
            if index in seen:
                raise ValueError(f"{path}: line {line} has the index of {field!r} twice.")
            seen.add(index)
            rows.append(len(labels))
            columns.append(index)
            values.append(value)
        labels.append(fields[0])
    if not labels:
        raise ValueError(f"{path} must have rows of data, but it is empty.")
    most = max(columns, default=-1) + 1
    width = most if num_columns is None else num_columns
    if width < max(most, 1):
        raise ValueError(f"{path} has {most} columns, but num_columns is {num_columns}.")
    shape = (len(labels), width)
    if sparse:
        X = _scipy_sparse().csr_array((values, (rows, columns)), shape=shape, dtype=float)
    else:
        X = np.zeros(shape)
        X[rows, columns] = values
    labels = np.array([float(y) if _is_number(y) else y for y in labels])
    return Table(X, tuple(f"column {j}" for j in range(width)), labels)


def _pair_of_numbers(path, line, field):
    index, colon, value = field.partition(":")
    if not (colon and index.isdigit() and _is_number(value) and np.isfinite(float(value))):
        raise ValueError(
            f"{path}: each field after the label must read index:value, with a finite number, but "
            f"line {line} has {field!r}."
        )
    return int(index), float(value)


def _scipy_sparse():
    try:
        import scipy.sparse
    except ImportError:
        raise ImportError(
            "load_svmlight(sparse=True) needs SciPy: pip install scipy, or load a dense array."
        ) from None
    return scipy.sparse
