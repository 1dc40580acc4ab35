"""A `Model` as URDF, where URDF has words for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf, isinf
from typing import Any

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.io.attributes import UNBOUNDED, is_name
from kinetree.io.description import WORLD, Names
from kinetree.io.placement import to_rpy
from kinetree.model import Body, Frame, Model, Rotor
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose

TYPES = {
    "fixed": "fixed",
    "revolute": "revolute",
    "prismatic": "prismatic",
    "free": "floating",
    "planar": "planar",
}
_GRAVITY = (0.0, 0.0, -9.81)


def write_urdf(model: Model) -> str:
    """The model as URDF text.

    The world is a link "world"; frames are massless links on fixed joints. Gravity, springs and rotors, for
    which URDF has no words, stand in a `<kinetree>` element that other tools skip.

    Raises:
        ModelError: a joint or a name has no place in URDF; the message names it.
    """
    _check(model)
    joints = Names(model.joint_names)
    lines = ['<?xml version="1.0"?>', f"<robot{attributes(name=model.name)}>", f'  <link name="{WORLD}"/>']
    for body in model.bodies:
        lines += _link(body.name, body.inertia)
    for frame in model.frames:
        lines.append(f"  <link{attributes(name=frame.name)}/>")
    for body in model.bodies:
        lines += _joint(body, model)
    for frame in model.frames:
        lines += _frame_joint(frame, joints.claim(f"{frame.name}_frame"), model)
    lines += _extension(model)
    return "\n".join([*lines, "</robot>", ""])


def _check(model: Model) -> None:
    """Refuse what URDF cannot say."""
    for body in model.bodies:
        if body.joint.type_name not in TYPES:
            raise ModelError(
                f"joint '{body.joint_name}' of model '{model.name}' is {body.joint.type_name}, and URDF has "
                f"only {', '.join(TYPES)}: save the model as JSON, kt.save(model, 'robot.json')"
            )
    for name in (*model.body_names, *model.joint_names, *model.frame_names):
        if not is_name(name):
            raise ModelError(
                f"the name {name!r} in model '{model.name}' has quotes, brackets or control characters, "
                "which names in URDF may not have: rename it, or save the model as JSON"
            )


def _link(name: str, inertia: Inertia) -> Iterator[str]:
    numbers = inertia.parameters
    if all(ops.is_literal(x) and x == 0 for x in numbers):
        yield f"  <link{attributes(name=name)}/>"
        return
    yield f"  <link{attributes(name=name)}>"
    yield from (f"    {line}" for line in inertial(inertia))
    yield "  </link>"


def inertial(inertia: Inertia) -> Iterator[str]:
    """The lines of an `<inertial>` element."""
    mass = inertia.mass
    com = tuple(h / mass for h in inertia.first_moment) if mass else (0.0, 0.0, 0.0)
    moments = inertia.about_com if mass else inertia.second
    named = dict(zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), (number(m) for m in moments), strict=True))
    yield "<inertial>"
    yield f'  <origin xyz="{numbers(com)}"/>'
    yield f'  <mass value="{number(mass)}"/>'
    yield f"  <inertia{attributes(**named)}/>"
    yield "</inertial>"


def _joint(body: Body, model: Model) -> Iterator[str]:
    limits = body.limits
    kind = TYPES[body.joint.type_name]
    bounded = any(not isinf(x) for x in (*limits.lower, *limits.upper))
    if kind == "revolute" and not bounded:
        kind = "continuous"
    yield f"  <joint{attributes(name=body.joint_name, type=kind)}>"
    yield f"    {_origin(body.placement)}"
    yield f"    <parent{attributes(link=model.body_names[body.parent - 1] if body.parent else WORLD)}/>"
    yield f"    <child{attributes(link=body.name)}/>"
    if body.joint.type_name in ("revolute", "prismatic"):
        yield f'    <axis xyz="{numbers(body.joint.parameters)}"/>'
    elif kind == "planar":
        yield '    <axis xyz="0 0 1"/>'
    if len(limits.lower) == 1:
        yield f"    {_limit(limits, kind)}"
    dynamics = {key: getattr(body, key) for key in ("damping", "friction", "armature")}
    if any(any(values) for values in dynamics.values()):
        text = attributes(
            **{key: numbers(_shortest(values)) for key, values in dynamics.items() if any(values)}
        )
        yield f"    <dynamics{text}/>"
    if body.mimic is not None:
        joint, multiplier, offset = body.mimic
        yield f"    <mimic{attributes(joint=joint, multiplier=number(multiplier), offset=number(offset))}/>"
    yield "  </joint>"


def _limit(limits: Any, kind: str) -> str:
    named = {} if kind == "continuous" else {"lower": limits.lower[0], "upper": limits.upper[0]}
    named |= {"effort": limits.effort[0], "velocity": limits.velocity[0]}
    return f"<limit{attributes(**{key: number(_finite(x)) for key, x in named.items()})}/>"


def _finite(x: float) -> float:
    """Without bound, in a number that every tool reads."""
    return UNBOUNDED if x == inf else -UNBOUNDED if x == -inf else x


def _frame_joint(frame: Frame, name: str, model: Model) -> Iterator[str]:
    yield f"  <joint{attributes(name=name, type='fixed')}>"
    yield f"    {_origin(frame.placement)}"
    yield f"    <parent{attributes(link=model.body_names[frame.body - 1] if frame.body else WORLD)}/>"
    yield f"    <child{attributes(link=frame.name)}/>"
    yield "  </joint>"


def _extension(model: Model) -> Iterator[str]:
    """What URDF has no words for, in an element of our own."""
    sprung = [body for body in model.bodies if any(body.stiffness)]
    gravity = tuple(model.gravity)
    if gravity == _GRAVITY and not sprung and not model.rotors:
        return
    yield f'  <kinetree gravity="{numbers(gravity)}">'
    for body in sprung:
        named = {"stiffness": numbers(_shortest(body.stiffness))}
        if any(body.spring_reference) and body.joint.nq == 1:
            named["spring_reference"] = numbers(body.spring_reference)
        yield f"    <joint{attributes(name=body.joint_name, **named)}/>"
    for rotor in model.rotors:
        yield from (f"    {line}" for line in _rotor(rotor))
    yield "  </kinetree>"


def _rotor(rotor: Rotor) -> Iterator[str]:
    yield f"<rotor{attributes(joint=rotor.joint, ratio=numbers(rotor.ratio))}>"
    yield f"  {_origin(rotor.placement)}"
    yield f'  <axis xyz="{numbers(rotor.axis)}"/>'
    yield from (f"  {line}" for line in inertial(rotor.inertia))
    yield "</rotor>"


def _origin(pose: Pose) -> str:
    return f'<origin xyz="{numbers(pose.p)}" rpy="{numbers(to_rpy(pose.R))}"/>'


def _shortest(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """One number where all are the same."""
    return values[:1] if len(set(values)) == 1 else values


def numbers(values: Iterable[Any]) -> str:
    return " ".join(number(x) for x in values)


def number(x: Any) -> str:
    """The shortest text that reads back as the same double."""
    if not ops.is_literal(x):
        raise ModelError(f"{x!r} is no plain number: substitute values before saving")
    value = float(x) + 0.0  # no negative zeros
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def attributes(**values: str) -> str:
    """Attributes with their values escaped, each after a blank."""
    return "".join(f' {key}="{escape(value)}"' for key, value in values.items())


def escape(text: str) -> str:
    """Text as it may stand between double quotes in XML."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return "".join(c if c.isprintable() else f"&#{ord(c)};" for c in text)
