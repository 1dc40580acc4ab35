"""The same robot in Pinocchio, and what it computes per call and per batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.model import Model

ALIGNED = {(1.0, 0.0, 0.0): "X", (0.0, 1.0, 0.0): "Y", (0.0, 0.0, 1.0): "Z"}


class Twin:
    """A Pinocchio model of a kinetree model with revolute, prismatic, fixed, spherical and free joints.

    Pinocchio numbers subtrees depth first and puts linear velocity and position before angular, so
    `positions` and `velocities` say where our coordinates are in its vectors.
    """

    def __init__(self, model: Model):
        import pinocchio as pin

        self.pin = pin
        self.source = model
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(model.gravity, float), np.zeros(3))
        self.positions = np.zeros(model.nq, int)
        self.velocities = np.zeros(model.nv, int)
        places: dict[int, tuple[int, Any]] = {0: (0, pin.SE3.Identity())}  # body: joint, its pose there
        for index in _depth_first(model):
            self._add(index, model.bodies[index - 1], places)
        self.data = self.model.createData()

    def _add(self, index: int, body: Any, places: dict) -> None:
        pin = self.pin
        joint_name, kind = body.joint_name, body.joint.type_name
        parent, base = places[self.source.parents[index - 1]]
        pose = body.placement
        here = base * pin.SE3(np.array(pose.R, float), np.array(pose.p, float))
        com, about_com = central(body.inertia)
        inertia = pin.Inertia(float(body.inertia.mass), com, about_com)
        if kind == "fixed":
            places[index] = (parent, here)
            self.model.appendBodyToJoint(parent, inertia, here)
            return
        joint = self.model.addJoint(parent, _joint(pin, body.joint), here, joint_name)
        self.model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        places[index] = (joint, pin.SE3.Identity())
        q0, v0 = self.model.joints[joint].idx_q, self.model.joints[joint].idx_v
        ours_q, ours_v = self.source.position_index(joint_name), self.source.coordinate_index(joint_name)
        turn_q = [3, 4, 5, 6, 0, 1, 2] if kind == "free" else list(range(body.joint.nq))
        turn_v = [3, 4, 5, 0, 1, 2] if kind == "free" else list(range(body.joint.nv))
        self.positions[ours_q] = [q0 + k for k in turn_q]
        self.velocities[ours_v] = [v0 + k for k in turn_v]

    def q(self, q: np.ndarray) -> np.ndarray:
        """Positions in Pinocchio's order."""
        result = np.empty_like(q)
        result[..., self.positions] = q
        return result

    def v(self, v: np.ndarray) -> np.ndarray:
        """Velocities, accelerations or forces in Pinocchio's order."""
        result = np.empty_like(v)
        result[..., self.velocities] = v
        return result

    def ours(self, name: str, result: np.ndarray) -> np.ndarray:
        """A result in our order."""
        if name in ("mass_matrix", "inverse_mass_matrix"):  # Pinocchio fills the upper triangle
            result = np.triu(result) + np.triu(result, 1).T
        if result.ndim == 2:
            return result[np.ix_(self.velocities, self.velocities)]
        return result[self.velocities]

    def calls(self) -> dict[str, tuple[Callable, list]]:
        """By the name of our function: Pinocchio's for one state, and its first arguments."""
        pin, first = self.pin, [self.model, self.data]
        last = self.model.njoints - 1

        def jacobian(model: Any, data: Any, q: np.ndarray) -> np.ndarray:
            return pin.computeJointJacobian(model, data, q, last)

        return {
            "inverse_dynamics": (pin.rnea, first),
            "forward_dynamics": (pin.aba, first),
            "mass_matrix": (pin.crba, first),
            "inverse_mass_matrix": (pin.computeMinverse, first),
            "coriolis_matrix": (pin.computeCoriolisMatrix, first),
            "jacobian": (jacobian, first),
        }

    def batches(self) -> dict[str, Callable]:
        """One call per batch on one thread, in C++; columns are states, in Pinocchio's order."""
        pool = self.pin.ModelPool(self.model, 1)
        nv = self.model.nv

        def run(function: Callable) -> Callable:
            def call(*columns: np.ndarray) -> np.ndarray:
                result = np.zeros((nv, columns[0].shape[1]), order="F")
                function(1, pool, *columns, result)
                return result

            return call

        return {
            "inverse_dynamics": run(self.pin.rneaInParallel),
            "forward_dynamics": run(self.pin.abaInParallel),
        }


def _depth_first(model: Model) -> list[int]:
    children: dict[int, list[int]] = {}
    for body, parent in enumerate(model.parents, 1):
        children.setdefault(parent, []).append(body)
    order: list[int] = []
    stack = children.get(0, [])[::-1]
    while stack:
        body = stack.pop()
        order.append(body)
        stack += children.get(body, [])[::-1]
    return order


def _joint(pin: Any, joint: Any) -> Any:
    if joint.type_name in ("revolute", "prismatic"):
        axis = tuple(float(x) for x in joint.axis)
        kind = "R" if joint.type_name == "revolute" else "P"
        if axis in ALIGNED:
            return getattr(pin, f"JointModel{kind}{ALIGNED[axis]}")()
        name = "RevoluteUnaligned" if kind == "R" else "PrismaticUnaligned"
        return getattr(pin, f"JointModel{name}")(np.array(axis))
    return {"spherical": pin.JointModelSpherical, "free": pin.JointModelFreeFlyer}[joint.type_name]()


def central(inertia: Any) -> tuple[np.ndarray, np.ndarray]:
    """Centre of mass, and the moments of inertia about it."""
    mass, hx, hy, hz, xx, yy, zz, xy, xz, yz = (float(x) for x in inertia.parameters)
    com = np.array([hx, hy, hz]) / mass if mass else np.zeros(3)
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return com, about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com))
