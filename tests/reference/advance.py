"""Moving a configuration along velocity coordinates, by quaternions and Rodrigues' formula."""

from __future__ import annotations

from typing import Any

import numpy as np

from .jet import Array
from .lagrangian import attitude
from .mechanism import TWISTS, Mechanism


def quaternion_product(a: Array, b: Array) -> Array:
    """a o b of quaternions [x y z w]."""
    va, vb = a[:3], b[:3]
    return np.array([*(a[3] * vb + b[3] * va + np.cross(va, vb)), a[3] * b[3] - va @ vb])


def advance(mechanism: Mechanism, q: Any, dv: Any) -> Array:
    """q moved by the constant velocity `dv` for a unit of time (body-side exponential for attitudes)."""
    q, dv = np.array(q, float), np.asarray(dv, float)
    for i, b in enumerate(mechanism.bodies):
        if b.mimic:
            continue
        at, step = mechanism.positions(i), dv[mechanism.velocities(i)]
        if b.type not in TWISTS:
            q[at] += step
            continue
        if b.type == "planar_twist":
            u, x, y = step
            arc = (x + 1j * y) * np.exp(1j * q[at][0]) * np.exp(0.5j * u) * np.sinc(u / 2 / np.pi)
            q[at] += (u, arc.real, arc.imag)
            continue
        turn, here = step[:3], q[at].copy()
        angle = np.linalg.norm(turn)
        half = np.sinc(angle / 2 / np.pi) / 2
        q[at][:4] = quaternion_product(here[:4], np.array([*(half * turn), np.cos(angle / 2)]))
        if b.type == "free":
            cross = np.cross(turn, step[3:])
            near = angle < 1e-4
            a = 0.5 if near else (1 - np.cos(angle)) / angle**2
            c = 1 / 6 if near else (angle - np.sin(angle)) / angle**3
            q[at][4:] = here[4:] + attitude(here[:4]) @ (step[3:] + a * cross + c * np.cross(turn, cross))
    return q
