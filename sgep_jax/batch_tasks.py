"""The tasks of a batch, for `work_queue.py`: a `Multistart` of each problem, or one start each of
any other method."""

import jax

from . import loop
from .linalg import take
from .multistart import Multistart
from .restarts import Starts
from .solve import start_point
from .start import Fresh


class BatchTasks:
    """What both kinds of task are made from; `number` tasks for each problem from `first` on."""

    def __init__(self, data, method, sparsity: int, first, number: int = 1):
        self.stack, self.method, self.sparsity = data, method, sparsity
        self.first, self.number = first, number

    def data(self, index):
        """Problem, key and starts of task `index`, and which start it is."""
        problem, start = self.first + index // self.number, index % self.number
        return (*jax.tree.map(lambda leaf: take(leaf, problem), self.stack), start)

    def __call__(self, data):
        make = Adaptive if isinstance(self.method, Multistart) else Single
        return make(self.method, self.sparsity, *data)


class Adaptive:
    """A `Multistart` of one problem; it advances by rounds."""

    def __init__(self, method, sparsity, problem, key, given, _):
        self.method, self.sparsity, self.problem, self.key = method, sparsity, problem, key
        self.starts = Starts(problem, sparsity, given, key)

    def begin(self):
        return self.method.begin(self.problem, self.sparsity)

    def unfinished(self, search):
        return self.method.unfinished(search)

    def advance(self, search):
        return self.method.round(self.problem, self.starts, search)

    def steps(self, search):
        return search.steps

    def end(self, search):
        return self.method.end(self.problem, search, self.key)


class Single:
    """One start of any other method; it advances by steps."""

    def __init__(self, method, sparsity, problem, key, given, start):
        self.method, self.problem = method, problem
        fresh = Fresh(problem, sparsity, given, method.lower)
        self.point, self.key = start_point(fresh, method, key, start)

    def begin(self):
        state = self.method.init(self.problem, self.point, self.key)
        return loop.begin(self.method, self.problem, self.point, state)

    def unfinished(self, run):
        return loop.unfinished(self.method, run)

    def advance(self, run):
        return loop.advance(self.method, self.problem, self.key, run)

    def steps(self, run):
        return run.step

    def end(self, run):
        return loop.end(self.method, self.problem, run)
