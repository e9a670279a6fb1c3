"""Lemma 1: the closed-form minimum of a fraction against grids, SciPy and a 2 × 2 pencil."""

import jax
import numpy as np
import pytest
import scipy.optimize
from helpers import lowest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgep_jax.fractional import minimise_fraction

minimise = jax.jit(minimise_fraction)
coefficient = st.floats(-10, 10).map(lambda v: 0.0 if abs(v) < 1e-3 else v)
positive = st.floats(0.1, 10)
correlation = st.floats(-0.99, 0.99)
ANGLES = np.linspace(-np.pi / 2, np.pi / 2, 20001)[1:-1]


def fraction(coefficients, beta):
    """ψ(β), in the homogeneous form that does not overflow."""
    a, b, c, r, s, t = coefficients
    u, v = beta / np.hypot(beta, 1), 1 / np.hypot(beta, 1)
    return (a / 2 * u**2 + b * u * v + c * v**2) / (r / 2 * u**2 + s * u * v + t * v**2)


def coefficients_of(a, b, c, r, rho, t):
    return a, b, c, r, rho * np.sqrt(2 * r * t), t


def solved(coefficients, lower=-np.inf):
    """Step and value, after checking that they belong together and that the step is allowed."""
    minimum = minimise(*map(np.float64, coefficients), np.float64(lower))
    step, value = float(minimum.step), float(minimum.value)
    a, _, _, r, _, _ = coefficients
    reached = a / r if minimum.unbounded else fraction(coefficients, step)
    assert value == pytest.approx(reached, rel=1e-9, abs=1e-12)
    assert minimum.unbounded or step >= lower
    return step, value, bool(minimum.unbounded)


def pencil_value(coefficients):
    """The infimum over all β, as the lowest eigenvalue of a 2 × 2 pencil: an independent truth."""
    a, b, c, r, s, t = coefficients
    return lowest(np.array([[a / 2, b / 2], [b / 2, c]]), np.array([[r / 2, s / 2], [s / 2, t]]))


bound = st.floats(-5, 5, allow_subnormal=False)  # XLA takes subnormal numbers for zero


@settings(max_examples=200, deadline=None)
@given(coefficient, coefficient, coefficient, positive, correlation, positive)
def test_free(a, b, c, r, rho, t):
    coefficients = coefficients_of(a, b, c, r, rho, t)
    _, value, _ = solved(coefficients)
    scale = 1 + abs(value)
    assert value == pytest.approx(pencil_value(coefficients), abs=1e-8 * scale)
    assert value <= fraction(coefficients, np.tan(ANGLES)).min() + 1e-9 * scale


@settings(max_examples=200, deadline=None)
@given(coefficient, coefficient, coefficient, positive, correlation, positive, bound)
def test_bounded(a, b, c, r, rho, t, lower):
    coefficients = coefficients_of(a, b, c, r, rho, t)
    _, value, _ = solved(coefficients, lower)
    scale = 1 + abs(value)
    beta = lower + np.tan(np.linspace(0, np.pi / 2, 20001)[:-1])
    on_grid = fraction(coefficients, beta)
    assert value <= min(on_grid.min(), a / r) + 1e-9 * scale
    i = int(on_grid.argmin())
    edges = beta[max(i - 1, 0)], beta[min(i + 1, len(beta) - 1)]
    refined = scipy.optimize.minimize_scalar(
        lambda v: fraction(coefficients, v), bounds=edges, method="bounded"
    ).fun
    assert value >= min(refined, on_grid[i], a / r) - 1e-6 * scale


def test_no_quadratic_term_in_the_derivative():
    """π = as − br = 0: the root is −ι/ϑ where ϑ > 0, and the infimum is at infinity where ϑ < 0."""
    step, value, unbounded = solved((1.0, 0.5, 3.0, 2.0, 1.0, 1.0))  # ϑ = 1 − 6 < 0
    assert unbounded and value == pytest.approx(0.5)
    step, value, unbounded = solved((1.0, 0.5, -3.0, 2.0, 1.0, 1.0))  # ϑ = 7, ι = 3.5
    assert not unbounded and step == pytest.approx(-0.5)
    assert value == pytest.approx(fraction((1.0, 0.5, -3.0, 2.0, 1.0, 1.0), -0.5))


def test_nearly_no_quadratic_term():
    """As π → 0 the minimiser moves continuously; the textbook root (√ − ϑ)/π would cancel."""
    for tiny in (1e-6, 1e-10, 1e-14, -1e-14):
        step, _, unbounded = solved((1.0, 0.5 + tiny, -3.0, 2.0, 1.0, 1.0))
        assert not unbounded and step == pytest.approx(-0.5, abs=10 * abs(tiny))


def test_the_bound_is_active():
    step, value, unbounded = solved((2.0, 0.0, -1.0, 2.0, 0.0, 1.0), lower=1.0)
    assert (step, value, unbounded) == (1.0, 0.0, False)  # (β² − 1)/(β² + 1) at its bound
    _, value, unbounded = solved((-2.0, 0.0, 1.0, 2.0, 0.0, 1.0), lower=1.0)
    assert unbounded and value == -1.0  # (1 − β²)/(β² + 1) falls for ever


def test_from_the_origin():
    """x = 0: the only value is a/r, at e_i itself."""
    _, value, unbounded = solved((3.0, 0.0, 0.0, 2.0, 0.0, 0.0))
    assert unbounded and value == 1.5


def test_unusable_denominators():
    """r ≤ 0, or e_i and x dependent: never the best choice, never NaN."""
    for r, s, t in ((0.0, 0.0, 1.0), (-1.0, 0.0, 1.0), (2.0, 2.0, 1.0), (np.nan, 0.0, 1.0)):
        assert minimise(1.0, 0.5, -1.0, r, s, t).value == np.inf


def test_large_and_small_units():
    for unit in (1e-10, 1e10):
        coefficients = 1.0, 0.7, -0.3, 2.0, 0.4, 1.5
        a, b, c, r, s, t = coefficients
        expected = pencil_value(coefficients)
        assert solved((a * unit, b * unit, c * unit, r, s, t))[1] / unit == pytest.approx(expected)
        assert solved((a, b, c, r * unit, s * unit, t * unit))[1] * unit == pytest.approx(expected)
        scaled = a * unit**2, b * unit, c, r * unit**2, s * unit, t  # another unit of β
        assert solved(scaled)[1] == pytest.approx(expected)
