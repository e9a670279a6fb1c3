"""Which measurements of two instruments see the same thing?

Two tables of 20 and 15 variables about the same 150 samples. Three variables of the first and two
of the second depend on one hidden quantity, all else is noise: SparseCCA finds those, and its
correlation holds on new samples, where that of dense CCA falls.
"""

import numpy as np
from sklearn.cross_decomposition import CCA

from sgep_jax.estimators import SparseCCA

rng = np.random.default_rng(0)
hidden = rng.standard_normal((300, 1))
X, Y = rng.standard_normal((300, 20)), rng.standard_normal((300, 15))
X[:, [2, 7, 11]] += hidden
Y[:, [4, 9]] += hidden
train, test = slice(150), slice(150, 300)

sparse = SparseCCA(sparsity=(3, 2)).fit(X[train], Y[train])
dense = CCA(n_components=1).fit(X[train], Y[train])


def correlation(model, rows):
    left, right = model.transform(X[rows], Y[rows])
    return np.corrcoef(left[:, 0], right[:, 0])[0, 1]


print("variables of X:", np.flatnonzero(sparse.x_support_[0]))
print("variables of Y:", np.flatnonzero(sparse.y_support_[0]))
print(f"\n{'correlation':<14}{'fitted':>8}{'new':>8}")
for name, model in (("3 + 2 sparse", sparse), ("20 + 15 dense", dense)):
    print(f"{name:<14}{correlation(model, train):>8.3f}{correlation(model, test):>8.3f}")

assert list(np.flatnonzero(sparse.x_support_[0])) == [2, 7, 11]
assert list(np.flatnonzero(sparse.y_support_[0])) == [4, 9]
assert correlation(sparse, test) > correlation(dense, test)
