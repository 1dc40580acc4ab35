"""URDF+: `<loop>`, a joint that closes a loop between two links, and `<coupling>`, a ratio of two joints.

    <loop name="knee" type="revolute">
      <predecessor link="rod"><origin xyz="0.3 0 0"/></predecessor>
      <successor link="shank"><origin xyz="0 0 0.02"/></successor>
      <axis xyz="0 1 0"/>
    </loop>
    <coupling name="belt"><predecessor link="thigh"/><successor link="rotor"/><ratio value="6"/></coupling>

Joints with `independent="true"` have the independent velocities.
"""

from __future__ import annotations

from kinetree.io.attributes import name_of, number, shorten
from kinetree.io.description import WORLD, Closure, Description, Joint, Names
from kinetree.io.placement import from_z
from kinetree.io.report import Log
from kinetree.io.urdf_parts import AXIAL, TYPES, read_axis, read_origin
from kinetree.io.xml import Element
from kinetree.joints import Helical
from kinetree.model.parts import Mimic
from kinetree.spatial.pose import Pose

_TYPES = {name: motion for name, motion in TYPES.items() if motion is not Helical and name != "floating"}
ENDS = ("predecessor", "successor")
_LONGEST = 100  # most joints from the base to an end of a coupling


def read_loops(robot: Description, root: Element, renamed: dict[str, str], log: Log) -> None:
    """Add loop closures and couplings to the robot."""
    names = Names()
    for element in root.all("loop"):
        _read_loop(robot, element, renamed, names, log)
    couplings = list(root.all("coupling"))
    carriers = robot.parent_joints() if couplings else {}
    for element in couplings:
        _read_coupling(robot, element, renamed, carriers, log)
    for joint in robot.joints.values():
        if _is_independent(joint):
            robot.independent += [(joint.name, k) for k in range(joint.motion.nv)]


def _ends(
    robot: Description, element: Element, renamed: dict[str, str], log: Log
) -> list[tuple[str, Pose]] | None:
    found = []
    for tag in ENDS:
        end = element.find(tag)
        link = None if end is None else name_of(end, log, "link")
        if end is None or link is None:
            log.add("element-missing", element.where, f"<{element.tag}> has no <{tag} link=.../>")
            return None
        link = renamed.get(link, link)
        if link not in robot.links and link != WORLD:
            problem = f"{tag} link {shorten(link)!r} does not exist"
            log.add("value", element.where, problem, log.suggest(link, robot.links) or "Correct the name.")
            return None
        found.append((link, read_origin(end.find("origin"), log)))
    return found


def _read_loop(robot: Description, element: Element, renamed: dict[str, str], names: Names, log: Log) -> None:
    kind, ends = element.get("type") or "", _ends(robot, element, renamed, log)
    if kind not in _TYPES:
        problem = f"type {shorten(kind)!r} of a loop is unknown"
        log.add("joint-type", element.where, problem, f"Use one of: {', '.join(_TYPES)}.")
        return
    if ends is None:
        return
    (a, A), (b, B) = ends
    axis = read_axis(element, log) if kind in AXIAL else (0.0, 0.0, 1.0)
    if kind == "planar":  # ours moves in its own x-y plane
        turn = Pose(from_z(axis))
        A, B = A @ turn, B @ turn
    motion = _TYPES[kind](axis) if kind in AXIAL and kind != "planar" else _TYPES[kind]()
    name = names.claim(name_of(element, log) or f"{a}-{b}")
    closure = Closure(name, element.where, (a, b), motion, A, B)
    closure.problem = "<loop> closes a loop: the mechanism moves as if it were open"
    robot.closures.append(closure)


def _read_coupling(
    robot: Description, element: Element, renamed: dict[str, str], carriers: dict[str, Joint], log: Log
) -> None:
    """The joint positions on the way to the successor are `ratio` times those to the predecessor."""
    ends, given = _ends(robot, element, renamed, log), element.find("ratio")
    if ends is None:
        return
    ratio = 1.0 if given is None else number(given, "value", None, log)
    paths = [_path(carriers, link) for link, _ in ends]
    known = [{id(joint) for joint in path} for path in paths[::-1]]
    sides = [[j for j in path if id(j) not in other and not j.is_fixed] for path, other in zip(paths, known)]
    leader, follower = (side[0] if len(side) == 1 and side[0].motion.nv == 1 else None for side in sides)
    if leader is None or follower is None or ratio == 0.0:
        problem = "<coupling> is only read between two joints with one degree of freedom: not modelled"
        log.add("unsupported", element.where, problem)
        return
    if _is_independent(follower) and not _is_independent(leader):
        leader, follower, ratio = follower, leader, 1.0 / ratio
    if follower.mimic is not None:
        log.add("unsupported", element.where, f"<coupling>: joint {follower.name!r} already follows another")
        return
    follower.mimic = Mimic(leader.name, ratio)


def _is_independent(joint: Joint) -> bool:
    return joint.source is not None and (joint.source.get("independent") or "").lower() == "true"


def _path(carriers: dict[str, Joint], link: str) -> list[Joint]:
    """The joints from a link to its base, unless they are too many; the tree is not checked yet."""
    found: list[Joint] = []
    while link in carriers and len(found) < _LONGEST:
        found.append(carriers[link])
        link = carriers[link].parent
    return found
