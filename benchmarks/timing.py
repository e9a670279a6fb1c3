"""Timing that does not fool itself: warm-up apart, results awaited, best and median of repeats."""

import os
import platform
import statistics
import time
from typing import NamedTuple

import jax


class Timing(NamedTuple):
    """Seconds: `first` call (with compilation), then `best` and `median` of the repeats."""

    first: float
    best: float
    median: float


def measure(function, *, repeats=3, budget=10.0):
    """(result, Timing) of `function()`; no repeat begins after `budget` seconds of repeats."""
    begin = time.perf_counter()
    result = jax.block_until_ready(function())
    first = time.perf_counter() - begin
    times = []
    while len(times) < repeats and (not times or sum(times) < budget):
        begin = time.perf_counter()
        jax.block_until_ready(function())
        times.append(time.perf_counter() - begin)
    return result, Timing(first, min(times), statistics.median(times))


def machine() -> str:
    """One line: what the figures were measured on."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    device = jax.devices()[0]
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, "
        f"{device.platform} ({device.device_kind}), Python {platform.python_version()}, "
        f"jax {jax.__version__}"
    )
