"""From a list of links and joints to a tree on the world: references, cycles, roots, mimics, fixed joints."""

from __future__ import annotations

import math

from kinetree.io.attributes import shorten
from kinetree.io.description import WORLD, Description, Frame, Joint, Link, Names
from kinetree.io.placement import HERE
from kinetree.io.report import Log
from kinetree.joints import Fixed, Free
from kinetree.joints import Joint as Motion
from kinetree.model.layout import ROUNDING, followed_limits
from kinetree.model.parts import Mimic
from kinetree.spatial.pose import Pose

BASES: dict[str, Motion] = {"fixed": Fixed(), "free": Free()}  # joints of a root
_FOLLOWERS = 500  # most mimic joints: coupled joints form one node of the tree, and no robot has as many


def make_tree(robot: Description, base: str | None, log: Log) -> None:
    """Check that the joints connect the links to a tree, and join its roots to the world according to `base`.

    A root link called "world" is the world itself. With `base=None` or "fixed" every root is welded to the
    world; with "free" the roots, or whatever is welded to a link "world", float.
    """
    _add_implicit_base(robot, log)
    robot.joints = {name: joint for name, joint in robot.joints.items() if _ends_exist(robot, joint, log)}
    _drop_second_parents(robot, log)
    _drop_cycles(robot, log)
    carried_links = robot.parent_joints()
    roots = [name for name in robot.links if name not in carried_links and name != WORLD]
    if WORLD in robot.links:
        world = robot.links.pop(WORLD)
        if world.inertia is not None and world.inertia.mass:
            log.add("ignored", world.where, "the mass of the link 'world' has no effect on the dynamics")
    carried = any(joint.parent == WORLD for joint in robot.joints.values())
    _join_roots(robot, roots, BASES["fixed" if carried else base or "fixed"], carried, log)
    if base is not None and carried:
        _rebase(robot, base, log)


def _add_implicit_base(robot: Description, log: Log) -> None:
    """An undeclared link that carries all others is the base of a part that is to be mounted."""
    children = {joint.child for joint in robot.joints.values()}
    mentioned = {joint.parent for joint in robot.joints.values()} - robot.links.keys() - children - {WORLD}
    if len(mentioned) == 1 and robot.links.keys() <= children:
        (name,) = mentioned
        first = next(joint for joint in robot.joints.values() if joint.parent == name)
        log.add("tree-implicit-base", first.where, f"parent link {shorten(name)!r} is not declared")
        robot.links[name] = Link(name, first.where)


def drop_idle_rotors(robot: Description, log: Log) -> None:
    """Leave out rotors whose joint was left out or no longer moves."""
    kept = []
    for rotor in robot.rotors:
        joint = robot.joints.get(rotor.joint)
        if joint is not None and 0 < joint.motion.nv == len(rotor.ratio):
            kept.append(rotor)
        else:
            log.add("rotor-incomplete", rotor.where, f"the rotor drives {rotor.joint!r}, which does not move")
    robot.rotors = kept


def _ends_exist(robot: Description, joint: Joint, log: Log) -> bool:
    """Whether both links of a joint exist; a parent "world" needs no declaration."""
    for role, name in (("parent", joint.parent), ("child", joint.child)):
        if name not in robot.links and not (role == "parent" and name == WORLD):
            problem = f"{role} link {shorten(name)!r} does not exist"
            change, remedy = "an empty link was added", log.suggest(name, robot.links)
            if not log.repairable("tree-unknown-link", joint.where, problem, change, remedy):
                return False
            robot.links[name] = Link(name, joint.where)
    return True


def _drop_second_parents(robot: Description, log: Log) -> None:
    """Keep the first parent joint of each link; a second one would close a loop."""
    carrier: dict[str, Joint] = {}
    for joint in list(robot.joints.values()):
        first = carrier.setdefault(joint.child, joint)
        if first is not joint:
            problem = (
                f"link {joint.child!r} is already the child of joint {first.name!r} (line {first.where.line})"
            )
            log.add("tree-two-parents", joint.where, problem)
            robot.left_out.append(joint)
            del robot.joints[joint.name]


def _drop_cycles(robot: Description, log: Log) -> None:
    """Remove one joint from every cycle of links that carry each other."""
    parents = robot.parent_joints()
    settled: set[str] = {WORLD}
    for start in list(robot.links):
        path: list[str] = []
        seen: set[str] = set()
        name = start
        while name not in settled and name not in seen:
            seen.add(name)
            path.append(name)
            joint = parents.get(name)
            if joint is None:
                break
            name = joint.parent
        if name in seen and name in parents:  # back at a link of the current path
            ring = path[path.index(name) :]
            joint = parents.pop(name)
            shown = " <- ".join(ring[:4]) + (" <- ..." if len(ring) > 4 else "")
            log.add("tree-cycle", joint.where, f"links carry each other in a cycle: {shown}")
            del robot.joints[joint.name]
        settled.update(path)


def _join_roots(robot: Description, roots: list[str], motion: Motion, carried: bool, log: Log) -> None:
    """Attach every root to the world; warn if there are several."""
    names = Names(robot.joints)
    joints = []
    for count, name in enumerate(roots):
        link = robot.links[name]
        if count or carried:
            other = "world" if carried else repr(roots[0])
            problem = f"link {name!r} is not the child of any joint, and neither is {other}"
            log.add("tree-several-roots", link.where, problem)
        joints.append(
            Joint(names.claim(f"{name}_joint" if count else "root_joint"), link.where, motion, WORLD, name)
        )
    robot.joints = {joint.name: joint for joint in (*joints, *robot.joints.values())}


def _rebase(robot: Description, base: str, log: Log) -> None:
    """Change how links are joined to the world, in a file that contains the world itself."""
    held = [joint for joint in robot.joints.values() if joint.parent == WORLD]
    for joint in held:
        if joint.motion in BASES.values() and joint.motion != BASES[base]:
            joint.motion, joint.placement, joint.home = BASES[base], joint.placement @ joint.home, HERE
    if base == "free" and not any(joint.motion == BASES[base] for joint in held):
        problem = f"base='free', but {held[0].child!r} has a {held[0].motion.type_name} joint to the world"
        remedy = "Load without base=, or weld the base to the world in the file."
        log.add("value", held[0].where, problem, remedy)


def check_mimics(robot: Description, log: Log) -> None:
    """Check that every mimic joint ultimately follows an independent joint with one degree of freedom."""
    followers = [joint for joint in robot.joints.values() if joint.mimic is not None]
    if len(followers) > _FOLLOWERS:
        log.add("xml-limit", followers[_FOLLOWERS].where, f"more than {_FOLLOWERS} joints follow others")
        for joint in followers:
            joint.mimic = None
    for joint in followers:
        if joint.mimic is not None and not _mimic_is_sound(robot, joint, joint.mimic, log):
            joint.mimic = None
    settled: set[str] = set()
    for start in robot.joints.values():
        path: list[Joint] = []
        joint = start
        while joint.mimic is not None and joint.name not in settled:
            settled.add(joint.name)
            path.append(joint)
            joint = robot.joints[joint.mimic.joint]
        if any(joint is member for member in path):  # a cycle
            names = " -> ".join(shorten(member.name) for member in path[:4])
            problem = f"joints follow each other in a cycle: {names}"
            log.repairable("mimic-cycle", joint.where, problem, "mimic removed")
            joint.mimic = None
    _drop_contradictions(robot, log)


def _drop_contradictions(robot: Description, log: Log) -> None:
    """Drop the position limits of mimic joints that contradict those of joints they move with."""
    common = {name: (joint.limits.lower, joint.limits.upper) for name, joint in robot.joints.items()}
    for joint in robot.in_order():
        leader, multiplier, offset = joint, 1.0, 0.0
        while leader.mimic is not None:
            name, factor, shift = leader.mimic
            multiplier, offset = multiplier * factor, offset + multiplier * shift
            leader = robot.joints[name]
        if leader is joint:
            continue
        own = followed_limits(joint.limits.lower, joint.limits.upper, multiplier, offset)
        low, high = (pick(x) for pick, x in zip((max, min), zip(common[leader.name], own, strict=True)))
        if low > high + ROUNDING:
            problem = f"no position is within its limits and those of {leader.name!r}, which it follows"
            log.repairable("limits-swapped", joint.where, problem, "limits dropped")
            joint.limits = joint.limits._replace(lower=-math.inf, upper=math.inf)
        else:
            common[leader.name] = low, high


def _mimic_is_sound(robot: Description, joint: Joint, mimic: Mimic, log: Log) -> bool:
    leader = robot.joints.get(mimic.joint)
    if leader is None:
        problem = f"follows {shorten(mimic.joint)!r}, which does not exist"
        change = "mimic removed"
        log.repairable("mimic-unknown", joint.where, problem, change, log.suggest(mimic.joint, robot.joints))
        return False
    if leader.is_fixed and joint.motion.nv == 1:
        problem = f"follows the fixed joint {leader.name!r}"
        if log.repairable("mimic-not-scalar", joint.where, problem, "joint fixed at its offset"):
            joint.placement, joint.motion = joint.at(mimic.offset), Fixed()
        return False
    if joint.motion.nv != 1 or leader.motion.nv != 1:
        kind, other = joint.motion.type_name, leader.motion.type_name
        problem = f"a {kind} joint follows the {other} joint {leader.name!r}"
        log.repairable("mimic-not-scalar", joint.where, problem, "mimic removed")
        return False
    if mimic.multiplier == 0.0:
        log.add("mimic-zero", joint.where, f"follows {leader.name!r} with multiplier 0")
    return True


def merge_fixed(robot: Description, log: Log) -> None:
    """Merge links on fixed joints into the nearest moving link inboard (or the world), exactly.

    Mass and inertia are added in that link's frame, children and rotors are placed relative to it, and every
    merged link remains as a frame with its name.
    """
    carrier: dict[str, tuple[str, Pose]] = {WORLD: (WORLD, HERE)}
    frames = []
    order = robot.in_order()
    parents = {joint.name: joint.parent for joint in order}
    for joint in order:
        holder, pose = carrier[joint.parent]
        placed = pose @ joint.placement
        if not joint.is_fixed:
            carrier[joint.child] = (joint.child, HERE)
            joint.parent, joint.placement = holder, placed
            continue
        carrier[joint.child] = (holder, placed)
        link = robot.links[joint.child]
        if holder != WORLD and link.inertia is not None:
            robot.links[holder].add(link.inertia.congruence(placed.transform()))
        if not link.virtual:
            frames.append(Frame(link.name, link.where, holder, placed))
            log.add("merged", link.where, f"fixed to {holder!r}")
    for rotor in robot.rotors:
        rotor.placement = carrier[parents[rotor.joint]][1] @ rotor.placement
    for frame in robot.frames:
        holder, pose = carrier[frame.link]
        frame.link, frame.placement = holder, pose @ frame.placement
    for part in robot.geometries:
        holder, pose = carrier[part.link]
        part.link, part.placement = holder, pose @ part.placement
    for closure in robot.closures:
        if closure.motion is not None:
            (a, A), (b, B) = (carrier[end] for end in closure.ends)
            closure.ends, closure.placement, closure.other = (a, b), A @ closure.placement, B @ closure.other
    robot.frames = frames + robot.frames
    robot.joints = {joint.name: joint for joint in order if not joint.is_fixed}
    robot.links = {name: link for name, link in robot.links.items() if carrier[name][0] == name}
