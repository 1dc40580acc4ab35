"""Loop closures of a MuJoCo model: `connect`, `weld` and joint polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.errors import ModelError
from kinetree.interop.twin import pose
from kinetree.io.description import Names
from kinetree.io.mjcf_equality import counted_from_zero
from kinetree.joints import Fixed, Spherical
from kinetree.model import Model, ModelBuilder
from kinetree.model.closures import Closure
from kinetree.model.loops import closed_model
from kinetree.spatial.pose import Pose
from kinetree.spatial.rotation import Rotation


class Closures:
    """Adds loop closures to a builder that has all bodies.

    Args:
        bodies, joints: names here, by index there.
        ties: joints that are already mimic joints.
    """

    def __init__(
        self,
        mujoco: Any,
        twin: Any,
        builder: ModelBuilder,
        bodies: Sequence[str],
        joints: Sequence[str],
        ties: Any,
    ) -> None:
        self.mujoco, self.twin, self.builder = mujoco, twin, builder
        self.bodies, self.joints, self.ties = bodies, joints, ties
        self.notes: list[str] = []
        self.names = Names()

    def closed(self) -> Model:
        """The model with all loops that can be closed; the others are in `notes`."""
        for e in range(self.twin.neq):
            if self.twin.eq_active0[e]:
                try:
                    self._add(e)
                except ModelError as error:
                    self.notes.append(str(error))
        tree = self.builder.tree(check="finite")
        closures = [closure for closure in self.builder.closures if self._is_in_one_robot(tree, closure)]
        by_joint = int(self.mujoco.mjtTrn.mjTRN_JOINT)
        driven = {(self.joints[j], 0) for kind, j in self._driven() if kind == by_joint}

        def refused(closures: Sequence[Closure], error: ModelError) -> None:
            self.notes.append(str(error))

        start = {
            self.joints[j]: float(self.twin.qpos0[self.twin.jnt_qposadr[j]])
            for j in range(self.twin.njnt)
            if self.twin.jnt_type[j] >= 2 and self.joints[j] in tree.joint_names and j not in self.ties
        }
        return closed_model(tree, closures, (), start, driven, refused)

    def _driven(self) -> list[tuple[int, int]]:
        return [
            (int(self.twin.actuator_trntype[k]), int(self.twin.actuator_trnid[k][0]))
            for k in range(self.twin.nu)
        ]

    def _name(self, e: int, a: str, b: str) -> str:
        return self.names.claim(
            self.mujoco.mj_id2name(self.twin, self.mujoco.mjtObj.mjOBJ_EQUALITY, e) or f"{a}-{b}"
        )

    def _add(self, e: int) -> None:
        kind, types = int(self.twin.eq_type[e]), self.mujoco.mjtEq
        if kind == int(types.mjEQ_JOINT):
            self._add_polynomial(e)
        elif kind in (int(types.mjEQ_CONNECT), int(types.mjEQ_WELD)):
            self._add_joint(e, kind == int(types.mjEQ_WELD))
        else:
            self.notes.append(f"equality constraint {e}, which is not between joints or bodies")

    def _add_polynomial(self, e: int) -> None:
        twin, one, two = self.twin, int(self.twin.eq_obj1id[e]), int(self.twin.eq_obj2id[e])
        if self.ties.get(one, (None,))[0] == two:
            return
        names = [self.joints[j] for j in (one, two) if j >= 0]
        if two < 0:
            self.notes.append(f"an equality constraint that holds joint '{names[0]}' at a position")
            return
        references = (float(twin.qpos0[twin.jnt_qposadr[j]]) for j in (one, two))
        c = counted_from_zero(tuple(float(x) for x in twin.eq_data[e][:5]), *references)
        self.builder.add_relation(names[0], names[1], c, name=self._name(e, *names))

    def _add_joint(self, e: int, weld: bool) -> None:
        twin, data = self.twin, np.array(self.twin.eq_data[e], dtype=float)
        ends = [int(twin.eq_obj1id[e]), int(twin.eq_obj2id[e])]
        if twin.eq_objtype[e] == self.mujoco.mjtObj.mjOBJ_SITE:
            poses = [_placed(twin.site_pos[s], twin.site_quat[s]) for s in ends]
            ends = [int(twin.site_bodyid[s]) for s in ends]
        elif weld:
            poses = [_placed(data[3:6], data[6:10]), Pose(p=tuple(data[:3].tolist()))]
        else:
            poses = [Pose(p=tuple(data[k : k + 3].tolist())) for k in (0, 3)]
        a, b = (self.bodies[body] for body in ends)
        held = [
            body for body in ends if twin.body_mocapid[body] >= 0 or (weld and twin.body_weldid[body] == 0)
        ]
        if held:
            self.notes.append(f"an equality constraint that holds a body at '{self.bodies[held[0]]}'")
            return
        joint = Fixed() if weld and data[10] else Spherical()
        self.builder.add_loop(a, b, joint, at=poses[0], other=poses[1], name=self._name(e, a, b))

    def _is_in_one_robot(self, tree: Model, closure: Closure) -> bool:
        bases = {
            next((i for i in tree.topology.path(body) if tree.bodies[i - 1].joint.is_free), 0) if body else 0
            for body in closure.bodies
        }
        if len(bases) > 1:
            self.notes.append(f"loop '{closure.name}', which is between two robots, is open")
        return len(bases) == 1


def _placed(position: Any, quaternion: Any) -> Pose:
    w, x, y, z = (float(part) for part in quaternion)
    return pose(Rotation.from_quaternion((x, y, z, w)).rows, position)
