"""The options that all scripts share, their figures as JSON (what was measured, on what, with which
versions) and their simple plots."""

import argparse
import hashlib
import json
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import jax
import pencils
from timing import machine, peak_memory

PACKAGES = ("jax", "jaxlib", "numpy", "scikit-learn", "abess", "skscope", "cca-zoo")
COLORS = ("#d62728", "#1f5fa8", "#17becf", "#2ca02c", "#98df8a", "#bcbd22", "#ff7f0e", "#ffbb78",
          "#8a8a8a", "#9467bd", "#c5b0d5", "#e377c2", "#8c564b")  # fmt: skip
SOURCE = Path(__file__).resolve().parents[1] / "sgep_jax"


def parser(doc, *, cells=False, kinds=pencils.KINDS, plot=False):
    """`--quick` and `--output`; for a grid of cells what to take of it; `--plot`."""
    form = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=doc, formatter_class=form)
    options.add_argument("--quick", action="store_true", help="small, in seconds")
    options.add_argument("--output", metavar="JSON", help="where to save the figures")
    if plot:
        options.add_argument("--plot", metavar="PNG", help="where to draw them")
    if cells:
        options.add_argument("--data", metavar="FOLDER", help="default: ../shared/data, if any")
        options.add_argument("--sets", nargs="+", metavar="NAME")
        options.add_argument("--kinds", nargs="+", choices=kinds)
        options.add_argument("--sparsities", nargs="+", type=int)
    return options


def versions(own: bool = True) -> dict:
    """Of the packages that are installed, and of this package's `own` code."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    if not own:
        return found
    code = b"".join(path.read_bytes() for path in sorted(SOURCE.rglob("*.py")))
    return {**found, "sgep_jax code": hashlib.sha256(code).hexdigest()[:12]}


class Record:
    """Figures that are saved after every cell: a run that was cut off goes on where it stopped.

    `path` None saves nothing. A file made by other code or versions is not continued; figures that
    do not depend on this package's `own` code may outlive it.
    """

    def __init__(self, path, name, own=True):
        self.path, self.name, self.own, self.cells = path and Path(path), name, own, []
        if self.path and self.path.exists():
            old = json.loads(self.path.read_text())
            if old["name"] != name or old["versions"] != versions(own):
                raise SystemExit(f"{path} is of other code or versions: move it away.")
            self.cells = old["figures"]
            print(f"{path}: {len(self.cells)} cells are there already")

    def cell(self, key: dict, measure):
        """The figures `measure()` of the cell `key`, or those that are there already."""
        for cell in self.cells:
            if all(cell[name] == value for name, value in key.items()):
                return cell
        self.cells.append({**key, **measure()})
        jax.clear_caches()  # XLA crashes when a process has mapped some hundred programs
        save(self.path, self.name, self.cells, quiet=True, own=self.own)
        return self.cells[-1]


def save(path, name: str, figures, quiet=False, own=True):
    """Write `figures` to `path` (nowhere without one) with the command, machine and versions."""
    if path is None:
        return
    record = {
        "name": name,
        "command": " ".join(["python", *sys.argv]),
        "machine": machine(),
        "versions": versions(own),
        "peak memory, GB": peak_memory(),
        "figures": figures,
    }
    part = Path(f"{path}.part")
    part.write_text(json.dumps(record, indent=1) + "\n")
    part.replace(path)
    if not quiet:
        print(f"saved as {path}")


def figure(rows, columns, size):
    """(figure, axes of two dimensions) that needs no screen."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, figsize=size, squeeze=False)


def draw(drawing, path, **layout):
    drawing.tight_layout(**layout)
    drawing.savefig(path, dpi=110)
    print(f"drew {path}")


def lines(path, curves: dict, **axis):
    """`curves`: {label: (x, y)} in one panel, drawn to `path` (nowhere without one)."""
    if path is None:
        return
    drawing, ((panel,),) = figure(1, 1, (6, 4))
    for label, (x, y) in curves.items():
        panel.plot(x, y, "o-", markersize=4, label=label)
    panel.set(**axis)
    panel.grid(alpha=0.3)
    panel.legend(fontsize=8)
    draw(drawing, path)
