"""Claim: the cost of a step of the default grows linearly in n and at most quadratically in s, and
a cold start (import, compile, first answer at n = 500, s = 16) takes under 8 s. float64.

A step is one corrective exchange of one lane: scores of the pairs that add one of the most
promising columns, then the exact point. The last ones of a search bound all s (n − s) pairs first.

    python benchmarks/scaling.py
    python benchmarks/scaling.py --quick    # --output JSON, --plot PNG
"""

import argparse
import time

BEGIN = time.perf_counter()

import jax
import jax.numpy as jnp
import numpy as np
import results
from timing import child, compiled, machine, measure, once, report

jax.config.update("jax_enable_x64", True)

import sgep_jax as sgep
from sgep_jax.supports import Point

IMPORTED = time.perf_counter() - BEGIN


def cold(n):
    """In a new process, whose imports were timed at the top of this file."""
    X = np.random.default_rng(0).standard_normal((300, n))
    key = jax.random.key(0)
    problem, build, _ = once(lambda: sgep.Problem(-X.T @ X / 300))
    run, compile = compiled(lambda problem, key: sgep.solve(problem, 16, key=key), problem, key)
    _, solve, _ = once(lambda: run(problem, key))
    report(imported=IMPORTED, problem=build, compile=compile, solve=solve)


def step_time(n, s, complete, lanes=8, repeats=10):
    """Seconds of one step of one lane, best of several: of those that score the screened columns,
    or of those that bound all pairs first, of which a search takes a few at its end."""
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

    @jax.jit
    def step(problem, states, complete):  # one flag for all lanes, as `Multistart` has it
        choices = jax.vmap(lambda state: method.choose(problem, state, complete))(states)
        return jax.vmap(lambda state, choice: method.exchange(problem, state, choice))(
            states, choices
        )

    _, time = measure(lambda: step(problem, states, complete), repeats=repeats)
    return time.best / lanes


def growth(sizes, times):
    """The exponent p of time ~ size^p, by least squares on logarithms."""
    return np.polyfit(np.log(sizes), np.log(times), 1)[0]


def listing(letter, sizes, times):
    pairs = zip(sizes, times, strict=True)
    return ", ".join(f"{letter} = {size}: {time * 1e3:.3f} ms" for size, time in pairs)


def main():
    parser = results.parser(__doc__, plot=True)
    parser.add_argument("--cold", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cold:
        return cold(options.cold)
    quick = options.quick
    print(machine(), flush=True)
    ns, ss = ((50, 100), (8, 16)) if quick else ((500, 1000, 2000, 4000), (8, 16, 32, 64))
    figures, curves = {}, {}
    for complete in (False, True):
        kind = "that looks at all pairs" if complete else "that screens"
        in_n = [step_time(n, 16, complete) for n in ns]
        in_s = [step_time(ns[1], s, complete) for s in ss]
        print(f"a step {kind}: n^{growth(ns, in_n):.2f}, s^{growth(ss, in_s):.2f}\n"
              f"  s = 16: {listing('n', ns, in_n)}\n"
              f"  n = {ns[1]}: {listing('s', ss, in_s)}", flush=True)  # fmt: skip
        if not quick:
            print(f"  beyond the caches: {listing('n', [8000], [step_time(8000, 16, complete)])}")
        figures[kind] = {"n": [ns, in_n], "s": [ss, in_s]}
        curves |= {f"{kind}, s = 16, n": (ns, in_n), f"{kind}, n = {ns[1]}, s": (ss, in_s)}
    starts = [child(__file__, ["--cold", 100 if quick else 500]) for _ in range(1 if quick else 3)]
    for row in starts:
        together = sum(value for name, value in row.items() if name != "peak")
        print(f"cold start: import {row['imported']:.2f} s, problem {row['problem']:.2f} s, "
              f"compile {row['compile']:.2f} s, solve {row['solve']:.2f} s, together "
              f"{together:.2f} s")  # fmt: skip
    results.save(options.output, "scaling", {**figures, "cold": starts})
    results.lines(options.plot, curves, xscale="log", yscale="log", xlabel="n or s",
                  ylabel="seconds of a step")  # fmt: skip


if __name__ == "__main__":
    main()
