"""Collision shapes of robot files: the parts common to all formats.

A collision shape never prevents loading: one that cannot be read is left out, and the report says so once
per reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import cos, inf, pi, sin
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import KinetreeError, ModelError
from kinetree.io.attributes import shorten
from kinetree.io.description import WORLD, Description, Geometry, Names
from kinetree.io.mesh_files import read_points
from kinetree.io.paths import Reach
from kinetree.io.polyhedra import MeshError
from kinetree.io.report import Log, Where
from kinetree.io.xml import Element
from kinetree.model.geometry import DISSIPATION, SINK, geometry
from kinetree.model.geometry import Geometry as Part
from kinetree.model.ground import refuse_no_ground
from kinetree.model.hull import Points, outermost, shortfall, spread
from kinetree.model.pairs import Pair, pair_of
from kinetree.model.serialize import geometry_of, ground_of
from kinetree.model.shapes import Box, Capsule, Cylinder, Shape, Sphere, Vertices
from kinetree.spatial.pose import Pose

POINTS = 32  # most points of a mesh
RIGID = 1e10  # N/m: from here on a stiffness means "rigid", and is ignored
_MOST = 5_000  # most shapes of a file
_BYTES = 256 * 2**20  # of all mesh files
_COARSE = 0.02  # of the size of a mesh: its points may fall short of it by this much without a note
MISSES_GROUND = "a shape that collides with others but not with the ground is left out"
RESTITUTION = "restitution is not prescribed: it follows from dissipation"
_AROUND = 8  # points around a cone or an ellipsoid


class Collisions:
    """Collects the shapes of one file."""

    def __init__(self, robot: Description, reach: Reach, log: Log) -> None:
        self.robot, self.reach, self.log = robot, reach, log
        self.names = Names()
        self.said: dict[tuple[str, str], tuple[Where, int]] = {}
        self.meshes: dict[Any, Points | str] = {}
        self.bytes = 0

    def note(self, rule: str, where: Where, problem: str) -> None:
        """Note something about a shape; the same note about several shapes is reported once, with a count."""
        first, count = self.said.get((rule, problem), (where, 0))
        self.said[rule, problem] = first, count + 1

    def finish(self) -> None:
        """Write the notes to the log."""
        for (rule, problem), (where, count) in self.said.items():
            self.log.add(rule, where, f"{problem} ({count} shapes)" if count > 1 else problem)

    def add(self, name: str | None, link: str, where: Where, shape: Shape | None, placement: Pose,
            **contact: Any) -> None:  # fmt: skip
        """Add a shape to the robot, unless there is none."""
        if shape is None:
            return
        if len(self.robot.geometries) >= _MOST:
            self.note("contact-shape", where, f"more than {_MOST} shapes: the others are left out")
            return
        contact.setdefault("home", link)
        label = self.names.claim(name if name and name.isprintable() and name.strip() else link)
        self.robot.geometries.append(Geometry(label, where, link, shape, placement, **contact))

    # -- shapes

    def primitive(self, kind: str, size: tuple[float, ...], where: Where) -> Shape | None:
        """The shape of a primitive with the given half sizes; points for a cone or an ellipsoid."""
        try:
            match kind, size:
                case "sphere", (r,):
                    return Sphere(r)
                case "capsule", (r, half):
                    return Capsule(r, half) if half > 0 else Sphere(r)
                case "cylinder", (r, half):
                    return Cylinder(r, half)
                case "box", (_, _, _):
                    return Box(size)
                case "ellipsoid", (_, _, _):
                    self.note("contact-simplified", where, "an ellipsoid touches at points of its surface")
                    return Vertices(np.array(size) * _ball())
                case "cone", (r, half):
                    return Vertices([(0.0, 0.0, half), *((r * x, r * y, -half) for x, y in _circle())])
        except ModelError as error:
            self.note("contact-shape", where, str(error))
            return None
        self.note("contact-shape", where, f"a <{shorten(kind)}> is not read")
        return None

    def mesh(self, uri: str, scale: tuple[float, ...], where: Where, unheard: Log) -> Vertices | None:
        """The outermost points of a mesh file; None if `unheard` has errors, those of reading its scale."""
        if unheard.errors:
            self.note("contact-shape", where, unheard.errors[0].problem)
            return None
        return self.hull(uri, lambda: self._vertices(uri), where, np.array(scale))

    def hull(
        self, key: Any, vertices: Callable[[], Points], where: Where, factor: Points | None = None
    ) -> Vertices | None:
        """The outermost points of a mesh, which is read once; None if it cannot be read."""
        if key not in self.meshes:
            try:
                self.meshes[key] = _outermost(vertices())
            except MeshError as error:
                self.meshes[key] = str(error)
        found = self.meshes[key]
        if isinstance(found, str):
            self.missing(found, where)
            return None
        if factor is not None:
            found = found * factor
        kept = spread(found, POINTS)
        size, short = float(np.ptp(found, axis=0).max()), shortfall(found, kept)
        if short > _COARSE * size:
            self.note("contact-simplified", where, f"a mesh touches at {POINTS} of its points, at most")
        try:
            return Vertices(kept)
        except ModelError as error:
            self.note("contact-mesh", where, str(error))
            return None

    def missing(self, reason: Any, where: Where) -> None:
        """Note that a mesh is missing; meshes whose files are missing are counted together."""
        text = re.sub(r"the file '.*' ", "its file ", str(reason))
        self.note("contact-mesh", where, f"a collision mesh is missing: {text}")

    def _vertices(self, uri: str) -> Points:
        inside = self.reach.mesh(uri)
        path = next((path for path in inside if path.is_file()), None)
        if path is None:
            raise MeshError(
                "its file was not found" if inside or not uri else "it lies outside the allowed folders"
            )
        return self.read(path)

    def read(self, path: Path) -> Points:
        """The vertices of a mesh file."""
        self.bytes += path.stat().st_size
        if self.bytes > _BYTES:
            raise MeshError(f"the meshes of the robot have more than {_BYTES >> 20} MB")
        return read_points(path)

    # -- numbers

    def springy(self, stiffness: float, damping: float | None, where: Where) -> dict[str, Any]:
        """Stiffness and dissipation from a spring, N/m, and a parallel damper, N s/m.

        A stiffness k and a damper c give the force k x + c v; the contact model has k x (1 + d v). Both agree
        at the depth of a standing robot, x = 1 mm, for d = c / (k x).
        """
        if stiffness <= 0:
            self.note("contact-parameter", where, f"stiffness {stiffness} was not used")
        if not 0 < stiffness < RIGID:
            return {}
        given = DISSIPATION if damping is None else damping / (stiffness * SINK)
        if not 0 <= given < inf:
            self.note("contact-parameter", where, f"damping {damping} was not used")
            given = DISSIPATION
        return {"stiffness": stiffness, "dissipation": given}

    def coefficient(self, friction: float, where: Where) -> dict[str, Any]:
        """A coefficient of friction, if it is valid."""
        if 0 <= friction < inf:
            return {"friction": friction}
        self.note("contact-parameter", where, f"friction {friction} was not used")
        return {}

    # -- what `kinetree.save` wrote

    def restore(self, *texts: list[tuple[Element, str]]) -> bool:
        """Restore geometries, ground and pairs from texts written by `save`; False if absent or invalid."""
        robot = self.robot
        geometries, grounds, pairs = texts
        try:
            for element, text in grounds:
                robot.ground = refuse_no_ground(ground_of(json.loads(text), element.label), element.label)
            known = (WORLD, *robot.links)
            for element, text in geometries:
                given = geometry_of(json.loads(text), element.label)
                name, link = given.pop("name", None), given.pop("body")
                if link not in known:
                    raise ModelError(f"there is no body {link!r}")
                if not isinstance(name, str | None):
                    raise ModelError(f"the name {name!r} is not a text")
                part = geometry(link, 0, Part(link, 0, **given)[2:], element.label)
                contact = {key: getattr(part, key) for key in ("friction", "stiffness", "dissipation")}
                self.add(name, link, element.where, part.shape, part.placement, **contact)
            for element, text in pairs:
                robot.pairs.append(pair_of(tuple(Pair(**json.loads(text))), element.label))
                names = {part.name for part in robot.geometries}
                if not names.issuperset(robot.pairs[-1][:2]):
                    raise ModelError(f"there are no geometries {robot.pairs[-1][:2]}")
            robot.restored = any(texts)
        except (KinetreeError, ValueError, TypeError, OverflowError, RecursionError) as error:
            robot.geometries.clear()
            robot.pairs.clear()
            robot.ground = None
            self.names = Names()
            problem = f"<{element.tag}> is not valid: {shorten(str(error))}"
            self.note("contact-shape", element.where, problem)
            return False
        return any(texts)


def _outermost(vertices: Points) -> Points:
    """The corners of the hull of a mesh; for a large mesh, the outermost ones along many directions."""
    if not len(vertices):
        raise MeshError("it has no vertices")
    return outermost(vertices)


def _circle() -> list[tuple[float, float]]:
    return [(cos(2 * pi * k / _AROUND), sin(2 * pi * k / _AROUND)) for k in range(_AROUND)]


def _ball() -> Points:
    """Points on the unit sphere, symmetric in all three axes."""
    ring = [(x, y, 0.0) for x, y in _circle()]
    rings = [row for x, y, z in ring for row in ((x, y, z), (x, z, y), (z, x, y))]
    third = 3**-0.5
    rings += [(a, b, c) for a in (-third, third) for b in (-third, third) for c in (-third, third)]
    return np.unique(np.round(np.array(rings), 15), axis=0)


def read_collisions(
    robot: Description, read: Callable[[Collisions, Any], None] | None, reach: Reach, log: Log
) -> None:
    """Add the collision shapes of the file and the ground to a robot; `read` finds them."""
    source = robot.colliders if robot.document is None else robot.document
    if read is not None and source is not None:
        found = Collisions(robot, reach, log)
        read(found, source)
        found.finish()
