"""kinetree models in MuJoCo, and the maps between the coordinates of both.

MuJoCo puts the scalar part of quaternions first, position before attitude, and the linear velocity of a free
joint in world axes. It has four joints (free, ball, slide, hinge), of which a body may have several in a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from kinetree import functions
from kinetree.errors import ModelError
from kinetree.interop.charts import Array, Ball, Chart, FreeWorld
from kinetree.interop.maps import Maps, Piece
from kinetree.interop.twin import Names, Notes, Twin, central, floats, imported, parts_of, without_rotors
from kinetree.model import Model
from kinetree.model.parts import Body
from kinetree.spatial.pose import Pose
from kinetree.spatial.rotation import Rotation

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
NO_LIMIT = 1e10  # MuJoCo's largest number
POSITIONS = {"free": 7, "ball": 4, "slide": 1, "hinge": 1}
VELOCITIES = {"free": 6, "ball": 3, "slide": 1, "hinge": 1}
TYPES = ("free", "ball", "slide", "hinge")  # in the order of MuJoCo's mjtJoint


class Step(NamedTuple):
    """One MuJoCo joint of those that make a joint here."""

    kind: str
    axis: tuple[float, ...] | None = None
    degrees: tuple[int, ...] = ()  # velocities here that it carries; () if it follows the first by `pitch`
    pitch: float = 1.0


def to_mujoco(model: Model, *, strict: bool = True) -> Twin:
    """The `mujoco.MjModel` of a kinetree model, and the maps between their coordinates.

    See `to_mjcf` for how it is written, and for `strict`.

    Raises:
        ModelError: the model has something that MuJoCo cannot hold, such as moving bodies without mass.
        KinetreeError: MuJoCo is not installed.
    """
    mujoco = imported("mujoco", "MuJoCo")
    notes = Notes(model.name, "MuJoCo", strict)
    text = _written(model, notes)
    try:
        twin = mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        raise ModelError(f"model '{model.name}': MuJoCo refuses it: {' '.join(str(error).split())}") from None
    return Twin(twin, mujoco_maps(model, twin, notes))


def to_mjcf(model: Model, *, strict: bool = True) -> str:
    """The MJCF text of a kinetree model: bodies, joints and sites with its names, no geometry.

    Universal, cylindrical, planar, helical and carried free joints j become several joints j/1, j/2, ... of
    one body. Mimic joints, and the sliding part of helical ones, have coordinates of their own in MuJoCo,
    tied by `equality joint` constraints, which are soft there.

    Args:
        strict: refuse what MuJoCo cannot hold exactly: rotors, and armatures that differ between the degrees
            of freedom of a ball or free joint. If False, come as near as possible.
    """
    return _written(model, Notes(model.name, "MuJoCo", strict))


# --- writing ---
def _written(model: Model, notes: Notes) -> str:
    model = without_rotors(model, notes)
    inner: list[list[str]] = [[] for _ in range(model.nbodies + 1)]  # what stands in each body
    ties: list[str] = []
    for i, body in enumerate(model.bodies, 1):
        owner = f"model '{model.name}': body '{body.name}'"
        inner[i] += _inertia(body, owner)
        steps = steps_of(body, owner)
        names = names_of(body, steps)
        for name, step in zip(names, steps):
            inner[i].append(_element("joint", name=name, **_attributes(body, step, notes)))
        ties += [
            _tie(name, names[0], 0.0, step.pitch) for name, step in zip(names, steps) if not step.degrees
        ]
    for i, rule in model.layout.follows.items():
        follower, leader = model.bodies[i - 1], model.bodies[rule.leader - 1]
        first, second = (names_of(body, steps_of(body, body.name))[0] for body in (follower, leader))
        ties.append(_tie(first, second, float(rule.offset), float(rule.multiplier)))
    for frame in model.frames:
        place = _place(frame.placement, f"model '{model.name}': frame '{frame.name}'")
        inner[frame.body].append(_element("site", name=frame.name, **place))
    lines = [
        _element("mujoco", "", model=model.name),
        _element("compiler", angle="radian", inertiafromgeom="false", autolimits="true"),
        _element("option", gravity=_text(floats(model.gravity, "gravity"))),
        *_nested(model, inner),
        *(["<equality>", *ties, "</equality>"] if ties else []),
        "</mujoco>",
    ]
    return "\n".join(lines) + "\n"


def _nested(model: Model, inner: list[list[str]]) -> list[str]:
    """The elements of the bodies, each inside that of its parent, to any depth."""
    lines = ["<worldbody>", *inner[0]]
    waiting: list[int | str] = ["</worldbody>", *model.children(0)[::-1]]
    while waiting:
        i = waiting.pop()
        if isinstance(i, str):
            lines.append(i)
            continue
        body = model.bodies[i - 1]
        place = _place(body.placement, f"model '{model.name}': body '{body.name}'")
        lines += [_element("body", "", name=body.name, **place), *inner[i]]
        waiting += ["</body>", *model.children(i)[::-1]]
    return lines


def steps_of(body: Body, owner: str) -> list[Step]:
    """The MuJoCo joints that make the joint of a body."""
    joint = body.joint
    numbers = tuple(floats(joint.parameters, owner).tolist())
    match joint.type_name:
        case "fixed":
            return []
        case "revolute":
            return [Step("hinge", numbers, (0,))]
        case "prismatic":
            return [Step("slide", numbers, (0,))]
        case "helical":
            return [Step("hinge", numbers[:3], (0,)), Step("slide", numbers[:3], (), numbers[3])]
        case "cylindrical":
            return [Step("hinge", numbers, (0,)), Step("slide", numbers, (1,))]
        case "universal":
            return [Step("hinge", numbers[:3], (0,)), Step("hinge", numbers[3:], (1,))]
        case "planar":
            return [Step("slide", X, (1,)), Step("slide", Y, (2,)), Step("hinge", Z, (0,))]
        case "spherical":
            return [Step("ball", None, (0, 1, 2))]
        case "free" if body.parent == 0:
            return [Step("free", None, (0, 1, 2, 3, 4, 5))]
        case "free":
            slides = [Step("slide", axis, (3 + k,)) for k, axis in enumerate((X, Y, Z))]
            return [*slides, Step("ball", None, (0, 1, 2))]
    raise ModelError(
        f"{owner}: MuJoCo has no joint of type '{joint.type_name}': lock it, or build it from several joints"
    )


def names_of(body: Body, steps: Sequence[Step]) -> list[str]:
    """The names of the MuJoCo joints that make the joint of a body."""
    return [body.joint_name] if len(steps) == 1 else parts_of(body.joint_name, len(steps))


def _inertia(body: Body, owner: str) -> list[str]:
    """The inertia by principal axes and moments: MuJoCo rounds when it finds them itself."""
    mass, com, moments = central(body.inertia, owner)
    if mass == 0.0 and not moments.any():
        return []
    principal, axes = np.diag(moments), np.eye(3)
    if np.any(moments != np.diag(principal)):
        principal, axes = np.linalg.eigh(moments)
        axes = axes * np.sign(np.linalg.det(axes))
    place = {"pos": _text(com)} | _place(Pose(axes.tolist()), owner)
    return [_element("inertial", mass=repr(mass), diaginertia=_text(principal), **place)]


def _attributes(body: Body, step: Step, notes: Notes) -> dict[str, str]:
    """The attributes of one MuJoCo joint."""
    out = {"type": step.kind} | ({"axis": _text(step.axis)} if step.axis else {})
    what = f"joint '{body.joint_name}'"
    for name, values in (
        ("armature", body.armature), ("damping", body.damping), ("frictionloss", body.friction),
    ):  # fmt: skip
        own = floats([values[k] for k in step.degrees], what)
        if own.size and np.ptp(own) > 0.0:
            notes.cannot(
                f"the {name} of {what}, which differs between its degrees of freedom",
                "their mean is used", f"make its {name} the same for all",
            )  # fmt: skip
        if own.any():
            out[name] = repr(float(own[0] if np.ptp(own) == 0.0 else own.mean()))
    if len(step.degrees) != 1:
        if step.degrees and any(body.stiffness[k] for k in step.degrees):
            notes.append(f"the spring of {what} is left out")
        return out
    (k,) = step.degrees
    if body.stiffness[k]:
        out["stiffness"] = repr(float(body.stiffness[k]))
        if body.joint.nq == body.joint.nv:
            out["springref"] = repr(float(body.spring_reference[k]))
    lower, upper = float(body.limits.lower[k]), float(body.limits.upper[k])
    if (np.isfinite(lower) or np.isfinite(upper)) and lower < upper:
        out["range"] = _text((max(lower, -NO_LIMIT), min(upper, NO_LIMIT)))
    effort = float(body.limits.effort[k])
    if np.isfinite(effort) and effort > 0.0:
        out["actuatorfrcrange"] = _text((-effort, effort))
    return out


def _tie(follower: str, leader: str, offset: float, factor: float) -> str:
    coefficients = _text((offset, factor, 0, 0, 0))
    return _element("joint", joint1=follower, joint2=leader, polycoef=coefficients)


def _place(placement: Pose, owner: str) -> dict[str, str]:
    out = {}
    p, R = floats(placement.p, owner), floats(placement.R, owner)
    if p.any():
        out["pos"] = _text(p)
    if np.any(np.eye(3) != R):
        x, y, z, w = Rotation.from_matrix(R.tolist()).as_quaternion()
        out["quat"] = _text((w, x, y, z))
    return out


def _element(tag: str, end: str = "/", **attributes: str) -> str:
    """The text of an element; with end="" it stays open."""
    return f"<{tag}{''.join(f' {name}={quoteattr(value)}' for name, value in attributes.items())}{end}>"


def _text(numbers: Any) -> str:
    return " ".join(repr(float(x)) for x in numbers)


# --- maps ---
class There(NamedTuple):
    """A joint of a MuJoCo model."""

    kind: str
    q: range
    v: range


def joints_there(mujoco: Any, twin: Any) -> dict[str, There]:
    """The joints of a MuJoCo model by name; those without one are called after their bodies."""
    names = [mujoco.mj_id2name(twin, mujoco.mjtObj.mjOBJ_JOINT, j) for j in range(twin.njnt)]
    free = Names(*filter(None, names))
    out = {}
    for j, name in enumerate(names):
        kind, q, v = TYPES[twin.jnt_type[j]], int(twin.jnt_qposadr[j]), int(twin.jnt_dofadr[j])
        there = There(kind, range(q, q + POSITIONS[kind]), range(v, v + VELOCITIES[kind]))
        out[name or free.claim(f"{body_name(mujoco, twin, int(twin.jnt_bodyid[j]))}_joint")] = there
    return out


def body_name(mujoco: Any, twin: Any, b: int) -> str:
    """The name of a MuJoCo body, or one made of its number."""
    return mujoco.mj_id2name(twin, mujoco.mjtObj.mjOBJ_BODY, b) or f"body{b}"


def mujoco_maps(model: Model, twin: Any, notes: Any = ()) -> Maps:
    """The maps between a kinetree model and a `mujoco.MjModel` whose joints have the same names.

    Both may come from one robot file. Joints of the same name must be the same joints, with the same zero.

    Raises:
        ModelError: a joint is found on one side only, or is of another type there.
    """
    mujoco = imported("mujoco", "MuJoCo")
    there, pieces, joints = joints_there(mujoco, twin), [], {}
    for i, body in enumerate(model.bodies, 1):
        owner = f"model '{model.name}': joint '{body.joint_name}'"
        steps = steps_of(body, owner)
        names = names_of(body, steps)
        if body.joint.type_name == "free" and body.joint_name in there:
            steps, names = [Step("free", None, (0, 1, 2, 3, 4, 5))], [body.joint_name]
        kinds = [there[name].kind if name in there else None for name in names]
        if kinds != [step.kind for step in steps]:
            wanted = ", ".join(f"{name} ({step.kind})" for name, step in zip(names, steps))
            raise ModelError(f"{owner} needs {wanted} among MuJoCo's joints {sorted(there)[:8]} ...")
        joints[body.joint_name] = tuple(names)
        rule = model.layout.follows.get(i)
        leader = model.joint_names[(rule.leader if rule else i) - 1]
        q, v = model.position_index(leader), model.coordinate_index(leader)
        factor, offset = (float(rule.multiplier), float(rule.offset)) if rule else (1.0, 0.0)
        if body.joint.type_name == "free":
            places = [there[name] for name in names]
            q_there = tuple(k for place in places for k in place.q)
            v_there = tuple(k for place in places for k in place.v)
            at = body.placement if body.parent == 0 else Pose.identity()
            pieces.append(Piece(FreeWorld(at), q, v, q_there, v_there))
            continue
        for name, step in zip(names, steps):
            place, chart = there[name], Ball() if step.kind == "ball" else Chart()
            first = step.degrees[0] if step.degrees else 0
            own_q = q if step.kind == "ball" else slice(q.start + first, q.start + first + 1)
            own_v = slice(v.start + first, v.start + first + max(len(step.degrees), 1))
            pieces.append(
                Piece(
                    chart, own_q, own_v, tuple(place.q), tuple(place.v),
                    step.pitch * factor, step.pitch * offset, bool(step.degrees) and rule is None,
                )
            )  # fmt: skip
    missing = sorted(set(there) - {name for names in joints.values() for name in names})
    if missing:
        raise ModelError(f"model '{model.name}' has no joints {missing[:8]} that MuJoCo has")
    return Maps((model.nq, model.nv), (twin.nq, twin.nv), pieces, twin.qpos0, joints, tuple(notes))


def mujoco_wrenches(model: Model, twin: Any, q: Any, f_ext: Any) -> Array:
    """MuJoCo's `xfrc_applied` (nbody, 6), from the wrenches `f_ext` (nb, 6) on our bodies at `q`.

    MuJoCo wants [force; torque] in world axes about the centre of mass of each body.
    Bodies are found by name.
    """
    mujoco = imported("mujoco", "MuJoCo")
    out = np.zeros((twin.nbody, 6))
    placements = np.asarray(functions.placements(model, np.asarray(q, dtype=float), target="eager"))
    for body, T, wrench in zip(model.bodies, placements, np.asarray(f_ext, dtype=float), strict=True):
        b = mujoco.mj_name2id(twin, mujoco.mjtObj.mjOBJ_BODY, body.name)
        if b < 0:
            raise ModelError(f"model '{model.name}': MuJoCo has no body '{body.name}'")
        moment = wrench[:3] - np.cross(twin.body_ipos[b], wrench[3:])
        out[b] = np.concatenate([T[:3, :3] @ wrench[3:], T[:3, :3] @ moment])
    return out


def mass_matrix_of(mujoco: Any, twin: Any, data: Any) -> Array:
    """The dense mass matrix (nv, nv) in MuJoCo's coordinates, after `mj_forward`."""
    M = np.zeros((twin.nv, twin.nv))
    if hasattr(data, "qM"):
        mujoco.mj_fullM(twin, M, data.qM)
    else:
        mujoco.mj_fullM(twin, data, M)
    return M
