"""Models and trajectories in a notebook: the same facts as in text, and names that cannot write markup."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

import kinetree as kt


def read(html: str) -> ElementTree.Element:
    """The HTML as a tree: it is well-formed."""
    return ElementTree.fromstring(f"<div>{html.replace('<br>', '<br/>')}</div>")


def cells(html: str) -> list[list[str]]:
    return [["".join(cell.itertext()) for cell in row] for row in read(html).iter("tr")]


def odd() -> kt.Model:
    builder = kt.ModelBuilder("<script>alert(1)</script>")
    inertia = kt.Inertia(1.0, (0, 0, -1), np.eye(3))
    builder.add_body("a&b", None, kt.Revolute((0, 1, 0)), inertia=inertia, joint_name="<img src=x>")
    return builder.add_frame("<i>", "a&b", kt.Pose()).build()


def test_a_model():
    robot = kt.zoo.quadruped()
    rows = cells(robot._repr_html_())
    assert rows[0][:4] == ["#", "body", "parent", "joint"]
    assert [row[1] for row in rows[1:]] == list(robot.body_names)


def test_a_trajectory():
    run = kt.simulate(kt.zoo.double_pendulum(), [1.0, 0.0], [0.0, 0.0], duration=0.1, dt=0.01)
    energy, shoulder, elbow = cells(run._repr_html_())[1:]
    assert energy[0] == "energy, J" and shoulder[0] == "velocity of shoulder"
    assert elbow[2:] == [f"{x:.4g}" for x in (run.v[:, 1].min(), run.v[:, 1].max(), run.v[-1, 1])]
    assert len(list(read(run._repr_html_()).iter("svg"))) == 3


def test_names_are_escaped():
    model = odd()
    run = kt.simulate(model, [[0.1], [0.2]], [0.0], duration=0.02, dt=0.01)
    for html in (model._repr_html_(), run._repr_html_()):
        assert "<script" not in html and "<img" not in html and "<i>" not in html
        assert "alert(1)" in "".join(read(html).itertext())


def test_a_run_that_failed():
    run = kt.simulate(kt.zoo.pendulum(), [0.1], [0.0], duration=0.02, dt=0.01)
    broken = kt.Trajectory(run.model, run.t, np.full_like(run.q, np.nan), np.full_like(run.v, np.nan))
    assert cells(broken._repr_html_())[1][2:] == ["nan"] * 3
