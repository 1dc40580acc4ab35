"""Chains and trees of any size, to see how cost grows with the number of bodies, depth and branching."""

from __future__ import annotations

import math
from typing import Any

from kinetree.errors import ModelError
from kinetree.joints import Revolute
from kinetree.model import Model, ModelBuilder
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose
from kinetree.spatial.rotation import Rotation
from kinetree.zoo.shapes import diagonal, rod

AXES = ((0, 0, 1), (0, 1, 0), (1, 0, 0))
LINK_MASS, LINK_RADIUS, LINK_LENGTH = 0.1, 0.01, 0.1


def chain(n: int = 7) -> Model:
    """A rope of `n` equal rods of 0.1 kg and 0.1 m along x, hinged about z and y in turn."""
    _check_count(n, "chain")
    link = rod(LINK_MASS, LINK_RADIUS, LINK_LENGTH, 0, (LINK_LENGTH / 2, 0.0, 0.0))
    joints = Revolute(AXES[0]), Revolute(AXES[1])
    tip = Pose(p=(LINK_LENGTH, 0.0, 0.0))
    builder = ModelBuilder(f"chain{n}")
    for i in range(1, n + 1):
        parent = "world" if i == 1 else f"link{i - 1}"
        builder.add_body(f"link{i}", parent, joints[i % 2], None if i == 1 else tip, link)
    return builder.build()


def tree(n: int = 15, branching: float = 2) -> Model:
    """A tree of `n` rods hinged about z, y and x in turn; a body carries `branching` others on average.

    The children of a body leave its tip in different directions. The parent of body i is
    floor((i - 2 + ceil(branching)) / branching).
    """
    _check_count(n, "tree")
    parents = _parents(n, branching, "tree")
    link = rod(LINK_MASS, LINK_RADIUS, LINK_LENGTH, 0, (LINK_LENGTH / 2, 0.0, 0.0))
    builder = ModelBuilder(f"tree{n}")
    children = [0] * (n + 1)
    for i, p in enumerate(parents, 1):
        turn = Rotation.from_axis_angle((0.0, 0.0, 1.0), 2.0 * children[p]) if children[p] else None
        children[p] += 1
        reach = LINK_LENGTH if p else 0.0
        placement = Pose(turn, (reach, 0.0, 0.0)) if turn else Pose(p=(reach, 0.0, 0.0))
        parent = f"link{p}" if p else "world"
        builder.add_body(f"link{i}", parent, Revolute(AXES[i % 3]), placement, link)
    return builder.build()


def auto_tree(n: int = 7, branching: float = 1, skew: float = 0.0, taper: float = 1.0) -> Model:
    """Featherstone's autoTree: `n` thin tubes of 1 kg and 1 m along x, hinged about z.

    Args:
        n: number of bodies.
        branching: 1 for a chain, 2 for a binary tree, 1.5 for bodies that carry one and two others in turn.
        skew: angle about x between the axes of a body and its parent, rad; 0 keeps all axes parallel.
        taper: ratio of the length of a body to that of the one before; masses scale with the third power.

    Reference: Featherstone (2008), appendix of spatial_v2; the tables of Echeandia (2020) chapter 4.
    """
    _check_count(n, "auto_tree")
    builder = ModelBuilder(f"auto_tree{n}")
    turn: Any = Rotation.from_axis_angle((1.0, 0.0, 0.0), skew) if skew else Pose.identity().R
    lengths = [1.0]
    for i, p in enumerate(_parents(n, branching, "auto_tree"), 1):
        length, mass = taper ** (i - 1), taper ** (3 * (i - 1))
        lengths.append(length)
        k = mass * length * length
        tube = Inertia(mass, (length / 2, 0.0, 0.0), diagonal(0.0025 * k, 1.015 / 12 * k, 1.015 / 12 * k))
        placement = Pose(turn, (lengths[p], 0.0, 0.0)) if p else None
        builder.add_body(f"tube{i}", f"tube{p}" if p else "world", Revolute((0, 0, 1)), placement, tube)
    return builder.build()


def geared_tree(
    n: int = 5, branching: float = 1, ratio: float = 5.0, mass: float = 0.5, spin: float = 1.0
) -> Model:
    """`auto_tree` with a rotor on each joint axis, as in the tables of Echeandia (2020), chapter 4.

    Args:
        n, branching: as in `auto_tree`.
        ratio: speed of a rotor over that of its joint.
        mass: of a rotor, kg; carried by the body before the joint.
        spin: inertia of a rotor about its axis, kg m^2; half of it about the transverse axes.
    """
    tubes = auto_tree(n, branching)
    builder = ModelBuilder(f"geared_tree{n}")
    for body in tubes.bodies:
        parent = tubes.body_names[body.parent - 1] if body.parent else "world"
        builder.add_body(body.name, parent, body.joint, body.placement, body.inertia)
        wheel = Inertia(mass, inertia=diagonal(spin / 2, spin / 2, spin))
        builder.add_rotor(body.name, wheel, body.placement, axis=(0, 0, 1), ratio=ratio)
    return builder.build()


def star(n: int = 5) -> Model:
    """A hub that turns about z and carries `n - 1` rods: the tree of depth 2."""
    _check_count(n, "star")
    link = rod(LINK_MASS, LINK_RADIUS, LINK_LENGTH, 0, (LINK_LENGTH / 2, 0.0, 0.0))
    builder = ModelBuilder(f"star{n}")
    builder.add_body("hub", "world", Revolute((0, 0, 1)), inertia=rod(0.5, LINK_LENGTH, 0.02, 2))
    for i in range(1, n):
        direction = Rotation.from_axis_angle((0.0, 0.0, 1.0), 2.0 * math.pi * i / (n - 1))
        x, y, _ = direction.apply((LINK_LENGTH, 0.0, 0.0))
        builder.add_body(f"spoke{i}", "hub", Revolute((0, 1, 0)), Pose(direction, (x, y, 0.0)), link)
    return builder.build()


def _parents(n: int, branching: float, robot: str) -> list[int]:
    """Featherstone's numbering of a tree with the given branching factor."""
    if isinstance(branching, bool) or not isinstance(branching, (int, float)) or not branching >= 1:
        raise ModelError(f"{robot}: branching is {branching!r}: it must be a number of at least 1")
    return [math.floor((i - 2 + math.ceil(branching)) / branching) for i in range(1, n + 1)]


def _check_count(n: int, robot: str) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ModelError(f"{robot}: the number of bodies is {n!r}: it must be an integer of at least 1")
