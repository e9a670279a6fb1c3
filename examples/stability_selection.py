"""Which of the selected variables would be selected again, on other samples?

Sparse PCA picks six variables whether six belong together or not. Here four do. A batch of
bootstrap samples shows which ones come back, and a permutation test whether there is anything.
"""

import jax
import numpy as np

import sgep_jax as sgep

rng = np.random.default_rng(0)
hidden = [2, 7, 11, 15]
X = rng.standard_normal((100, 16))
X[:, hidden] += 1.2 * rng.standard_normal((100, 1))

solution = sgep.solve(sgep.pca_problem(X), 6).check()
print("selected once      ", solution.support)

batch = sgep.bootstrap(sgep.pca_problem, X, 6, 40, key=jax.random.key(1))
frequencies = sgep.selection_frequencies(batch)
stable = np.flatnonzero(frequencies >= 0.9)
print("selected every time", stable)
for i in np.argsort(-frequencies)[:8]:
    print(f"  variable {i:>2} in {frequencies[i]:4.0%} of the samples")
assert list(stable) == hidden

test = sgep.permutation_test(
    sgep.pca_problem, X, 6, 40, permute=sgep.permute_columns, key=jax.random.key(2)
)
print(f"leading variance {-float(test.solution.objective):.3f}, p = {test.p_value:.3f}")
assert test.p_value < 0.05
