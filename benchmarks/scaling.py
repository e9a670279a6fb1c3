"""Claim: the cost of a step of the default grows linearly in n and at most quadratically in s, and
a cold start (import, compile, first answer at n = 500, s = 16) takes under 8 s. float64.

A step is one corrective exchange of one lane: scores of all s (n − s) pairs, then the exact point.

    python benchmarks/scaling.py
    python benchmarks/scaling.py --quick
"""

import argparse
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
from timing import machine, measure

jax.config.update("jax_enable_x64", True)

import sgep_jax as sgep
from sgep_jax.supports import Point

COLD = """
import time
begin = time.perf_counter()
import jax
jax.config.update("jax_enable_x64", True)
import numpy as np
import sgep_jax as sgep
imported = time.perf_counter()
X = np.random.default_rng(0).standard_normal((300, 500))
problem = sgep.Problem(-X.T @ X / 300)
solve = jax.jit(lambda problem, key: sgep.solve(problem, 16, key=key))
ready = time.perf_counter()
compiled = solve.lower(problem, jax.random.key(0)).compile()
done = time.perf_counter()
jax.block_until_ready(compiled(problem, jax.random.key(0)))
end = time.perf_counter()
print(f"cold start: import {imported - begin:.2f} s, problem {ready - imported:.2f} s, "
      f"compile {done - ready:.2f} s, solve {end - done:.2f} s, together {end - begin:.2f} s")
"""


def step_time(n, s, lanes=8, repeats=10):
    """Seconds of one step of one lane, best of several."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, n))
    problem = sgep.Problem(-X.T @ X / 300)
    method = sgep.SwapSearch()
    supports = jnp.asarray(
        np.stack([rng.choice(n, s, replace=False) for _ in range(lanes)]), jnp.int32
    )

    @jax.jit
    def begin(problem, support):
        point = Point(support, jnp.ones(s), jnp.zeros(()))
        return method.init(problem, point, None)

    states = jax.vmap(begin, in_axes=(None, 0))(problem, supports)
    step = jax.jit(jax.vmap(lambda problem, state: method.step(problem, state, None), (None, 0)))
    _, time = measure(lambda: step(problem, states), repeats=repeats)
    return time.best / lanes


def growth(sizes, times):
    """The exponent p of time ~ size^p, by least squares on logarithms."""
    return np.polyfit(np.log(sizes), np.log(times), 1)[0]


def listing(letter, sizes, times):
    pairs = zip(sizes, times, strict=True)
    return ", ".join(f"{letter} = {size}: {time * 1e3:.3f} ms" for size, time in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    print(machine(), flush=True)
    ns, ss = ((500, 1000), (8, 16)) if quick else ((500, 1000, 2000, 4000), (8, 16, 32, 64))
    times = [step_time(n, 16) for n in ns]
    print(f"s = 16: {listing('n', ns, times)}\na step costs n^{growth(ns, times):.2f}", flush=True)
    if not quick:
        print(f"beyond the caches: {listing('n', [8000], [step_time(8000, 16)])}")
    times = [step_time(ns[1], s) for s in ss]
    print(f"n = {ns[1]}: {listing('s', ss, times)}\na step costs s^{growth(ss, times):.2f}")
    for _ in range(1 if quick else 3):
        print(
            subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True).stdout,
            end="",
        )


if __name__ == "__main__":
    main()
