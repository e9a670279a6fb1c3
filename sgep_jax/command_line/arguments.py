"""What can be typed, checked as far as that is possible without the data."""

import argparse
from functools import partial
from pathlib import Path

import numpy as np

from ..deflation import DEFLATIONS

TEXTS = {
    "pca": "Principal components with few variables: the combinations with the most variance.",
    "fda": "Discriminant analysis with few variables: the combinations that best separate the "
    "classes.",
    "cca": "Canonical correlations with few variables: the combinations of two views that agree "
    "most. The views are columns of one file (--views), or two files with the same rows.",
}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python -m sgep_jax",
        description="Sparse components of a table: say how many variables, not a penalty. Without "
        "arguments, an example on built-in data.",
        epilog="Exit codes: 0 done, 1 the data do not allow it, 2 the command was not understood.",
    )
    kinds = top.add_subparsers(dest="kind", required=True, metavar="pca | fda | cca")
    pca = kinds.add_parser("pca", help="the most variance", description=TEXTS["pca"])
    fda = kinds.add_parser("fda", help="the best separation", description=TEXTS["fda"])
    cca = kinds.add_parser("cca", help="the highest correlation", description=TEXTS["cca"])
    for kind in (pca, fda, cca):
        files = "?" if kind is not cca else "*"
        what = "a CSV file" if kind is not cca else "a CSV file, or two"
        kind.add_argument("data", nargs=files, help=f"{what}; without, built-in data")
        _common(kind)
    fda.add_argument("--label", metavar="COLUMN", help="name or number (from 0) of the classes")
    cca.add_argument(
        "--views",
        metavar="A:B",
        help="the columns of each view, such as 'height,width:price', with * as a wildcard, or "
        "'height,width:' for all others; or the number of columns of the first view",
    )
    for kind in (fda, cca):
        kind.add_argument(
            "--ridge", type=_non_negative, default=1e-3,
            help="added to the variances, relative to their mean (default 0.001)",
        )  # fmt: skip
    return top


def _common(kind):
    add = kind.add_argument
    add(
        "--sparsity", "-s", type=_sparsity, metavar="S",
        help="variables in a component (default 5), or one number per component: 6,4,4; for cca "
        "also one per view: 3+2",
    )  # fmt: skip
    add("--components", "-c", type=_positive, metavar="C", help="how many (default 1)")
    add("--deflation", choices=DEFLATIONS, default="projection", help="between components")
    add("--non-negative", action="store_true", help="no negative loadings")
    add(
        "--scale", action=argparse.BooleanOptionalAction, default=True,
        help="divide each variable by its standard deviation (default: yes)",
    )  # fmt: skip
    add("--drop", type=names_of, default=[], metavar="A,B", help="columns to leave out")
    add("--drop-missing", action="store_true", help="leave out rows with missing values")
    add("--header", action=argparse.BooleanOptionalAction, help="whether the first row has names")
    add("--delimiter", type=_character, metavar="CHAR", help="by default the one of , ; and tab "
        "that the first row has most of")  # fmt: skip
    add("--output", type=partial(_path, (".csv", ".json")), metavar="FILE", help="csv or json")
    add("--plot", type=partial(_path, (".png", ".pdf", ".svg")), metavar="FILE",
        help="png, pdf or svg; needs matplotlib")  # fmt: skip
    add("--key", type=int, default=0, help="of the random numbers (default 0)")


def _character(text) -> str:
    text = "\t" if text == "\\t" else text  # as it is typed
    if len(text) != 1:
        raise argparse.ArgumentTypeError(f"must be one character, or \\t, but it is {text!r}")
    return text


def _positive(text) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a number from 1, but it is {text!r}")
    return int(text)


def _non_negative(text) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not (value >= 0 and np.isfinite(value)):
        raise argparse.ArgumentTypeError(f"must be a number from 0, but it is {text!r}")
    return value


def _sparsity(text):
    """'5' → [5]; '6,4' → [6, 4], one per component; '3+2' → [(3, 2)], one per view."""
    parts = [entry.split("+") for entry in text.split(",")]
    if not all(part.isdigit() and int(part) for entry in parts for part in entry):
        raise argparse.ArgumentTypeError(
            f"must be a number such as 5, one per component such as 6,4, or one per view such as "
            f"3+2, each from 1, but it is {text!r}"
        )
    each = [tuple(int(part) for part in entry) for entry in parts]
    return [entry[0] if len(entry) == 1 else entry for entry in each]


def names_of(text) -> list:
    return [name.strip() for name in text.split(",") if name.strip()]


def _path(endings, text) -> Path:
    path = Path(text)
    if path.suffix.lower() not in endings:
        raise argparse.ArgumentTypeError(f"must end with {' or '.join(endings)}, not {text!r}")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {path.parent}")
    return path


def check_without_data(options):
    """The built-in data have nothing that these could be about: a file was forgotten."""
    given = {
        "--label": getattr(options, "label", None) is not None,
        "--views": getattr(options, "views", None) is not None,
        "--drop": options.drop,
        "--drop-missing": options.drop_missing,
        "--header": options.header is not None,
        "--delimiter": options.delimiter is not None,
    }
    name = next((name for name, present in given.items() if present), None)
    if name is not None:
        usage_error(f"{name} is about a file, but none is given: name it after {options.kind}")


def usage_error(message):
    """Exit with code 2 and a message, for what only shows once several arguments are seen."""
    parser().error(message)
