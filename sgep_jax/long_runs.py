"""Batches that run for hours: in parts, with progress, and a file to resume from.

The host solves one part after another. After each, the answers so far go to the checkpoint: a
plain `.npz` without pickled objects, written beside its place and then moved there, so that it is
whole at any moment. It carries a fingerprint of everything the answers depend on.

On several hosts, the first of the mesh reads the file, tells the others what is in it, and writes
it: all know of the same parts, whatever their own disks hold.
"""

import dataclasses
import hashlib
import io
import os
import sys
import time
import zipfile
import zlib
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from . import validation
from .batch import solve_batch
from .batch_arguments import check_batch, lane_keys, lane_starts
from .solution import Solution, Status

FIELDS = tuple(field.name for field in dataclasses.fields(Solution))


def solve_long(
    problems, sparsity: int, *, keys=None, method=None, start=None, num_starts: int | None = None,
    mesh=None, chunk: int | None = None, part: int = 256, checkpoint=None, progress: bool = True,
) -> Solution:  # fmt: skip
    """`solve_batch` for a batch that takes long; the same answers, as NumPy arrays.

    **Arguments** beyond those of `solve_batch` (`sparsity` is one integer):

    - `part`: how many problems at most are solved between two checkpoints.
    - `checkpoint`: a path ending in `.npz`. If it exists, the run resumes from it; a file that is
      damaged, or belongs to other problems, another sparsity, method or key, is refused.
    - `progress`: whether to report on the standard error stream.

    Ctrl-C returns the parts that are done; the status of the other problems is RUNNING. With a mesh
    of several hosts, the first one reads and writes the checkpoint and reports; should any of them
    die, start all again with the same arguments.

    ```python
    batch = solve_long(jax.vmap(Problem)(As), 8, checkpoint="run.npz")
    ```
    """
    validation.count("solve_long", "part", part, 1)
    size, total = check_batch(problems)
    sparsity = validation.sparsity(sparsity, size)
    keys = lane_keys(keys, total)
    if start is not None:
        start = lane_starts(start, total, size, problems.dtype)
    hosts = Hosts(mesh)
    path = None if checkpoint is None else _path(checkpoint, hosts)
    token = path and fingerprint(problems, sparsity, keys, method, start, num_starts)
    done = Done(total, path, token, hosts)
    part = -(-total // -(-total // part))  # parts of one size
    report = Report(total, len(done.places)) if progress and hosts.first else None
    try:
        for begin in range(0, total, part):
            places = np.arange(begin, min(begin + part, total))
            places = places[~np.isin(places, done.places)]
            if not len(places):
                continue
            padded = np.resize(places, part)  # of the same shape: nothing is compiled again
            data = jax.tree.map(lambda leaf, padded=padded: leaf[padded], (problems, keys, start))
            answers = solve_batch(
                data[0], sparsity, keys=data[1], start=data[2], method=method,
                num_starts=num_starts, mesh=mesh, chunk=chunk,
            )  # fmt: skip
            done.add(places, answers)
            if report:
                report.show(len(done.places), done.answers.objective)
    except KeyboardInterrupt:
        if not len(done.places):
            raise
        print(f"\nInterrupted: {len(done.places)} of {total} problems done.", file=sys.stderr)
    return done.solution()


class Hosts:
    """The processes that a mesh spans; without one, each is on its own."""

    def __init__(self, mesh):
        here, self.mesh = jax.process_index(), mesh
        members = {here} if mesh is None else {each.process_index for each in mesh.devices.flat}
        self.several, self.first = len(members) > 1, here == min(members)

    def told(self, content: bytes | None) -> bytes | None:
        """What the first host has, on all of them."""
        if not self.several:
            return content
        length = int(self._largest(np.int32(-1 if content is None else len(content))))
        if length < 0:
            return None
        mine = content if self.first else bytes(length)
        return self._largest(np.frombuffer(mine, np.uint8)).tobytes()

    def _largest(self, array):
        """Entry by entry, of all hosts."""
        names, shape = self.mesh.axis_names, (self.mesh.size, *array.shape)
        each = NamedSharding(self.mesh, PartitionSpec(names))
        whole = NamedSharding(self.mesh, PartitionSpec())
        parts = jax.make_array_from_callback(shape, each, lambda _: array[None])
        return np.asarray(jax.jit(partial(jnp.max, axis=0), out_shardings=whole)(parts))


class Done:
    """The answers so far: `places` in the batch, and `answers` in that order."""

    def __init__(self, total: int, path, token, hosts: Hosts):
        self.total, self.path, self.token, self.hosts = total, path, token, hosts
        self.places, self.answers = np.zeros(0, np.int64), None
        if path is None:
            return
        content = hosts.told(path.read_bytes() if hosts.first and path.exists() else None)
        if content is not None:
            self.places, self.answers = load(path, content, token)

    def add(self, places, answers: Solution):
        """The first answers are those of `places`, the others padding."""
        answers = jax.tree.map(lambda leaf: np.asarray(leaf)[: len(places)], answers)
        if self.answers is not None:
            answers = jax.tree.map(lambda *both: np.concatenate(both), self.answers, answers)
        self.places, self.answers = np.concatenate([self.places, places]), answers
        if self.path is not None and self.hosts.first:
            save(self.path, self.token, self.places, self.answers)

    def solution(self) -> Solution:
        """The whole batch; RUNNING, with an infinite objective, where there is no answer yet."""
        blank = {"objective": np.inf, "history": np.inf, "status": int(Status.RUNNING)}
        leaves = {}
        for name in FIELDS:
            known = getattr(self.answers, name)
            leaves[name] = np.full((self.total, *known.shape[1:]), blank.get(name, 0), known.dtype)
            leaves[name][self.places] = known
        return Solution(**leaves)


def save(path: Path, token: str, places, answers: Solution):
    """Write the checkpoint: whole, or not at all. The padding of the history is left out."""
    width = int(answers.num_steps.max()) + 1
    arrays = {name: getattr(answers, name) for name in FIELDS}
    arrays["history_length"] = np.int64(answers.history.shape[1])
    arrays["history"] = np.concatenate([answers.history[:, :width], answers.history[:, -1:]], 1)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            np.savez(file, fingerprint=np.array(token), places=places, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def load(path: Path, content: bytes, token: str):
    """Places and answers of a checkpoint, or an error that says why it is refused."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            found = str(file["fingerprint"])
            arrays = {name: file[name] for name in (*FIELDS, "places", "history_length")}
    except (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, OSError) as error:
        raise ValueError(
            f"checkpoint {path} is damaged or no checkpoint: {error}. Delete it to begin anew, or "
            f"pass another path."
        ) from error
    if found != token:
        raise ValueError(
            f"checkpoint {path} belongs to another run: its problems, sparsity, method, starts, "
            f"keys or version of sgep_jax differ from these (fingerprint {found[:12]}, here "
            f"{token[:12]}). Pass another path, or delete it to begin anew."
        )
    history, length = arrays["history"], int(arrays.pop("history_length"))
    places = arrays.pop("places")
    padding = np.repeat(history[:, -1:], length - (history.shape[1] - 1), axis=1)
    arrays["history"] = np.concatenate([history[:, :-1], padding], axis=1)
    return places, Solution(**arrays)


def fingerprint(problems, sparsity, keys, method, start, num_starts) -> str:
    """A digest of all that the answers depend on."""
    from . import __version__

    data = (problems, jax.random.key_data(keys), method, start)
    leaves, structure = jax.tree.flatten(data)
    digest = hashlib.sha256(f"{__version__} {sparsity} {num_starts} {structure}".encode())
    for leaf in leaves:
        _seen(leaf)
        array = np.ascontiguousarray(leaf)
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(array.data if array.ndim else array.tobytes())
    return digest.hexdigest()


def _seen(leaf):
    spread = isinstance(leaf, jax.Array) and not leaf.is_fully_addressable
    if spread and not leaf.is_fully_replicated:
        raise ValueError(
            f"solve_long(checkpoint=...) must see all problems, keys and starts, to know them "
            f"again, but an array of shape {leaf.shape} lies on several hosts. Pass the whole "
            f"batch on each host, or no checkpoint."
        )


class Report:
    """One line on the standard error stream: how many, the lowest value, the time left."""

    def __init__(self, total: int, before: int):
        self.total, self.before, self.begin = total, before, time.monotonic()

    def show(self, done: int, objectives):
        spent = time.monotonic() - self.begin
        left = spent * (self.total - done) / (done - self.before)
        line = (
            f"{done} of {self.total} problems, lowest {np.min(objectives):.6g}, {left:.0f} s left"
        )
        end = "\n" if done == self.total or not sys.stderr.isatty() else ""
        print(
            f"\r{line:<70}" if sys.stderr.isatty() else line, end=end, file=sys.stderr, flush=True
        )


def _path(checkpoint, hosts: Hosts) -> Path:
    path = Path(checkpoint)
    if path.suffix != ".npz":
        raise ValueError(f"checkpoint must end in .npz, but it is {str(checkpoint)!r}.")
    if hosts.first and not path.absolute().parent.is_dir():
        raise ValueError(f"checkpoint must be in a folder that exists, but {path.parent} does not.")
    return path
