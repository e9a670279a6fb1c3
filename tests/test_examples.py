"""The examples and the main command run as a user runs them."""

from pathlib import Path

from helpers import run_script

ROOT = Path(__file__).resolve().parents[1]


def run(*arguments):
    return run_script(*arguments, cwd=ROOT)


def test_main_command():
    text = run("-m", "sgep_jax")
    assert "variance 3.770959" in text or "variance 3.770960" in text
    assert "topdiam" in text


def test_quick_start():
    text = run(ROOT / "examples" / "quick_start.py")
    assert "PCA selects [ 3 11 19 27]" in text
    assert "CCA selects [ 5 28]" in text


def test_many_columns():
    text = run(ROOT / "examples" / "many_columns.py", 3000)
    assert "A=Gram" in text and "20 of 20 planted variables found" in text


def test_sparse_pca_of_digits():
    text = run(ROOT / "examples" / "sparse_pca_of_digits.py")
    assert "10 pixels each" in text


def test_breast_cancer_fda():
    text = run(ROOT / "examples" / "breast_cancer_fda.py")
    assert "one standard error" in text
    assert "all 30" in text


def test_two_views_cca():
    text = run(ROOT / "examples" / "two_views_cca.py")
    assert "variables of X: [ 2  7 11]" in text
    assert "variables of Y: [4 9]" in text


def test_stability_selection():
    text = run(ROOT / "examples" / "stability_selection.py")
    assert "selected every time [ 2  7 11 15]" in text
