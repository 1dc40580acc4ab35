"""From links and undirected joints to a tree: which joints are kept, which reversed and which cut.

In SDF and USD a joint connects two links, either of which may be nearer to the base, and its frame may be
anywhere in the child. A `Joint` of a `Description` points away from the world and ends in the frame of its
child.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kinetree.io.attributes import shorten
from kinetree.io.description import WORLD, Closure, Description, Joint, Link, Names
from kinetree.io.placement import HERE, exact, norm
from kinetree.io.report import Log
from kinetree.joints import Cylindrical, Fixed, Free, Helical, Prismatic, Revolute, Spherical, Universal
from kinetree.joints import Joint as Motion
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import cross, mat_vec, neg, sub

REVERSIBLE = (Fixed, Revolute, Prismatic, Helical, Cylindrical, Universal, Spherical)
_ROUNDING = 1e-15  # of the offset: residual of a line through the origin
_DRIVE = ("armature", "damping", "friction", "stiffness")


@dataclass(slots=True)
class Connection:
    """A joint between two links, as in the file.

    `joint.placement` is the pose of the child in the parent at the joint's neutral position.
    """

    joint: Joint
    anchor: Pose = HERE  # of the joint in the child
    last: bool = False  # cut this one if it is part of a loop


def span(
    robot: Description,
    connections: Iterable[Connection],
    homes: dict[str, Pose],
    log: Log,
    bases: Iterable[str] = (),
) -> None:
    """Set the joints of the robot to a tree rooted at the world.

    The first joint with a link as its child carries that link. A further one is reversed and carries its
    parent, if nothing else does; it is cut if it closes a loop. Links not connected to the world float.

    Args:
        robot: with all its links; its joints are set here.
        homes: the world pose of every link in the initial configuration of the file.
        bases: links to start from where something floats.
    """
    known = [each for each in connections if _ends_exist(robot, each.joint, homes, log)]
    kept, uncarried = _kept(robot, known, log)
    on: dict[str, list[Connection]] = {name: [] for name in (WORLD, *robot.links)}
    for each in kept:
        on[each.joint.parent].append(each)
        on[each.joint.child].append(each)
    reached, names = {WORLD}, Names(each.joint.name for each in known)
    _walk(WORLD, on, reached)
    floating: list[Joint] = []
    for name in (*bases, *uncarried, *robot.links):
        if name in reached:
            continue
        label = names.claim(f"{name}_joint" if floating else "root_joint")
        free = Joint(label, robot.links[name].where, Free(), WORLD, name, home=homes[name])
        floating.append(free)
        reached.add(name)
        _walk(name, on, reached)
    robot.joints = {joint.name: joint for joint in floating}
    links = Names(robot.links)
    for each in kept:
        _lay(robot, each, links, names)


def _ends_exist(robot: Description, joint: Joint, homes: dict[str, Pose], log: Log) -> bool:
    """Whether a joint connects two existing links; the world counts as one."""
    for role, name in (("parent", joint.parent), ("child", joint.child)):
        if name not in robot.links and name != WORLD:
            problem = f"{role} link {shorten(name)!r} does not exist"
            change, remedy = "an empty link was added", log.suggest(name, robot.links)
            if not log.repairable("tree-unknown-link", joint.where, problem, change, remedy):
                return False
            robot.links[name], homes[name] = Link(name, joint.where), HERE
    if joint.parent == joint.child:
        log.add("tree-cycle", joint.where, f"the joint connects {shorten(joint.child)!r} with itself")
        return False
    return True


def _kept(robot: Description, connections: list[Connection], log: Log) -> tuple[list[Connection], list[str]]:
    """The joints that form a forest, in file order, and the links that none of them carries."""
    group = {name: name for name in (WORLD, *robot.links)}

    def leader(name: str) -> str:
        while group[name] != name:
            group[name] = group[group[name]]
            name = group[name]
        return name

    carrier: dict[str, Connection] = {}
    tree: set[int] = set()
    later: list[Connection] = []
    for each in connections:
        joint = each.joint
        first = not each.last and joint.child not in carrier and joint.child != WORLD
        if first and leader(joint.parent) != leader(joint.child):
            group[leader(joint.child)] = leader(joint.parent)
            carrier[joint.child] = each
            tree.add(id(each))
        else:
            later.append(each)
    for each in sorted(later, key=lambda each: each.last):
        joint = each.joint
        turns = joint.child in carrier or joint.child == WORLD
        closes = leader(joint.parent) == leader(joint.child)
        if closes or (turns and type(joint.motion) not in REVERSIBLE):
            _cut(robot, each, carrier.get(joint.child), closes, log)
            continue
        group[leader(joint.child)] = leader(joint.parent)
        tree.add(id(each))
    kept = [each for each in connections if id(each) in tree]
    return kept, [name for name in robot.links if name not in carrier]


def _cut(robot: Description, each: Connection, carrier: Connection | None, closes: bool, log: Log) -> None:
    """Take a joint out of the tree: it closes a loop, or cannot be reversed."""
    joint = each.joint
    line = f" (line {carrier.joint.where.line})" if carrier and carrier.joint.where.line else ""
    by = f" by joint {carrier.joint.name!r}{line}" if carrier else ""
    problem = f"links {joint.parent!r} and {joint.child!r} are connected already{by}: this joint was cut"
    robot.left_out.append(joint)
    if not closes:
        log.add("tree-two-parents", joint.where, problem)
        return
    ends = (joint.parent, joint.child)
    closure = Closure(joint.name, joint.where, ends, joint.motion, joint.placement @ each.anchor, each.anchor)
    closure.rule, closure.problem = "tree-two-parents", problem
    robot.closures.append(closure)
    acting = [name for name in (*_DRIVE, "mimic") if _acts(getattr(joint, name))]
    if acting:
        problem = f"the {', '.join(acting)} of a joint that closes a loop has no effect: it has no coordinate"
        log.add("unsupported", joint.where, problem, "Choose another joint of the loop to close it.")


def _acts(value: object) -> bool:
    return any(value) if isinstance(value, tuple) else bool(value)


def _walk(start: str, on: dict[str, list[Connection]], reached: set[str]) -> None:
    """Direct all joints reachable from a link away from it."""
    stack = [start]
    while stack:
        here = stack.pop()
        for each in on[here]:
            if each.joint.parent != here and each.joint.parent not in reached:
                reverse(each)
            if each.joint.child not in reached:
                reached.add(each.joint.child)
                stack.append(each.joint.child)


def reverse(each: Connection) -> None:
    """Reverse a joint to run from its child to its parent: X_CP(q) = X_PC(q)^-1, with the same coordinates.

    The coordinates of a joint with two axes are exchanged, and a ball joint has the inverse quaternion.
    """
    joint = each.joint
    each.anchor = joint.placement @ each.anchor
    joint.placement = joint.placement.inverse()
    joint.parent, joint.child = joint.child, joint.parent
    joint.motion = _inverse(joint.motion)
    if isinstance(joint.motion, Universal):
        for name in (*_DRIVE, "spring_reference"):
            values = getattr(joint, name)
            setattr(joint, name, values[::-1] if isinstance(values, tuple) else values)
        joint.limits = type(joint.limits)(*(x[::-1] if isinstance(x, tuple) else x for x in joint.limits))


def _inverse(motion: Motion) -> Motion:
    given = {name: neg(x) if isinstance(x, tuple) else x for name, x in motion.arguments.items()}  # type: ignore[arg-type]
    if isinstance(motion, Universal):
        return Universal(*reversed(list(given.values())))
    return type(motion)(**given)


def _lay(robot: Description, each: Connection, links: Names, joints: Names) -> None:
    """Add a joint to the robot, expressed in the frame of its child if its line passes through that origin.

    X_PC(q) = D B J(q) B^-1, where D is the pose of the child in the parent at rest and B that of the joint in
    the child. Otherwise the joint moves a massless link to which the child is fixed: D B J(q), then B^-1.
    """
    joint, anchor = each.joint, each.anchor
    if _passes_origin(joint.motion, anchor):
        joint.motion = _turned(joint.motion, anchor)
        robot.joints[joint.name] = joint
        return
    link = Link(links.claim(f"{joint.child}@{joint.name}"), joint.where, virtual=True)
    weld = joints.claim(f"{joint.child}_fixed")
    robot.links[link.name] = link
    moved = replace(joint, child=link.name, placement=joint.placement @ anchor)
    robot.joints[joint.name] = moved
    robot.joints[weld] = Joint(weld, joint.where, Fixed(), link.name, joint.child, anchor.inverse())


def _passes_origin(motion: Motion, anchor: Pose) -> bool:
    """Whether the motion about a frame equals one about the origin with other axes."""
    if anchor.p == HERE.p or motion.nv == 0 or isinstance(motion, Prismatic):
        return type(motion) in REVERSIBLE or anchor == HERE
    if motion.axis is None:
        return False
    across = cross(mat_vec(anchor.R, motion.axis), anchor.p)
    return norm(across) <= _ROUNDING * norm(anchor.p)


def _turned(motion: Motion, anchor: Pose) -> Motion:
    """The motion with its axes expressed in the frame in which `anchor` is given."""
    if anchor.R == HERE.R:
        return motion
    return type(motion)(**{
        name: mat_vec(anchor.R, x) if isinstance(x, tuple) else x for name, x in motion.arguments.items()
    })  # fmt: skip


def tidy(pose: Pose, scale: float = 0.0) -> Pose:
    """A computed pose with rounding residuals set to zero."""
    noise = 4e-16 * max(scale, *map(abs, pose.p))
    return Pose(exact(pose.rotation), tuple(0.0 if abs(x) <= noise else x for x in pose.p))


def between(a: Pose, b: Pose) -> Pose:
    """The pose of b in a, both given in the same frame."""
    return tidy(a.inverse() @ b, max(map(abs, (*a.p, *sub(b.p, a.p)))))
