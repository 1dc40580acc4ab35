"""What users do with models that have loops: commands, pictures, inverse kinematics, sweeps, control."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.loops.mechanisms import ankle, four_bar, spatial_linkage
from tests.loops.test_positions import openings

import kinetree as kt
from kinetree.cli import main
from kinetree.errors import ModelError
from kinetree.motion.files import coordinate_names


def test_info(capsys):
    assert main(["info", "zoo:four_bar"]) == 0
    text = capsys.readouterr().out
    assert "dependent" in text and "loop 'four_bar': crank -> coupler, rocker" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert main(["info", "zoo:four_bar", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["loops"][0]["redundant"] == 3 and found["joints"]["rocker"]["v"] == []


def test_simulate(capsys, tmp_path):
    file = tmp_path / "run.npz"
    line = ["simulate", "zoo:four_bar", "--duration", "0.05", "--output", str(file)]
    assert main([*line, "--q", "crank=0.5"]) == 0
    assert {path.name for path in tmp_path.iterdir()} <= {"run.npz", "run.png"}
    run = kt.Trajectory.load(file)
    assert run.q[0, 0] == 0.5 and np.abs(openings(run.model, run.q)).max() < 1e-14
    capsys.readouterr()
    assert main([*line, "--v", "rocker=1"]) == 2
    assert "'rocker' depends on others in a loop" in capsys.readouterr().err


def test_names_of_coordinates():
    names = coordinate_names(spatial_linkage())
    assert names["q"] == ["crank", "rod.0", "rod.1", "rod.2", "rod.3", "rocker"]
    assert len(names["v"]) == 2 and names["v"][0] == "crank" and names["v"][1].startswith("rod.")
    for model in (ankle(), four_bar()):
        assert {len(names) for names in coordinate_names(model).values()} == {model.nq, model.nv}


def test_plots():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    model = four_bar()
    figure = kt.simulate(model, model.neutral(), [0.0], duration=0.02, dt=1e-3).plot()
    labels = [text.get_text() for axis in figure.axes for text in (axis.get_legend() or axis).findobj()
              if hasattr(text, "get_text")]  # fmt: skip
    assert {"crank", "coupler", "rocker"} <= set(labels)


def test_inverse_kinematics_of_a_delta_robot():
    model = kt.zoo.delta()
    q = model.random_state(0)[0]
    goal = kt.frame_placement(model, model.random_state(5)[0], "tool")[:3, 3]
    found = kt.inverse_kinematics(model, {"tool": goal}, q0=q)
    assert found.success and np.abs(openings(model, found.q)).max() < 1e-13
    np.testing.assert_allclose(kt.frame_placement(model, found.q, "tool")[:3, 3], goal, atol=1e-9)


def test_inverse_kinematics_keeps_dependent_joints_within_their_limits():
    """The platform of a Delta robot depends on the motors; its rails end where the file says."""
    free = kt.zoo.delta()
    narrow = free.replace(limits={name: (-0.05, 0.05) for name in "xyz"})
    q0 = free.neutral()
    start = kt.frame_placement(free, q0, frame="tool")[:3, 3]
    inside, outside = start + (0.04, -0.04, 0.03), start + (0.12, 0.0, 0.0)
    for target, expected in ((inside, True), (outside, False)):
        found = kt.inverse_kinematics(narrow, {"tool": target}, q0)
        assert bool(found.success) == expected
        places = [narrow.position_index(name).start for name in "xyz"]
        assert np.abs(found.q[places]).max() <= 0.05
        assert kt.inverse_kinematics(narrow, {"tool": target}, q0, limits=False).success
    end = kt.frame_placement(narrow, found.q, frame="tool")[:3, 3]
    np.testing.assert_allclose(end, start + (0.05, 0.0, 0.0), atol=1e-5)  # as far as it may go


def test_relative_motion_within_a_loop():
    model = four_bar()
    q, v = model.random_state(2)
    rates = {name: state.velocity[0] for name, state in model.spanning(q, v).items()}
    spin = kt.relative_velocity(model, q, v, "coupler", "rocker")[1]
    assert spin == pytest.approx(rates["crank"] + rates["coupler"] - rates["rocker"], abs=1e-13)


def test_damping_of_a_dependent_joint_in_a_sweep():
    model = four_bar()
    given = {"q0": model.neutral(), "v0": np.ones(1), "duration": 0.1, "dt": 1e-3, "integrator": "rk4"}
    values = np.array([[0.0], [0.4], [2.0]])
    runs = kt.scale.map(kt.simulate, model, over={"damping/rocker": values}, n=3, seed=1, **given)
    ends = runs.collect().rows["v"][:, 0]
    for (damping,), end in zip(values, ends, strict=True):
        alone = kt.simulate(model.replace(damping={"rocker": damping}), **given)
        assert end == pytest.approx(alone.v[-1, 0], abs=2e-3 * damping + 1e-12)
    assert abs(ends[2] - ends[0]) > 0.05


def test_rotors_of_dependent_joints():
    model = four_bar()
    q, v = model.random_state(3)
    a = np.array([0.7])
    (speed,) = kt.rotor_ratios(model) @ kt.loop_matrix(model, q) @ v
    assert speed == pytest.approx(10.0 * model.spanning(q, v)["coupler"].velocity[0])
    with pytest.raises(ModelError, match=r"'coupler' .* depends on others by a loop"):
        kt.motor_torques(model, [1.0])
    # the moment along the axis is what turns the rotor in space
    h = 1e-4

    def spin(s):
        there, rate = model.integrate(q, s * v + s * s / 2 * a), v + s * a
        own = model.spanning(there, rate)["coupler"].velocity[0]
        return kt.body_velocities(model, there, rate)[0, 1] + 10.0 * own

    turning = (spin(h) - spin(-h)) / (2 * h)
    assert kt.rotor_wrenches(model, q, v, a)[0, 1] == pytest.approx(1e-3 * turning, rel=1e-5)


@pytest.mark.parametrize("make", [four_bar, pytest.param(kt.zoo.parallel_ankle, marks=pytest.mark.long)])
def test_control(make):
    model = make()
    goal = model.integrate(model.neutral(), np.full(model.nv, 0.05))
    law = kt.control.ComputedTorque(model, goal, kp=400.0, kd=40.0)
    still = np.zeros(model.nv)
    run = kt.simulate(model, model.neutral(), still, duration=0.5, dt=1e-3, control=law, limits=False)
    assert not run.failed
    np.testing.assert_allclose(model.difference(run.q[-1], goal), 0, atol=2e-3)
    A, _ = kt.linearize(model, goal, still, kt.gravity_force(model, goal), dt=1e-3)
    assert A.shape == (2 * model.nv, 2 * model.nv) and np.abs(A - np.eye(2 * model.nv)).max() < 0.5


def test_c_header_says_what_loops_move(tmp_path):
    kt.export_c([kt.loop_matrix], four_bar(), tmp_path)
    text = (tmp_path / "four_bar.h").read_text()
    assert "q[1]  coupler (revolute), which a loop moves" in text
