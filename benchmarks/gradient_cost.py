"""Claim: value and gradient together cost at most 1.3 times the solve alone.

Both are compiled and warm; their runs alternate in one process, and the best of several counts. The
gradient is that of value and vector (the whole bordered system), with respect to A and C.

    python benchmarks/gradient_cost.py [--quick]
"""

import jax
import jax.numpy as jnp
import numpy as np
import results
from timing import in_turns, machine, measure

import sgep_jax as sgep

jax.config.update("jax_enable_x64", True)


def pencil(n, seed=0):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((2, 2 * n, n))
    return jnp.asarray(-X.T @ X / (2 * n)), jnp.asarray(Y.T @ Y / (2 * n))


def programs(method, s, lanes):
    """The solve and its value and gradient, as functions of A and C; batched for lanes > 1."""

    def answer(A, C):
        solution = sgep.solve(sgep.Problem(A, C), s, method=method)
        return solution.objective + jnp.sum(solution.x), solution

    def value_and_gradient(A, C):
        return jax.value_and_grad(answer, (0, 1), has_aux=True)(A, C)

    batch = jax.vmap if lanes > 1 else lambda function: function
    return jax.jit(batch(answer)), jax.jit(batch(value_and_gradient))


def main():
    options = results.parser(__doc__).parse_args()
    quick = options.quick
    print(machine())
    small = sgep.Decomposition(random=2, swap=2, window=5, max_steps=20)
    cases = [("Decomposition, short", small, 30, 5, 1)]
    if not quick:
        cases += [
            ("Decomposition, short", small, 30, 5, 16),
            ("Decomposition()", sgep.Decomposition(), 100, 10, 1),
            ("one eigenproblem", sgep.Exhaustive(), 20, 20, 1),  # the cheapest solve there is
        ]
    print(
        f"{'method':<22}{'n':>5}{'s':>4}{'lanes':>7}{'solve':>12}{'with gradient':>16}{'ratio':>8}"
    )
    rows = []
    for name, method, n, s, lanes in cases:
        batch = [pencil(n, seed) for seed in range(lanes)]
        arguments = [jnp.stack(m) if lanes > 1 else m[0] for m in zip(*batch, strict=True)]
        calls = [lambda f=f, x=arguments: f(*x) for f in programs(method, s, lanes)]
        first = [measure(call, repeats=1)[1].first for call in calls]
        alone, both = (1e3 * best for best, _ in in_turns(calls, seconds=1 if quick else 6))
        print(
            f"{name:<22}{n:>5}{s:>4}{lanes:>7}{alone:>9.2f} ms{both:>13.2f} ms{both / alone:>8.2f}"
        )
        rows.append({"method": name, "n": n, "s": s, "lanes": lanes, "solve, ms": alone,
                     "with gradient, ms": both, "first calls, s": first})  # fmt: skip
    results.save(options.output, "gradient_cost", rows)


if __name__ == "__main__":
    main()
