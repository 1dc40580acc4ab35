"""`Description` -> `Model`: the stages between the content of a file and a finished model."""

from __future__ import annotations

import numpy as np

from kinetree.errors import FileError, ModelError
from kinetree.io.description import Description, Joint, Link, Names, Z
from kinetree.io.inertia import check_inertias
from kinetree.io.loops import add_closures, choose_closures, close_loops, leave_open
from kinetree.io.pairs import pairs_of
from kinetree.io.placement import from_z, snap, snap_axis, snap_joint
from kinetree.io.report import LoadReport, Log, Where, finding
from kinetree.io.singular import checked_motion
from kinetree.io.tree import check_mimics, drop_idle_rotors, make_tree, merge_fixed
from kinetree.joints import Fixed
from kinetree.model import Model, ModelBuilder
from kinetree.model.closures import Closure
from kinetree.model.geometry import Geometry, weights
from kinetree.model.parts import Posture
from kinetree.model.postures import assembled as assembled_posture
from kinetree.model.postures import is_closed
from kinetree.spatial.pose import Pose

_AS_GIVEN = ("mimic", "armature", "damping", "friction", "limits", "stiffness", "spring_reference")


def build(
    robot: Description,
    log: Log,
    *,
    base: str | None = None,
    snap: float = 0.0,
    merge: bool = True,
    close: bool = True,
    within: bool = False,
) -> Model | None:
    """The model of a description: checked, repaired, snapped, merged and closed; None if `log` has errors.

    The findings of `log` become its report. `within` lets the links of one robot touch each other.
    """
    log.checkpoint()
    if not close:
        leave_open(robot, log)
    make_tree(robot, base, log)
    check_mimics(robot, log)
    log.checkpoint()
    drop_idle_rotors(robot, log)
    snap_placements(robot, snap)
    check_inertias(robot, log)
    align(robot, log)
    if merge:
        merge_fixed(robot, log)
    choose_closures(robot, log)
    try:
        tree, closings = assembled(robot)
        close_loops(robot, tree, closings, log)
        model = checked_motion(robot, assemble, log)
    except FileError:
        if not log.errors:
            raise
    if log.errors:
        return None
    postures = named_configurations(robot, model, log)
    touching = {"geometries": stiffened(robot, model), "pairs": pairs_of(robot, model, within, log)}
    report = LoadReport(robot.file, robot.format, tuple(log.findings))
    return model.remade(report=report, postures=postures, **touching)


def stiffened(robot: Description, model: Model) -> tuple[Geometry, ...]:
    """The geometries of a model, with the stiffness that gives the penetration depth of the file."""
    sinks = {part.name: part.sink for part in robot.geometries if part.sink is not None}
    if not sinks:
        return model.geometries
    weight = weights(model)
    return tuple(
        part._replace(stiffness=weight[part.body] / sinks[part.name])
        if part.name in sinks and weight[part.body]
        else part
        for part in model.geometries
    )


def named_configurations(robot: Description, model: Model, log: Log) -> tuple[Posture, ...]:
    """The keyframes of a file, in terms of the joints of the model."""
    own = {name: len(row) for name, row in model.split_positions(model.neutral()).items()}
    found = []
    for key in robot.configurations:
        rows = {name: row for name, row in key.positions.items() if own.get(name) == len(row)}
        if missing := [name for name in own if name not in rows]:
            log.add("ignored", key.where, f"no position of {', '.join(map(repr, missing))}: neutral one used")
        posture = Posture(key.name, tuple(rows.items()))
        closed = (
            posture if not model.loops or is_closed(model, posture) else assembled_posture(model, posture)
        )
        if closed is None:
            log.add("loop-key", key.where, "a loop cannot be closed near it: the configuration was left out")
            continue
        if closed is not posture:
            moved = np.abs(model.positions(dict(closed.positions)) - model.positions(rows)).max()
            log.add(
                "loop-key", key.where, f"a loop was closed by moving joints, by up to {moved:.2g} rad or m"
            )
        found.append(closed)
    return tuple(found)


def snap_placements(robot: Description, tolerance: float) -> None:
    """Make placements and axes that are nearly at right angles exact, and tiny offsets zero."""
    if tolerance <= 0.0:
        return
    for joint in robot.joints.values():
        joint.placement = snap(joint.placement, tolerance)
        joint.motion, joint.normal = snap_joint(joint.motion, tolerance), snap_axis(joint.normal, tolerance)
    for frame in robot.frames:
        frame.placement = snap(frame.placement, tolerance)
    for closure in robot.closures:
        closure.placement, closure.other = (snap(x, tolerance) for x in (closure.placement, closure.other))


def align(robot: Description, log: Log) -> None:
    """Rotate joints whose z axis is not that of the link; a massless link after the joint rotates back."""
    links, joints = Names(robot.links), Names(robot.joints)
    for joint in list(robot.joints.values()):
        if joint.normal == Z:
            continue
        turn = Pose(from_z(joint.normal))
        link = Link(links.claim(f"{joint.child}@{joint.name}"), joint.where, virtual=True)
        robot.links[link.name] = link
        name = joints.claim(f"{joint.name}_turn")
        robot.joints[name] = Joint(name, joint.where, Fixed(), link.name, joint.child, turn.inverse())
        joint.child, joint.placement, joint.normal = link.name, joint.placement @ turn, Z
        normal = tuple(round(row[2], 6) for row in turn.R)
        log.add("planar-normal", joint.where, f"the plane's normal is {normal}")


def assemble(robot: Description) -> Model:
    """The model of a description that is completely processed."""
    tree, _ = assembled(robot)
    return tree.remade(loops=robot.loops) if robot.loops else tree


def assembled(robot: Description) -> tuple[Model, list[Closure]]:
    """The tree of a description, and its loop closures."""
    builder = ModelBuilder(robot.name.strip() or "robot", robot.gravity)
    where = Where(robot.file, 0, "robot")
    try:
        for joint in robot.in_order():
            where = joint.where
            link = robot.links[joint.child]
            same = {name: getattr(joint, name) for name in _AS_GIVEN}
            builder.add_body(
                link.name, joint.parent, joint.motion, joint.placement, link.inertia, joint.name, **same
            )
        for rotor in robot.rotors:
            where = rotor.where
            builder.add_rotor(rotor.joint, rotor.inertia, rotor.placement, rotor.axis, rotor.ratio)
        for frame in robot.frames:
            where = frame.where
            builder.add_frame(frame.name, frame.link, frame.placement)
        for part in robot.geometries:
            where = part.where
            contact = (part.friction, part.stiffness, part.dissipation)
            builder.add_geometry(part.link, part.shape, part.placement, *contact, name=part.name)
        if robot.ground is not None:
            builder.add_ground(robot.ground)
        add_closures(robot, builder)
        return builder.tree(check="finite"), builder.closures
    except ModelError as error:
        raise FileError(finding("value", where, str(error))) from error
