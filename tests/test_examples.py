"""The examples and the main command run as a user runs them."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(*arguments):
    command = [sys.executable, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_main_command():
    text = run("-m", "sgep_jax")
    assert "variance 3.770959" in text or "variance 3.770960" in text
    assert "topdiam" in text


def test_quick_start():
    text = run(ROOT / "examples" / "quick_start.py")
    assert "PCA selects [ 3 11 19 27]" in text
    assert "CCA selects [ 5 28]" in text


def test_stability_selection():
    text = run(ROOT / "examples" / "stability_selection.py")
    assert "selected every time [ 2  7 11 15]" in text
