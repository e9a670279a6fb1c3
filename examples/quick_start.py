"""Which few variables carry most of the variance, of the separation, of the correlation?

Sparse PCA, sparse discriminant analysis and sparse CCA on made-up data with a known answer.
"""

import jax
import numpy as np

import sgep_jax as sgep

rng = np.random.default_rng(0)
n, hidden = 40, [3, 11, 19, 27]

# Sparse PCA: four variables share a factor.
X = rng.standard_normal((200, n))
X[:, hidden] += 1.5 * rng.standard_normal((200, 1))
solution = sgep.solve(sgep.pca_problem(X), 4).check()
print("PCA selects", solution.support, "variance", -float(solution.objective))
assert list(solution.support) == hidden

# Sparse discriminant analysis: the same variables tell two groups apart.
y = np.repeat(["healthy", "ill"], 100)
Z = rng.standard_normal((200, n))
Z[100:, hidden] += 1.0
solution = sgep.solve(sgep.fda_problem(Z, y), 4).check()
print("FDA selects", solution.support)
assert list(solution.support) == hidden

# Sparse CCA: variable 5 of one table and variable 8 of another go together.
left, right = rng.standard_normal((2, 200, n // 2))
right[:, 8] += 2 * left[:, 5]
solution = sgep.solve(sgep.cca_problem(left, right), 2).check()
print("CCA selects", solution.support, "correlation", -float(solution.objective))
assert list(solution.support) == [5, n // 2 + 8]

# A batch of problems is one call under vmap; the same key gives the same answer.
problems = jax.vmap(sgep.pca_problem)(np.stack([X, Z]))
batch = jax.vmap(lambda problem: sgep.solve(problem, 4, key=jax.random.key(1)))(problems)
print(batch)
