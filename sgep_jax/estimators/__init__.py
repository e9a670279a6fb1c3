"""scikit-learn estimators: `SparsePCA`, `SparseFDA` and `SparseCCA`.

They follow scikit-learn's conventions (clone, pipelines, grid search, data frames in and out) and
take what `solve_components` takes: the number of variables, not a penalty.

Precision: means, scales and scores are NumPy in the dtype of the data (float32 and float64 stay,
all else becomes float64), and so are all attributes. Only the search runs in JAX, whose floats are
32 bits wide unless the user has set `jax_enable_x64`: loadings are then accurate to about six
digits. Data are centred before they are rounded, so large means cost nothing.
"""

try:
    import sklearn  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "sgep_jax.estimators needs scikit-learn, which is not installed. "
        "Install it with the extra: pip install 'sgep_jax[sklearn]'."
    ) from error

from .cca import SparseCCA
from .fda import SparseFDA
from .pca import SparsePCA

__all__ = ["SparseCCA", "SparseFDA", "SparsePCA"]
