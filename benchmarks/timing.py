"""Timing that does not fool itself: warm-up apart, results awaited, best and median of repeats;
compilation apart, peak memory, and children that report all of it to their parent."""

import json
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from typing import NamedTuple


class Timing(NamedTuple):
    """Seconds: `first` call (with compilation), then `best` and `median` of the repeats."""

    first: float
    best: float
    median: float


def ready(result):
    """Wait for what JAX computes, where JAX is in use (some peers do without)."""
    jax = sys.modules.get("jax")
    return result if jax is None else jax.block_until_ready(result)


def once(function):
    """(result, seconds, processor seconds) of one call."""
    begin = time.perf_counter(), time.process_time()
    result = ready(function())
    return result, time.perf_counter() - begin[0], time.process_time() - begin[1]


def measure(function, *, repeats=3, budget=10.0, limit=math.inf):
    """(result, Timing) of `function()`; no repeat begins after `budget` seconds of repeats.

    Of a first call that took longer than `limit` there is no repeat: its time stands for all.
    """
    result, first, _ = once(function)
    times = [first] if first > limit else []
    while len(times) < repeats and (not times or sum(times) < budget) and first <= limit:
        times.append(once(function)[1])
    return result, Timing(first, min(times), statistics.median(times))


def in_turns(functions, *, repeats=1, seconds=0.0):
    """The least (seconds, processor seconds) of each, measured in turns so that other work on the
    machine slows all of them; at least `repeats` rounds, and `seconds` altogether."""
    best, rounds = [(math.inf, math.inf)] * len(functions), 0
    stop = time.perf_counter() + seconds
    while rounds < repeats or time.perf_counter() < stop:
        spent = [once(function)[1:] for function in functions]
        best = [tuple(map(min, old, new)) for old, new in zip(best, spent, strict=True)]
        rounds += 1
    return best


def compiled(function, *arguments):
    """(program, seconds): `function` compiled for these arguments, before any run."""
    import jax

    program, seconds, _ = once(lambda: jax.jit(function).lower(*arguments).compile())
    return program, seconds


def peak_memory() -> float:
    """Of this process so far, in GB (2^30)."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def report(**figures):
    """In a child: one line for the parent, with the peak memory of the child."""
    print(json.dumps({**figures, "peak": peak_memory()}))


def child(script, arguments, limit=None, environment=()):
    """What `script` reported when run in a process of its own, or in a word why nothing; with
    `environment` beside that of this process."""
    command = [sys.executable, str(script), *map(str, arguments)]
    settings = {**os.environ, **dict(environment)}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=settings)
    except subprocess.TimeoutExpired:
        return f"not done in {limit:g} s"
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return f"failed: {lines[-1][:100]}"
    return json.loads(done.stdout.splitlines()[-1])


def machine() -> str:
    """One line: what the figures were measured on."""
    import jax

    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    device = jax.devices()[0]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{platform.machine()}, {cores} of {os.cpu_count()} cores, load {load:.1f}, "
        f"{device.platform} ({device.device_kind}), Python {platform.python_version()}, "
        f"jax {jax.__version__}"
    )
