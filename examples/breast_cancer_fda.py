"""How many of 30 measurements does it take to tell malignant from benign?

Sparse discriminant analysis of scikit-learn's breast cancer data for 1, 2, 3, 5 and 8 variables,
by cross-validation, against the dense kind with all 30.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score

import sgep_jax as sgep
from sgep_jax.model_selection import choose_sparsity, fda_task

data = load_breast_cancer()
X, y = data.data, data.target_names[data.target]

sparsities = [1, 2, 3, 5, 8]
scores = choose_sparsity(fda_task(X, y), sparsities)
print(scores)
dense = cross_val_score(LinearDiscriminantAnalysis(), X, y)
print(f"{'all 30':>9}  {dense.mean():>14.4f}  {dense.std(ddof=1) / 5**0.5:>14.4f}  dense")

few = scores.one_standard_error
place = sparsities.index(few)
path = sgep.solve_path(sgep.fda_problem(X, y), sparsities).check()  # compiled above
names = data.feature_names[path.support[place, :few]]
print(f"\n{few} variables are enough: {', '.join(names)}")

assert scores.mean[place] > dense.mean() - 0.03
