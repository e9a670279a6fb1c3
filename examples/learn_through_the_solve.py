"""Can features be learned through the selection of variables?

Two views of 30 variables each, in 60 samples. Three variables of the first drive three of the
second, but through their squares: the raw variables are uncorrelated, and sparse CCA finds nothing.
A small network g, the same for every variable of the first view, is learned so that the views
correlate:

- end to end: by the gradient of the sparse CCA itself (6 of 60 variables), through the solve;
- two stages: by ordinary CCA on all variables, then sparse CCA on the features it learned.

What counts is the correlation on data that neither has seen. With as many variables as samples,
ordinary CCA correlates noise with noise perfectly, whatever g is, and learns nothing; with 100
samples the two are nearly equal (0.955 and 0.944).

    python examples/learn_through_the_solve.py [--output learning.png] [--steps 150]
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax

import sgep_jax as sgep

SIZE, TRUE, SAMPLES, SPARSITY, HIDDEN, EVERY = 30, 3, 60, 6, 8, 5
SEARCH = sgep.Decomposition(random=2, swap=4, window=5, max_steps=30)
DENSE = sgep.Exhaustive()


def draw(rng, samples):
    """The views X and Y: y_j = z + noise for j < 3, with z the sum of the first three x_i²."""
    X = rng.standard_normal((samples, SIZE))
    Y = rng.standard_normal((samples, SIZE))
    z = np.sum(X[:, :TRUE] ** 2 - 1, axis=1) / np.sqrt(2 * TRUE)
    Y[:, :TRUE] = 0.9 * z[:, None] + 0.45 * Y[:, :TRUE]
    return jnp.asarray(X, jnp.float32), jnp.asarray(Y, jnp.float32)


def features(network, X):
    """g(x) = Σ a_k tanh(w_k x + b_k) for each entry."""
    return jnp.tanh(X[..., None] * network["w"] + network["b"]) @ network["a"]


def standardise(Z):
    Z = Z - jnp.mean(Z, axis=0)
    return Z * jax.lax.rsqrt(jnp.mean(Z * Z, axis=0) + 1e-6)


def pencil(F, Y, ridge=0.01):
    """CCA: x'Ax / x'Cx is minus the correlation of the two views' combinations."""
    Z = jnp.concatenate([standardise(F), standardise(Y)], axis=1)
    covariance = Z.T @ Z / len(Z)
    view = jnp.arange(2 * SIZE) < SIZE
    across = view[:, None] != view[None, :]
    C = jnp.where(across, 0.0, covariance) + ridge * jnp.eye(2 * SIZE)
    return sgep.Problem(jnp.where(across, -covariance, 0.0), C)


def correlation(x, F, Y):
    u, v = standardise(F) @ x[:SIZE], standardise(Y) @ x[SIZE:]
    return jnp.abs(jnp.vdot(u, v)) * jax.lax.rsqrt(jnp.vdot(u, u) * jnp.vdot(v, v) + 1e-12)


def train(network, X, Y, sparsity, method, steps):
    """Adam on the objective of the solve; returns the networks on the way, every fifth step."""
    optimiser = optax.adam(0.03)

    def loss(network):
        return sgep.solve(pencil(features(network, X), Y), sparsity, method=method).objective

    def step(_, carry):
        network, state = carry
        updates, state = optimiser.update(jax.grad(loss)(network), state)
        return optax.apply_updates(network, updates), state

    def several(carry, _):
        return jax.lax.fori_loop(0, EVERY, step, carry), carry[0]

    @jax.jit
    def run(network):
        carry = network, optimiser.init(network)
        return jax.lax.scan(several, carry, length=steps // EVERY + 1)[1]

    return run(network)


@jax.jit
def evaluate(F, Y, fresh_F, fresh_Y):
    """For each of a stack of features: sparse CCA, and its correlation on data it has not seen."""

    def one(pair):
        F, fresh_F = pair
        solution = sgep.solve(pencil(F, Y), SPARSITY, method=SEARCH)
        return -solution.objective, correlation(solution.x, fresh_F, fresh_Y), solution.support

    return jax.lax.map(one, (F, fresh_F))


def follow(path, data, fresh_data):
    """Along a path of networks; the last entry is that of the raw variables."""
    stacks = [
        jnp.concatenate([jax.vmap(features, (0, None))(path, X), X[None]])
        for X in (data[0], fresh_data[0])
    ]
    return jax.tree.map(np.asarray, evaluate(stacks[0], data[1], stacks[1], fresh_data[1]))


def start(rng):
    names = {"w": 1.5, "b": 1.0, "a": 1.0}
    return {k: jnp.asarray(v * rng.standard_normal(HIDDEN), jnp.float32) for k, v in names.items()}


def true_found(support):
    """How many of the six variables that matter are selected."""
    return int(np.isin(support, [*range(TRUE), *range(SIZE, SIZE + TRUE)]).sum())


def plot(runs, raw, output):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(14, 4.5), width_ratios=[1.2, 1, 1])
    for (name, (inside, fresh, _)), colour in zip(runs.items(), ("C0", "C1"), strict=True):
        steps = EVERY * np.arange(len(inside))
        axes[0].plot(steps, -inside, colour + ":", label=f"{name}: loss, training data")
        axes[0].plot(steps, -fresh, colour, label=f"{name}: fresh data")
    axes[0].axhline(-raw, color="grey", ls="--", label="raw variables: fresh data")
    axes[0].set(xlabel="step", ylabel="objective of sparse CCA", title="Loss (minus correlation)")
    axes[0].legend(fontsize=8)
    for axis, (name, (_, _, supports)) in zip(axes[1:], runs.items(), strict=True):
        chosen = np.zeros((2 * SIZE, len(supports)))
        chosen[supports.T, np.arange(len(supports))] = 1
        axis.imshow(chosen, aspect="auto", cmap="Greys", interpolation="nearest",
                    extent=(0, EVERY * len(supports), 2 * SIZE - 0.5, -0.5))  # fmt: skip
        for first in (0, SIZE):
            axis.axhspan(first - 0.5, first + TRUE - 0.5, color="C2", alpha=0.3)
        axis.axhline(SIZE - 0.5, color="grey", lw=0.5)
        axis.set(xlabel="step", ylabel="variable", title=f"{name}: selected (green: true)")
    figure.tight_layout()
    figure.savefig(output, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", help="write the plot to this file (needs matplotlib)")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    data, fresh_data = draw(rng, SAMPLES), draw(rng, 2000)
    network = start(rng)

    paths = {
        "end to end": train(network, *data, SPARSITY, SEARCH, arguments.steps),
        "two stages": train(network, *data, 2 * SIZE, DENSE, arguments.steps),
    }
    runs = {name: follow(path, data, fresh_data) for name, path in paths.items()}
    raw = runs["two stages"][1][-1]
    runs = {name: [leaf[:-1] for leaf in run] for name, run in runs.items()}

    print(f"{'':<12}{'training':>10}{'fresh data':>12}{'true variables':>16}")
    print(f"{'raw':<12}{'':>10}{raw:>12.3f}")
    for name, (inside, fresh, supports) in runs.items():
        print(f"{name:<12}{inside[-1]:>10.3f}{fresh[-1]:>12.3f}{true_found(supports[-1]):>11} of 6")
    if arguments.output:
        plot(runs, raw, arguments.output)
        print(f"wrote {arguments.output}")


if __name__ == "__main__":
    main()
