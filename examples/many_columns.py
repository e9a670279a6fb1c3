"""Which 20 of 100,000 variables vary together? On a laptop, without a 100,000 × 100,000 matrix.

Sparse PCA of 300 samples, where 20 variables share a factor. The matrix of covariances would fill
80 GB; products with the table stand in for its columns.

    python examples/many_columns.py             # 100,000 columns
    python examples/many_columns.py 3000
"""

import sys
import time

import numpy as np

import sgep_jax as sgep

columns = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
rows, s = 300, 20

rng = np.random.default_rng(0)
X = rng.standard_normal((rows, columns), dtype="float32")
planted = np.sort(rng.choice(columns, s, replace=False))
X[:, planted] += rng.standard_normal((rows, 1), dtype="float32")

begin = time.perf_counter()
problem = sgep.pca_problem(X, form="gram")  # by itself from 4000 columns on
solution = sgep.solve(problem, s).check()
found = np.isin(planted, solution.support).sum()
print(problem)
print(f"{time.perf_counter() - begin:.0f} s, variance {-float(solution.objective):.2f}")
print(f"{found} of {s} planted variables found")
