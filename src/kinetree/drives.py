"""Loads of geared rotors: on their bearings, gears and motors."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.errors import ModelError
from kinetree.joints import Revolute
from kinetree.model import Model
from kinetree.model.coupling import Linear
from kinetree.model.parts import Rotor
from kinetree.spanning import independent, motions
from kinetree.spatial import Motion, Transform
from kinetree.stages import function

Array = np.ndarray


def rotor_ratios(model: Model) -> Array:
    """The speed of each rotor relative to the body that carries it, per unit of each velocity, (nr, nu).

        omega_rotor = N u        u the velocities of all joints: v without loops, else G v

    A joint that drives no rotor has a column of zeros.
    """
    ratios = np.zeros((len(model.rotors), model.nu))
    for k, rotor in enumerate(model.rotors):
        (row,) = _coupling(model, rotor).G(())
        for place, ratio in row:
            ratios[k, place] = ratio
    return ratios


@function("tau -> motors(nr)")
def motor_torques(model: Model, tau: Array) -> Array:
    """The motor torques, on the rotor side of the gears, that give the generalised forces `tau`.

        tau = N^T tau_m        N the ratios of the rotors

    For a joint with one rotor this is tau / n; if several rotors drive a joint, the least-squares solution.
    Forces of joints without a rotor are not produced. Rotors of joints that depend on others through a loop
    act as tau = (N G)^T tau_m, which depends on the position: solve for it with `loop_matrix`. Cost O(N).

    Reference: Echeandia (2020) section 4.2: the motor acts between rotor and carrier.
    """
    ratios, own = rotor_ratios(model), independent(model)
    elsewhere = [r.joint for r, row in zip(model.rotors, ratios) if np.any(np.delete(row, own))]
    if elsewhere:
        raise ModelError(
            f"motor_torques: joint {elsewhere[0]!r} of model {model.name!r} depends on others by a loop, so "
            "what its motor does depends on q: tau = (rotor_ratios(model) @ loop_matrix(model, q)).T @ motors"
        )
    return np.linalg.pinv(ratios[:, own].T) @ tau


@function("q, v, a -> F(nr, 6)")
def rotor_wrenches(model: Model, q: Array, v: Array, a: Array) -> Array:
    """The wrench on each rotor from its bearings, gears and motor together.

        f = I (A - g) + V x* I V

    in the axes of the rotor's placement, which do not turn with it, about its origin. The moment along the
    rotor's axis is the net torque of motor and gear that accelerates it; the other five components load the
    bearings. Cost O(N).

    Reference: Echeandia (2020) eq. 4.3 and 4.18, with the rotor's own transform.
    """
    span, u, change = motions(model, q, v, a)
    poses = of.placements(model, q)
    velocities = of.body_velocities(model, q, v)
    accelerations = of.body_accelerations(model, q, v, a)
    result = []
    for rotor in model.rotors:
        carrier = model.bodies[model.joint_index(rotor.joint) - 1].parent
        V, A, down = Motion(), Motion(), np.array(model.gravity)
        if carrier:
            V = Motion.from_components(velocities[carrier - 1])
            A = Motion.from_components(accelerations[carrier - 1])
            down = poses[carrier - 1, :3, :3].T @ down
        fall = Motion(linear=tuple(down))
        result.append(_wrench(model, rotor, span.q, u, change, V, A - fall).components)
    return np.array(result).reshape(-1, 6)


def _wrench(model: Model, rotor: Rotor, q: Array, v: Array, a: Array, V: Motion, A: Motion) -> Any:
    """The wrench on one rotor, given velocity and acceleration (minus gravity) of the body carrying it."""
    coupling, joint = _coupling(model, rotor), Revolute(rotor.axis)
    (angle,), (rate,), (change,) = coupling.positions(q), coupling.velocities(q, v), coupling.velocities(q, a)
    spin: Transform = joint.placement((angle,))
    X = spin @ rotor.placement.transform()
    (axis,) = joint.subspace((angle,)).columns
    V = X @ V + axis * rate
    A = X @ A + axis * change + V.cross(axis * rate)
    return spin.T @ (rotor.inertia @ A + V.cross_star(rotor.inertia @ V))


def _coupling(model: Model, rotor: Rotor) -> Linear:
    """The angle of a rotor in terms of q and the velocities of all joints."""
    return model.spanning_tree.layout.couplings[model.joint_index(rotor.joint)].combined(rotor.ratio)
