"""The scripts of benchmarks/ say what they claim, and their quick forms run."""

import ast
import json
import subprocess
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


def test_a_run_that_was_cut_off_goes_on(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import results

    path = tmp_path / "record.json"
    first = results.Record(path, "trial").cell({"s": 4}, lambda: {"value": 1.0})
    again = results.Record(path, "trial")
    assert again.cell({"s": 4}, pytest.fail) == first
    again.cell({"s": 8}, lambda: {"value": 2.0})
    assert [cell["value"] for cell in json.loads(path.read_text())["figures"]] == [1.0, 2.0]
    with pytest.raises(SystemExit, match="other code or versions"):
        results.Record(path, "another")


def test_answers_of_packages_are_kept(tmp_path, monkeypatch, capsys):
    """Asked for alone, and taken from their file when the default is run."""
    monkeypatch.syspath_prepend(FOLDER)
    import peers

    path = tmp_path / "packages.json"
    row = {"objective": -1.0, "fits": 1, "time": 9.0, "first": 9.0}
    monkeypatch.setattr(peers, "theirs", lambda *_: {"abess": row})
    monkeypatch.setattr(peers, "ours", pytest.fail)
    quick = ["--quick", "--packages", str(path)]
    peers.main([*quick, "--only-packages"])
    assert "lowest" not in capsys.readouterr().out
    assert json.loads(path.read_text())["figures"][0]["rows"] == {"abess": row}

    own = {"objective": -1.5, "time": 0.2, "first": 1.0}
    curve = [{**own, "starts": 1, "objective": -1.2, "time": 0.1}]
    monkeypatch.setattr(peers, "theirs", pytest.fail)
    monkeypatch.setattr(peers, "ours", lambda *_, **__: {"sgep_jax": {**own, "curve": curve}})
    peers.main(quick)
    text = capsys.readouterr().out
    assert "lowest or equal on 1 of 1" in text and "in 1 of 1" in text
    assert "33.33%" in text and "100.0" in text  # how far above; passed after so many ms
    with pytest.raises(SystemExit):
        peers.main(["--quick", "--only-packages"])
    assert "--packages" in capsys.readouterr().err
