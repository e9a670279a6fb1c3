"""Can features be learned through the selection of variables?

Two views of 20 variables each. Three variables of the first drive three of the second, but through
their squares: the raw variables are uncorrelated, and sparse CCA finds nothing. A small network g,
the same for every variable of the first view, is learned so that the views correlate:

- end to end: by the gradient of the sparse CCA itself (6 of 40 variables), through the solve;
- two stages: by ordinary CCA on all variables, then sparse CCA on the features it learned.

What counts is the correlation on data that neither has seen. Ordinary CCA can correlate noise with
noise when variables are many, so it has less reason to learn g.

    python examples/learn_through_the_solve.py [--output learning.png] [--steps 150]
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax

import sgep_jax as sgep

SIZE, TRUE, SAMPLES, SPARSITY, HIDDEN = 20, 3, 200, 6, 8
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


def sparse(network, X, Y):
    """The sparse CCA of g(X) and Y."""
    return sgep.solve(pencil(features(network, X), Y), SPARSITY, method=SEARCH)


def train(network, X, Y, sparsity, method, steps):
    """Adam on the objective of the solve. Returns the network, and all networks on the way."""
    optimiser = optax.adam(0.03)

    def loss(network):
        return sgep.solve(pencil(features(network, X), Y), sparsity, method=method).objective

    def step(carry, _):
        network, state = carry
        updates, state = optimiser.update(jax.grad(loss)(network), state)
        return (optax.apply_updates(network, updates), state), network

    @jax.jit
    def run(network):
        carry = network, optimiser.init(network)
        return jax.lax.scan(step, carry, length=steps)

    (network, _), path = run(network)
    return network, path


def follow(path, train_data, test_data):
    """Along a path of networks: sparse CCA on the training data, and how it does elsewhere."""

    def one(network):
        solution = sparse(network, *train_data)
        fresh = correlation(solution.x, features(network, test_data[0]), test_data[1])
        return -solution.objective, fresh, solution.support

    return jax.tree.map(np.asarray, jax.jit(lambda path: jax.lax.map(one, path))(path))


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
        axes[0].plot(-inside, colour + ":", label=f"{name}: loss, training data")
        axes[0].plot(-fresh, colour, label=f"{name}: fresh data")
    axes[0].axhline(-raw, color="grey", ls="--", label="raw variables: fresh data")
    axes[0].set(xlabel="step", ylabel="objective of sparse CCA", title="Loss (minus correlation)")
    axes[0].legend(fontsize=8)
    for axis, (name, (_, _, supports)) in zip(axes[1:], runs.items(), strict=True):
        chosen = np.zeros((2 * SIZE, len(supports)))
        chosen[supports.T, np.arange(len(supports))] = 1
        axis.imshow(chosen, aspect="auto", cmap="Greys", interpolation="nearest")
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
    data, fresh_data = draw(rng, SAMPLES), draw(rng, 5000)
    network = start(rng)

    _, sparse_path = train(network, *data, SPARSITY, SEARCH, arguments.steps)
    _, dense_path = train(network, *data, 2 * SIZE, DENSE, arguments.steps)
    runs = {
        "end to end": follow(sparse_path, data, fresh_data),
        "two stages": follow(dense_path, data, fresh_data),
    }
    x = sgep.solve(pencil(*data), SPARSITY, method=SEARCH).x
    raw = float(correlation(x, *fresh_data))

    print(f"{'':<12}{'training':>10}{'fresh data':>12}{'true variables':>16}")
    print(f"{'raw':<12}{'':>10}{raw:>12.3f}")
    for name, (inside, fresh, supports) in runs.items():
        print(f"{name:<12}{inside[-1]:>10.3f}{fresh[-1]:>12.3f}{true_found(supports[-1]):>11} of 6")
    if arguments.output:
        plot(runs, raw, arguments.output)
        print(f"wrote {arguments.output}")


if __name__ == "__main__":
    main()
