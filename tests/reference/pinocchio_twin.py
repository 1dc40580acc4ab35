"""The same mechanism in Pinocchio, where both have the joints; no rotors, no mimic joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from .jet import Array
from .mechanism import Mechanism

TYPES = ("fixed", "revolute", "prismatic", "helical", "universal", "spherical", "free")


def depth_first(mechanism: Mechanism) -> list[int]:
    """Bodies so that every subtree stands together, parents first."""
    order: list[int] = []
    stack = [i for i, b in enumerate(mechanism.bodies) if b.parent < 0][::-1]
    while stack:
        order.append(stack.pop())
        stack += [i for i, b in enumerate(mechanism.bodies) if b.parent == order[-1]][::-1]
    return order


class Twin:
    """A Pinocchio model with maps between its coordinates and ours."""

    def __init__(self, mechanism: Mechanism) -> None:
        import pinocchio as pin

        self.pin = pin
        self.mechanism = mechanism
        model = pin.Model()
        model.gravity = pin.Motion(np.array(mechanism.gravity), np.zeros(3))
        joints: dict[int, tuple[int, Any]] = {-1: (0, pin.SE3.Identity())}  # body: joint, place on it
        self.positions: list[tuple[int, int]] = []  # (ours, Pinocchio's)
        self.velocities: list[tuple[int, int]] = []
        for i in depth_first(mechanism):  # Pinocchio numbers every subtree without gaps
            b = mechanism.bodies[i]
            parent, base = joints[b.parent]
            here = base * pin.SE3(b.rotation, b.position)
            inertia = pin.Inertia(b.mass.mass, b.mass.com, b.mass.inertia)
            if b.type == "fixed":
                joints[i] = (parent, here)
                model.appendBodyToJoint(parent, inertia, here)
                continue
            kinds = {
                "revolute": lambda b=b: pin.JointModelRevoluteUnaligned(b.axis),
                "prismatic": lambda b=b: pin.JointModelPrismaticUnaligned(b.axis),
                "helical": lambda b=b: pin.JointModelHelicalUnaligned(b.axis, b.pitch),
                "universal": lambda b=b: pin.JointModelUniversal(b.axis, b.axis2),
                "spherical": lambda b=b: pin.JointModelSpherical(),
                "free": lambda b=b: pin.JointModelFreeFlyer(),
            }
            joint = model.addJoint(parent, kinds[b.type](), here, f"j{i}")
            model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
            joints[i] = (joint, pin.SE3.Identity())
            q0, v0 = model.joints[joint].idx_q, model.joints[joint].idx_v
            at, rates = mechanism.positions(i), mechanism.velocities(i)
            turn_q = [3, 4, 5, 6, 0, 1, 2] if b.type == "free" else range(at.stop - at.start)
            turn_v = [3, 4, 5, 0, 1, 2] if b.type == "free" else range(rates.stop - rates.start)
            self.positions += [(at.start + k, q0 + t) for k, t in enumerate(turn_q)]
            self.velocities += [(rates.start + k, v0 + t) for k, t in enumerate(turn_v)]
            model.armature[v0 : v0 + len(list(turn_v))] = b.armature
        self.model, self.data, self.joints = model, model.createData(), joints
        self.order = np.array([theirs for _, theirs in sorted(self.velocities)], dtype=int)

    def q(self, q: Array) -> Array:
        out = np.zeros(self.model.nq)
        for ours, theirs in self.positions:
            out[theirs] = q[ours]
        return out

    def v(self, v: Array) -> Array:
        out = np.zeros(self.model.nv)
        out[self.order] = v
        return out

    def wrenches(self, f_ext: Array) -> Any:
        """External wrenches on joints, from those on bodies."""
        pin = self.pin
        out = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for i, f in enumerate(f_ext):
            joint, place = self.joints[i]
            out[joint] = out[joint] + place.act(pin.Force(f[3:], f[:3]))
        vector = pin.StdVec_Force()
        for f in out:
            vector.append(f)
        return vector

    def inverse_dynamics(self, q: Array, v: Array, a: Array, f_ext: Array) -> Array:
        args = self.q(q), self.v(v), self.v(a), self.wrenches(f_ext)
        return self.pin.rnea(self.model, self.data, *args)[self.order]

    def forward_dynamics(self, q: Array, v: Array, tau: Array, f_ext: Array) -> Array:
        args = self.q(q), self.v(v), self.v(tau), self.wrenches(f_ext)
        return self.pin.aba(self.model, self.data, *args)[self.order]

    def mass_matrix(self, q: Array) -> Array:
        m = np.triu(self.pin.crba(self.model, self.data, self.q(q)))
        m = m + np.triu(m, 1).T
        return m[np.ix_(self.order, self.order)]

    def coriolis_matrix(self, q: Array, v: Array) -> Array:
        c = self.pin.computeCoriolisMatrix(self.model, self.data, self.q(q), self.v(v))
        return c.reshape(self.model.nv, self.model.nv)[np.ix_(self.order, self.order)]

    def center_of_mass(self, q: Array) -> Array:
        return self.pin.centerOfMass(self.model, self.data, self.q(q)).copy()

    def energies(self, q: Array, v: Array) -> tuple[float, float]:
        """Kinetic and potential."""
        kinetic = self.pin.computeKineticEnergy(self.model, self.data, self.q(q), self.v(v))
        return kinetic, self.pin.computePotentialEnergy(self.model, self.data, self.q(q))

    def centroidal_momentum(self, q: Array, v: Array) -> Array:
        h = self.pin.computeCentroidalMomentum(self.model, self.data, self.q(q), self.v(v))
        return np.concatenate([h.angular, h.linear])

    def centroidal_matrix(self, q: Array) -> Array:
        a = self.pin.computeCentroidalMap(self.model, self.data, self.q(q)).reshape(6, -1)
        return np.concatenate([a[3:], a[:3]])[:, self.order]

    def placement(self, q: Array, body: int) -> Array:
        self.pin.forwardKinematics(self.model, self.data, self.q(q))
        joint, place = self.joints[body]
        return (self.data.oMi[joint] * place).homogeneous

    def jacobian(self, q: Array, body: int, reference: str) -> Array:
        """6 x nv, angular first; reference "body", "world" or "aligned"."""
        pin = self.pin
        kinds = {
            "body": pin.ReferenceFrame.LOCAL,
            "world": pin.ReferenceFrame.WORLD,
            "aligned": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
        }
        joint, place = self.joints[body]
        frame = pin.Frame(f"probe{body}", joint, 0, place, pin.FrameType.OP_FRAME)
        model = pin.Model(self.model)
        index = model.addFrame(frame)
        data = model.createData()
        j = pin.computeFrameJacobian(model, data, self.q(q), index, kinds[reference]).reshape(6, -1)
        return np.concatenate([j[3:], j[:3]])[:, self.order]
