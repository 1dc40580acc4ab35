"""kinetree models in Pinocchio, and the maps between their coordinates.

Pinocchio puts linear before angular and position before quaternion, numbers every branch of the tree without
gaps, turns fixed joints into frames, and gives the velocity of a planar joint in body axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.errors import ModelError
from kinetree.interop.charts import FREE_TWIST, Chart, Circle, PlanarBody, PlanarOrder
from kinetree.interop.loop_maps import closing, notes_of
from kinetree.interop.maps import Maps, Piece
from kinetree.interop.twin import Twin, depth_first, imported
from kinetree.io.notes import Notes, floats, parts_of, without_rotors
from kinetree.joints import CoordinateJoint, Joint
from kinetree.model import Model
from kinetree.model.parts import Body
from kinetree.spatial.vector import sym_matrix

ALIGNED = {(1.0, 0.0, 0.0): "X", (0.0, 1.0, 0.0): "Y", (0.0, 0.0, 1.0): "Z"}
MIMIC = ("joint", "independent")
# joints of several steps that are a single joint in Pinocchio
OWN = ("free", "planar", "planar_twist", "universal", "helical")
# type, their nq
CHARTS = {("free", 7): FREE_TWIST, ("planar", 4): PlanarBody(), ("planar_twist", 4): PlanarOrder(),
          ("revolute", 2): Circle()}  # fmt: skip


def to_pinocchio(model: Model, *, strict: bool = True, mimic: str = "joint") -> Twin:
    """The `pinocchio.Model` of a kinetree model, and the maps between their coordinates.

    Loops are open there: Pinocchio has coordinates for all joints, and the maps close the loops. Bodies
    become frames of type BODY, fixed joints become frames of type FIXED_JOINT, with their names; a
    cylindrical joint j becomes two joints j/1 (angle) and j/2 (displacement).

    Args:
        strict: refuse what Pinocchio cannot represent exactly: rotors, some armatures of joints with several
            degrees of freedom, a joint that mimics one that it carries. If False, approximate them and say so
            in `maps.notes`.
        mimic: "joint" creates Pinocchio's mimic joints (supported by its rnea and crba, refused by its aba);
            "independent" gives them their own coordinates, so that `maps.velocity_map` is tall.

    Raises:
        ModelError: Pinocchio cannot represent the model.
        KinetreeError: Pinocchio is not installed.
    """
    pin = imported("pinocchio", "Pinocchio")
    if mimic not in MIMIC:
        raise ModelError(f"to_pinocchio: mimic is {mimic!r}, expected one of {', '.join(MIMIC)}")
    notes = Notes(model.name, "Pinocchio", strict)
    model = without_rotors(model, notes)
    twin = _assembled(pin, model, notes)
    for body in model.bodies if mimic == "joint" else ():
        twin = _with_mimic(pin, model, twin, body, notes)
    return Twin(twin, pinocchio_maps(model, twin, notes))


def _assembled(pin: Any, model: Model, notes: Notes) -> Any:
    """The Pinocchio model in which mimic joints have their own coordinates."""
    twin = pin.Model()
    twin.name = model.name
    twin.gravity = pin.Motion(floats(model.gravity, f"model '{model.name}': gravity"), np.zeros(3))
    places: dict[int, tuple[int, int, Any]] = {0: (0, 0, pin.SE3.Identity())}  # body: joint, frame, pose
    for i in depth_first(model):
        body = model.bodies[i - 1]
        owner = f"model '{model.name}': body '{body.name}'"
        joint, frame, base = places[body.parent]
        here = base * _se3(pin, body.placement, owner)
        inertia = _inertia(pin, body, owner)
        if body.joint.nv == 0:
            weld = pin.Frame(body.joint_name, joint, frame, here, pin.FrameType.FIXED_JOINT)
            frame = twin.addFrame(weld, False)
        else:
            names = _joint_names(body)
            for name, kind in zip(names, _kinds(pin, body.joint, owner)):
                joint = twin.addJoint(joint, kind, here, name)
                frame, here = twin.addJointFrame(joint, frame), pin.SE3.Identity()
            _drive(twin, body, [twin.getJointId(name) for name in names], notes)
        body_frame = pin.Frame(body.name, joint, frame, here, pin.FrameType.BODY, inertia)
        places[i] = joint, twin.addFrame(body_frame, True), here
    for extra in model.frames:
        owner = f"model '{model.name}': frame '{extra.name}'"
        joint, frame, base = places[extra.body]
        here = base * _se3(pin, extra.placement, owner)
        twin.addFrame(pin.Frame(extra.name, joint, frame, here, pin.FrameType.OP_FRAME), False)
    return twin


def _joint_names(body: Body) -> list[str]:
    steps = body.joint.steps or ()
    whole = len(steps) <= 1 or body.joint.type_name in OWN
    return [body.joint_name] if whole else parts_of(body.joint_name, len(steps))


def _kinds(pin: Any, joint: Joint, owner: str) -> list[Any]:
    """The Pinocchio joints that move like one of ours: a single joint, or one for each step."""
    given = {name: floats(value, owner) for name, value in joint.arguments.items()}

    def along(kind: str, axis: Any, *pitch: float) -> Any:
        """The joint of type R, P or H about or along an axis."""
        axis = floats(axis, owner)
        letter = ALIGNED.get(tuple(axis.tolist()))
        if letter:
            return getattr(pin, f"JointModel{kind}{letter}")(*pitch)
        word = {"R": "Revolute", "P": "Prismatic", "H": "Helical"}[kind]
        return getattr(pin, f"JointModel{word}Unaligned")(axis, *pitch)

    match joint.type_name:
        case "free":
            return [pin.JointModelFreeFlyer()]
        case "planar" | "planar_twist":
            return [pin.JointModelPlanar()]
        case "universal":
            return [pin.JointModelUniversal(given["axis1"], given["axis2"])]
        case "helical":
            return [along("H", given["axis"], float(given["pitch"]))]
    steps = joint.steps or ()
    plain = all(step.ratio == 1 for step in steps) and len({step.positions for step in steps}) == len(steps)
    if not steps or not plain or not (len(steps) == 1 or isinstance(joint, CoordinateJoint)):
        raise ModelError(
            f"{owner}: Pinocchio has no joint of type '{joint.type_name}', and it is not made of hinges, "
            "slides and balls: lock it, or build it from others"
        )
    letters = {"hinge": "R", "slide": "P"}
    ball = pin.JointModelSpherical
    return [along(letters[step.kind], step.axis) if step.kind in letters else ball() for step in steps]


def _drive(twin: Any, body: Body, joints: list[int], notes: Notes) -> None:
    """Set armature, damping, friction and limits of the joint."""
    kind = body.joint.type_name
    what = f"{kind} joint '{body.joint_name}'"
    armature = floats(body.armature, what)
    in_body_axes = kind in ("planar", "planar_twist") or body.joint.quaternions
    turning, sliding = (armature[np.array(body.joint.rates) == rate] for rate in ("angle", "length"))
    if in_body_axes and (np.ptp(turning) > 0.0 or np.any(sliding)):
        notes.cannot(
            f"the armature of {what}",
            "it is added to the diagonal of the mass matrix, without the velocity-dependent forces it causes",
            "make its rotational entries equal and its translational entries zero",
        )
    if kind == "universal":
        notes.append(
            f"joint '{body.joint_name}' is a JointModelUniversal, whose moving axes Pinocchio ignores in "
            "its Coriolis matrix and in the rates of its Jacobians; its rnea, crba and aba are correct"
        )
    if any(body.stiffness):
        notes.append(f"the spring of joint '{body.joint_name}' is left out: Pinocchio has none")
    first = twin.joints[joints[0]]
    chart = _chart(body.joint, sum(twin.nqs[j] for j in joints), len(joints))
    order = chart.matrix(np.zeros(body.joint.nq), body.joint.nv)
    places = first.idx_v + np.argmax(order, axis=0)  # index of each velocity there
    twin.armature[places] = armature
    twin.damping[places] = floats(body.damping, what)
    twin.friction[places] = floats(body.friction, what)
    twin.velocityLimit[places] = np.minimum(floats(body.limits.velocity, what), np.finfo(float).max)
    twin.effortLimit[places] = np.minimum(floats(body.limits.effort, what), np.finfo(float).max)
    if body.joint.nq == body.joint.nv:
        at, of = first.idx_q + np.argmax(order, axis=0), slice(None)
        if kind in ("planar", "planar_twist"):
            at, of = first.idx_q + np.arange(2), slice(1, 3)
        huge = np.finfo(float).max
        twin.lowerPositionLimit[at] = np.maximum(floats(body.limits.lower, what), -huge)[of]
        twin.upperPositionLimit[at] = np.minimum(floats(body.limits.upper, what), huge)[of]


def _with_mimic(pin: Any, model: Model, twin: Any, body: Body, notes: Notes) -> Any:
    """The Pinocchio model in which the joint of this body, if it mimics another, is a mimic joint."""
    rule = model.layout.follows.get(model.joint_index(body.joint_name))
    if rule is None:
        return twin
    leader = model.bodies[rule.leader - 1].joint_name
    follower, followed = twin.getJointId(body.joint_name), twin.getJointId(leader)
    skew = twin.joints[follower].shortname() == "JointModelHelicalUnaligned"  # Pinocchio crashes on it
    if skew or followed > follower:
        why = "is a screw about a skew axis" if skew else "comes before it"
        notes.cannot(
            f"joint '{body.joint_name}', which mimics '{leader}' and {why}",
            "it has its own coordinate",
            "give mimic='independent'",
        )
        return twin
    factor = float(rule.multiplier)
    reflected = factor**2 * twin.armature[twin.joints[follower].idx_v]
    twin = pin.transformJointIntoMimic(twin, followed, follower, factor, float(rule.offset))
    twin.armature[twin.joints[followed].idx_v] += reflected
    return twin


def pinocchio_maps(model: Model, twin: Any, notes: Any = ()) -> Maps:
    """The maps between a kinetree model and a `pinocchio.Model` whose joints have the same names.

    Both may come from the same robot file. Joints of the same name must be the same joints.

    Raises:
        ModelError: a joint exists on one side only, or has another type there.
    """
    if model.loops:
        tree = model.spanning_tree
        return closing(model, pinocchio_maps(tree, twin, (*notes, *notes_of(model, "Pinocchio"))))
    pin = imported("pinocchio", "Pinocchio")
    there, pieces, joints = parts_there(twin), [], {}
    for i, body in enumerate(model.bodies, 1):
        if body.joint.nv == 0:
            continue
        whole = body.joint_name in there
        names = [body.joint_name] if whole else parts_of(body.joint_name, len(body.joint.steps or ()))
        owner = f"model '{model.name}': joint '{body.joint_name}'"
        if any(name not in there for name in names):
            raise ModelError(f"{owner} has no counterpart among Pinocchio's joints {sorted(there)[:8]} ...")
        joints[body.joint_name] = tuple(names)
        q_there = tuple(k for name in names for k in there[name][0])
        v_there = tuple(k for name in names for k in there[name][1])
        rule = model.layout.follows.get(i)
        if rule is not None and not v_there:
            continue  # a mimic joint on both sides
        if len(v_there) != body.joint.nv:
            raise ModelError(f"{owner} has {body.joint.nv} velocities, but {len(v_there)} in Pinocchio")
        chart = _chart(body.joint, len(q_there), len(names), owner)
        leader = model.joint_names[(rule.leader if rule else i) - 1]
        pieces.append(
            Piece(
                chart, model.position_index(leader), model.coordinate_index(leader), q_there, v_there,
                *((float(rule.multiplier), float(rule.offset), False) if rule else ()),
            )
        )  # fmt: skip
    missing = sorted(set(there) - {name for names in joints.values() for name in names})
    if missing:
        raise ModelError(
            f"model '{model.name}' has no joints {missing[:8]} that Pinocchio has: lock them there first"
        )
    neutral = pin.neutral(twin)
    return Maps((model.nq, model.nv), (twin.nq, twin.nv), pieces, neutral, joints, tuple(notes))


def parts_there(twin: Any) -> dict[str, tuple[range, range]]:
    """The index ranges of each joint in q and v; composite joints are listed part by part."""
    out = {}
    for i in range(1, twin.njoints):
        joint, name = twin.joints[i], twin.names[i]
        sizes = part_sizes(joint)
        q, v = joint.idx_q, joint.idx_v
        for part, (nq, nv) in zip(parts_of(name, len(sizes)) if len(sizes) > 1 else [name], sizes):
            out[part] = range(q, q + nq), range(v, v + nv)
            q, v = q + nq, v + nv
    return out


def part_sizes(joint: Any) -> list[tuple[int, int]]:
    """The numbers of positions and velocities of each part of a Pinocchio joint."""
    match joint.shortname():
        case "JointModelComposite":
            return [size for inner in joint.extract().joints for size in part_sizes(inner)]
        case "JointModelTranslation" | "JointModelSphericalZYX":
            return [(1, 1)] * 3
        case "JointModelMimic":
            return [(0, 0)]
    return [(joint.nq, joint.nv)]


def _chart(joint: Joint, nq: int, parts: int, owner: str = "") -> Chart:
    """The chart from the coordinates of our joint to Pinocchio joints with `nq` positions."""
    if parts == 1 and (joint.type_name, nq) in CHARTS:
        return CHARTS[joint.type_name, nq]
    if nq != joint.nq or (parts == 1 and joint.type_name in ("planar", "planar_twist")):
        raise ModelError(f"{owner} is {joint.type_name}, but has {nq} positions in Pinocchio")
    there = sum((step.positions for step in joint.steps or ()), ())
    order = None if parts == 1 else tuple(there.index(k) for k in range(nq))
    return Chart(order, order)


def pinocchio_wrenches(model: Model, twin: Any, f_ext: Any) -> Any:
    """External wrenches for Pinocchio, one for each of its joints, from `f_ext` (nb, 6) on our bodies.

    Bodies are matched by name with the frames of type BODY.
    """
    pin = imported("pinocchio", "Pinocchio")
    sums = [pin.Force.Zero() for _ in range(twin.njoints)]
    for body, wrench in zip(model.bodies, np.asarray(f_ext, dtype=float), strict=True):
        frame = twin.frames[twin.getFrameId(body.name, pin.FrameType.BODY)]
        sums[frame.parentJoint] += frame.placement.act(pin.Force(wrench[3:], wrench[:3]))
    out = pin.StdVec_Force()
    for force in sums:
        out.append(force)
    return out


def _inertia(pin: Any, body: Body, owner: str) -> Any:
    """The inertia, set entry by entry: the constructor refuses moments made negative by rounding."""
    out = pin.Inertia.Zero()
    floats(body.inertia.parameters, owner)
    out.mass, out.lever = float(body.inertia.mass), np.array(body.inertia.com, dtype=float)
    out.inertia = np.array(sym_matrix(body.inertia.about_com), dtype=float)
    return out


def _se3(pin: Any, placement: Any, owner: str) -> Any:
    return pin.SE3(floats(placement.R, owner), floats(placement.p, owner))
