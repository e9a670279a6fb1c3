"""Which supports are allowed: so many coordinates of each group, some for certain, some never.

Every coordinate has a label, every label a quota, and a support is allowed when it meets all
quotas. Coordinates that are forced share a label whose quota is their number, those that are
forbidden share one whose quota is 0. An exchange within a label keeps all quotas, so all a search
needs is to compare labels; only a start has to count.
"""

import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from . import validation
from .linalg import take


class Rules(NamedTuple):
    """`labels` (n,) and `quota` (labels,): the last two are of forced and forbidden coordinates."""

    labels: jax.Array
    quota: jax.Array

    @property
    def fixed(self):
        """(n,) forced or forbidden: never part of an exchange."""
        return self.labels >= self.quota.shape[0] - 2

    @property
    def forced(self):
        """(n,) in every support."""
        return self.labels == self.quota.shape[0] - 2

    @property
    def forbidden(self):
        """(n,) never in a support."""
        return take(self.quota, self.labels) == 0

    def exchangeable(self, support, added=None):
        """(s, n) whether a coordinate, or each of `added`, may replace one of the support."""
        labels = self.labels if added is None else take(self.labels, added)
        return take(self.labels, support)[:, None] == labels[None, :]

    def met(self, support):
        """Whether a support of s coordinates is allowed."""
        counts = jnp.zeros_like(self.quota).at[take(self.labels, support)].add(1)
        return jnp.all(counts == self.quota)

    def same_counts(self, indices, current):
        """A test for parts of `indices` (k,), given as flags (k, parts): whether each part holds
        as many of every label as the one of the `current` (k,) flags."""
        labels = take(self.labels, indices)
        same = (labels[:, None] == labels[None, :]).astype(jnp.int32)

        def test(flags):
            change = flags.astype(jnp.int32) - current.astype(jnp.int32)[:, None]
            return jnp.all(jnp.matmul(same, change) == 0, axis=0)

        return test


def make_rules(size: int, sparsity, groups, forced, forbidden):
    """(s, Rules or None) from what a user says; see `solve`."""
    if groups is None and forced is None and forbidden is None:
        return validation.sparsity(sparsity, size), None
    forced, forbidden = _indices("forced", forced, size), _indices("forbidden", forbidden, size)
    both = np.intersect1d(forced, forbidden)
    if len(both):
        raise ValueError(
            f"forced and forbidden must not share a variable, but both have {both[0]}. "
            f"Take it out of one of them."
        )
    labels, counts = _groups(groups, sparsity, size)
    quota = np.concatenate([counts, [len(forced), 0]])
    for group, count in enumerate(counts):
        members = labels == group
        certain, never = members[forced].sum(), members[forbidden].sum()
        where = "" if groups is None else f" in group {group}"
        if certain > count:
            raise ValueError(
                f"forced must not name more variables than sparsity allows{where}: {count}, but "
                f"it names {certain}. Raise the sparsity, or force fewer."
            )
        if members.sum() - never < count:
            raise ValueError(
                f"sparsity must not exceed the number of variables left{where}, "
                f"{members.sum() - never}, but it is {count}. Lower it, or forbid fewer."
            )
        quota[group] -= certain
    labels[forced], labels[forbidden] = len(counts), len(counts) + 1
    return int(quota.sum()), Rules(jnp.asarray(labels, jnp.int32), jnp.asarray(quota, jnp.int32))


def _groups(groups, sparsity, size: int):
    """Labels (n,) and the cardinality of each group."""
    if groups is None:
        return np.zeros(size, int), np.array([validation.sparsity(sparsity, size)])
    labels = np.asarray(groups)
    if labels.shape != (size,) or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"groups must have one integer label per variable, shape ({size},), but its shape is "
            f"{labels.shape} and its dtype {labels.dtype}. Use 0, 1, ... in any order."
        )
    number = int(labels.max()) + 1
    if labels.min() < 0 or number > size or not np.bincount(labels, minlength=number).all():
        raise ValueError(
            f"groups must be numbered from 0 without gaps, but its labels are "
            f"{np.unique(labels).tolist()[:10]}. np.unique(groups, return_inverse=True)[1] does it."
        )
    try:
        counts = [operator.index(count) for count in sparsity]
    except TypeError:
        raise TypeError(
            f"sparsity must have one integer per group, {number} of them, but it is {sparsity!r}."
        ) from None
    if len(counts) != number or min(counts) < 0 or sum(counts) < 1:
        raise ValueError(
            f"sparsity must have one number >= 0 for each of the {number} groups, and not only "
            f"zeros, but it is {counts}."
        )
    return labels.astype(int), np.array(counts)


def _indices(name, value, size: int):
    """Distinct indices of variables."""
    value = np.asarray([] if value is None else value)
    if value.ndim != 1 or not (np.issubdtype(value.dtype, np.integer) or value.size == 0):
        raise TypeError(
            f"{name} must be a list of indices of variables, but it is {value!r}. "
            f"From a mask, use np.flatnonzero(mask)."
        )
    value = np.unique(value.astype(int))
    if value.size and not (value[0] >= 0 and value[-1] < size):
        raise ValueError(
            f"{name} must hold indices from 0 to {size - 1}, but it holds "
            f"{value[0] if value[0] < 0 else value[-1]}."
        )
    return value


def check_start(values, rules: Rules):
    """Starts (number, n) must not exceed any quota."""
    labels, quota = np.asarray(rules.labels), np.asarray(rules.quota)
    for x in values:
        counts = np.bincount(labels[x != 0], minlength=len(quota))
        if np.any(counts > quota):
            label = int(np.argmax(counts > quota))
            what = f"variables of group {label}" if len(quota) > 3 else "variables"
            what = "forbidden variables" if label == len(quota) - 1 else f"{what} not forced"
            raise ValueError(
                f"start must not have more nonzeros than allowed, but it has {counts[label]} at "
                f"{what}, where {quota[label]} are allowed. Set some to zero."
            )
