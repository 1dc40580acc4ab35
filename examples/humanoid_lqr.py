"""A humanoid balances on one foot: LQR from the exact linearisation (`kt.control.LQR`).

Its left foot is fixed to the ground, and the two joints of that ankle have no motors: it stands on a point
and balances with the other 19 joints. SciPy finds the equilibrium posture with an exact Jacobian; then the
chest is pushed. The fixed foot cannot tip or slip: contact is not modelled here.

    python examples/humanoid_lqr.py
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.optimize import root

import kinetree as kt

FOOT, ANKLE = "left_foot", ("left_ankle", "left_ankle_roll")
HIP = ("left_hip_roll", "left_hip_pitch")  # leans until the ankle needs no torque
POSTURE = {
    "right_hip_pitch": -0.6, "right_knee": 1.0, "left_shoulder_roll": 0.5, "right_shoulder_roll": -0.5,
}  # fmt: skip
ARMATURE = 0.1  # kg m^2, of geared motors
PUSH = (0.0, 0.0, 0.0, 2.0, 3.0, 0.0)  # N m s and N s, at the chest
DURATION = 4.0  # s


def on_one_foot(model: kt.Model, foot: str) -> kt.Model:
    """The same robot, rooted at one foot instead of its trunk. The axes of all bodies must be parallel.

    Along the leg, parents and children change places: each joint turns the other way and moves to the origin
    of its former child.
    """
    by_name = {body.name: body for body in model.bodies}
    leg = [foot]
    while by_name[leg[-1]].parent:
        leg.append(model.body_names[by_name[leg[-1]].parent - 1])
    shift = {body.name: np.zeros(3) for body in model.bodies}  # old origin in the new body frame
    builder = kt.ModelBuilder(f"{model.name}_on_one_foot", gravity=model.gravity)
    builder.add_body(foot, "world", kt.Fixed(), kt.Pose(p=(0, 0, 0.07)), by_name[foot].inertia)
    for child, parent in pairwise(leg):
        old = by_name[child]
        shift[parent] = -np.array(old.placement.p, float)
        turned = kt.Revolute(tuple(-np.array(old.joint.axis)))
        inertia = moved(by_name[parent].inertia, shift[parent])
        at = kt.Pose(p=tuple(shift[child]))
        builder.add_body(parent, child, turned, at, inertia, joint_name=old.joint_name, limits=old.limits)
    for body in model.bodies:
        if body.name not in leg:
            parent = model.body_names[body.parent - 1]
            at = kt.Pose(p=tuple(np.array(body.placement.p, float) + shift[parent]))
            rest = {"joint_name": body.joint_name, "limits": body.limits}
            builder.add_body(body.name, parent, body.joint, at, body.inertia, **rest)
    return builder.build()


def moved(inertia: kt.Inertia, by: np.ndarray) -> kt.Inertia:
    """The inertia of a body after a translation."""
    com = np.array(inertia.com, float)
    return kt.Inertia(inertia.mass, tuple(com + by), inertia.rotational_at(com))


@kt.function("lean(2), posture(nq) -> torque(2)")
def ankle_torque(model, lean, posture):
    """The torque that the ankle must hold if the hip of the standing leg leans by two angles."""
    weight = kt.gravity_force(model, leaning(model, lean, posture))
    return np.concatenate([weight[model.coordinate_index(joint)] for joint in ANKLE])


def leaning(model: kt.Model, lean: np.ndarray, posture: np.ndarray) -> np.ndarray:
    """A posture with other hip angles."""
    q = posture.copy()
    for joint, angle in zip(HIP, lean, strict=True):
        q[model.coordinate_index(joint)] = angle
    return q


def main(folder: Path = Path(".")) -> dict[str, float]:
    """Find the posture, design the controller, push the chest, and draw the motion."""
    robot = on_one_foot(kt.zoo.humanoid(), FOOT)
    held = [name for name in robot.joint_names if name == "neck" or "wrist" in name or "shoulder_yaw" in name]
    robot = robot.lock(dict.fromkeys(held, 0.0))
    motors = [name for name in robot.joint_names if name not in ANKLE]
    robot = robot.replace(armature=dict.fromkeys(motors, ARMATURE))

    posture = robot.neutral()
    for joint, angle in POSTURE.items():
        posture[robot.coordinate_index(joint)] = angle
    torque = kt.scipy.residual(ankle_torque, robot, "lean", posture=posture)
    found = root(torque, [0.1, 0.0], jac=torque.jac, tol=1e-12)
    assert found.success, found.message
    posture = leaning(robot, found.x, posture)

    Q = np.repeat([100.0, 10.0], robot.nv)  # weights of the increments of q, and of v
    balance = kt.control.LQR(robot, posture, Q=Q, R=0.01, actuated=motors)
    speed = kt.impulse_response(robot, posture, "chest", np.array(PUSH))
    settings = {"duration": DURATION, "dt": 0.001, "limits": False, "record": 10}
    kept = kt.simulate(robot, posture, speed, control=balance, **settings)
    constant = balance.numbers["feedforward"]
    fallen = kt.simulate(robot, posture, speed, control=constant, **settings | {"duration": 0.6})

    figures = {
        "joints": robot.nv,
        "fastest growth without control, 1/s": float(np.linalg.eigvals(balance.A).real.max()),
        "slowest decay with control, 1/s": float(-balance.poles.real.max()),
        "largest deviation, rad": float(np.abs(kept.q - posture).max()),
        "deviation at the end, rad": float(np.abs(kept.q[-1] - posture).max()),
        "largest torque, N m": float(np.abs(kept.tau).max()),
    }
    draw(folder / "humanoid_lqr.png", robot, posture, kept, fallen)
    return figures


def draw(path: Path, robot, posture, kept, fallen) -> None:
    """Draw the centre of mass and the joint deviations, if matplotlib is installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for run, line, label in ((kept, "-", "with LQR"), (fallen, ":", "torques held constant")):
        for k, axis in enumerate("xy"):
            height = kt.center_of_mass(robot, run.q)[:, k]
            left.plot(run.t, 100 * height, line, color=f"C{k}", label=f"{axis}, {label}")
    left.set(xlabel="time, s", ylabel="cm", title="Centre of mass, from the ankle")
    left.legend()
    right.plot(kept.t, kept.q - posture)
    right.set(xlabel="time, s", ylabel="rad", title="All joints, from the posture")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    for name, value in main(Path(*sys.argv[1:2])).items():
        print(f"{name}: {value:.4g}")
