"""No two LAPACK calls of a program are independent, so that none can wait for another's threads
(`factorizations.py` says why): the lowered text tells which needs which. And pieces of a batch give
what the batch gives; that several devices do not hang is tested in `many_devices.py`.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sgep_jax as sgep
from sgep_jax import factorizations

CALLED = re.compile(r"(?:body|condition|to_apply|calls|(?:true|false)_computation)=%?([\w.-]+)")
BRANCHES = re.compile(r"branch_computations=\{(.*?)\}")


def computations(text):
    """For each computation of an HLO text: name → (operands, called computations, is LAPACK)."""
    found, current = {}, None
    for line in text.splitlines():
        if line.endswith("{") and " = " not in line:
            current = found.setdefault(line.removeprefix("ENTRY ").split()[0].lstrip("%"), {})
            continue
        instruction = re.match(r"\s+(?:ROOT )?%?([\w.-]+) = .*?[ )}][a-z][\w-]*\((.*)$", line)
        if instruction is None:
            continue
        name, rest = instruction.groups()
        operands, _, attributes = rest.partition(")")
        branches = BRANCHES.findall(attributes)
        called = CALLED.findall(attributes) + re.findall(r"[\w.-]+", ",".join(branches))
        current[name] = re.findall(r"[\w.-]+", operands), called, '"lapack_' in attributes
    return found


def independent(text):
    """Pairs of instructions that factorize, or call what does, of which neither needs the other."""
    found = computations(text)

    def factorizes(instruction):
        _, called, lapack = instruction
        return lapack or any(map(factorizes, (i for c in called for i in found[c].values())))

    pairs, number = [], 0
    for instructions in found.values():
        needs, before = {}, []
        for name, instruction in instructions.items():  # operands come first
            operands = [operand for operand in instruction[0] if operand in needs]
            needs[name] = set(operands).union(*(needs[operand] for operand in operands))
            if factorizes(instruction):
                pairs += [(other, name) for other in before if other not in needs[name]]
                before.append(name)
                number += instruction[2]
    return pairs, number


def objective(problem, **options):
    return sgep.solve(problem, 4, **options).objective


def test_independent_calls_are_seen():
    def two(A, B):
        return jnp.sum(jnp.linalg.cholesky(A)) + jnp.sum(jnp.linalg.eigh(B)[0])

    def chain(A):
        return jnp.linalg.eigh(jnp.linalg.cholesky(A))[0]

    A = np.eye(3)[None]
    pairs, number = independent(jax.jit(jax.vmap(two)).lower(A, A).as_text(dialect="hlo"))
    assert len(pairs) == 1 and number == 2
    assert independent(jax.jit(jax.vmap(chain)).lower(A).as_text(dialect="hlo")) == ([], 2)


BLOCK = {"random": 6, "swap": 6}
INERTIA = {"subproblem": "inertia", "rest": "free", "scores": "corrective"}


@pytest.mark.parametrize(
    "method",
    [
        None,
        sgep.Multistart(refine=sgep.Decomposition(**INERTIA)),
        sgep.Decomposition(**BLOCK),
        sgep.Decomposition(**BLOCK, subproblem="coordinate", lower=0.0),
        sgep.Exhaustive(),
        sgep.CoordinateWise(),
        sgep.TruncatedRayleighFlow(),
        sgep.QuadraticMajorization(),
    ],
    ids=["default", "refined", "bisection", "non-negative", "exhaustive", "coordinate-wise",
         "flow", "majorization"],
)  # fmt: skip
def test_factorizations_come_one_after_another(method):
    problems = jax.vmap(sgep.Problem)(np.zeros((3, 30, 30)), np.zeros((3, 30, 30)))
    solve = jax.jit(jax.vmap(lambda problem: objective(problem, method=method)))
    pairs, number = independent(solve.lower(problems).as_text(dialect="hlo"))
    assert number > 2 and not pairs


def test_those_of_a_gradient_and_of_groups_too():
    problem = sgep.Problem(np.zeros((30, 30)), np.zeros((30, 30)))
    for solve in (
        jax.grad(lambda problem: sgep.solve(problem, 4).x[0]),
        lambda problem: sgep.solve(problem, [2, 2], groups=np.arange(30) % 2).x,
    ):
        pairs, number = independent(jax.jit(solve).lower(problem).as_text(dialect="hlo"))
        assert number > 2 and not pairs


@pytest.mark.parametrize("count", [1, 5, 7])  # of matrices, three to a piece
def test_pieces_of_a_batch(count, monkeypatch):
    monkeypatch.setattr(jax, "local_device_count", lambda: 2)
    monkeypatch.setattr(factorizations, "UNSPLIT", 3 * 30 * 4**3)
    rng = np.random.default_rng(count)
    X = rng.standard_normal((2, count, 9, 4))
    K = np.swapaxes(X, -1, -2) @ X
    L = jax.vmap(jax.vmap(factorizations.cholesky))(K)
    np.testing.assert_array_equal(L, jnp.linalg.cholesky(K, symmetrize_input=False))
    values, vectors = jax.vmap(jax.vmap(factorizations.eigh))(K)
    np.testing.assert_allclose(vectors * values[..., None, :], K @ vectors, atol=1e-12)
    B = rng.standard_normal((4, 2))  # one for all
    half = jax.vmap(jax.vmap(lambda L: factorizations.solve_lower(L, B)))(L)
    np.testing.assert_allclose(L @ half, np.broadcast_to(B, half.shape), atol=1e-12)
    x = jax.vmap(jax.vmap(lambda L: factorizations.solve_factored(L, B)))(L)
    np.testing.assert_allclose(K @ x, np.broadcast_to(B, x.shape), atol=1e-10)
