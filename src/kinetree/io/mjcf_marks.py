"""MJCF elements without effect on the motion: configurations (`<keyframe>`) and places (named geoms)."""

from __future__ import annotations

from kinetree.io.attributes import parse_numbers, shorten
from kinetree.io.description import Description, Frame, Joint, Keyframe, Names
from kinetree.io.mjcf_inertia import read_site
from kinetree.io.mjcf_joint import FREE
from kinetree.io.report import Log
from kinetree.io.xml import Element


def read_keyframes(robot: Description, root: Element, log: Log) -> None:
    """Read the positions of each key; velocities and controls are not part of a configuration.

    Call this while the joints are in file order, which is the order of `qpos`.
    """
    joints = [joint for joint in robot.joints.values() if not joint.is_fixed]
    width = sum(joint.motion.nq for joint in joints)
    keys = [key for section in root.all("keyframe") for key in section.all("key")]
    names = Names((), filter(None, (key.get("name") for key in keys)))
    for k, key in enumerate(keys):
        given = key.get("name")
        name = names.claim(given) if given else names.make(f"key{k}")
        if given and name != given:
            problem = f"a second key is called {given!r}"
            log.repairable("name-duplicate", key.where, problem, f"renamed to {name!r}")
        if other := sorted(set(key.attributes) - {"name", "qpos"}):
            log.add("ignored", key.where, f"only qpos of a key is kept, not {', '.join(other)}")
        values = parse_numbers(key.get("qpos") or "")
        if isinstance(values, str):
            log.add("number", key.where, f"qpos contains {shorten(values)!r}, not a finite number")
        elif values and len(values) != width:
            log.add("ignored", key.where, f"qpos has {len(values)} numbers, but the joints take {width}")
        else:
            robot.configurations.append(Keyframe(name, key.where, _positions(joints, values)))


def _positions(joints: list[Joint], values: tuple[float, ...]) -> dict[str, tuple[float, ...]]:
    """The positions of each joint; those of the initial pose if there are no values."""
    found, start = {}, 0
    for joint in joints:
        row = values[start : start + joint.motion.nq] if values else _drawn(joint)
        found[joint.name] = _ours(row)
        start += joint.motion.nq
    return found


def _drawn(joint: Joint) -> tuple[float, ...]:
    """The position of a joint in the initial pose of the file, in MuJoCo's convention."""
    if joint.motion == FREE:
        x, y, z, w = joint.home.rotation.as_quaternion()
        return (*joint.home.p, w, x, y, z)
    return (joint.reference,) if joint.motion.nq == 1 else (1.0, 0.0, 0.0, 0.0)


def _ours(row: tuple[float, ...]) -> tuple[float, ...]:
    """A part of `qpos` in our convention: quaternions begin with x, free joints with the quaternion."""
    if len(row) < 4:
        return row
    *place, w, x, y, z = row
    size = (w * w + x * x + y * y + z * z) ** 0.5
    turn = (x / size, y / size, z / size, w / size) if size > 0.0 else (0.0, 0.0, 0.0, 1.0)
    return (*turn, *place)


def frames_of_geoms(robot: Description, log: Log) -> None:
    """Make a frame of every named geom of a body, called NAME_geom if the name is taken."""
    names = Names({*robot.links, *(frame.name for frame in robot.frames)})
    for link in robot.links.values():
        for element, frame, meshes in link.geoms:
            if name := element.get("name"):
                label = names.claim(f"{name}_geom" if name in names.taken else name)
                pose = frame @ read_site(element, meshes.compiler, log)
                robot.frames.append(Frame(label, element.where, link.name, pose))
