"""USD -> `Description`: the rigid bodies and joints of a stage, in metres, kilograms and radians.

The world has the axes of the stage; gravity points down its up axis. A body floats unless joints fix it.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

import numpy as np

from kinetree.extras import needed
from kinetree.io.attributes import shorten
from kinetree.io.description import WORLD, Description, Joint, Link, Names
from kinetree.io.files import Document
from kinetree.io.graph import Connection, span, tidy
from kinetree.io.notes import parts_of
from kinetree.io.placement import HERE
from kinetree.io.report import Log, Where, refuse
from kinetree.io.usd_collisions import Colliders
from kinetree.io.usd_joint import AXES, JOINTS, parts_of_joint, read_drive
from kinetree.io.usd_layers import open_stage
from kinetree.io.usd_mass import body_inertia
from kinetree.io.usd_stage import Body, Stage
from kinetree.io.usd_words import check_usd_words
from kinetree.joints import Fixed
from kinetree.spatial.pose import Pose

_EARTH = 9.81


def read_usd(document: Document, log: Log) -> Description:
    """The robot of a stage; findings go to `log`."""
    Tf = needed("pxr.Tf", "loading USD")
    try:
        return _read(Stage(open_stage(document), document.file, log), log)
    except Tf.ErrorException as error:
        reason = " ".join(str(error).split())
        refuse("usd", Where(document.file, 0, "stage"), shorten(reason.partition(" : ")[2] or reason))


def _read(stage: Stage, log: Log) -> Description:
    reader = _Reader(stage, log)
    robot = reader.robot
    default = stage.stage.GetDefaultPrim()
    robot.name = default.GetName() if default else "robot"
    reader.read()
    if not robot.links:
        log.add("tree-empty", Where(stage.file, 0, "stage"), "no prim is a rigid body (PhysicsRigidBodyAPI)")
    return robot


class _Reader:
    """Collects bodies and joints, then builds a tree of them."""

    def __init__(self, stage: Stage, log: Log) -> None:
        self.stage, self.log = stage, log
        self.robot = Description("robot", stage.file, "usd")
        self.bodies: dict[str, Body] = {}  # by path
        self.names: dict[str, str] = {}
        self.joints: list[Any] = []
        self.scenes: list[Any] = []
        self.articulations: list[Any] = []
        self.still: list[Any] = []  # colliders of the world

    def read(self) -> None:
        prims = list(self.stage.prims())
        self._collect(prims)
        self._gravity()
        links, joints = self.robot.links, Names()
        connections: list[Connection] = []
        homes: dict[str, Pose] = {}
        for path, name in self.names.items():
            body = self.bodies[path]
            links[name] = Link(name, body.where, body_inertia(body, self.stage, self.log))
            homes[name] = body.pose
        labels = _short([str(prim.GetPath()) for prim in self.joints])
        for prim in self.joints:
            connections += self._joint(prim, joints.claim(labels[str(prim.GetPath())]), homes)
        self.robot.colliders = Colliders(
            self.stage, {name: self.bodies[path] for path, name in self.names.items()}, self.still
        )
        connections += self._still(joints)
        span(self.robot, connections, homes, self.log, self._bases())
        check_usd_words(
            [*self.scenes, *(b.prim for b in self.bodies.values()), *self.joints], self.stage, self.log
        )

    def _collect(self, prims: Iterable[Any]) -> None:
        """Sort the prims: bodies, colliders of bodies, joints, scenes, articulations."""
        physics = self.stage.UsdPhysics
        colliders = []
        for prim in prims:
            if prim.HasAPI(physics.RigidBodyAPI):
                pose, scale = self.stage.transform(prim)
                self.bodies[str(prim.GetPath())] = Body(prim, self.stage.where(prim), pose, scale)
            if prim.HasAPI(physics.CollisionAPI):
                colliders.append(prim)
            if prim.HasAPI(physics.ArticulationRootAPI):
                self.articulations.append(prim)
            if prim.GetTypeName() in JOINTS:
                self.joints.append(prim)
            elif prim.GetTypeName() == "PhysicsScene":
                self.scenes.append(prim)
        for prim in colliders:
            owner = self.stage.owner(prim)
            if owner is None:
                self.still.append(prim)
            else:
                self.bodies[str(owner.GetPath())].colliders.append(prim)
        self.names = {path: name for path, name in _short(list(self.bodies)).items()}
        taken = Names({WORLD})
        self.names = {path: taken.claim(name) for path, name in self.names.items()}

    def _gravity(self) -> None:
        """The gravity of the first scene; 9.81 m/s^2 downwards by default."""
        stage = self.stage
        if stage.up not in AXES:
            where = Where(stage.file, 0, "stage")
            self.log.add("value", where, f"upAxis is {shorten(stage.up)!r}", "Use 'Y' or 'Z'.")
        size, direction = _EARTH, -np.array(AXES.get(stage.up, AXES["Z"]))
        for scene in self.scenes[:1]:
            given = np.array(stage.vector(scene, "physics:gravityDirection") or (0.0, 0.0, 0.0))
            if given.any():
                direction = given / np.linalg.norm(given)
            strength = stage.number(scene, "physics:gravityMagnitude", -inf, infinite=True)
            if np.isfinite(strength) and strength >= 0:
                size = strength * stage.metres
        for scene in self.scenes[1:]:
            self.log.add("ignored", stage.where(scene), "only the gravity of the first scene is read")
        x, y, z = (float(size * d) + 0.0 for d in direction)
        self.robot.gravity = (x, y, z)

    def _still(self, names: Names) -> list[Connection]:
        """Welds of bodies that do not move: disabled and kinematic ones."""
        found = []
        for path, body in self.bodies.items():
            enabled = self.stage.get(body.prim, "physics:rigidBodyEnabled")
            kinematic = self.stage.get(body.prim, "physics:kinematicEnabled")
            if kinematic:
                self.log.add(
                    "unsupported", body.where, "a kinematic body stands still: nothing moves it here"
                )
            if kinematic or enabled is False:
                name = self.names[path]
                weld = Joint(names.claim(f"{name}_fixed"), body.where, Fixed(), WORLD, name, body.pose)
                found.append(Connection(weld))
        return found

    def _bases(self) -> list[str]:
        """The root bodies of articulations."""
        paths = (str(prim.GetPath()) for prim in self.articulations)
        return [self.names[path] for path in paths if path in self.names]

    def _joint(self, prim: Any, name: str, homes: dict[str, Pose]) -> list[Connection]:
        """The connections of a joint, with massless links between several."""
        stage = self.stage
        if stage.get(prim, "physics:jointEnabled") is False:
            self.log.add("ignored", stage.where(prim), "the joint is switched off")
            return []
        (parent, before), (child, after) = (self._end(prim, k) for k in (0, 1))
        parts = parts_of_joint(prim, stage, self.log)
        if len(parts) == 1 and parts[0].motion.is_free:
            self.log.add("ignored", stage.where(prim), "the joint leaves all six axes free")
            return []
        names = [name] if len(parts) == 1 else parts_of(name, len(parts))
        last = bool(stage.get(prim, "physics:excludeFromArticulation"))
        found = []
        for k, (label, part) in enumerate(zip(names, parts, strict=True)):
            final = k == len(parts) - 1
            to = child if final else f"{child}@{label}"
            joint = Joint(label, stage.where(prim), part.motion, parent, to)
            joint.placement = before if k == 0 else HERE
            anchor = after if final else HERE
            joint.placement = tidy(joint.placement @ anchor.inverse()) if anchor != HERE else joint.placement
            read_drive(joint, prim, part.freedoms, stage, self.log)
            found.append(Connection(joint, anchor, last))
            if not final:
                self.robot.links[to] = Link(to, joint.where, virtual=True)
                homes[to] = homes.get(child, HERE)
                parent = to
        return found

    def _end(self, prim: Any, k: int) -> tuple[str, Pose]:
        """The link at one end of a joint, and the joint's frame in it."""
        stage = self.stage
        target = stage.target(prim, f"physics:body{k}")
        name, frame = WORLD, HERE
        scale: tuple[float, ...] = (1.0, 1.0, 1.0)
        if target:
            owner = stage.owner(target)
            if owner is None:
                frame, scale = stage.transform(target)
            else:
                path = str(owner.GetPath())
                name = self.names[path]
                frame, scale = stage.placed(target, self.bodies[path])
        position = stage.position(prim, f"physics:localPos{k}", scale)
        return name, frame @ Pose(stage.rotation(prim, f"physics:localRot{k}"), position)


def _short(paths: list[str]) -> dict[str, str]:
    """A name for every path: its last part, or as many as needed to distinguish it from the others."""
    parts = {path: path.strip("/").split("/") for path in paths}
    names: dict[str, str] = {}
    pending, count = list(paths), 1
    while pending:
        tried = {path: "/".join(parts[path][-count:]) for path in pending}
        often: dict[str, int] = {}
        for name in tried.values():
            often[name] = often.get(name, 0) + 1
        taken = set(names.values())
        done = [
            p
            for p, name in tried.items()
            if (often[name] == 1 and name not in taken) or count >= len(parts[p])
        ]
        names |= {path: tried[path] for path in done}
        pending = [path for path in pending if path not in names]
        count += 1
    return {path: names[path] for path in paths}
