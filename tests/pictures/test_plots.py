"""Plots and drawings: what is drawn is what was computed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import kinetree as kt

pytest.importorskip("matplotlib").use("Agg")
from matplotlib import pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def swing() -> kt.Trajectory:
    robot = kt.zoo.double_pendulum()
    return kt.simulate(robot, [1.0, 0.5], [0.0, 0.0], duration=0.5, dt=0.01, integrator="rk4")


def titles(figure) -> list[str]:
    return [axis.get_title(loc="left") for axis in figure.axes if axis.get_visible()]


def test_a_plot_shows_states_energy_and_momentum(swing):
    figure = swing.plot()
    assert titles(figure) == ["positions", "velocities", "energy", "drift", "momentum"]
    by_name = dict(zip(titles(figure), figure.axes))
    lines = by_name["positions"].lines
    assert [line.get_label() for line in lines] == ["shoulder", "elbow"]
    for k, line in enumerate(lines):
        assert np.array_equal(line.get_xdata(), swing.t) and np.array_equal(line.get_ydata(), swing.q[:, k])
    assert np.array_equal(by_name["energy"].lines[2].get_ydata(), swing.energy)
    assert np.array_equal(by_name["drift"].lines[0].get_ydata(), swing.energy_error)
    assert np.array_equal(by_name["momentum"].lines[4].get_ydata(), swing.momentum[:, 4])


def test_forces_are_shown_where_there_are_some():
    robot = kt.zoo.pendulum()
    run = kt.simulate(robot, [0.1], [0.0], duration=0.1, dt=0.01, control=np.array([0.3]))
    figure = run.plot()
    assert "forces" in titles(figure)
    assert titles(run.plot(["energy"])) == ["energy"] and titles(run.plot("drift")) == ["drift"]


def test_a_batch_is_drawn_with_one_colour_a_coordinate():
    robot = kt.zoo.pendulum()
    run = kt.simulate(robot, np.linspace(0, 1, 6).reshape(2, 3, 1), np.zeros(1), duration=0.1, dt=0.01)
    (axis,) = [a for a in run.plot("positions").axes if a.get_visible()]
    assert len(axis.lines) == 6 and len({line.get_color() for line in axis.lines}) == 1
    assert np.array_equal(axis.lines[5].get_ydata(), run.q[1, 2, :, 0])


@pytest.mark.parametrize("batch", [(), (2,)])
def test_a_model_without_joints(batch):
    builder = kt.ModelBuilder("block")
    builder.add_body("block", "world", kt.Fixed())
    none = np.zeros((*batch, 0))
    run = kt.simulate(builder.build(), none, none, duration=0.1, dt=0.01)
    figure = run.plot()
    shown = [axis.get_title(loc="left") for axis in figure.axes if axis.get_visible()]
    assert shown == ["energy", "drift", "momentum"]
    figure.canvas.draw()
    (axis,) = run.plot("positions").axes
    assert not axis.lines


def test_a_batch_without_states():
    none = np.zeros((0, 2))
    figure = kt.simulate(kt.zoo.double_pendulum(), none, none, duration=0.1, dt=0.01).plot()
    figure.canvas.draw()
    assert not any(axis.lines for axis in figure.axes)


def test_an_unknown_panel(swing):
    with pytest.raises(kt.errors.ArgumentError, match=r"no panel 'enrgy'; choose from positions"):
        swing.plot(["enrgy"])


def test_names_from_files_are_not_formulas(tmp_path):
    builder = kt.ModelBuilder("$\\frac$")
    builder.add_body("$x", None, kt.Revolute((0, 1, 0)), inertia=kt.Inertia(1, (0, 0, -1), np.eye(3)))
    builder.add_body("y$", "$x", kt.Revolute((0, 1, 0)), inertia=kt.Inertia(1, (0, 0, -1), np.eye(3)))
    model = builder.build()
    run = kt.simulate(model, [0.1, 0], [0, 0], duration=0.02, dt=0.01)
    for k, figure in enumerate([run.plot(), kt.pictures.tree(model), kt.pictures.posture(model)]):
        figure.savefig(tmp_path / f"{k}.png")
        assert (tmp_path / f"{k}.png").stat().st_size > 1000


def test_a_tree_has_a_dot_for_each_body():
    robot = kt.zoo.quadruped()
    (axis,) = kt.pictures.tree(robot).axes
    drawn = {text.get_text() for text in axis.texts}
    assert drawn == {"world", *robot.body_names}
    places = [tuple(text.xy) for text in axis.texts]
    assert len(set(places)) == len(places)


def test_a_map_of_rotor_errors(tmp_path):
    """ROT-9: a panel for each approximation; the robot's own rotors are dots on it."""
    robot = kt.zoo.puma560(rotors=True)
    figure = kt.pictures.rotor_map(robot, [10.0, 50.0, 200.0], [1e-5, 1e-4, 1e-3], states=2)
    panels = [axis for axis in figure.axes if axis.get_xlabel() == "gear ratio"]
    assert [axis.get_title(loc="left").split(":")[0] for axis in panels] == ["reflected", "lumped", "none"]
    dots = panels[0].collections[-1].get_offsets()
    assert np.allclose(sorted(dots[:, 0]), sorted(abs(rotor.ratio[0]) for rotor in robot.rotors))
    figure.savefig(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 10_000
    with pytest.raises(kt.errors.ArgumentError, match="acceleration, bias, mass_matrix"):
        kt.pictures.rotor_map(robot, quantity="torque")
    with pytest.raises(kt.errors.ModelError, match="no rotors"):
        kt.pictures.rotor_map(kt.zoo.pendulum())


def test_sticks_join_the_bodies():
    from kinetree.pictures.sticks import size, sticks

    robot = kt.load(kt.robots.path("arm7.urdf"))
    q, _ = robot.random_state(0)
    found = sticks(robot, q)
    T = kt.placements(robot, q)
    assert np.allclose(found.joints, T[:, :3, 3])
    assert np.allclose(found.lines[0], [[0, 0, 0], T[0, :3, 3]])
    assert np.allclose(found.lines[-1][1], kt.frame_placement(robot, q, "flange")[:3, 3])
    mass = np.array([body.inertia.mass for body in robot.bodies])
    assert np.allclose(mass @ found.centers / mass.sum(), kt.center_of_mass(robot, q))
    assert np.isclose(size(robot), 0.1575 + 0.2025 + 0.2045 + 0.2155 + 0.1845 + 0.2155 + 0.081 + 0.045)


def test_a_posture_is_checked():
    robot = kt.zoo.double_pendulum()
    assert len(kt.pictures.posture(robot, np.zeros((3, 2))).axes) == 1
    with pytest.raises(kt.errors.ArgumentError, match=r"\(3,\)"):
        kt.pictures.posture(robot, np.zeros(3))


def test_without_matplotlib_the_error_says_what_to_install():
    program = """
import sys
sys.modules["matplotlib"] = None
import kinetree as kt
run = kt.simulate(kt.zoo.pendulum(), [0.1], [0.0], duration=0.02, dt=0.01)
try:
    run.plot()
except kt.errors.MissingPackageError as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "plot needs matplotlib" in found.stdout and "pip install 'kinetree[plots]'" in found.stdout, found
