"""The scripts of benchmarks/ say what they claim, and their quick forms run."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
SHARED = {"pencils", "results", "timing"}
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in SHARED)


def run(name, *arguments, place=FOLDER):
    command = [sys.executable, str(FOLDER / f"{name}.py"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=place)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", SCRIPTS)
def test_opens_with_its_claim(name):
    text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text()))
    assert text.startswith("Claim: ")
    assert f"python benchmarks/{name}.py" in text
    assert "--quick" in text or name in ("gradient_cost", "picture")


def test_the_papers_figures(tmp_path):
    text = run("paper_figures", "convergence", "--quick", place=tmp_path)
    assert "the default is lowest or equal on 1 of 1" in text
    record = json.loads((tmp_path / "convergence.json").read_text())
    assert record["figures"][0]["rows"]["default"]["above"] <= 1e-6
    assert record["versions"]["jax"] and (tmp_path / "convergence.png").stat().st_size > 1000


def test_peers(tmp_path):
    """With or without the peers: those that are missing are listed."""
    target = tmp_path / "peers.json"
    text = run("peers", "--quick", "--kinds", "pca", "--limit", 60, "--output", target)
    assert "lowest or equal on 1 of 1 cells" in text
    assert set(json.loads(target.read_text())["figures"][0]["rows"]) >= {"sgep_jax", "abess"}
