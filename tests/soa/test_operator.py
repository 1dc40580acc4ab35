"""Operators as objects: algebra, printing, refusals, immutability, and the cost of applying them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.soa.mechanisms import NAMES, state

import kinetree as kt
from kinetree.errors import ShapeError, SingularError
from kinetree.soa.trees import TreeHome

op = kt.operators(kt.zoo.arm7(), np.linspace(0.1, 0.7, 7), np.ones(7))


def test_algebra():
    """Sums, multiples and transposes of operators are those of their matrices."""
    A, B = op.E_phi, op.taubar
    a, b = A.dense(), B.dense()
    one = np.eye(42)
    for found, truth in {
        A + B: a + b, A - B: a - b, 2 * A: 2 * a, A * 2.5: 2.5 * a, -A: -a, 1 - A: one - a, A - 1: a - one,
        1 + A: one + a, A + 3: a + 3 * one, (A + B).T: a.T + b.T, (2 * (A - B)) @ A: 2 * (a - b) @ a,
        (A @ B).T: b.T @ a.T, np.float64(2) * A: 2 * a, A @ (1 - B): a - a @ b,
    }.items():  # fmt: skip
        assert found.shape == truth.shape
        assert np.allclose(found.dense(), truth, rtol=0, atol=1e-13)
    assert np.allclose(np.ones((2, 42)) @ op.phi, np.ones((2, 42)) @ op.phi.dense())
    assert np.allclose((1j * op.phi) @ np.ones(42), 1j * op.phi.dense().sum(1))


def test_what_is_printed():
    text = str(op.H @ op.phi @ op.M @ op.phi.T @ op.H.T)
    assert text == "H @ phi @ M @ phi.T @ H.T"
    assert str(op.mass_matrix) == "(1 + H @ phi @ K) @ D @ (1 + K.T @ phi.T @ H.T)"
    assert str(op.inverse_mass_matrix) == "(1 - K.T @ psi.T @ H.T) @ D.inverse @ (1 - H @ psi @ K)"
    assert str(-op.phi + 2 * op.psi.T.T) == "(-phi + 2 * psi)"
    assert str(op.phi_tilde.T) == "phi_tilde.T"
    assert repr(op.H @ op.phi) == "<operator H @ phi: 7 x 42, generalised forces <- forces on bodies>"
    assert "arm7" in repr(op) and "7 nodes" in repr(op)


def test_immutable():
    with pytest.raises(AttributeError):
        op.phi.name = "other"
    for array in (op.blocks.I[0], op.blocks.P[0], op.blocks.U[2], op.V, op.q):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_blocks_of_any_operator():
    dense = (op.phi @ op.M).dense()
    assert np.allclose((op.phi @ op.M)(2, 5), dense[6:12, 24:30], rtol=0, atol=1e-14)
    assert np.array_equal(op.M(3, 3), op.M.blocks[2]) and not op.M(3, 4).any()
    assert op.node(kt.zoo.arm7().body_names[4]) == 5


@pytest.mark.parametrize(
    "wrong, match",
    [
        (lambda: op.H @ op.H, "is a .T missing"),
        (lambda: op.phi @ np.ones(41), r"x has shape \(41,\), but 42 numbers, forces on bodies"),
        (lambda: op.phi @ np.ones((42, 1, 1)), "matrix of such columns"),
        (lambda: op.phi + op.H, "a sum needs the same on both sides"),
        (lambda: 1 + op.H, "needs a square operator"),
        (lambda: op.M(0, 1), r"numbered 1 \.\.\. 7"),
        (lambda: op.Omega(1, 8), r"numbered 1 \.\.\. 7"),
        (lambda: kt.operators(kt.zoo.arm7(), np.zeros(6)), r"q has shape \(6,\) but .*'arm7' needs \(7,\)"),
        (lambda: kt.operators(kt.zoo.arm7(), np.zeros((2, 7))), "one state"),
        (lambda: kt.operators(kt.zoo.arm7(), np.zeros(7), 1.0), "v has shape"),
        (lambda: kt.operators(kt.zoo.arm7(), np.zeros(7) + 1j), "real numbers are needed"),
        (lambda: kt.operators(kt.zoo.arm7(), list("abcdefg")), "real numbers are needed"),
        (lambda: kt.operators(kt.zoo.arm7(), np.zeros(7)).a, "depend on velocities"),
    ],
)
def test_refusals(wrong, match):
    with pytest.raises(ShapeError, match=match):
        wrong()
    with pytest.raises(TypeError):
        op.phi + "1"


def test_a_joint_without_inertia():
    """Composite quantities exist; what needs D does not, and the joint is named."""
    builder = kt.ModelBuilder("bead")
    builder.add_body("arm", None, kt.Revolute((0, 0, 1)), inertia=kt.Inertia(1.0, (1, 0, 0), np.eye(3)))
    builder.add_body("bead", "arm", kt.Revolute((0, 0, 1)), joint_name="spin", inertia=kt.Inertia(1.0))
    model = builder.build(check="finite")
    found = kt.operators(model, np.zeros(2))
    assert np.isfinite(found.R.dense()).all()
    with pytest.raises(SingularError, match=r"'spin'.*no inertia"):
        found.P.dense()


def test_models_without_bodies():
    nothing = kt.operators(kt.ModelBuilder("nothing").build(), [])
    assert nothing.mass_matrix.dense().shape == (0, 0) and nothing.Omega.shape == (0, 0)


class Counted:
    """A number that counts how often it is multiplied."""

    products = 0

    def __mul__(self, other):
        Counted.products += 1
        return self

    def __add__(self, other):
        return self

    __rmul__ = __mul__
    __radd__ = __sub__ = __rsub__ = __add__


def products(A) -> int:
    """The multiplications of one application of an operator to a vector."""
    Counted.products = 0
    A @ np.array([Counted() for _ in range(A.shape[1])], dtype=object)
    return Counted.products


LETTERS = "E_phi phi phi_tilde H M E R P D G K tau taubar E_psi psi psi_tilde Omega Upsilon"


@pytest.mark.parametrize("name", [*LETTERS.split(), "mass_matrix", "inverse_mass_matrix"])
@pytest.mark.parametrize("shape", [lambda n: kt.zoo.chain(n), lambda n: kt.zoo.tree(n, 2)])
def test_the_cost_is_linear(name, shape):
    """Multiplications counted: as many more for each body, whatever the number of bodies."""
    costs = []
    for n in (8, 16, 24):
        model = shape(n)
        found = getattr(kt.operators(model, model.neutral()), name)
        costs += [(products(found), products(found.T))]
    (a, d), (b, e), (c, f) = costs
    assert c - b == b - a and f - e == e - d
    assert b - a <= 8 * 6 * 6 * 12  # at most twelve blocks of 6 x 6 for a body


def test_one_block_costs_a_path(monkeypatch):
    """Omega(i, j) multiplies along the paths to the nearest common ancestor, and no further."""
    model = kt.zoo.tree(255, 2)
    Omega = kt.operators(model, model.neutral()).Omega
    steps = []

    def carried(tree, A, i, a, x):
        steps.append(len(tree.topology.path(i)) - len(tree.topology.path(a)))
        return x

    monkeypatch.setattr(TreeHome, "carried", carried)
    monkeypatch.setattr(TreeHome, "apply", None)
    Omega(250, 130)
    assert steps == [7, 7] and model.depth == 8
    Omega(254, 255)
    assert steps[2:] == [1, 1]


@pytest.mark.parametrize("name", NAMES)
def test_groups_are_blocks_of_several_bodies(name):
    """OPR-23: a node of k bodies stands for 6k numbers."""
    s = state(name)
    sizes = [len(block) for block in s.op.M.blocks]
    assert sizes == [6 * len(node.members) for node in s.model.nodes]
    if name.startswith(("rotors", "mimic")):
        assert max(sizes) >= 12
