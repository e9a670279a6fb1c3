"""Figures as JSON: what was measured, on what, with which versions."""

import json
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from timing import machine

PACKAGES = ("jax", "jaxlib", "numpy", "scikit-learn", "abess", "skscope", "cca-zoo")


def versions() -> dict:
    """Of the packages that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def save(path, name: str, figures):
    """Write `figures` to `path` (nowhere without one) with the command, machine and versions."""
    if path is None:
        return
    record = {
        "name": name,
        "command": " ".join(["python", *sys.argv]),
        "machine": machine(),
        "versions": versions(),
        "figures": figures,
    }
    Path(path).write_text(json.dumps(record, indent=1) + "\n")
    print(f"saved as {path}")
