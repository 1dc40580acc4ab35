"""The same robot in MuJoCo: what it computes per call, without contacts, limits or actuators."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np

from benchmarks.measure import Call
from benchmarks.pinocchio_peer import central
from kinetree.model import Model

KINDS = {"revolute": "hinge", "prismatic": "slide", "spherical": "ball"}


class Twin:
    """A MuJoCo model of a kinetree model with revolute, prismatic, fixed, spherical and free joints."""

    def __init__(self, model: Model):
        import mujoco

        self.mujoco = mujoco
        self.model = mujoco.MjModel.from_xml_string(_mjcf(model))
        self.data = mujoco.MjData(self.model)

    def calls(self) -> dict[str, Call]:
        """One call per state; the arguments are already in `data` and do not change what is done."""
        mj, m, d = self.mujoco, self.model, self.data
        dense = np.zeros((m.nv, m.nv))

        def mass_matrix() -> None:
            mj.mj_kinematics(m, d)
            mj.mj_comPos(m, d)
            mj.mj_crb(m, d)
            mj.mj_fullM(m, d, dense) if _takes_data(mj) else mj.mj_fullM(m, dense, d.qM)

        return {
            "inverse_dynamics": Call(mj.mj_inverse, [m, d]),
            "forward_dynamics": Call(mj.mj_forward, [m, d]),
            "mass_matrix": Call(mass_matrix),
        }


def _takes_data(mujoco: Any) -> bool:
    return int(mujoco.__version__.partition(".")[0]) >= 4


def _mjcf(model: Model) -> str:
    root = ElementTree.Element("mujoco")
    option = ElementTree.SubElement(root, "option", gravity=_text(model.gravity))
    ElementTree.SubElement(option, "flag", contact="disable", constraint="disable")
    ElementTree.SubElement(root, "compiler", angle="radian", balanceinertia="false", boundmass="1e-9")
    elements = {0: ElementTree.SubElement(root, "worldbody")}
    for index, body in enumerate(model.bodies, 1):
        pose = body.placement
        element = ElementTree.SubElement(
            elements[model.parents[index - 1]],
            "body",
            name=f"b{index}",
            pos=_text(pose.p),
            quat=_text(_wxyz(pose.R)),
        )
        elements[index] = element
        com, moments = central(body.inertia)
        full = (*np.diag(moments), moments[0, 1], moments[0, 2], moments[1, 2])
        mass = max(float(body.inertia.mass), 1e-9)
        ElementTree.SubElement(element, "inertial", pos=_text(com), mass=str(mass), fullinertia=_text(full))
        kind = body.joint.type_name
        if kind == "free":
            ElementTree.SubElement(element, "freejoint")
        elif kind != "fixed":
            joint = ElementTree.SubElement(element, "joint", type=KINDS[kind])
            if kind in ("revolute", "prismatic"):
                joint.set("axis", _text(body.joint.axis))
    return ElementTree.tostring(root, encoding="unicode")


def _text(numbers: Any) -> str:
    return " ".join(repr(float(x)) for x in numbers)


def _wxyz(R: Any) -> np.ndarray:
    """The quaternion of a rotation matrix, real part first."""
    R = np.array(R, float)
    K = np.array([
        [R[0, 0] + R[1, 1] + R[2, 2], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
        [0, R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
        [0, 0, R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1]],
        [0, 0, 0, R[2, 2] - R[0, 0] - R[1, 1]],
    ])  # fmt: skip
    _, vectors = np.linalg.eigh(K + np.triu(K, 1).T)
    return vectors[:, -1]
