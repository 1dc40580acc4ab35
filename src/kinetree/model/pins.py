"""Masses that move from one body to another where a loop pins them to each other.

A point mass at a point that two bodies share has the same energy in either. So it may be taken from one of
them and given to the other, as if it went the other way round the loop: the dynamics stays the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kinetree.model.carried import Carried, without_noise
from kinetree.model.node import PREDECESSOR, Node
from kinetree.spatial import Inertia
from kinetree.spatial import vector as vec
from kinetree.spatial.vector import Vector

if TYPE_CHECKING:
    from kinetree.model.canonical import Rewriting


def move_to_pins(work: Rewriting) -> bool:
    """Move masses of all nodes with loops; whether there were any to move.

    Of the two bodies at a pin, one that is left with no first moment gives or, if they are alike, the one
    with more joints between it and the base.
    """
    moved = False
    for node in list(work.nodes):
        for pin in node.closing.pins if node.closing else ():
            far, near = sorted(pin, key=lambda end: -_height(node, end.member))
            ways = [(far, near, *_spare(work, node, far)), (near, far, *_spare(work, node, near))]
            giver, taker, mass, _ = min(ways, key=lambda way: way[3])
            if mass:
                _add(work, node, giver, -mass)
                _add(work, node, taker, mass)
                moved = True
    return moved


def _height(node: Node, member: int) -> int:
    """The number of members from the body that carries a node to one of its members."""
    return 0 if member == PREDECESSOR else 1 + _height(node, node.members[member].carrier)


def _spare(work: Rewriting, node: Node, end: Carried) -> tuple[float, int]:
    """The point mass at a pin without which a body that only turns has the least first moment.

    And whether that vanishes (0) or one of its components does (1); else zero mass, as for other bodies.
    """
    if end.member == PREDECESSOR:
        return 0.0, 2
    m = work.member((node.number, end.member))
    felt, point = (I - m.joint.unfelt(I) for I in (m.inertia, Inertia(1.0, end.vector)))
    h, arm = felt.first_moment, point.first_moment
    if felt.mass != 0 or not any(arm):
        return 0.0, 2
    mass = vec.dot(h, arm) / vec.dot(arm, arm)
    left = sum(map(bool, _beside(vec.sub(h, vec.scale(arm, mass)), h)))
    return (mass, min(left, 1)) if left < sum(map(bool, h)) else (0.0, 2)


def _add(work: Rewriting, node: Node, end: Carried, mass: float) -> None:
    """Add a point mass to a body of a node, or to the one that carries the node."""
    place = node.predecessor if end.member == PREDECESSOR else (node.number, end.member)
    if place[0] < 0:
        return
    m = work.member(place)
    total = m.inertia + Inertia(mass, end.vector)
    h = _beside(total.first_moment, m.inertia.first_moment)
    inertia = Inertia.from_moments(total.mass, h, without_noise(total.second))
    work.set(place, m._replace(inertia=inertia))


def _beside(v: Vector, whole: Vector) -> Vector:
    """A vector without components that are rounding noise beside another one."""
    least = 1e-14 * math.hypot(*whole)
    x, y, z = (0 if abs(x) <= least else x for x in v)
    return x, y, z
