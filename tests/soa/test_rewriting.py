"""Expressions that rewrite themselves: inverses, simplification, derivations, structure, cost, text."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.reference.measure import assert_close, condition
from tests.soa.expressions import random_expression
from tests.soa.mechanisms import NAMES, run, state

import kinetree as kt
from kinetree.errors import KinetreeError, ShapeError
from kinetree.soa.rewriting import size
from kinetree.soa.rules import laws, rules

L = kt.letters
MASS = L.H @ L.phi @ L.M @ L.phi.T @ L.H.T
W = 1 - L.H @ L.psi @ L.K


def test_the_mass_matrix_inverts_itself():
    """The O(N) form, and the derivation that leads to it by its rules."""
    inverse = MASS.inverse
    assert inverse == W.T @ L.D.inverse @ W and inverse == L.inverse_mass_matrix
    derivation = inverse.derivation()
    sources = [step.source for step in derivation]
    assert sources[0] == "ABI-4" and sources.count("OPR-15") == 2 and derivation.result == inverse
    assert derivation.start == L.read("H @ phi @ M @ phi.T @ H.T").inverse.history[0].expression
    text = str(derivation)
    assert text.startswith("  (H @ phi @ M @ phi.T @ H.T).inverse\n= ((1 + H @ phi @ K) @ D")
    assert "      ABI-4 innovations factorisation" in text and text.endswith("A A^-1 = 1")
    assert derivation._repr_latex_().startswith(r"$$\begin{aligned}") and len(derivation) == 10


@pytest.mark.parametrize("name", NAMES)
def test_each_step_is_an_equality(name):
    """Every expression on the way has the same numbers, where inverses are those of letters."""
    s = state(name)
    mass = MASS.at(s.op)
    truth = run(s, "inverse_mass_matrix", s.q)
    for step in mass.inverse.derivation():
        if ").inverse" not in str(step.expression):
            assert_close(step.expression.dense(), truth, 1e-13 * max(10.0, condition(mass.dense())))
    assert str(step.expression) == str(s.op.inverse_mass_matrix)


@pytest.mark.parametrize(
    "A, inverse",
    [
        ("phi", "phi.inverse"), ("1 - E_phi", "phi"), ("phi.T", "phi.inverse.T"), ("1 - E_psi.T", "psi.T"),
        ("D", "D.inverse"), ("D.inverse", "D"), ("1 + H @ phi @ K", "1 - H @ psi @ K"),
        ("1 - K.T @ psi.T @ H.T", "1 + K.T @ phi.T @ H.T"), ("H @ G", "H @ G"), ("-1 * M", "-1 * M.inverse"),
        ("2 * phi @ psi", "0.5 * psi.inverse @ phi.inverse"), ("phi.inverse + K @ H", "psi"),
        ("1 + K @ H @ phi", "phi.inverse @ psi"), ("mass_matrix", "inverse_mass_matrix"),
        ("R - E_phi @ R @ E_phi.T", "M.inverse"), ("inverse_mass_matrix", "mass_matrix"),
        ("H_I @ phi_I @ M_I @ phi_I.T @ H_I.T", "inverse_mass_matrix"),
        ("phi @ M @ phi.T", "phi.inverse.T @ M.inverse @ phi.inverse"),
    ],
)  # fmt: skip
def test_inverses(A, inverse):
    found = L.read(A) if "matrix" not in A else getattr(L, A)
    wanted = L.read(inverse) if "matrix" not in inverse else getattr(L, inverse)
    assert found.inverse.simplify() == wanted.simplify()


@pytest.mark.parametrize(
    "A, simple",
    [
        ("phi.T @ H.T @ inverse_mass_matrix @ H @ phi", "Omega"), ("phi @ (1 - E_phi)", "1"),
        ("H @ (1 - G @ H)", "0"), ("taubar @ P @ H.T", "0"), ("H @ psi @ M @ psi.T @ H.T", "D"),
        ("H @ P @ H.T", "D"), ("E_phi @ P @ H.T @ D.inverse", "K"), ("phi - phi", "0"),
        ("2 * phi_tilde @ R + 2 * R + 2 * R @ phi_tilde.T", "(2 * phi @ M @ phi.T)"),
        ("H @ R @ H.T + H @ phi_tilde @ R @ H.T + H @ R @ phi_tilde.T @ H.T", "H @ phi @ M @ phi.T @ H.T"),
        ("H @ phi @ M @ phi.T @ H.T @ inverse_mass_matrix", "1"), ("phi @ R @ E.T", "R @ E.T"),
        ("psi @ (P - E_phi @ P @ E_phi.T + K @ D @ K.T) @ psi.T", "psi @ M @ psi.T"),
        ("P + psi_tilde @ P + P @ psi_tilde.T", "psi @ M @ psi.T"), ("O @ phi @ O.inverse", "phi_I"),
        ("E @ phi @ M @ phi.T @ E.T", "E @ R @ E.T"), ("(1 - H @ psi @ K) @ H @ phi @ K", "H @ psi @ K"),
    ],
)  # fmt: skip
def test_simplification(A, simple):
    found = L.read(A.replace("inverse_mass_matrix", "((1 - H @ psi @ K).T @ D.inverse @ (1 - H @ psi @ K))"))
    result = found.simplify()
    assert str(result) == simple
    assert (result.rows, result.columns) == (found.rows, found.columns)
    assert result == found or result.derivation().result == result == found.derivation().result


def test_rules_end():
    """A rule leaves no more letters than it found, and simplified expressions stay as they are."""
    for rule in rules("->"):
        if "ABI-4" not in rule.source and "INR-3" not in rule.source:
            assert size(rule.right) <= size(rule.left), rule
        assert rule.left.simplify().simplify() == rule.left.simplify()
    rng = np.random.default_rng(5)
    for _ in range(60):
        simple = random_expression(rng, 4).simplify()
        assert simple.simplify() == simple


def test_both_sides_of_a_law_simplify_alike():
    """The rules are enough to prove most laws: left minus right becomes nothing."""
    unproved = []
    for law in laws():
        if not any(word in law.text for word in ("J ", "diagonal", "by_ancestors", "mass_matrix")):
            left, right = L.read(law.left), L.read(law.right)
            if str((left - right).simplify()) != "0":
                unproved.append(law.text)
    assert len(unproved) <= 8, unproved


@pytest.mark.parametrize("name", NAMES)
def test_structure(name):
    """Zero blocks are where the tree says, and the words are right."""
    s = state(name)
    op, index = s.op, s.op.places(s.op.M.rows)
    rng = np.random.default_rng(3)
    for A in [op.phi, op.E_psi, op.Omega, op.K.T, *(random_expression(rng, 3).at(op) for _ in range(4))]:
        dense, pattern = A.dense(), A.structure.pattern
        for i, rows in enumerate(op.places(A.rows)):
            for j, columns in enumerate(op.places(A.columns)):
                if not pattern[i, j]:
                    assert not dense[rows][:, columns].any(), f"{A}: ({i}, {j})"
    assert op.M.structure.kind == "diagonal" and len(op.M.structure.pattern) == len(index)
    assert (0 * op.M).structure.kind == "zero" and op.E.structure.pattern.shape == (1, len(index))
    if len(index) > 1 and s.model.nodes[1].predecessor[0] == 0:
        assert op.phi.structure.kind == "upper triangular" and op.phi.T.structure.kind == "lower triangular"
        assert op.E_phi.structure.kind == "strictly upper triangular"


def test_structure_in_words_and_letters():
    op = kt.operators(kt.zoo.quadruped(), kt.zoo.quadruped().neutral())
    mass = MASS.at(op)
    assert mass.structure.kind == "symmetric" and mass.inverse.structure.kind == "full"
    assert str(op.E.structure) == "x" + "." * 12 and "36% filled" in repr(mass.structure)
    assert np.array_equal(mass.structure.pattern, mass.structure.pattern.T)
    B = op.B([kt.zoo.quadruped().body_names[3]])
    assert B.structure.pattern.sum() == 1 and (B.T @ op.Omega @ B).inverse.structure.kind == "diagonal"


def test_cost():
    """Sweeps without a state; at a state operations, as many more for each body."""
    assert MASS.cost == (1, 1, 3, None) and str(MASS.cost) == "1 gather, 1 scatter, 3 local products"
    for A in (MASS, MASS.inverse, L.Omega, L.phi_tilde @ L.R):
        counts = []
        for n in (10, 20, 30):
            model = kt.zoo.chain(n)
            counts.append(A.at(kt.operators(model, model.neutral())).cost.operations)
        assert counts[2] - counts[1] == counts[1] - counts[0] > 0
    assert "operations" in str(A.at(kt.operators(model, model.neutral())).cost)


def test_text():
    assert MASS._repr_latex_() == r"$H\,\phi\,M\,\phi^*\,H^*$"
    assert L.D.inverse._repr_latex_() == "$D^{-1}$" and L.phi.inverse.T._repr_latex_() == r"$\phi^{-*}$"
    assert (2 * L.phi - 1)._repr_latex_() == r"$(2\,\phi - 1)$" and str(2 * L.phi - 1) == "(2 * phi - 1)"
    assert repr(MASS) == "<operator H @ phi @ M @ phi.T @ H.T: generalised forces <- velocities>"
    assert repr(L.B(["a", "b"])) == "<operator B: forces on bodies <- forces at frames a, b>"
    assert str((L.phi - L.phi).simplify()) == "0" and "letters without a state" in repr(L)


def test_values():
    """Equal if written alike; immutable; pickled; brought to a state and back."""
    assert L.read("H @ phi @ M") == L.H @ L.phi @ L.M and hash(L.H @ L.phi) == hash(L.H @ L.phi)
    assert L.phi == L.phi.T.T and L.M.T == L.M and (L.H @ L.phi).T == L.phi.T @ L.H.T
    assert pickle.loads(pickle.dumps(MASS.inverse)) == MASS.inverse and pickle.loads(pickle.dumps(L)) is L
    op = kt.operators(kt.zoo.arm7(), np.zeros(7))
    assert MASS.inverse.at(op) == op.inverse_mass_matrix and op.inverse_mass_matrix.at(L) == MASS.inverse
    assert (0 * L.M).at(op).dense().shape == (42, 42)
    assert (1 + L.B("world").T @ L.Omega @ L.B("world")).at(op).shape == (6, 6)
    with pytest.raises(AttributeError):
        MASS.home = None


def test_blocks():
    s = state("quadruped")
    for A in (s.op.taubar, s.op.K, MASS.at(s.op).inverse, s.op.phi.T, s.op.psi, s.op.R.inverse, s.op.G):
        dense, rows, columns = A.dense(), s.op.places(A.rows), s.op.places(A.columns)
        for i, j in ((1, 1), (2, 3), (3, 2), (1, 4), (7, 7)):
            block = dense[rows[i - 1]][:, columns[j - 1]]
            assert_close(A.block(i, j), block, 1e-12, float(np.abs(dense).max()))
    assert len(s.op.D.blocks) == len(s.model.nodes)


def other():
    return kt.operators(kt.zoo.arm7(), np.ones(7))


op = kt.operators(kt.zoo.arm7(), np.zeros(7))


@pytest.mark.parametrize(
    "wrong, error, match",
    [
        (lambda: op.H @ other().phi, ShapeError, r"<spatial operators of model 'arm7'.*A.at\(op\)"),
        (lambda: op.phi + other().phi, ShapeError, "take all letters from one of them"),
        (lambda: op.phi @ L.M, ShapeError, "letters without a state"),
        (lambda: op.phi @ op.phi.T, ShapeError, "takes 42 numbers, forces on bodies, the right one gives 42"),
        (lambda: L.H.T @ L.D, ShapeError, "takes velocities, the right one gives generalised forces"),
        (lambda: op.M + op.Omega, ShapeError, "a sum needs the same on both sides"),
        (lambda: op.B("nowhere"), KinetreeError, "nowhere"),
        (lambda: (op.phi + op.psi).inverse, KinetreeError, "no rule of the algebra gives the inverse"),
        (lambda: (op.B("world").T @ op.Omega @ op.B("world")).inverse.dense(), KinetreeError, "singular"),
        (lambda: op.M.block(8, 1), ShapeError, r"numbered 1 \.\.\. 7"),
    ],
)  # fmt: skip
def test_ill_posed(wrong, error, match):
    with pytest.raises(error, match=match):
        wrong()
