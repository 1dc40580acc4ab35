"""Forward dynamics in maximal coordinates: Gauss' principle with multipliers.

Unknowns are the acceleration of every body and rotor (angular, and of its centre of mass, world axes), the
joint accelerations and the wrenches of the joints. The kinematic equation of every joint is one block of
rows; its multipliers are the wrench that it passes on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .jet import Array, Jet
from .lagrangian import Poses, brackets, to_body, to_world
from .mechanism import TWISTS, Mechanism


def skew(x: Array) -> Array:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def axial(m: Array) -> Array:
    return np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]]) / 2


class Part:
    """A body or rotor in the world: place, motion, and how it moves relative to its carrier."""

    def __init__(self, world: Jet, relative: Jet, carrier: int, mass: Any, v: Array, second: Array) -> None:
        T, rate = world.f, np.einsum("ixy,i->xy", world.d, v)
        self.carrier, self.T = carrier, T
        self.R, self.origin = T[:3, :3], T[:3, 3]
        self.omega = axial(rate[:3, :3] @ self.R.T)
        self.rate = rate[:3, 3]
        self.arm = self.R @ mass.com
        self.m, self.J = mass.mass, self.R @ mass.inertia @ self.R.T
        self.relative, self.relative_rate = relative.f, np.einsum("ixy,i->xy", relative.d, v)
        self.directions = relative.d
        self.relative_bias = np.einsum("kjxy,k,j->xy", second, v, v)


def forward_dynamics(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, f_ext: Array | None = None
) -> tuple[Array, Array]:
    """Accelerations, and the wrench through every joint on its body (body axes, body origin)."""
    poses, n, nb = Poses(mechanism, q), mechanism.nv, len(mechanism.bodies)
    c = brackets(mechanism)
    ghosts = mechanism.ghosts()
    worlds = [*poses.bodies, *poses.rotors, *poses.ghosts]
    relatives = [*poses.relative, *poses.rotor_relative, *poses.ghosts]
    carriers = [b.parent for b in mechanism.bodies]
    carriers += [mechanism.bodies[r.body].parent for r in mechanism.rotors]
    carriers += [-1 for _ in ghosts]
    masses = [b.mass for b in mechanism.bodies] + [r.mass for r in mechanism.rotors] + [m for _, m in ghosts]
    parts = []
    for world, relative, carrier, mass in zip(worlds, relatives, carriers, masses, strict=True):
        second = relative.h + np.einsum("lkj,lxy->kjxy", c / 2, relative.d)
        parts.append(Part(world, relative, carrier, mass, v, second))

    k = len(parts)
    inertia, pushed = np.zeros((6 * k, 6 * k)), np.zeros(6 * k)
    rows, columns, bias = np.zeros((6 * k, 6 * k)), np.zeros((6 * k, n)), np.zeros(6 * k)
    for i, p in enumerate(parts):
        at = slice(6 * i, 6 * i + 6)
        inertia[at, at] = np.block([[p.J, np.zeros((3, 3))], [np.zeros((3, 3)), p.m * np.eye(3)]])
        wrench = np.zeros(6)
        if f_ext is not None and i < nb:
            wrench = to_world(p.T, np.asarray(f_ext)[i])
            wrench[:3] -= np.cross(p.origin + p.arm, wrench[3:])  # about the centre of mass
        pushed[at] = wrench
        pushed[at][:3] -= np.cross(p.omega, p.J @ p.omega)
        if i < len(worlds) - len(ghosts):
            pushed[at][3:] += p.m * np.array(mechanism.gravity)
        # [alpha; acceleration of the centre of mass] = that of the carrier + joint + velocity terms
        rows[at, at] = np.eye(6)
        if p.carrier < 0:
            R, omega = np.eye(3), np.zeros(3)
            to_com = np.zeros(3)
        else:
            parent = parts[p.carrier]
            R, omega = parent.R, parent.omega
            to_com = p.origin + p.arm - parent.origin - parent.arm
            block = np.block([[np.eye(3), np.zeros((3, 3))], [-skew(to_com), np.eye(3)]])
            rows[at, 6 * p.carrier : 6 * p.carrier + 6] = -block
        turned, turning = p.relative[:3, :3], p.relative_rate[:3, :3]
        spin = R @ axial(turning @ turned.T)
        here = np.array([*masses[i].com, 1.0])
        for j in range(n):
            d = p.directions[j]
            columns[at, j] = -np.concatenate([R @ axial(d[:3, :3] @ turned.T), R @ (d @ here)[:3]])
        twisting = R @ axial(p.relative_bias[:3, :3] @ turned.T + turning @ turning.T)
        sliding = R @ (p.relative_rate @ here)[:3]
        bias[at][:3] = np.cross(omega, spin) + twisting
        bias[at][3:] = np.cross(omega, np.cross(omega, to_com)) + 2 * np.cross(omega, sliding)
        bias[at][3:] += R @ (p.relative_bias @ here)[:3]

    armature = np.zeros(n)
    for i, b in enumerate(mechanism.bodies):
        if b.type in TWISTS:
            continue
        leader, multiplier, _ = mechanism.leader(i)
        armature[mechanism.velocities(leader)] += b.armature * multiplier**2
    zero = np.zeros((6 * k, n))
    kkt = np.block(
        [
            [inertia, zero, rows.T],
            [zero.T, np.diag(armature), columns.T],
            [rows, columns, np.zeros((6 * k, 6 * k))],
        ]
    )
    x = np.linalg.solve(kkt, np.concatenate([pushed, tau, bias]))
    a, multipliers = x[6 * k : 6 * k + n], -x[6 * k + n :].reshape(k, 6)
    wrenches = []
    for i in range(nb):
        p, w = parts[i], multipliers[i].copy()
        w[:3] += np.cross(p.origin + p.arm, w[3:])
        wrenches.append(to_body(p.T, w))
    return a, np.array(wrenches)
