"""Which few pixels carry most of the variation in handwritten digits?

Three sparse components of scikit-learn's digits, 1797 images of 8 × 8 pixels, against the dense
ones. Each component is a picture: `+` and `-` are its pixels, dots are not used.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from sgep_jax.estimators import SparsePCA

X = load_digits().data
sparse = SparsePCA(n_components=3, sparsity=10).fit(X)
dense = PCA(n_components=3).fit(X)


def picture(component):
    signs = np.sign(component).astype(int).reshape(8, 8)
    return [" ".join("·+-"[sign] for sign in row) for row in signs]


for rows in zip(*map(picture, sparse.components_), strict=True):
    print("   ".join(rows))

print(f"\n{'component':<18}{'1':>8}{'2':>8}{'3':>8}{'together':>11}")
for name, model in (("10 pixels each", sparse), ("all 64 pixels", dense)):
    ratio = model.explained_variance_ratio_
    print(f"{name:<18}" + "".join(f"{r:>8.1%}" for r in ratio) + f"{ratio.sum():>11.1%}")

assert np.all(sparse.support_.sum(axis=1) == 10)
assert sparse.explained_variance_ratio_.sum() > 0.7 * dense.explained_variance_ratio_.sum()
