"""Pictures show the numbers they are given, and take and return an Axes."""

import subprocess
import sys

import jax.numpy as jnp
import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from sgep_jax import Solution, plot

X = np.array([[0.6, 0, -0.8, 0], [0, 0.1, 0.2, 0]])
NAMES = ["ash", "beech", "cedar", "dogwood"]


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def solution(history):
    history, zero = jnp.asarray(history), jnp.int32(0)
    return Solution(X[0], history[-1], zero, zero, len(history) - 1, history, zero, zero)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_one_component_is_bars():
    ax = plot.loadings(X[0], NAMES)
    assert [bar.get_width() for bar in ax.patches] == [0.6, -0.8]  # the largest on top
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["ash", "cedar"]
    assert ax.patches[0].get_facecolor() != ax.patches[1].get_facecolor()


def test_several_components_are_a_table():
    ax = plot.loadings(X, NAMES)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["cedar", "ash", "beech"]
    assert texts(ax) == ["-0.80", "0.20", "0.60", "0.10"]
    np.testing.assert_allclose(ax.images[0].get_array(), [[-1, 1], [0.75, 0], [0, 0.5]])


def test_explained_variance():
    ax = plot.explained_variance([1, 2, 4], [1.0, 1.5, 1.8], dense=2.0)
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[1, 1.0], [2, 1.5], [4, 1.8]])
    assert set(ax.lines[1].get_ydata()) == {2.0}
    assert "all variables: 2" in texts(ax)[0]


def test_convergence_over_steps_and_time():
    runs = {"a": solution([-1.0, -2.0]), "b": solution([-1.0, -1.5])}
    ax = plot.convergence(runs)
    assert ax.get_xlabel() == "steps"
    np.testing.assert_allclose(ax.lines[2].get_ydata(), [50, 25, 25])
    assert ax.lines[0].get_ydata()[0] == pytest.approx(50)
    ax = plot.convergence({"c": ([0.0, 0.3], [-1.0, -2.0])}, best=-4.0)
    assert ax.get_xlabel() == "seconds"
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[0, 75], [0.3, 50]])


def test_scores():
    Z, labels = np.arange(8.0).reshape(4, 2), ["p", "q", "p", "q"]
    ax = plot.scores(Z, labels)
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), Z[::2])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["p", "q"]
    ax = plot.scores(Z[:, 0], labels)
    assert sum(bar.get_height() for bar in ax.patches) == 4
    assert plot.scores(Z).get_legend() is None


def test_a_given_axes_is_used():
    _, ax = plt.subplots()
    assert plot.loadings(X, ax=ax) is ax
    assert plot.scores(X.T, ax=ax) is ax


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plot.loadings(X, NAMES[:2]), "names must be n = 4"),
        (lambda: plot.loadings(0 * X), "all of them are zero"),
        (lambda: plot.loadings(X[None]), "Pick one of the batch"),
        (lambda: plot.explained_variance([1, 2], [1.0]), "the same length"),
        (lambda: plot.convergence({}), "at least one"),
        (lambda: plot.convergence({"a": solution([1.0]), "b": ([0], [1])}), "all be pairs"),
        (lambda: plot.convergence({"b": ([0, 1], [1])}), "as many times"),
        (lambda: plot.scores(X, [1]), "one for each of the 2 samples"),
    ],
)
def test_bad_arguments(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def test_without_matplotlib():
    code = """
import sys
sys.modules["matplotlib"] = None
from sgep_jax import plot
try:
    plot.loadings([1.0, 2.0])
except ImportError as error:
    print(error)
"""
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert 'needs matplotlib: pip install "sgep_jax[plot]"' in run.stdout
