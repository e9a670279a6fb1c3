"""A batch shared among the cores of a CPU: one thread a core, each with a share of its own.

To JAX a CPU is one device, and one solve keeps one core busy: its kernels are small, and each waits
for the one before it. Programs that different threads start run at the same time, so a batch that
is shared among threads is done sooner, with one compilation and nothing to set. Two of them may
have factorizations under way at once, so these must be `unsplit` (`factorizations.py`).
"""

import os
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp

from . import validation


def cores(data, most: int) -> int:
    """How many threads may share the work on the pytree `data`: one, unless all of it is at hand
    on the only CPU device and nothing is being traced, and then as many as this process has cores,
    `most` at most.

    `NPROC` limits them, as it limits the threads of XLA.
    """
    if most < 2 or jax.default_backend() != "cpu" or jax.local_device_count() > 1:
        return 1
    new = jnp.zeros(())  # under jit not even this is concrete
    if not all(map(_at_hand, (new, *jax.tree.leaves(data)))):
        return 1
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    limit = os.environ.get("NPROC", "")
    count = max(1, min(count, int(limit))) if limit.isdigit() else count
    return min(count, most)


def _at_hand(leaf) -> bool:
    """Not traced, and not spread over several hosts."""
    return validation.is_concrete(leaf) and getattr(leaf, "is_fully_addressable", True)


def in_threads(function, arguments) -> list:
    """[function(a) for a in arguments], each in a thread of its own; `function` is jitted.

    The first compiles, and the others begin when it runs. What `with jax.enable_x64(True):` and
    the like set is set for one thread alone, and others would compile another program: then all
    run in this one.
    """
    first, *rest = arguments
    begun = function(first)
    if not rest:
        return [begun]
    settings = jax.config.values

    def there(argument):
        same = jax.config.values == settings
        return jax.block_until_ready(function(argument)) if same else None

    with ThreadPoolExecutor(len(rest)) as pool:
        found = list(pool.map(there, rest))
    here = [
        function(a) if answer is None else answer for a, answer in zip(rest, found, strict=True)
    ]
    return [begun, *here]
