"""A `Model` as SDF: links, joints and frames with the names of the model, and its collision shapes.

What SDF cannot express is written to elements and attributes with the prefix `kinetree:`, which other tools
skip: name and placement of a floating base, rotors, values that differ between the coordinates of one joint,
the order of bodies, contact data, and names that SDF does not accept. A joint that SDF does not have is
written as the hinges and slides it is made of, with massless links in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isinf, pi
from typing import Any

from kinetree.errors import ModelError
from kinetree.io.description import Names
from kinetree.io.loops import hints, is_closed_at_zero
from kinetree.io.notes import check_names_and_masses, parts_of
from kinetree.io.placement import to_rpy
from kinetree.io.save_mjcf import steps_of
from kinetree.io.save_touching import touching_texts
from kinetree.io.save_urdf import is_depth_first, named, rotor_lines
from kinetree.io.sdf_joint import DRIVE
from kinetree.io.sdf_values import NO_LIMIT
from kinetree.io.text import CUSTOM, attributes, escape, number, numbers
from kinetree.joints import Prismatic, Revolute, Spherical, Universal
from kinetree.model import Body, Limits, Model
from kinetree.model.closures import JointClosure
from kinetree.model.geometry import SINK
from kinetree.model.parts import Frame
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose

_WORDS = ("name", "base", "order", "rotor", "part", "loop")
NAME, BASE, ORDER, ROTOR, PART, LOOP = (f"kinetree:{x}" for x in _WORDS)
WRITTEN = {
    "fixed": "fixed", "revolute": "revolute", "prismatic": "prismatic", "helical": "screw",
    "universal": "universal", "spherical": "ball",
}  # fmt: skip
LOOPS = {"fixed": "fixed", "revolute": "continuous", "prismatic": "prismatic", "spherical": "ball"}
_STEPS = {"hinge": Revolute, "slide": Prismatic}
_GRAVITY = (0.0, 0.0, -9.81)
_SEPARATOR = "::"
_FORCES = {"damping": "damping", "friction": "friction", "stiffness": "spring_stiffness"}


def write_sdf(model: Model) -> str:
    """The SDF text of a model, which loads as the same model; ModelError for what SDF cannot express.

    The version is the lowest that suffices: 1.7, or 1.10 for screws, 1.11 for mimic joints.
    """
    check_names_and_masses(model, "SDF")
    return "\n".join(_Writer(model).lines()) + "\n"


class _Writer:
    def __init__(self, model: Model) -> None:
        self.model = model
        taken = Names({"world", "__model__", "__root__"})
        self.bodies = {name: _claim(taken, name) for name in model.body_names}
        self.parts = {body.joint_name: self._split(body) for body in model.bodies}
        self.links: dict[str, str] = {}  # names of massless links between the parts of a joint
        every = [part.joint_name for parts in self.parts.values() for part in parts]
        self.joints = {name: _claim(taken, name, "_joint") for name in every}
        closures = (closure for loop in model.loops for closure in loop.closures)
        self.loops = {closure.name: _claim(taken, closure.name, "_loop") for closure in closures}
        self.frames = {frame.name: _claim(taken, frame.name, "_frame") for frame in model.frames}
        for parts in self.parts.values():
            for part in parts[:-1]:
                self.links[part.name] = _claim(taken, part.name)

    def lines(self) -> Iterator[str]:
        model = self.model
        outside = [frame for frame in model.frames if frame.body == 0]
        world = bool(outside) or tuple(model.gravity) != _GRAVITY
        yield '<?xml version="1.0"?>'
        yield f'<sdf version="{self._version()}" xmlns:kinetree="kinetree">'
        if world:
            yield '<world name="default">'
            yield f"<gravity>{numbers(model.gravity)}</gravity>"
            for frame in outside:
                yield from named(f"frame '{frame.name}'", self._frame, frame)
        name = model.name.replace(_SEPARATOR, "__")
        yield f"<model{attributes(name=name, **_true(name, model.name))}>"
        for body in model.bodies:
            yield from named(f"body '{body.name}'", self._link, body)
        for body in model.bodies:
            for part in self.parts[body.joint_name]:
                if not (part.joint.is_free and part.parent == 0):
                    yield from named(f"joint '{body.joint_name}'", self._joint, part)
        for closure in (closure for loop in model.loops for closure in loop.closures):
            yield from named(f"loop '{closure.name}'", self._loop, closure)
        for joint, said in hints(model):
            yield f"<{LOOP}{attributes(joint=joint, **said)}/>"
        for frame in model.frames:
            if frame.body:
                yield from named(f"frame '{frame.name}'", self._frame, frame)
        yield from (f"<{CUSTOM}{kind}>{text}</{CUSTOM}{kind}>" for kind, text in touching_texts(model))
        for rotor in model.rotors:
            yield from named(f"rotor of joint '{rotor.joint}'", rotor_lines, rotor, ROTOR)
        if not self._is_natural():
            yield f"<{ORDER}/>"
        yield "</model>"
        if world:
            yield "</world>"
        yield "</sdf>"

    def _version(self) -> str:
        if any(body.mimic is not None for body in self.model.bodies):
            return "1.11"
        return "1.10" if any(body.joint.type_name == "helical" for body in self.model.bodies) else "1.7"

    def _is_natural(self) -> bool:
        """Whether the bodies are in the order of a reader: floating ones first, then depth first."""
        roots = [body.joint.is_free for body in self.model.bodies if body.parent == 0]
        return is_depth_first(self.model) and roots == sorted(roots, reverse=True)

    def _split(self, body: Body) -> list[Body]:
        """The joint of a body as SDF joints, each with its own link except the last."""
        if body.joint.type_name in WRITTEN or (body.joint.is_free and body.parent == 0):
            return [body]
        try:
            steps = steps_of(body, f"body '{body.name}'", whole=False)
        except ModelError:
            raise ModelError(
                f"joint '{body.joint_name}' of model '{self.model.name}' is {body.joint.type_name}, which "
                f"SDF does not have ({', '.join(WRITTEN.values())}): save the model as JSON"
            ) from None
        if body.mimic is not None or len({step.positions for step in steps}) < len(steps):
            raise ModelError(f"joint '{body.joint_name}': SDF cannot couple the parts that it is made of")
        parts = []
        for k, (name, step) in enumerate(zip(parts_of(body.joint_name, len(steps)), steps)):
            joint = Spherical() if step.axis is None else _STEPS[step.kind](step.axis)
            armature, damping, friction, stiffness = (
                tuple(values[i] for i in step.velocities)
                for values in (body.armature, body.damping, body.friction, body.stiffness)
            )
            part = body._replace(
                joint=joint,
                joint_name=name,
                limits=Limits(*(tuple(row[i] for i in step.velocities) for row in body.limits)),
                spring_reference=tuple(body.spring_reference[i] for i in step.positions),
                armature=armature,
                damping=damping,
                friction=friction,
                stiffness=stiffness,
            )
            last = k == len(steps) - 1
            parts.append(part if last else part._replace(name=f"{body.name}@{name}"))
        return parts

    def _link(self, body: Body) -> Iterator[str]:
        """A link, preceded by the massless links between the parts of its joint, with their poses."""
        parent = self._parent(body)
        place: Pose | None = body.placement
        for part in self.parts[body.joint_name][:-1]:
            yield f"<link{attributes(name=self.links[part.name])}>"
            yield _pose(place, parent)
            yield inertial(Inertia.zero())
            yield f"<{PART}/>"
            yield "</link>"
            parent, place = self.links[part.name], None
        label = self.bodies[body.name]
        yield f"<link{attributes(name=label, **_true(label, body.name))}>"
        yield _pose(place, parent)
        yield inertial(body.inertia)
        yield from _collisions(self.model, body.name)
        if body.joint.is_free and body.parent == 0:
            yield f"<{BASE}{attributes(joint=body.joint_name, **self._beside(body, every=True))}/>"
        yield "</link>"

    def _parent(self, body: Body) -> str:
        return "world" if body.parent == 0 else self.bodies[self.model.body_names[body.parent - 1]]

    def _joint(self, part: Body) -> Iterator[str]:
        parts = next(parts for parts in self.parts.values() if part in parts)
        before = parts[parts.index(part) - 1] if part is not parts[0] else None
        parent = self._parent(part) if before is None else self.links[before.name]
        child = self.bodies[part.name] if part is parts[-1] else self.links[part.name]
        kind, limits = WRITTEN[part.joint.type_name], part.limits
        if kind == "revolute" and all(isinf(x) for x in (*limits.lower, *limits.upper)):
            kind = "continuous"
        label = self.joints[part.joint_name]
        yield f"<joint{attributes(name=label, type=kind, **_true(label, part.joint_name))}>"
        yield _tag("parent", escape(parent))
        yield _tag("child", escape(child))
        if kind == "screw":
            yield _tag("screw_thread_pitch", number(2 * pi * part.joint.arguments["pitch"]))
        for k, axis in enumerate(_axes(part)):
            tag = ("axis", "axis2")[k]
            inner = "".join(self._axis(part, k, kind))
            yield f"<{tag}><xyz>{numbers(axis)}</xyz>{inner}</{tag}>"
        if kind == "ball" and _alike(part.damping) and _alike(part.friction):
            if part.damping[0] or part.friction[0]:
                forces = _dynamics({"damping": part.damping[0], "friction": part.friction[0]})
                yield f"<axis><xyz>0 0 1</xyz>{forces}</axis>"
        if part.joint.nv == 1 and part.armature[0]:
            yield _tag("drake:rotor_inertia", number(part.armature[0]))
        beside = self._beside(part)
        if beside:
            yield f"<{DRIVE}{attributes(**beside)}/>"
        yield "</joint>"

    def _loop(self, closure: Any) -> Iterator[str]:
        """A joint that closes a loop: a second joint on its child link."""
        kind = LOOPS.get(closure.joint.type_name) if isinstance(closure, JointClosure) else None
        if kind is None:
            raise ModelError(
                f"a {closure.kind} cannot close a loop in SDF, which has {', '.join(LOOPS.values())}: save "
                "the model as JSON"
            )
        if not is_closed_at_zero(self.model, closure):
            raise ModelError(
                "it is open with all joints at zero, the pose in which SDF defines a robot: choose the "
                "zero positions so that it is closed there, or save the model as MJCF or JSON"
            )
        names = {0: "world"} | {i: self.bodies[name] for i, name in enumerate(self.model.body_names, 1)}
        ends, pose = (closure.body, closure.other), closure.other_placement
        if closure.other == 0:
            ends, pose = ends[::-1], closure.placement
        label = self.loops[closure.name]
        yield f"<joint{attributes(name=label, type=kind, **_true(label, closure.name))}>"
        yield _pose(pose, names[ends[1]])
        yield _tag("parent", escape(names[ends[0]]))
        yield _tag("child", escape(names[ends[1]]))
        if closure.joint.axis is not None:
            yield f"<axis><xyz>{numbers(closure.joint.axis)}</xyz></axis>"
        yield "<physics><simbody><must_be_loop_joint>true</must_be_loop_joint></simbody></physics>"
        yield "</joint>"

    def _axis(self, part: Body, k: int, kind: str) -> Iterator[str]:
        """Limits, forces and mimic of one axis."""
        lower, upper, velocity, effort = (row[k] for row in part.limits)
        bounds = {} if kind == "continuous" else {"lower": lower, "upper": upper}
        bounds |= {key: x for key, x in (("effort", effort), ("velocity", velocity)) if not isinf(x)}
        yield "<limit>" + "".join(_tag(key, _bound(x)) for key, x in bounds.items()) + "</limit>"
        forces = {tag: getattr(part, field)[k] for field, tag in _FORCES.items()}
        yield _dynamics(forces | {"spring_reference": part.spring_reference[k]})
        if part.mimic is not None:
            joint, multiplier, offset = part.mimic
            values = {"multiplier": multiplier, "offset": offset, "reference": 0.0}
            inner = "".join(_tag(key, number(x)) for key, x in values.items())
            yield f"<mimic{attributes(joint=self.joints[joint], axis='axis')}>{inner}</mimic>"

    def _beside(self, part: Body, every: bool = False) -> dict[str, str]:
        """The joint data that an `<axis>` cannot hold."""
        found: dict[str, str] = {}
        ball = isinstance(part.joint, Spherical)
        if part.joint.nv > 1 and any(part.armature):
            found["armature"] = numbers(part.armature)
        for field in ("damping", "friction"):
            values = getattr(part, field)
            apart = every or (ball and not (_alike(part.damping) and _alike(part.friction)))
            if apart and any(values):
                found[field] = numbers(values)
        if every or ball:
            if any(part.stiffness):
                found["stiffness"] = numbers(part.stiffness)
            if part.spring_reference != part.joint.neutral():
                found["spring_reference"] = numbers(part.spring_reference)
            for field, values in part.limits._asdict().items():
                if any(x != getattr(Limits(), field) for x in values):
                    found[field] = " ".join(_bound(x, 1e30) for x in values)
        return found

    def _frame(self, frame: Frame) -> Iterator[str]:
        label = self.frames[frame.name]
        body = "world" if frame.body == 0 else self.bodies[self.model.body_names[frame.body - 1]]
        given = attributes(name=label, attached_to=body, **_true(label, frame.name))
        yield f"<frame{given}>{_pose(frame.placement, '')}</frame>"


def _collisions(model: Model, body: str) -> Iterator[str]:
    """The shapes of a body that SDF supports; all shapes are also written as texts of our own."""
    stiff = {point.geometry: point.stiffness for point in model.contact_points}
    for part in model.geometries:
        match part.shape.kind, part.shape.size if part.body == model.body_index(body) else ():
            case "sphere", (r,):
                shape = f"<sphere><radius>{number(r)}</radius></sphere>"
            case "cylinder" | "capsule" as kind, (r, half):
                inner = _tag("radius", number(r)) + _tag("length", number(2 * half))
                shape = _tag(kind, inner)
            case "box", (x, y, z):
                shape = f"<box><size>{numbers((2 * x, 2 * y, 2 * z))}</size></box>"
            case _:
                continue
        surface = _tag("friction", _tag("ode", _tag("mu", number(part.friction))))
        if part.stiffness is not None and part.name in stiff:
            damping = part.dissipation * part.stiffness * SINK
            spring = _tag("kp", number(part.stiffness)) + _tag("kd", number(damping))
            surface += _tag("contact", _tag("ode", spring))
        inner = f"{_pose(part.placement, '')}{_tag('geometry', shape)}{_tag('surface', surface)}"
        yield f"<collision{attributes(name=part.name.replace(_SEPARATOR, '__'))}>{inner}</collision>"


def inertial(inertia: Inertia) -> str:
    """The text of an `<inertial>` element."""
    xx, yy, zz, xy, xz, yz = map(number, inertia.about_com)
    moments = {"ixx": xx, "ixy": xy, "ixz": xz, "iyy": yy, "iyz": yz, "izz": zz}
    inner = "".join(_tag(key, x) for key, x in moments.items())
    pose, mass = _tag("pose", f"{numbers(inertia.com)} 0 0 0"), _tag("mass", number(inertia.mass))
    return f"<inertial>{pose}{mass}<inertia>{inner}</inertia></inertial>"


def _claim(names: Names, name: str, suffix: str = "") -> str:
    """A unique name in the model, without the character sequences that SDF reserves."""
    plain = name.replace(_SEPARATOR, "__")
    if plain.startswith("__") and plain.endswith("__"):
        plain = plain.strip("_") or "part"
    return names.claim(plain + suffix if plain in names.taken else plain)


def _true(label: str, name: str) -> dict[str, str]:
    """The attribute for a name that SDF does not accept."""
    return {} if label == name else {NAME: name}


def _tag(tag: str, text: str) -> str:
    return f"<{tag}>{text}</{tag}>"


def _pose(pose: Pose | None, parent: str) -> str:
    relative = attributes(relative_to=parent) if parent not in ("", "world") else ""
    if pose is None:
        return f"<pose{relative}/>"
    return f"<pose{relative}>{numbers(pose.p)} {numbers(to_rpy(pose.rotation))}</pose>"


def _axes(part: Body) -> list[Any]:
    """The axes of a joint, in the frame of its child."""
    if isinstance(part.joint, Universal):
        return [part.joint.axis1, part.joint.axis2]
    return [part.joint.axis] if part.joint.nv == 1 else []


def _dynamics(values: dict[str, Any]) -> str:
    given = {key: x for key, x in values.items() if x}
    if not given:
        return ""
    return "<dynamics>" + "".join(_tag(key, number(x)) for key, x in given.items()) + "</dynamics>"


def _bound(x: Any, none: float = NO_LIMIT) -> str:
    """A bound, with infinity written as a number that every tool reads."""
    if none <= abs(x) < inf:
        raise ModelError(f"the bound {x:g} would be read as no bound: use infinity, or save as JSON")
    return number(max(-none, min(none, x)))


def _alike(values: tuple[Any, ...]) -> bool:
    return len(set(values)) == 1
