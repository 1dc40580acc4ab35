"""A `Model` as MJCF: bodies, joints, sites and keys with the names of the model, and its collision shapes.

MJCF has four joints (free, ball, slide, hinge), and a body may have several in a row; a joint made of several
steps is written as that many.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.io.notes import Notes, check_names_and_masses, floats, parts_of, without_rotors
from kinetree.io.save_geoms import Geoms
from kinetree.io.save_keys import keyframe
from kinetree.io.save_loops import end_bodies, equalities
from kinetree.io.text import CUSTOM, element, number, numbers, place_of
from kinetree.joints import CoordinateJoint, Step
from kinetree.model import Body, Limits, Model
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import mat_vec

NO_LIMIT = 1e10  # MuJoCo's largest number
ORDER = "order"
BODY = "body"  # names of massless bodies, which MJCF does not have
FREE = "free"
_MOST = 6  # most degrees of freedom of one MJCF body


def write_mjcf(model: Model) -> str:
    """The MJCF text of a model, which loads as the same model; ModelError for what MJCF cannot express."""
    check_names_and_masses(model, "MJCF")
    return written(model, Notes(model.name, "MJCF", strict=True), faithful=True)


def written(model: Model, notes: Notes, *, faithful: bool = False) -> str:
    """The MJCF text of a model; what it cannot express goes to `notes`.

    Args:
        faithful: keep the order and the origin of all coordinates; MuJoCo orders bodies depth first and
            measures a floating base from the world origin.
    """
    model = without_rotors(model, notes)
    inner: list[list[str]] = [[] for _ in range(model.nbodies + 1)]  # content of each body
    ties: list[str] = []
    custom: list[str] = []
    first, made = {}, {}  # the first MJCF joint of each joint, and all of them
    chains = _chains(model)
    for i, body in enumerate(model.bodies, 1):
        owner = f"model '{model.name}': body '{body.name}'"
        last, seen = chains.get(i, (i, Pose.identity()))
        if last == i:
            inner[i] += _inertial(body, owner)
        elif body.name != f"{model.body_names[last - 1]}@{body.joint_name}":
            custom.append(element("text", name=f"{CUSTOM}{BODY}:{body.joint_name}", data=body.name))
        steps = steps_of(body, owner, whole=not faithful or body.placement == Pose.identity())
        names = names_of(body, steps)
        first[i], made[i] = names[0] if names else "", steps
        for k, (name, step) in enumerate(zip(names, steps, strict=True)):
            tied = leader(steps, k)
            own = {} if tied != k else _drive(body, step, notes)
            where = _axis(step, seen, owner)
            inner[last].append(element("joint", name=name, type=step.kind, **where, **own))
            if tied != k:
                ties.append(_tie(name, names[tied], 0.0, step.ratio / steps[tied].ratio))
            else:
                custom += _custom(name, body, step)
    for i, rule in model.layout.follows.items():
        ties.append(_tie(first[i], first[rule.leader], float(rule.offset), float(rule.multiplier)))
    for frame in model.frames:
        place = place_of(frame.placement, f"model '{model.name}': frame '{frame.name}'")
        inner[frame.body].append(element("site", name=frame.name, **place))
    geoms = Geoms(model)
    custom += geoms.custom
    for i, lines in geoms.lines.items():
        inner[i] += lines
    held, sites, texts = equalities(model, first, notes)
    ties += held
    custom += texts
    for body_index, line in sites:
        inner[body_index].append(line)
    nested, order = _nested(model, inner, chains)
    if faithful and order != sorted(order):
        custom.append(element("numeric", name=f"{CUSTOM}{ORDER}", data=numbers(order)))
    lines = [
        element("mujoco", "", model=model.name),
        element("compiler", angle="radian", inertiafromgeom="false", autolimits="true"),
        element("option", gravity=numbers(floats(model.gravity, "gravity"))),
        *(["<custom>", *custom, "</custom>"] if custom else []),
        *(["<asset>", *geoms.assets, "</asset>"] if geoms.assets else []),
        *nested,
        *(["<contact>", *geoms.contacts, "</contact>"] if geoms.contacts else []),
        *(["<equality>", *ties, "</equality>"] if ties else []),
        *keyframe(model, order, made.__getitem__, notes),
        "</mujoco>",
    ]
    return "\n".join(lines) + "\n"


def _chains(model: Model) -> dict[int, tuple[int, Pose]]:
    """Massless bodies with one child: the body that takes over their joints, and their pose seen from it.

    MuJoCo has no massless moving bodies; instead, a body may have several joints. For bodies i and j,
    T_i J_i(q) T_j J_j = (T_i T_j) (T_j^-1 J_i(q) T_j) J_j: the axis of J_i is transformed by T_j^-1.
    """
    marked = {frame.body for frame in model.frames} | {part.body for part in model.geometries}
    marked |= end_bodies(model)
    found: dict[int, tuple[int, Pose]] = {}
    freedom: dict[int, int] = {}
    for i in reversed(range(1, model.nbodies + 1)):
        body, children = model.bodies[i - 1], model.children(i)
        massless = all(ops.is_literal(x) and x == 0 for x in body.inertia.parameters)
        axial = body.joint.steps and all(step.axis is not None for step in body.joint.steps)
        if not massless or not axial or body.joint.is_free or len(children) != 1 or i in marked:
            continue
        below = model.bodies[children[0] - 1]
        last, seen = found.get(children[0], (children[0], Pose.identity()))
        total = body.joint.nv + freedom.get(children[0], below.joint.nv)
        if below.joint.nv and not below.joint.is_free and total <= _MOST:
            found[i], freedom[i] = (last, seen @ below.placement.inverse()), total
    return found


def _nested(
    model: Model, inner: list[list[str]], chains: dict[int, tuple[int, Pose]]
) -> tuple[list[str], list[int]]:
    """The nested elements of the bodies, to any depth, and the order of the bodies."""
    lines, order = ["<worldbody>", *inner[0]], []
    waiting: list[int | str] = ["</worldbody>", *model.children(0)[::-1]]
    while waiting:
        i = waiting.pop()
        if isinstance(i, str):
            lines.append(i)
            continue
        body, placement = model.bodies[i - 1], model.bodies[i - 1].placement
        order.append(i)
        while i in chains:  # its joints are written with those of its child
            (i,) = model.children(i)
            body, placement = model.bodies[i - 1], placement @ model.bodies[i - 1].placement
            order.append(i)
        place = place_of(placement, f"model '{model.name}': body '{body.name}'")
        lines += [element("body", "", name=body.name, **place), *inner[i]]
        waiting += ["</body>", *model.children(i)[::-1]]
    return lines, order


def steps_of(body: Body, owner: str, whole: bool = True) -> tuple[Step, ...]:
    """The MJCF joints that make up the joint of a body; a free joint stays one joint if `whole`."""
    joint = body.joint
    if joint.is_free and body.parent == 0 and whole:
        return (Step(FREE, None, tuple(range(joint.nq)), tuple(range(joint.nv))),)  # type: ignore[arg-type]
    rates = joint.is_free or isinstance(joint, CoordinateJoint) or len(joint.steps or ()) == 1
    if joint.steps is None or not rates:
        raise ModelError(
            f"{owner}: MuJoCo has no joint of type '{joint.type_name}', and it is not made of hinges, slides "
            "and balls: lock it, or build it from several joints"
        )
    return tuple(
        step._replace(axis=step.axis and tuple(floats(step.axis, owner).tolist()), ratio=float(step.ratio))
        for step in joint.steps
    )


def names_of(body: Body, steps: Sequence[Step]) -> list[str]:
    """The names of the MJCF joints that make up the joint of a body."""
    return [body.joint_name] if len(steps) == 1 else parts_of(body.joint_name, len(steps))


def leader(steps: Sequence[Step], k: int) -> int:
    """The first step with the coordinate of step k: an earlier one if they are tied."""
    return next(j for j, step in enumerate(steps) if step.positions == steps[k].positions)


def _axis(step: Step, seen: Pose, owner: str) -> dict[str, str]:
    """Axis and anchor of an MJCF joint in the body it is written to."""
    if step.axis is None:
        return {}
    anchor = floats(seen.p, owner)
    pos = {"pos": numbers(anchor)} if anchor.any() and step.kind == "hinge" else {}
    return pos | {"axis": numbers(mat_vec(seen.R, step.axis))}


def _inertial(body: Body, owner: str) -> list[str]:
    """The inertia as principal axes and moments: MuJoCo rounds when it computes them itself."""
    floats(body.inertia.parameters, owner)
    mass, (xx, yy, zz, xy, xz, yz) = float(body.inertia.mass), body.inertia.about_com
    moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=float)
    if mass == 0.0 and not moments.any():
        return []
    principal, axes = np.diag(moments), np.eye(3)
    if np.any(moments != np.diag(principal)):
        principal, axes = np.linalg.eigh(moments)
        axes = axes * np.sign(np.linalg.det(axes))
    place = {"pos": numbers(body.inertia.com)} | place_of(Pose(axes.tolist()), owner)
    return [element("inertial", mass=number(mass), diaginertia=numbers(principal), **place)]


def _drive(body: Body, step: Step, notes: Notes) -> dict[str, str]:
    """The drive of one MJCF joint, in its own coordinate: `ratio` times that of the model."""
    out, what, ratio = {}, f"joint '{body.joint_name}'", step.ratio
    if body.joint.is_free:
        _check_free(body, what, notes)
    for name, values, scale in (
        ("armature", body.armature, ratio**2), ("damping", body.damping, ratio**2),
        ("frictionloss", body.friction, abs(ratio)), ("stiffness", body.stiffness, ratio**2),
    ):  # fmt: skip
        own = floats([values[k] for k in step.velocities], what)
        if np.ptp(own) > 0.0:
            notes.cannot(
                f"the {name} of {what}, which differs between its degrees of freedom",
                "their mean is used", f"make its {name} the same for all",
            )  # fmt: skip
        if own.any():
            out[name] = number(float(own[0] if np.ptp(own) == 0.0 else own.mean()) / scale)
    if body.joint.is_free:
        out.pop("stiffness", None)
    if step.axis is None:
        neutral = body.joint.neutral()
        if any(body.spring_reference[k] != neutral[k] for k in step.positions):
            notes.cannot(
                f"the position at which the spring of {what} is relaxed", "it is the neutral one",
                "make it the neutral position",
            )  # fmt: skip
        return out
    (at,), (k,) = step.positions, step.velocities
    if body.spring_reference[at]:
        out["springref"] = number(float(body.spring_reference[at]) * ratio)
    bounds = sorted(ratio * float(x[k]) for x in (body.limits.lower, body.limits.upper))
    if np.isfinite(bounds).any() and bounds[0] < bounds[1]:
        out["range"] = numbers((max(bounds[0], -NO_LIMIT), min(bounds[1], NO_LIMIT)))
    effort = float(body.limits.effort[k]) / abs(ratio)
    if np.isfinite(effort) and effort > 0.0:
        out["actuatorfrcrange"] = numbers((-effort, effort))
    return out


def _check_free(body: Body, what: str, notes: Notes) -> None:
    """Refuse drives along the body's axes: MuJoCo's free joint uses the axes of the world."""
    linear = slice(3, 6)
    if np.ptp(floats(body.damping[linear], what)) > 0.0:
        notes.cannot(
            f"the damping of {what}, which differs along its axes",
            "each acts along a world axis instead",
            "make it the same along x, y and z",
        )  # fmt: skip
    for name in ("friction", "stiffness"):
        if any(getattr(body, name)[linear] if name == "friction" else body.stiffness):
            notes.cannot(
                f"the {name} of {what}, which acts along the axes of the body",
                "it acts along others, or not at all",
                "remove it, and apply the force in your own code",
            )  # fmt: skip


def _custom(name: str, body: Body, step: Step) -> list[str]:
    """Limits that MJCF cannot express, as custom numbers: speed limits, and limits of balls."""
    lines = []
    for field, none in Limits()._asdict().items():
        values = [float(getattr(body.limits, field)[k]) for k in step.velocities]
        if not _is_said(field, body.limits, step) and any(x != none for x in values):
            scale = {"velocity": abs(step.ratio), "effort": 1 / abs(step.ratio)}.get(field, step.ratio)
            data = numbers(max(-NO_LIMIT, min(NO_LIMIT, scale * x)) for x in values)
            lines.append(element("numeric", name=f"{CUSTOM}{field}:{name}", data=data))
    return lines


def _is_said(field: str, limits: Limits, step: Step) -> bool:
    """Whether the MJCF joint itself can hold a limit: a range that is not a point, a non-zero force."""
    if step.axis is None or field == "velocity":
        return False
    (k,) = step.velocities
    return bool(limits.effort[k] > 0 if field == "effort" else limits.lower[k] < limits.upper[k])


def _tie(follower: str, leader: str, offset: float, factor: float) -> str:
    return element("joint", joint1=follower, joint2=leader, polycoef=numbers((offset, factor, 0, 0, 0)))
