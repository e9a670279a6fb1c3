"""Writes docs/api.md from the docstrings:  python docs/make_api.py"""

import enum
import importlib
import inspect
import re
from pathlib import Path

import sgep_jax

MODULES = ("datasets", "measures", "plot", "model_selection", "resampling", "estimators")
TARGET = Path(__file__).parent / "api.md"


def entry(name: str, thing) -> str:
    """One object: its signature and its docstring."""
    text = inspect.getdoc(thing) or ""
    if isinstance(thing, type) and issubclass(thing, enum.Enum):
        rows = "\n".join(f"- `{member.name}`: {member.message}" for member in thing)
        return f"### `{name}`\n\n{text}\n\n{rows}\n"
    try:
        signature = str(inspect.signature(thing)) if callable(thing) else ""
    except ValueError:
        signature = ""
    signature = re.sub(r"\bjax\.[\w.]*Array\b", "jax.Array", signature)  # JAX's inner names change
    signature = re.sub(r"\bsgep_jax\.[\w.]+\.", "", signature)
    return f"### `{name}`\n\n```\n{name.split('.')[-1]}{signature}\n```\n\n{text}\n"


def public(module) -> list[str]:
    """What a module lists, or defines itself beyond what is at the top."""
    listed = getattr(module, "__all__", None)
    return listed or [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and name not in sgep_jax.__all__
        and callable(thing)  # jitted functions too
        and thing.__module__ == module.__name__
    ]


def reference() -> str:
    parts = ["# API\n\nMade from the docstrings by `python docs/make_api.py`.\n\n## sgep_jax\n"]
    for name in sgep_jax.__all__:
        thing = getattr(sgep_jax, name)
        if not inspect.ismodule(thing):
            parts.append(entry(name, thing))
    for module_name in MODULES:
        module = importlib.import_module(f"sgep_jax.{module_name}")
        parts.append(f"## sgep_jax.{module_name}\n\n{inspect.getdoc(module)}\n")
        parts += [entry(f"{module_name}.{name}", getattr(module, name)) for name in public(module)]
    return "\n".join(parts)


if __name__ == "__main__":
    TARGET.write_text(reference())
    print(f"wrote {TARGET}")
