"""The axes in which closures are cheapest to write and to solve.

A limb that begins with a hinge is simplest in the axes of that hinge, in which it moves in a plane, at least
at first. The axes of the body that carries the loop are used instead if the hinge lies along one of them, or
if the other end can turn freely.

The velocities of a ball or free joint are along the axes of its body, which turn. Along axes that do not, the
columns of v + w x r, the velocity of a point of that body, consist of ones, zeros and three lengths.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice

from kinetree.joints import Free, Spherical
from kinetree.model.canonical import canonical
from kinetree.model.closed import reached
from kinetree.model.coupling import Own
from kinetree.model.node import PREDECESSOR, Member, Node
from kinetree.model.ties import Tie
from kinetree.spatial import Inertia
from kinetree.spatial import vector as vec
from kinetree.spatial.vector import Matrix


def limb_axes(node: Node, ends: Sequence[Sequence[int]]) -> list[Matrix]:
    """Three axes for each pair of members connected by a closure, as rows, in the body that carries all."""
    members = tuple(m._replace(inertia=Inertia.zero()) for m in node.members)  # inertias may be symbols
    simplified = canonical([node._replace(number=0, predecessor=(-1, 0), members=members)])
    if not simplified:  # nothing in it moves
        return [vec.IDENTITY for _ in ends]
    (simple,) = simplified
    return [_axes(simple, [_way(simple, k) for k in pair]) for pair in ends]


def steady_axes(
    node: Node, ties: Sequence[Tie], dependent: Collection[int]
) -> tuple[tuple[int, Matrix], ...]:
    """Members whose velocities are solved for along fixed axes, and these: the axes of a row they move.

    Such a member has a ball or free joint, all of whose velocities are dependent.
    """
    found = []
    for k, m in enumerate(node.members):
        own, is_ball = m.coupling, m.body and isinstance(m.joint, Free | Spherical)
        if is_ball and isinstance(own, Own) and set(own.places) <= set(dependent):
            bases = (tie.base for tie in ties if tie.base is not None and k in reached(node, [tie]))
            found += [(k, axes) for axes in islice(bases, 1)]
    return tuple(found)


def _way(node: Node, k: int) -> list[Member]:
    """The members on the path from one to the body that carries the node."""
    found = []
    while k != PREDECESSOR:
        found.append(node.members[k])
        k = node.members[k].carrier
    return found


def _axes(node: Node, ways: list[list[Member]]) -> Matrix:
    hinged = max(ways, key=lambda way: sum(map(_is_hinge, way)))
    others = [m for way in ways for m in way if way is not hinged]
    if not any(map(_is_hinge, hinged)) or any(isinstance(m.joint, Free | Spherical) for m in others):
        return vec.IDENTITY
    E = hinged[-1].placement.rotation
    if max(abs(x) for x in E[2]) > 1 - 1e-12:
        return vec.IDENTITY
    across = [axis for axis in vec.IDENTITY if abs(vec.dot(axis, E[2])) < 1e-12]
    return (vec.cross(across[0], E[2]), across[0], E[2]) if across else E


def _is_hinge(m: Member) -> bool:
    return m.joint.first_axis is not None and not m.joint.is_translation
