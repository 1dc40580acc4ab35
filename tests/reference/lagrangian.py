"""Rigid-body dynamics from poses alone: d'Alembert's principle for every point.

A body with the world pose T (4x4) and the integral P of x x^T dm has the kinetic energy 1/2 tr(T' P T'^T); so
the world poses embed the mechanism in a Euclidean space, where every dynamical quantity is a projection of
the accelerations of points on the directions dT_i:

    M_ij      = sum tr(dT_i P dT_j^T)
    Gamma_ijk = sum tr(dT_i P (d_k dT_j)^T)
    tau_i     = sum tr(dT_i P (T'' - g)^T) - power of wrenches

dT_i is the derivative of a pose along the i-th velocity coordinate, d_k dT_j the derivative of that along
the k-th; both are exact (`jet.py`). There is no recursion of velocities or forces, no spatial algebra.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .jet import Array, Jet, assemble, cos_sin
from .mechanism import SIZES, TWISTS, Body, Mechanism, Rotor


def homogeneous(rotation: Array, position: Array, dtype: Any = float) -> Array:
    out = np.zeros((4, 4), dtype)
    out[:3, :3], out[:3, 3], out[3, 3] = rotation, position, 1
    return out


def turn(axis: Array, angle: Jet, displacement: list[Any]) -> Jet:
    """Rotation about a unit axis (Rodrigues), with a displacement."""
    c, s = cos_sin(angle)
    x, y, z = axis
    rows = [
        [c + (1 - c) * (x * x), (1 - c) * (x * y) - s * z, (1 - c) * (x * z) + s * y, displacement[0]],
        [(1 - c) * (x * y) + s * z, c + (1 - c) * (y * y), (1 - c) * (y * z) - s * x, displacement[1]],
        [(1 - c) * (x * z) - s * y, (1 - c) * (y * z) + s * x, c + (1 - c) * (z * z), displacement[2]],
        [0, 0, 0, 1],
    ]
    return assemble(rows, angle.n, angle.f.dtype)


def hat(twist: Array) -> Array:
    """The 4x4 matrix of a twist [omega; v]."""
    (a, b, c), (x, y, z) = twist[:3], twist[3:]
    return np.array([[0, -c, b, x], [c, 0, -a, y], [-b, a, 0, z], [0, 0, 0, 0]])


def unhat(matrix: Array) -> Array:
    """The twists [omega; v] of 4x4 matrices (stacked along the leading axes)."""
    m = matrix
    return np.stack([m[..., 2, 1], m[..., 0, 2], m[..., 1, 0], m[..., 0, 3], m[..., 1, 3], m[..., 2, 3]], -1)


def attitude(q: Array) -> Array:
    """Rotation matrix of the unit quaternion [x y z w]."""
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def joint_pose(body: Body, q: Array) -> Jet:
    """Pose of the successor in the predecessor, at q moved along the velocity coordinates.

    Attitudes move by the exponential on the body side.
    """
    if body.type == "fixed":
        return Jet.constant(np.eye(4, dtype=int).astype(q.dtype), 0)
    if body.type in TWISTS:
        if body.type == "planar_twist":
            x = Jet.variables(q)
            here = turn(np.array([0, 0, 1]), x[0], [x[1], x[2], 0]).f
        else:
            position = q[4:] if body.type == "free" else np.zeros(3, dtype=int)
            here = homogeneous(attitude(q[:4]), position, q.dtype)
        units = np.eye(6, dtype=int)[list(TWISTS[body.type])].astype(q.dtype)
        steps = np.array([here @ hat(e) for e in units])
        twice = np.array([[s @ hat(e) for e in units] for s in steps])
        return Jet(here, steps, (twice + twice.swapaxes(0, 1)) / 2)
    x = Jet.variables(q)
    zero = Jet.constant(q.dtype.type(0) if q.dtype != object else np.array(0, dtype=object), len(x))
    axis = body.axis
    match body.type:
        case "revolute":
            return turn(axis, x[0], [0, 0, 0])
        case "prismatic":
            return turn(axis, zero, [x[0] * a for a in axis])
        case "helical":
            return turn(axis, x[0], [x[0] * (body.pitch * a) for a in axis])
        case "cylindrical":
            return turn(axis, x[0], [x[1] * a for a in axis])
        case "universal":
            return turn(axis, x[0], [0, 0, 0]) @ turn(body.axis2, x[1], [0, 0, 0])
        case "planar":
            return turn(np.array([0, 0, 1]), x[0], [x[1], x[2], 0])
    raise ValueError(body.type)


def brackets(mechanism: Mechanism) -> Array:
    """Structure constants: the bracket of directions k and j is the sum over l of c[l, k, j] times l."""
    c = np.zeros((mechanism.nv,) * 3, dtype=int)
    for i, b in enumerate(mechanism.bodies):
        at = mechanism.velocities(i)
        width = at.stop - at.start
        if b.type in TWISTS:
            places = list(TWISTS[b.type])
            h = [hat(e) for e in np.eye(6, dtype=int)[places]]
            for k in range(width):
                for j in range(width):
                    c[at, at.start + k, at.start + j] = unhat(h[k] @ h[j] - h[j] @ h[k])[places]
    return c


class Poses:
    """World poses of bodies and rotors with their first and second derivatives at one configuration."""

    def __init__(self, mechanism: Mechanism, q: Any) -> None:
        q = np.asarray(q)
        self.mechanism, self.q, self.n = mechanism, q, mechanism.nv
        self.relative: list[Jet] = []
        self.bodies: list[Jet] = []
        for i, b in enumerate(mechanism.bodies):
            self.relative.append(self._place(b, self._joint(i)))
            self.bodies.append(self._world(b.parent) @ self.relative[i])
        self.rotor_relative = [self._place(r, self._spin(r)) for r in mechanism.rotors]
        self.ghosts = [self._joint(i) for i, _ in mechanism.ghosts()]
        self.rotors = [
            self._world(mechanism.bodies[r.body].parent) @ t
            for r, t in zip(mechanism.rotors, self.rotor_relative, strict=True)
        ]

    def _place(self, part: Body | Rotor, moved: Jet) -> Jet:
        return Jet.constant(homogeneous(part.rotation, part.position, self.q.dtype), self.n) @ moved

    def _world(self, parent: int) -> Jet:
        if parent < 0:
            return Jet.constant(np.eye(4, dtype=int).astype(self.q.dtype), self.n)
        return self.bodies[parent]

    def coordinates(self, i: int) -> list[Jet]:
        """The coordinates of joint `i` (of a type whose velocities are rates), in the n directions."""
        leader, multiplier, offset = self.mechanism.leader(i)
        at, start = self.mechanism.positions(leader), self.mechanism.velocities(leader).start
        out = []
        for k, x in enumerate(self.q[at]):
            (variable,) = Jet.variables(self.q[at][k : k + 1])
            moved = variable * multiplier + offset
            out.append(Jet(x * multiplier + offset, moved.d, moved.h).spread([start + k], self.n))
        return out

    def _joint(self, i: int) -> Jet:
        body = self.mechanism.bodies[i]
        leader, multiplier, offset = self.mechanism.leader(i)
        at, width = self.mechanism.velocities(leader), SIZES[body.type][1]
        here = self.q[self.mechanism.positions(leader)]
        if body.mimic:
            local = joint_pose(body, here * multiplier + offset)
            local = Jet(local.f, local.d * multiplier, local.h * multiplier**2)
        else:
            local = joint_pose(body, here)
        return local.spread(list(range(at.start, at.start + width)), self.n)

    def _spin(self, rotor: Rotor) -> Jet:
        x = self.coordinates(rotor.body)
        angle = x[0] * rotor.ratios[0]
        for ratio, more in zip(rotor.ratios[1:], x[1:], strict=True):
            angle = angle + more * ratio
        return turn(rotor.axis, angle, [0, 0, 0])


class Lagrangian:
    """Every dynamical quantity of a mechanism at one configuration, from the poses and their derivatives."""

    def __init__(self, mechanism: Mechanism, q: Any) -> None:
        self.mechanism = mechanism
        self.poses = Poses(mechanism, q)
        self.n = mechanism.nv
        self.c = brackets(mechanism)
        parts = [(t, b.mass) for t, b in zip(self.poses.bodies, mechanism.bodies, strict=True)]
        parts += [(t, r.mass) for t, r in zip(self.poses.rotors, mechanism.rotors, strict=True)]
        self.real = len(parts)  # what weighs and can be pushed; the rest are armatures, moved alone
        parts += [(t, mass) for t, (_, mass) in zip(self.poses.ghosts, mechanism.ghosts(), strict=True)]
        self.T = np.array([t.f for t, _ in parts])  # (parts, 4, 4)
        self.T1 = np.array([t.d for t, _ in parts]).reshape(len(parts), self.n, 4, 4)
        chart = np.array([t.h for t, _ in parts]).reshape(len(parts), self.n, self.n, 4, 4)
        # a second derivative along velocity directions: d_k d_j = the chart's symmetric one + 1/2 [d_k, d_j]
        self.T2 = chart + np.einsum("lkj,blxy->bkjxy", self.c, self.T1) / 2 if self.c.any() else chart
        self.P = np.array([m.pseudo for _, m in parts])
        self.armature = np.zeros(self.n, self.T.dtype)
        for i, b in enumerate(mechanism.bodies):
            if b.type not in TWISTS:
                leader, multiplier, _ = mechanism.leader(i)
                self.armature[mechanism.velocities(leader)] += b.armature * multiplier**2

    @cached_property
    def _weights(self) -> Array:
        """(parts, 4): P e_4, the mass and first moment of what gravity pulls on."""
        out = self.P[:, :, 3].copy()
        out[self.real :] = 0
        return out

    @cached_property
    def _weighted(self) -> Array:
        """dT_i P, flattened to (n, parts * 16)."""
        return (self.T1 @ self.P[:, None]).swapaxes(0, 1).reshape(self.n, -1)

    @cached_property
    def mass_matrix(self) -> Array:
        m = self._weighted @ self.T1.swapaxes(0, 1).reshape(self.n, -1).T
        return m + np.diag(self.armature)

    @cached_property
    def christoffel(self) -> Array:
        """Gamma[i, j, k], first kind: the component along i of the derivative along k of direction j.

        A joint with armature has constant inertia and commuting directions: nothing to add.
        """
        second = self.T2.transpose(2, 1, 0, 3, 4).reshape(self.n * self.n, -1)  # (j, k), parts
        return (self._weighted @ second.T).reshape(self.n, self.n, self.n)

    def coriolis(self, v: Array) -> Array:
        return self.christoffel @ v

    def mass_rate(self, v: Array) -> Array:
        c = self.coriolis(v)
        return c + c.T

    @cached_property
    def gravity_force(self) -> Array:
        """The force that holds the mechanism at rest against gravity."""
        down = np.array([*self.mechanism.gravity, 0])
        return -np.einsum("bixy,by,x->i", self.T1, self._weights, down)

    def external_force(self, f_ext: Array | None) -> Array:
        """Generalised force of wrenches [moment; force] on bodies, in body axes about body origins."""
        if f_ext is None:
            return np.zeros(self.n)
        return np.einsum("bin,bn->i", self.jacobians, np.asarray(f_ext))

    @property
    def _inverse(self) -> Array:
        out = np.zeros_like(self.T)
        turned = self.T[:, :3, :3].swapaxes(1, 2)
        out[:, :3, :3], out[:, 3, 3] = turned, 1
        out[:, :3, 3] = -np.einsum("bxy,by->bx", turned, self.T[:, :3, 3])
        return out

    @cached_property
    def jacobians(self) -> Array:
        """(bodies, n, 6): the body twist of each body along each velocity direction."""
        nb = len(self.mechanism.bodies)
        return unhat(self._inverse[:nb, None] @ self.T1[:nb])

    def jacobian_rates(self, v: Array) -> Array:
        """(bodies, n, 6): time derivatives of the body Jacobians."""
        nb = len(self.mechanism.bodies)
        inv, rate = self._inverse[:nb], self.velocity(v)[:nb]
        moving = np.einsum("bkjxy,k->bjxy", self.T2[:nb], v)
        return unhat(inv[:, None] @ (moving - (rate @ inv)[:, None] @ self.T1[:nb]))

    def velocity(self, v: Array) -> Array:
        """Rates of the world poses."""
        return np.einsum("bixy,i->bxy", self.T1, v)

    def acceleration(self, v: Array, a: Array) -> Array:
        """Second time derivatives of the world poses."""
        return np.einsum("bixy,i->bxy", self.T1, a) + np.einsum("bkjxy,k,j->bxy", self.T2, v, v)

    def body_velocities(self, v: Array) -> Array:
        return unhat(self._inverse @ self.velocity(v))

    def body_accelerations(self, v: Array, a: Array) -> Array:
        """Rates of the components of the body twists."""
        twist = self._inverse @ self.velocity(v)
        return unhat(self._inverse @ self.acceleration(v, a) - twist @ twist)

    def inverse_dynamics(self, v: Array, a: Array, f_ext: Array | None = None) -> Array:
        push = self.acceleration(v, a).reshape(-1)
        return self._weighted @ push + self.armature * a + self.gravity_force - self.external_force(f_ext)

    def forward_dynamics(self, v: Array, tau: Array, f_ext: Array | None = None) -> Array:
        return np.linalg.solve(self.mass_matrix, tau - self.inverse_dynamics(v, np.zeros(self.n), f_ext))

    def bias_force(self, v: Array) -> Array:
        return self.inverse_dynamics(v, np.zeros(self.n))

    def kinetic_energy(self, v: Array) -> float:
        rate = self.velocity(v)
        return (np.einsum("bxy,bxy->", rate @ self.P, rate) + self.armature @ (v * v)) / 2

    @property
    def potential_energy(self) -> float:
        return -np.einsum("bxy,by,x->", self.T, self._weights, np.array([*self.mechanism.gravity, 0]))

    @property
    def total_mass(self) -> float:
        return self._weights[:, 3].sum()

    @property
    def center_of_mass(self) -> Array:
        return np.einsum("bxy,by->x", self.T, self._weights)[:3] / self.total_mass

    def momentum(self, v: Array, about: Array | None = None) -> Array:
        """[angular; linear] momentum in world axes, about a point (default: the world origin)."""
        total = moment_of(self.T, self.P, self.velocity(v))[: self.real].sum(0)
        if about is not None:
            total[:3] -= np.cross(about, total[3:])
        return total

    def joint_wrenches(self, v: Array, a: Array, f_ext: Array | None = None) -> Array:
        """(bodies, 6): wrench on each body through its joint and gears, body axes about the body origin.

        Newton and Euler for the bodies outboard of the joint; a rotor belongs to the body that carries it.
        """
        push = self.acceleration(v, a)
        push[:, :3, 3] -= np.array(self.mechanism.gravity)
        needed = moment_of(self.T, self.P, push)
        nb = len(self.mechanism.bodies)
        if f_ext is not None:
            for b in range(nb):
                needed[b] -= to_world(self.T[b], np.asarray(f_ext)[b])
        carried = [self.mechanism.bodies[r.body].parent for r in self.mechanism.rotors]
        out = []
        for i in range(nb):
            inside = set(self.mechanism.subtree(i))
            parts = sorted(inside) + [nb + k for k, p in enumerate(carried) if p in inside]
            out.append(to_body(self.T[i], needed[parts].sum(0)))
        return np.array(out)

    def composite_inertia(self, i: int) -> Array:
        """6x6 inertia of everything outboard of joint `i`, frozen, in the frame of body `i`."""
        nb, inside = len(self.mechanism.bodies), set(self.mechanism.subtree(i))
        carried = [self.mechanism.bodies[r.body].parent for r in self.mechanism.rotors]
        seen = self._inverse[i] @ self.T
        parts = sorted(inside) + [nb + k for k, p in enumerate(carried) if p in inside]
        basis = np.array([hat(e) for e in np.eye(6)])
        total = sum(seen[k] @ self.P[k] @ seen[k].T for k in parts)
        return np.einsum("ixy,yz,jxz->ij", basis, total, basis)


def moment_of(T: Array, P: Array, rate: Array) -> Array:
    """Integral of [r x u; u] dm, where u is the given rate of the points r of each body."""
    n = T @ P @ rate.swapaxes(1, 2)
    angular = np.stack([n[:, 1, 2] - n[:, 2, 1], n[:, 2, 0] - n[:, 0, 2], n[:, 0, 1] - n[:, 1, 0]], -1)
    return np.concatenate([angular, n[:, 3, :3]], -1)


def to_world(T: Array, wrench: Array) -> Array:
    """A wrench in body axes about the body origin, as one in world axes about the world origin."""
    force = T[:3, :3] @ wrench[3:]
    return np.concatenate([T[:3, :3] @ wrench[:3] + np.cross(T[:3, 3], force), force])


def to_body(T: Array, wrench: Array) -> Array:
    """The inverse of `to_world`."""
    moment = wrench[:3] - np.cross(T[:3, 3], wrench[3:])
    return np.concatenate([T[:3, :3].T @ moment, T[:3, :3].T @ wrench[3:]])


def articulated_inertia(mechanism: Mechanism, q: Array, i: int) -> Array:
    """6x6 inertia that body `i` shows, everything outboard free to move (no mimic may cross joint `i`)."""
    sub = mechanism.floating_subtree(i)
    parts = [np.array([0, 0, 0, 1.0, 0, 0, 0])]
    for k in mechanism.subtree(i):
        if k != i and not mechanism.bodies[k].mimic:
            parts.append(q[mechanism.positions(k)])
    m = Lagrangian(sub, np.concatenate(parts)).mass_matrix
    return m[:6, :6] - m[:6, 6:] @ np.linalg.solve(m[6:, 6:], m[6:, :6])
