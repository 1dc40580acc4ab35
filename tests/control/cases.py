"""Robots, references and one controller of each kind, for the tests of control."""

from __future__ import annotations

import numpy as np

import kinetree as kt
from kinetree import ops


@kt.function("t -> q")
def swing(model, t):
    """A motion of all joints, each with its own frequencies."""
    return np.array([0.4 * ops.sin((1 + 0.7 * k) * t) + 0.2 * ops.sin(2.3 * t + k) for k in range(model.nq)])


def swing_at(model, t):
    """Position, velocity and acceleration of `swing`, by hand."""
    k, t = np.arange(model.nq), np.asarray(t)[..., None]
    w = 1 + 0.7 * k
    return (
        0.4 * np.sin(w * t) + 0.2 * np.sin(2.3 * t + k),
        0.4 * w * np.cos(w * t) + 0.2 * 2.3 * np.cos(2.3 * t + k),
        -0.4 * w**2 * np.sin(w * t) - 0.2 * 2.3**2 * np.sin(2.3 * t + k),
    )


def controllers() -> dict[str, kt.control.Controller]:
    """One of each kind, for robots that compile quickly."""
    two, cart, chain = kt.zoo.double_pendulum(), kt.zoo.cart_pole(), kt.zoo.chain(4)
    control = kt.control
    tip = chain.body_names[-1]
    return {
        "GravityCompensation": control.GravityCompensation(two, kd=0.3),
        "PD": control.PD(two, np.array([0.5, -0.3]), kp=30.0, kd=6.0),
        "ComputedTorque": control.ComputedTorque(two, swing, kp=100.0, kd=20.0),
        "PassivityBased": control.PassivityBased(two, swing, bandwidth=8.0, kd=4.0),
        "Adaptive": control.Adaptive(two, swing, bandwidth=8.0, kd=4.0, rate=0.5, dt=1e-3),
        "OperationalSpace": control.OperationalSpace(
            chain, tip, (0.3, 0.1, -0.4), kp=50.0, kd=14.0, posture_kp=2.0, posture_kd=1.0, damping=0.05
        ),
        "MomentumObserver": control.MomentumObserver(two, 50.0, dt=1e-3),
        "LQR": control.LQR(cart, cart.neutral(), actuated=cart.joint_names[:1]),
    }
