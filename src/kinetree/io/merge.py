"""Fixed joints: their children become a part of the parent, and stay as frames."""

from __future__ import annotations

from kinetree.io.description import WORLD, Description, Frame
from kinetree.io.placement import HERE
from kinetree.io.report import Log
from kinetree.spatial.pose import Pose


def merge_fixed(robot: Description, log: Log) -> None:
    """Move what hangs on fixed joints to the nearest link that moves (or the world), exactly.

    Mass and inertia are added in the carrier's frame, children and rotors are placed from there, and every
    merged link lives on as a frame of its own name.
    """
    carrier: dict[str, tuple[str, Pose]] = {WORLD: (WORLD, HERE)}
    frames = []
    order = robot.in_order()
    parents = {joint.name: joint.parent for joint in order}
    for joint in order:
        holder, pose = carrier[joint.parent]
        placed = pose @ joint.placement
        if not joint.is_fixed:
            carrier[joint.child] = (joint.child, HERE)
            joint.parent, joint.placement = holder, placed
            continue
        carrier[joint.child] = (holder, placed)
        link = robot.links[joint.child]
        if holder != WORLD and link.inertia is not None:
            robot.links[holder].add(link.inertia.congruence(placed.transform()))
        if not link.virtual:
            frames.append(Frame(link.name, link.where, holder, placed))
            log.add("merged", link.where, f"fixed to {holder!r}")
    for rotor in robot.rotors:
        rotor.placement = carrier[parents[rotor.joint]][1] @ rotor.placement
    for frame in robot.frames:
        holder, pose = carrier[frame.link]
        frame.link, frame.placement = holder, pose @ frame.placement
    robot.frames = frames + robot.frames
    robot.joints = {joint.name: joint for joint in order if not joint.is_fixed}
    robot.links = {name: link for name, link in robot.links.items() if carrier[name][0] == name}
