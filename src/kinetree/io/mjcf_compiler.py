"""MJCF's `<compiler>`: units, Euler sequences, bounds on inertias; and orientations, which depend on it."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, radians

from kinetree.io.attributes import choice, number, shorten, vector
from kinetree.io.placement import ORIGIN, from_axes, from_axis_angle, from_euler, from_wxyz, from_z, unit
from kinetree.io.report import Log
from kinetree.io.xml import Element
from kinetree.spatial.pose import Pose
from kinetree.spatial.rotation import Rotation
from kinetree.spatial.vector import cross

_BOOLEANS = ("true", "false")
LENGTHS = {"quat": 4, "axisangle": 4, "xyaxes": 6, "zaxis": 3, "euler": 3}  # numbers per orientation


@dataclass(slots=True)
class Compiler:
    """The settings of one MJCF model; `angle` converts the angles of the file to radians."""

    degrees: bool = True
    eulerseq: str = "xyz"
    autolimits: bool = True
    inertiafromgeom: str = "auto"
    inertiagrouprange: tuple[float, float] = (0.0, 5.0)
    boundmass: float = 0.0
    boundinertia: float = 0.0
    balanceinertia: bool = False
    settotalmass: float = -1.0
    exactmeshinertia: bool = False
    fitaabb: bool = False
    strippath: bool = False
    meshdir: str = ""
    assetdir: str = ""

    def angle(self, value: float) -> float:
        return radians(value) if self.degrees else value


def read_compiler(root: Element, log: Log) -> Compiler:
    """The settings of the whole file; the last of several `<compiler>` sections wins."""
    compiler = Compiler()
    for element in root.all("compiler"):
        compiler.degrees = choice(element, "angle", ("degree", "radian"), _angle(compiler), log) == "degree"
        sequence = element.get("eulerseq") or compiler.eulerseq
        if len(sequence) == 3 and set(sequence.lower()) <= set("xyz"):
            compiler.eulerseq = sequence
        else:
            problem = f"eulerseq={shorten(sequence)!r}"
            log.add("value", element.where, problem, "Use three letters of x, y, z (or X, Y, Z).")
        compiler.inertiafromgeom = choice(
            element, "inertiafromgeom", (*_BOOLEANS, "auto"), compiler.inertiafromgeom, log
        )
        for name in ("autolimits", "balanceinertia", "exactmeshinertia", "fitaabb", "strippath"):
            default = str(getattr(compiler, name)).lower()
            setattr(compiler, name, choice(element, name, _BOOLEANS, default, log) == "true")
        for name in ("boundmass", "boundinertia", "settotalmass"):
            setattr(compiler, name, number(element, name, getattr(compiler, name), log))
        for name in ("meshdir", "assetdir"):
            setattr(compiler, name, (element.get(name) or getattr(compiler, name)).replace("\\", "/"))
        low, high = vector(element, "inertiagrouprange", 2, compiler.inertiagrouprange, log)
        compiler.inertiagrouprange = (low, high)
        if element.get("coordinate") == "global":
            problem = "coordinate='global' was removed from MJCF"
            log.add("value", element.where, problem, "Write local coordinates.")
    return compiler


def _angle(compiler: Compiler) -> str:
    return "degree" if compiler.degrees else "radian"


def read_pose(element: Element, compiler: Compiler, log: Log) -> Pose:
    """The pose from `pos` and one of the five kinds of orientation."""
    x, y, z = vector(element, "pos", 3, ORIGIN, log)
    return Pose(read_orientation(element, compiler, log), (x, y, z))


def read_orientation(element: Element, compiler: Compiler, log: Log) -> Rotation:
    given = [name for name in LENGTHS if element.get(name) is not None]
    if len(given) > 1 and given != ["quat", given[-1]]:
        log.add("value", element.where, f"several orientations: {', '.join(given)}", "Keep one of them.")
    if not given:
        return Rotation.identity()
    name = given[-1]
    values = vector(element, name, LENGTHS[name], _NEUTRAL[name], log)
    if name == "euler":
        a, b, c = (compiler.angle(v) for v in values)
        return from_euler((a, b, c), compiler.eulerseq)
    if is_degenerate(name, values):
        problem = f"{name}={shorten(element.get(name) or '')!r} is not an orientation"
        log.repairable("quaternion", element.where, problem, "set to the identity")
        return Rotation.identity()
    x, y, z = values[:3]
    if name == "quat":
        return from_wxyz(values)
    if name == "axisangle":
        return from_axis_angle(unit((x, y, z)), compiler.angle(values[3]))
    return from_axes((x, y, z), values[3:]) if name == "xyaxes" else from_z((x, y, z))  # type: ignore[arg-type]


_NEUTRAL = {
    "quat": (1.0, 0.0, 0.0, 0.0),
    "axisangle": (0.0, 0.0, 1.0, 0.0),
    "xyaxes": (1.0, 0.0, 0.0, 0.0, 1.0, 0.0),
    "zaxis": (0.0, 0.0, 1.0),
    "euler": (0.0, 0.0, 0.0),
}


def is_degenerate(name: str, values: tuple[float, ...]) -> bool:
    """Whether the numbers define no orientation: zero vectors, parallel axes."""
    x, y, z = values[:3]
    if name == "quat":
        return hypot(*values) < 1e-12
    if name == "xyaxes":
        u, v, w = values[3:]
        return hypot(*cross((x, y, z), (u, v, w))) < 1e-12 * max(hypot(x, y, z) * hypot(u, v, w), 1e-12)
    return hypot(x, y, z) < 1e-12
