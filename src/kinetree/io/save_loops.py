"""The loop closures of a model in MJCF: coinciding points, coinciding frames and polynomials.

Each end is a site with a name that only kinetree uses. A hinge is written as two points on its axis. Custom
texts record that they are one joint, which velocities are independent, and where the loop is closed.
"""

from __future__ import annotations

from kinetree.io.loops import hints
from kinetree.io.notes import Notes, floats
from kinetree.io.text import CUSTOM, element, numbers, place_of
from kinetree.joints import Fixed, Revolute, Spherical
from kinetree.model import Model
from kinetree.model.closures import JointClosure, RelationClosure
from kinetree.model.parts import Loop
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import scale

LOOP = "loop"
RELATION = "relation"  # stays a polynomial closure, even if it is linear
PART = "/+"  # suffix of a loop name for its further points
_POINTS = (Fixed, Spherical, Revolute)
_HIGHEST = 5  # most coefficients of a polynomial in MJCF

Ends = list[tuple[int, str]]  # body, site in it


def end_bodies(model: Model) -> set[int]:
    """The bodies at the ends of the loop closures of a model."""
    return {body for loop in model.loops for closure in loop.closures for body in closure.bodies}


def equalities(model: Model, joints: dict[int, str], notes: Notes) -> tuple[list[str], Ends, list[str]]:
    """The lines of `<equality>`, the sites, and the lines of `<custom>` for the loops of a model.

    Args:
        joints: the MJCF joint of each body whose joint has one coordinate.
    """
    lines: list[str] = []
    sites: Ends = []
    custom: list[str] = []
    for loop in model.loops:
        for closure in loop.closures:
            owner = f"model '{model.name}': loop '{closure.name}'"
            if isinstance(closure, RelationClosure) and len(closure.coefficients) <= _HIGHEST:
                given = floats(closure.coefficients, owner).tolist()
                polycoef = numbers(given + [0.0] * (_HIGHEST - len(given)))
                ends = {"joint1": joints[closure.body], "joint2": joints[closure.other]}
                lines.append(element("joint", name=closure.name, **ends, polycoef=polycoef))
                custom.append(element("text", name=f"{CUSTOM}{LOOP}:{closure.name}", data=RELATION))
            elif isinstance(closure, JointClosure) and isinstance(closure.joint, _POINTS):
                _add_points(closure, loop, lines, sites, custom, owner)
            else:
                notes.cannot(
                    f"the {closure.kind} that closes the loop '{closure.name}'",
                    "it is left open",
                    "close it with a fixed, spherical or revolute joint, or save as JSON",
                )
    for joint, said in hints(model):
        custom += [element("numeric", name=f"{CUSTOM}{key}:{joint}", data=data) for key, data in said.items()]
    return lines, sites, custom


def _add_points(
    closure: JointClosure, loop: Loop, lines: list[str], sites: Ends, custom: list[str], owner: str
) -> None:
    tag = "weld" if isinstance(closure.joint, Fixed) else "connect"
    axes = [closure.joint.axis] if isinstance(closure.joint, Revolute) else []
    for k, axis in enumerate([None, *axes]):
        names = []
        ends = ("a", closure.body, closure.placement), ("b", closure.other, closure.other_placement)
        for end, body, pose in ends:
            place = pose if axis is None else pose @ Pose(p=scale(axis, loop.size))
            names.append(f"{CUSTOM}{end}{k}:{closure.name}")
            sites.append((body, element("site", name=names[-1], **place_of(place, owner))))
        label = closure.name + (PART if k else "")
        lines.append(element(tag, name=label, site1=names[0], site2=names[1]))
    if axes:
        said = f"{closure.joint.type_name} {numbers(closure.joint.parameters)}"
        custom.append(element("text", name=f"{CUSTOM}{LOOP}:{closure.name}", data=said))
