"""URDF -> `Description`: links, joints and common extensions."""

from __future__ import annotations

from collections.abc import Iterator

from kinetree.io.attributes import name_of, shorten
from kinetree.io.description import WORLD, Description, Frame, Link, Names
from kinetree.io.files import Document
from kinetree.io.report import Log, Where
from kinetree.io.urdf_drive import read_drives
from kinetree.io.urdf_geometry import inertia_of_geometry
from kinetree.io.urdf_loops import read_loops
from kinetree.io.urdf_parts import read_inertial, read_joint, read_origin
from kinetree.io.words import URDF, check_words, tally
from kinetree.io.xml import Element

_READ = ("link", "joint", "drake:joint", "transmission", "frame", "kinetree", "loop", "coupling", "collision")
_PARTLY = ("gazebo", "contact")  # only their contact parameters are read
_LOOPS = (
    "loop_joint drake:linear_bushing_rpy drake:linear_spring_damper drake:tendon_constraint "
    "drake:ball_constraint"
).split()


def read_urdf(document: Document, log: Log) -> Description:
    """The robot described by a `<robot>` element; findings go to `log`."""
    root = document.root
    robot = Description(root.get("name") or "robot", root.file, "urdf", document=root)
    links = Names({WORLD, *(link.get("name") or "" for link in root.all("link"))})
    joints = Names(joint.get("name") or "" for joint in root.all("joint", "drake:joint"))
    renamed = _rename_world(root, links, log)
    for element in root.all("link"):
        _add_link(robot, element, renamed, links, document, log)
    for element in root.all("joint", "drake:joint"):
        joint = read_joint(element, log)
        if joint is None:
            continue
        if not element.get("name"):
            joint.name = joints.claim(joint.name)
        elif joint.name in robot.joints:
            name = joints.claim(joint.name)
            problem = f"a second joint is called {joint.name!r}"
            log.repairable("name-duplicate", joint.where, problem, f"renamed to {name!r}")
            joint.name = name
        joint.parent, joint.child = (renamed.get(end, end) for end in (joint.parent, joint.child))
        robot.joints[joint.name] = joint
    frames: set[str] = set()
    for element in root.all("frame"):
        _add_frame(robot, element, frames, log)
    read_drives(robot, root, log)
    read_loops(robot, root, renamed, log)
    _list_ignored(root, log)
    check_words(_dynamic(root), URDF, log)
    if not robot.links:
        log.add("tree-empty", root.where, "the robot has no link")
    return robot


def _rename_world(root: Element, names: Names, log: Log) -> dict[str, str]:
    """A link called "world" that is the child of a joint is not the world: give it another name."""
    ends = (child for joint in root.all("joint", "drake:joint") for child in joint.all("child"))
    if not any(end.get("link") == WORLD for end in ends):
        return {}
    name = names.claim(WORLD)
    log.add("name-missing", root.where, f"link 'world' is the child of a joint: it was renamed to {name!r}")
    return {WORLD: name}


def _add_link(
    robot: Description, element: Element, renamed: dict[str, str], names: Names, document: Document, log: Log
) -> None:
    name = name_of(element, log)
    if name is None:
        log.add("attribute-missing", element.where, "a link needs a name")
        return
    name = renamed.get(name, name)
    twin = robot.links.get(name)
    if twin is not None and twin.source is not None and twin.source.same(element):
        log.add("element-repeated", element.where, f"the same link is already on line {twin.where.line}")
        return
    if twin is not None:
        repaired = names.claim(name)
        problem = f"a second link is called {name!r}"
        log.repairable("name-duplicate", element.where, problem, f"renamed to {repaired!r}")
        name = repaired
    inertials = list(element.all("inertial"))
    if len(inertials) > 1:
        problem = f"link {name!r} has {len(inertials)} <inertial> elements"
        log.add("element-repeated", inertials[1].where, problem)
    robot.links[name] = found = Link(name, element.where, source=element)
    if inertials:
        found.inertia = read_inertial(inertials[0], element.where, log)
    elif document.density is not None:
        found.inertia = inertia_of_geometry(element, document.density, document.reach, log)


def _add_frame(robot: Description, element: Element, taken: set[str], log: Log) -> None:
    """`<frame name= link= xyz= rpy=>`, an extension: a named frame on a link."""
    name, link = name_of(element, log), element.get("link")
    if name is None or link is None:
        log.add("ignored", element.where, "a <frame> has no name or no link")
    elif link not in robot.links:
        log.add("ignored", element.where, f"frame {name!r} is on the unknown link {shorten(link)!r}")
    elif name in robot.links or name in taken:
        log.add("ignored", element.where, f"frame {name!r} has the name of another frame or link")
    else:
        taken.add(name)
        robot.frames.append(Frame(name, element.where, link, read_origin(element, log)))


def _dynamic(root: Element) -> Iterator[Element]:
    """The elements that concern the dynamics."""
    yield root
    for part in root.all("link", "joint", "drake:joint"):
        yield part
        for child in part.all(*URDF):
            yield child
            yield from child.all(*URDF)


def _list_ignored(root: Element, log: Log) -> None:
    """Report the elements that are not part of the model, one finding per tag."""
    found = (*root.children, *(child for link in root.all("link") for child in link.children))
    for element in found:
        if element.tag == "gazebo" and element.find("joint") is not None:
            problem = "a joint inside <gazebo> closes a loop, or moves links that are not read"
            log.add("unsupported", element.where, problem)
    unread = ((e.tag, e) for e in found if e.tag not in _READ and e.tag != "inertial")
    for tag, (element, count) in tally(unread).items():
        rule = "unsupported" if tag in _LOOPS or tag.startswith("xacro:") else "ignored"
        remedy = "Expand the file with xacro." if tag.startswith("xacro:") else ""
        where = Where(element.file, element.line, f"<{tag}>")
        rest = ", but for friction and stiffness" if tag in _PARTLY else ""
        log.add(rule, where, f"{count} elements <{tag}> are not read{rest}", remedy)
