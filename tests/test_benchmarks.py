"""The scripts of benchmarks/ say what they claim, and their quick forms run."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import run_script

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / "benchmarks"
SHARED = {"methods", "pencils", "results", "timing"}
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in SHARED)
FIRST = {"paper_figures": ["convergence"]}  # what else a command needs


def source(name):
    return (FOLDER / f"{name}.py").read_text()


@pytest.fixture(scope="module")
def quick_forms(tmp_path_factory):
    """{script: (folder, error, what it printed)} of all, run in one process to save time."""
    tasks, folders = {}, {}
    for name in SCRIPTS:
        folders[name] = folder = tmp_path_factory.mktemp(name)
        drawn = ["--plot", folder / "picture.png"] if "plot=True" in source(name) else []
        options = ["--quick", "--output", folder / "figures.json", *drawn]
        tasks[name] = [str(FOLDER / f"{name}.py"), *FIRST.get(name, []), *map(str, options)]
    folder = tmp_path_factory.mktemp("runner")
    given, found = folder / "tasks.json", folder / "results.json"
    given.write_text(json.dumps(tasks))
    try:
        run_script(HERE / "many_scripts.py", given, found, cwd=folder, timeout=1100)
        error = "not run"
    except (AssertionError, subprocess.TimeoutExpired) as stop:  # of one, to which it belongs
        error = f"all ended here, or before: {stop}"
    results = json.loads(found.read_text()) if found.exists() else {}
    return {name: (folders[name], *results.get(name, (error, ""))) for name in SCRIPTS}


@pytest.mark.parametrize("name", SCRIPTS)
def test_opens_with_its_claim(name):
    text = ast.get_docstring(ast.parse(source(name)))
    assert text.startswith("Claim: ")
    assert f"python benchmarks/{name}.py" in text and "--quick" in text


@pytest.mark.timeout(1200)  # the first of them waits for all
@pytest.mark.parametrize("name", SCRIPTS)
def test_quick_form(name, quick_forms):
    """It runs, saves what it measured and on what, and draws if it can."""
    folder, error, text = quick_forms[name]
    assert not error, error
    record = json.loads((folder / "figures.json").read_text())
    assert record["figures"] and f"jax {record['versions']['jax']}" in text
    if "plot=True" in source(name):
        assert (folder / "picture.png").stat().st_size > 1000
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
