"""The scripts of benchmarks/ say what they claim, and their quick forms run."""

import ast
import json
import sys
from pathlib import Path

import pytest
from helpers import run_script

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
SHARED = {"methods", "pencils", "results", "timing"}
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in SHARED)
FIRST = {"paper_figures": ["convergence"]}  # what else a command needs


def source(name):
    return (FOLDER / f"{name}.py").read_text()


def run(name, *arguments, place=FOLDER):
    return run_script(FOLDER / f"{name}.py", *arguments, cwd=place)


@pytest.mark.parametrize("name", SCRIPTS)
def test_opens_with_its_claim(name):
    text = ast.get_docstring(ast.parse(source(name)))
    assert text.startswith("Claim: ")
    assert f"python benchmarks/{name}.py" in text and "--quick" in text


@pytest.mark.parametrize("name", SCRIPTS)
def test_quick_form(name, tmp_path):
    """It runs, saves what it measured and on what, and draws if it can."""
    figures, picture = tmp_path / "figures.json", tmp_path / "picture.png"
    drawn = ["--plot", picture] if "plot=True" in source(name) else []
    text = run(name, *FIRST.get(name, []), "--quick", "--output", figures, *drawn, place=tmp_path)
    record = json.loads(figures.read_text())
    assert record["figures"] and f"jax {record['versions']['jax']}" in text
    assert not drawn or picture.stat().st_size > 1000
    if "lowest or equal on" in text:
        assert "  not on" not in text


def test_a_run_that_was_cut_off_goes_on(tmp_path):
    sys.path.insert(0, str(FOLDER))
    try:
        import results
    finally:
        sys.path.remove(str(FOLDER))
    path = tmp_path / "record.json"
    first = results.Record(path, "trial").cell({"s": 4}, lambda: {"value": 1.0})
    again = results.Record(path, "trial")
    assert again.cell({"s": 4}, pytest.fail) == first
    again.cell({"s": 8}, lambda: {"value": 2.0})
    assert [cell["value"] for cell in json.loads(path.read_text())["figures"]] == [1.0, 2.0]
    with pytest.raises(SystemExit, match="other code or versions"):
        results.Record(path, "another")
