"""Pictures of the operator algebra say what the operators are."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ArgumentError, KinetreeError
from kinetree.soa import InfluenceMatrix

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

FIGURE_2 = InfluenceMatrix([0, 1, 1, 3, 3, 5, 4, 7, 1, 9], np.ones((10, 2, 2)))
robot = kt.zoo.quadruped()
op = kt.operators(robot, robot.random_state(np.random.default_rng(0))[0])
mass = op.H @ op.phi @ op.M @ op.phi.T @ op.H.T


@pytest.fixture(autouse=True)
def closed():
    yield
    matplotlib.pyplot.close("all")


def labels(figure):
    """The text in each block, by row and column from 1."""
    texts = figure.axes[0].texts
    return {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in texts}


def plain(text):
    return text.translate(str.maketrans("", "", "${}_\n"))


def test_figure_2():
    """Phi and Psi of the ten bodies, with the blocks that the document prints."""
    found = labels(kt.pictures.sparsity(FIGURE_2.Phi))
    assert {k: plain(v) for k, v in found.items()} == {
        (2, 1): "A2", (3, 1): "A3", (4, 3): "A4", (5, 3): "A5", (6, 5): "A6", (7, 4): "A7", (8, 7): "A8",
        (9, 1): "A9", (10, 9): "A10",
    }  # fmt: skip
    figure = kt.pictures.sparsity(FIGURE_2.Psi)
    found = {k: plain(v) for k, v in labels(figure).items()}
    assert found[8, 1] == "A8A7A4A3" and found[6, 1] == "A6A5A3"
    assert found[10, 1] == "A10A9" and found[5, 5] == "1"
    assert len(found) == int(FIGURE_2.Psi.structure.pattern.sum()) and (5, 4) not in found
    assert "lower triangular" in figure.axes[0].get_xlabel()


def test_figure_3():
    """Nilpotency 2: one column and the diagonal."""
    star = InfluenceMatrix([0, *[1] * 5], np.ones((6, 1, 1)))
    found = {k: plain(v) for k, v in labels(kt.pictures.sparsity(star.Psi)).items()}
    assert found == {(i, i): "1" for i in range(1, 7)} | {(i, 1): f"A{i}" for i in range(2, 7)}


def test_patterns_of_the_lectures():
    """From the tips phi is lower triangular, from the base upper."""
    arm = kt.operators(kt.zoo.arm7(), np.zeros(7))
    for order, kind in (("tips", "lower triangular"), ("base", "upper triangular")):
        figure = kt.pictures.sparsity(arm.phi, order=order)
        assert figure.axes[0].get_xlabel().startswith(kind)
    assert labels(kt.pictures.sparsity(arm.M))[3, 3] == "$M_{3}$"
    assert plain(labels(kt.pictures.sparsity(arm.phi_I))[1, 7]) == "1"
    figure = kt.pictures.sparsity(mass, title="mass matrix")
    drawn = ~np.ma.getmaskarray(figure.axes[0].images[0].get_array())
    assert np.array_equal(drawn, mass.structure.pattern) and figure.axes[0].get_title() == "mass matrix"
    assert len(kt.pictures.sparsity(op.B("trunk") if "trunk" in robot.body_names else op.E).axes) == 1


def arrows(axis):
    return [a for a in axis.texts if a.arrow_patch is not None]


def test_flow():
    """The steps of an expression from the right, with arrows where it sweeps."""
    figure = kt.pictures.flow(mass, start=3)
    titles = [axis.get_title() for axis in figure.axes]
    assert [t.split("$")[2].strip() for t in titles] == ["", "scatter", "", "gather", ""]
    assert [len(arrows(axis)) for axis in figure.axes] == [0, 1, 0, 3, 0]  # 3 -> 4, then 4 -> 3 -> 2 -> 1
    everywhere = kt.pictures.flow(op.phi)
    assert len(arrows(everywhere.axes[0])) == robot.nbodies - 1
    name = robot.body_names[2]
    assert len(kt.pictures.flow(mass.inverse, start=name).axes) == 3
    assert kt.pictures.flow(FIGURE_2.Psi @ FIGURE_2.Psi.T, title="both").axes


def test_trees():
    assert len(kt.pictures.tree(FIGURE_2, title="figure 2").axes[0].texts) == 10
    assert kt.pictures.tree(robot).axes


def test_refusals():
    with pytest.raises(ArgumentError, match="an operator is needed"):
        kt.pictures.sparsity(np.eye(3))
    with pytest.raises(KinetreeError, match="depends on the tree"):
        kt.pictures.sparsity(kt.letters.phi)
    with pytest.raises(ArgumentError, match=r"numbered 1 \.\.\. 13"):
        kt.pictures.flow(op.phi, start=14)
    with pytest.raises(KinetreeError, match="order must be one of"):
        kt.pictures.sparsity(op.phi, order="up")
