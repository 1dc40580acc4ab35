"""`Description` -> `Model`: the stages between what a file says and what the algorithms need."""

from __future__ import annotations

from kinetree.errors import ModelError
from kinetree.io.description import Description, Joint, Limits, Link, Mass, Names
from kinetree.io.inertia import check_inertias
from kinetree.io.merge import merge_fixed
from kinetree.io.placement import Placement, from_z, snap, snap_axis
from kinetree.io.report import FileError, LoadReport, Log, Where, finding
from kinetree.io.singular import check_motion
from kinetree.io.tree import check_mimics, drop_idle_rotors, make_tree
from kinetree.joints import Fixed, Free, Helical, Planar, Prismatic, Revolute, Spherical, Universal
from kinetree.joints import Joint as ModelJoint
from kinetree.model import Limits as ModelLimits
from kinetree.model import Model, ModelBuilder
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import transpose


def prepare(
    robot: Description, log: Log, *, base: str | None = None, snap: float = 0.0, merge: bool = True
) -> None:
    """Check, mend, snap and merge a description until only what a `Model` holds is left."""
    log.checkpoint()
    make_tree(robot, base, log)
    check_mimics(robot, log)
    log.checkpoint()
    drop_idle_rotors(robot, log)
    snap_placements(robot, snap)
    check_inertias(robot, log)
    align_planar(robot, log)
    if merge:
        merge_fixed(robot, log)
    check_motion(robot, log)


def snap_placements(robot: Description, tolerance: float) -> None:
    """Make near right angles and near zero offsets of joints, frames and axes exact."""
    if tolerance <= 0.0:
        return
    for joint in robot.joints.values():
        joint.placement = snap(joint.placement, tolerance)
        joint.axis, joint.axis2 = snap_axis(joint.axis, tolerance), snap_axis(joint.axis2, tolerance)
    for frame in robot.frames:
        frame.placement = snap(frame.placement, tolerance)


def align_planar(robot: Description, log: Log) -> None:
    """Turn planar joints whose plane is not normal to z: a massless link takes the turn before and after."""
    links, joints = Names(robot.links), Names(robot.joints)
    for joint in list(robot.joints.values()):
        if joint.kind != "planar" or joint.axis == (0.0, 0.0, 1.0):
            continue
        turn = from_z(joint.axis)
        link = Link(links.claim(f"{joint.child}@{joint.name}"), joint.where, virtual=True)
        robot.links[link.name] = link
        weld = Joint(
            joints.claim(f"{joint.name}_turn"),
            joint.where,
            "fixed",
            link.name,
            joint.child,
            Placement(transpose(turn)),
        )
        robot.joints[weld.name] = weld
        joint.child, joint.placement, joint.axis = (
            link.name,
            joint.placement @ Placement(turn),
            (0.0, 0.0, 1.0),
        )
        log.add(
            "planar-normal", joint.where, f"the plane's normal is {tuple(round(row[2], 6) for row in turn)}"
        )


def build(robot: Description, log: Log) -> Model:
    """The model of a prepared description, with the findings of `log` as its report."""
    log.raise_errors()
    builder = ModelBuilder(robot.name.strip() or "robot", robot.gravity)
    where = Where(robot.file, 0, "robot")
    try:
        for joint in robot.in_order():
            where = joint.where
            link = robot.links[joint.child]
            builder.add_body(
                link.name,
                joint.parent,
                model_joint(joint),
                _pose(joint.placement),
                _inertia(link.mass),
                joint_name=joint.name,
                mimic=(joint.mimic.joint, joint.mimic.multiplier, joint.mimic.offset)
                if joint.mimic
                else None,
                armature=joint.armature,
                damping=joint.damping,
                friction=joint.friction,
                limits=_limits(joint.limits),
                stiffness=joint.stiffness,
                spring_reference=joint.spring_reference
                if joint.spring_reference and joint.stiffness
                else None,
            )
        for rotor in robot.rotors:
            where = rotor.where
            builder.add_rotor(
                rotor.joint, _inertia(rotor.mass), _pose(rotor.placement), rotor.axis, rotor.ratio
            )
        for frame in robot.frames:
            where = frame.where
            builder.add_frame(frame.name, frame.link, _pose(frame.placement))
        return builder.build(check="finite", report=LoadReport(robot.file, robot.format, tuple(log.findings)))
    except FileError:
        raise
    except ModelError as error:
        raise FileError(finding("value", where, str(error))) from error


def model_joint(joint: Joint) -> ModelJoint:
    """The joint type that a kind of joint stands for."""
    match joint.kind:
        case "revolute":
            return Revolute(joint.axis)
        case "prismatic":
            return Prismatic(joint.axis)
        case "helical":
            return Helical(joint.axis, joint.pitch)
        case "universal":
            return Universal(joint.axis, joint.axis2)
        case "planar":
            return Planar()
        case "spherical":
            return Spherical()
        case "free":
            return Free()
        case _:
            return Fixed()


def _pose(placement: Placement) -> Pose:
    return Pose(placement.R, placement.p)


def _inertia(mass: Mass | None) -> Inertia | None:
    return None if mass is None or mass.is_zero else Inertia(mass.mass, mass.com, mass.inertia)


def _limits(limits: Limits) -> ModelLimits:
    return ModelLimits(limits.lower, limits.upper, limits.velocity, limits.effort)
