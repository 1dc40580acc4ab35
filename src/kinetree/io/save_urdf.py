"""A `Model` as URDF, if URDF can express it."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isinf
from typing import Any

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.io.attributes import UNBOUNDED
from kinetree.io.description import WORLD, Names
from kinetree.io.loops import hints
from kinetree.io.notes import check_names_and_masses
from kinetree.io.placement import to_rpy
from kinetree.io.save_touching import touching_texts
from kinetree.io.text import attributes, number, numbers
from kinetree.io.urdf_loops import ENDS
from kinetree.io.urdf_parts import AXIAL, WRITTEN
from kinetree.model import Body, Frame, Limits, Model, Rotor
from kinetree.model.closures import JointClosure
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose

LOOPS = ("fixed", "revolute", "prismatic", "planar")  # joints that may close a loop
_GRAVITY = (0.0, 0.0, -9.81)
_LONGEST = 240  # most characters of a name that a generated name begins with


def write_urdf(model: Model) -> str:
    """The model as URDF text.

    The world is a link "world"; frames are massless links on fixed joints. What URDF cannot express is
    written to a `<kinetree>` element that other tools skip: gravity, springs, rotors, limits that differ
    between the coordinates of one joint, the order of bodies if it is not depth first, and contact data.
    Loops are written as in URDF+; tools that do not know `<loop>` leave them open.

    Raises:
        ModelError: URDF cannot express a joint, a name or a number; the message names it.
    """
    _check(model)
    joints = Names(model.joint_names)
    lines = ['<?xml version="1.0"?>', f"<robot{attributes(name=model.name)}>", *_world(model)]
    for i, body in enumerate(model.bodies, 1):
        lines += named(f"body '{body.name}'", _link, body.name, body.inertia, collisions(model, i))
    for frame in model.frames:
        lines.append(f"  <link{attributes(name=frame.name)}/>")
    for body in model.bodies:
        lines += named(f"joint '{body.joint_name}'", _joint, body, model)
    for frame in model.frames:
        name = joints.claim(f"{frame.name[:_LONGEST]}_frame")
        lines += named(f"frame '{frame.name}'", _frame_joint, frame, name, model)
    for closure in (closure for loop in model.loops for closure in loop.closures):
        lines += named(f"loop '{closure.name}'", _loop, closure, model)
    lines += _extension(model)
    return "\n".join([*lines, "</robot>", ""])


def named(what: str, write: Any, *arguments: Any) -> list[str]:
    """The lines of a part of the model; errors name it."""
    try:
        return list(write(*arguments))
    except ModelError as error:
        raise ModelError(f"{what}: {error}") from None


def _check(model: Model) -> None:
    """Refuse what URDF cannot express."""
    for body in model.bodies:
        if body.joint.type_name not in WRITTEN:
            raise ModelError(
                f"joint '{body.joint_name}' of model '{model.name}' is {body.joint.type_name}, and URDF has "
                f"only {', '.join(WRITTEN)}: save the model as JSON, kt.save(model, 'robot.json')"
            )
    for closure in (closure for loop in model.loops for closure in loop.closures):
        if not isinstance(closure, JointClosure) or closure.joint.type_name not in LOOPS:
            raise ModelError(
                f"loop '{closure.name}' of model '{model.name}' is closed by a {closure.kind}, and URDF+ has "
                f"only {', '.join(LOOPS)} ones: save the model as JSON, kt.save(model, 'robot.json')"
            )
    check_names_and_masses(model, "URDF")


def _world(model: Model) -> list[str]:
    return list(_link(WORLD, Inertia.zero(), collisions(model, 0)))


def _link(name: str, inertia: Inertia, touching: list[str]) -> Iterator[str]:
    weightless = all(ops.is_literal(x) and x == 0 for x in inertia.parameters)
    if weightless and not touching:
        yield f"  <link{attributes(name=name)}/>"
        return
    yield f"  <link{attributes(name=name)}>"
    if not weightless:
        yield from (f"    {line}" for line in inertial(inertia))
    yield from (f"    {line}" for line in touching)
    yield "  </link>"


def collisions(model: Model, body: int) -> list[str]:
    """The shapes of a body that URDF supports."""
    lines = []
    for part in model.geometries:
        match part.shape.kind, part.shape.size if part.body == body else ():
            case "sphere", (r,):
                shape = f"<sphere{attributes(radius=number(r))}/>"
            case "cylinder" | "capsule" as kind, (r, half):
                shape = f"<{kind}{attributes(radius=number(r), length=number(2 * half))}/>"
            case "box", (x, y, z):
                shape = f"<box{attributes(size=numbers((2 * x, 2 * y, 2 * z)))}/>"
            case _:
                continue
        inner = f"{origin(part.placement)}<geometry>{shape}</geometry>"
        lines.append(f"<collision{attributes(name=part.name)}>{inner}</collision>")
    return lines


def inertial(inertia: Inertia) -> Iterator[str]:
    """The lines of an `<inertial>` element."""
    mass = number(inertia.mass)
    moments = dict(zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), map(number, inertia.about_com)))
    yield "<inertial>"
    yield f'  <origin xyz="{numbers(inertia.com)}"/>'
    yield f'  <mass value="{mass}"/>'
    yield f"  <inertia{attributes(**moments)}/>"
    yield "</inertial>"


def _joint(body: Body, model: Model) -> Iterator[str]:
    limits, kind = body.limits, WRITTEN[body.joint.type_name]
    if kind == "revolute" and all(isinf(x) for x in (*limits.lower, *limits.upper)):
        kind = "continuous"
    chosen = {joint: "false" for loop in model.loops for joint, _ in loop.dependent}
    chosen |= {joint: "true" for loop in model.loops for joint, _ in loop.independent}
    said = {"independent": chosen[body.joint_name]} if body.joint_name in chosen else {}
    yield f"  <joint{attributes(name=body.joint_name, type=kind, **said)}>"
    yield f"    {origin(body.placement)}"
    yield f"    <parent{attributes(link=_name(model, body.parent))}/>"
    yield f"    <child{attributes(link=body.name)}/>"
    if kind in AXIAL:
        yield f'    <axis xyz="{numbers(body.joint.parameters or (0, 0, 1))}"/>'
    if body.joint.nv == 1:
        fields = ("effort", "velocity") if kind == "continuous" else ("lower", "upper", "effort", "velocity")
        yield f"    <limit{attributes(**{field: _bounds(getattr(limits, field)) for field in fields})}/>"
    dynamics = {key: getattr(body, key) for key in ("damping", "friction", "armature")}
    if any(any(values) for values in dynamics.values()):
        text = {key: numbers(_shortest(values)) for key, values in dynamics.items() if any(values)}
        yield f"    <dynamics{attributes(**text)}/>"
    if body.mimic is not None:
        joint, multiplier, offset = body.mimic
        yield f"    <mimic{attributes(joint=joint, multiplier=number(multiplier), offset=number(offset))}/>"
    yield "  </joint>"


def _bounds(values: tuple[Any, ...]) -> str:
    """Bounds, with infinity written as a number that every tool reads."""
    for x in values:
        if UNBOUNDED <= abs(x) < inf:
            raise ModelError(f"the bound {x:g} would be read as no bound: use infinity, or save as JSON")
    return numbers(max(-UNBOUNDED, min(UNBOUNDED, x)) for x in _shortest(values))


def _frame_joint(frame: Frame, name: str, model: Model) -> Iterator[str]:
    yield f"  <joint{attributes(name=name, type='fixed')}>"
    yield f"    {origin(frame.placement)}"
    yield f"    <parent{attributes(link=_name(model, frame.body))}/>"
    yield f"    <child{attributes(link=frame.name)}/>"
    yield "  </joint>"


def _loop(closure: JointClosure, model: Model) -> Iterator[str]:
    yield f"  <loop{attributes(name=closure.name, type=WRITTEN[closure.joint.type_name])}>"
    ends = (closure.body, closure.placement), (closure.other, closure.other_placement)
    for tag, (body, pose) in zip(ENDS, ends, strict=True):
        yield f"    <{tag}{attributes(link=_name(model, body))}>{origin(pose)}</{tag}>"
    if closure.joint.type_name in AXIAL:
        yield f'    <axis xyz="{numbers(closure.joint.parameters or (0, 0, 1))}"/>'
    yield "  </loop>"


def _extension(model: Model) -> Iterator[str]:
    """What URDF cannot express, in an element of our own."""
    inner: list[str] = []
    said = dict(hints(model))
    for body in model.bodies:
        inner += named(f"joint '{body.joint_name}'", _joint_extension, body, said.get(body.joint_name, {}))
    for rotor in model.rotors:
        inner += named(f"rotor of joint '{rotor.joint}'", rotor_lines, rotor)
    inner += [f"<{tag}>{text}</{tag}>" for tag, text in touching_texts(model)]
    gravity, order = tuple(model.gravity), {} if is_depth_first(model) else {"order": "file"}
    if inner or order or gravity != _GRAVITY:
        yield f"  <kinetree{attributes(gravity=numbers(gravity), **order)}>"
        yield from (f"    {line}" for line in inner)
        yield "  </kinetree>"


def _joint_extension(body: Body, said: dict[str, str]) -> Iterator[str]:
    """Springs, limits of joints with several coordinates, and data of joints in loops."""
    named = dict(said)
    if any(body.stiffness):
        named["stiffness"] = numbers(_shortest(body.stiffness))
    if body.spring_reference != body.joint.neutral():
        named["spring_reference"] = numbers(body.spring_reference)
    for field, values in body.limits._asdict().items() if body.joint.nv > 1 else ():
        if any(x != getattr(Limits(), field) for x in values):
            named[field] = _bounds(values)
    if named:
        yield f"<joint{attributes(name=body.joint_name, **named)}/>"


def rotor_lines(rotor: Rotor, tag: str = "rotor") -> Iterator[str]:
    """The lines of an element with all data of a rotor."""
    yield f"<{tag}{attributes(joint=rotor.joint, ratio=numbers(rotor.ratio))}>"
    yield f"  {origin(rotor.placement)}"
    yield f'  <axis xyz="{numbers(rotor.axis)}"/>'
    yield from (f"  {line}" for line in inertial(rotor.inertia))
    yield f"</{tag}>"


def is_depth_first(model: Model) -> bool:
    """Whether every body directly follows its parent or the subtree of its previous sibling."""
    path: list[int] = []
    for i, body in enumerate(model.bodies, 1):
        while path and path[-1] != body.parent:
            path.pop()
        if body.parent and not path:
            return False
        path.append(i)
    return True


def _name(model: Model, body: int) -> str:
    return model.body_names[body - 1] if body else WORLD


def origin(pose: Pose) -> str:
    return f'<origin xyz="{numbers(pose.p)}" rpy="{numbers(to_rpy(pose.rotation))}"/>'


def _shortest(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """One number if all are equal."""
    return values[:1] if len(set(values)) == 1 else values
