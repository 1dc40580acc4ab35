"""Forward dynamics with rotors after the thesis (Algorithm 6): corrected, and with each printed mistake.

Trees of revolute joints; every joint may have one rotor. Dense 6x6 matrices, angular first.
"""

from __future__ import annotations

import numpy as np
from tests.reference.mechanism import Mass, Mechanism
from tests.reference.random_mechanism import rotation_about

Array = np.ndarray


def skew(x: Array) -> Array:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def motion_transform(rotation: Array, position: Array) -> Array:
    """Motion vectors from the frame that a pose is given in, to the frame at that pose."""
    out = np.zeros((6, 6))
    out[:3, :3] = out[3:, 3:] = rotation.T
    out[3:, :3] = -rotation.T @ skew(position)
    return out


def cross(v: Array) -> Array:
    out = np.zeros((6, 6))
    out[:3, :3] = out[3:, 3:] = skew(v[:3])
    out[3:, :3] = skew(v[3:])
    return out


def spatial_inertia(mass: Mass) -> Array:
    c = skew(mass.com)
    m = mass.mass
    return np.block([[mass.inertia - m * c @ c, m * c], [-m * c, m * np.eye(3)]])


def forward_dynamics(mechanism: Mechanism, q: Array, v: Array, tau: Array, mistake: str = "") -> Array:
    """Joint accelerations; `mistake` names a line of the thesis to take literally.

    "T16": the torque enters through the link and through the rotor. "T17": no cross terms between link and
    rotor. "T19": a child overwrites what its siblings gave to the parent. "T22": the rotor moves with the
    transform of the link. "T23": unconstrained accelerations by inverting the inertia of the rotor.
    """
    n = len(mechanism.bodies)
    rotors = {r.body: r for r in mechanism.rotors}
    gravity = np.array([0, 0, 0, *mechanism.gravity])
    X, S, V, xi, IA, pA = ([None] * n for _ in range(6))
    XR, IR = [np.zeros((6, 6))] * n, [np.zeros((6, 6))] * n
    SR, xiR, pR = [np.zeros(6)] * n, [np.zeros(6)] * n, [np.zeros(6)] * n
    for i, b in enumerate(mechanism.bodies):
        base = V[b.parent] if b.parent >= 0 else np.zeros(6)
        X[i] = motion_transform(b.rotation @ rotation_about(b.axis, q[i]), b.position)
        S[i] = np.array([*b.axis, 0, 0, 0])
        V[i] = X[i] @ base + S[i] * v[i]
        xi[i] = cross(V[i]) @ S[i] * v[i]
        IA[i] = spatial_inertia(b.mass)
        pA[i] = -cross(V[i]).T @ IA[i] @ V[i]
        if i in rotors:
            r = rotors[i]
            (ratio,) = r.ratios
            XR[i] = motion_transform(r.rotation @ rotation_about(r.axis, ratio * q[i]), r.position)
            if mistake == "T22":
                XR[i] = X[i]
            SR[i] = ratio * np.array([*r.axis, 0, 0, 0])
            VR = XR[i] @ base + SR[i] * v[i]
            IR[i], xiR[i] = spatial_inertia(r.mass), cross(VR) @ SR[i] * v[i]
            pR[i] = -cross(VR).T @ IR[i] @ VR
            if mistake == "T23":
                np.linalg.inv(IR[i])
    D, u, W = np.zeros(n), np.zeros(n), [np.zeros(6)] * n
    own = [(I.copy(), p.copy()) for I, p in zip(IA, pA, strict=True)]
    for i in reversed(range(n)):
        b, bR = IA[i] @ xi[i] + pA[i], IR[i] @ xiR[i] + pR[i]
        U, UR = IA[i] @ S[i], IR[i] @ SR[i]
        D[i] = S[i] @ U + SR[i] @ UR
        torque = 2 * tau[i] if mistake == "T16" and i in rotors else tau[i]
        body, rotor = torque - S[i] @ b, -SR[i] @ bR
        u[i] = body + rotor
        W[i] = X[i].T @ U + XR[i].T @ UR
        I = X[i].T @ IA[i] @ X[i] + XR[i].T @ IR[i] @ XR[i]
        p = X[i].T @ b + XR[i].T @ bR
        if mistake == "T17":
            one, two = X[i].T @ U, XR[i].T @ UR
            I, p = I - (np.outer(one, one) + np.outer(two, two)) / D[i], p + (one * body + two * rotor) / D[i]
        else:
            I, p = I - np.outer(W[i], W[i]) / D[i], p + W[i] * u[i] / D[i]
        parent = mechanism.bodies[i].parent
        if parent >= 0 and mistake == "T19":
            IA[parent], pA[parent] = own[parent][0] + I, own[parent][1] + p
        elif parent >= 0:
            IA[parent], pA[parent] = IA[parent] + I, pA[parent] + p
    A, out = [np.zeros(6)] * n, np.zeros(n)
    for i, link in enumerate(mechanism.bodies):
        base = A[link.parent] if link.parent >= 0 else -gravity
        out[i] = (u[i] - W[i] @ base) / D[i]
        A[i] = X[i] @ base + S[i] * out[i] + xi[i]
    return out
