"""Axes in which the rows of a closure cost least.

A limb that begins with a hinge is simplest in its axes: there it moves in a plane, or begins to.
Where these are the axes of the body that carries the loop, up to their order, or where the other end may turn
freely, the axes of that body will do.
"""

from __future__ import annotations

from collections.abc import Sequence

from kinetree.joints import Free, Spherical
from kinetree.model.canonical import canonical
from kinetree.model.node import PREDECESSOR, Member, Node
from kinetree.spatial import Inertia
from kinetree.spatial import vector as vec
from kinetree.spatial.vector import Matrix


def limb_axes(node: Node, ends: Sequence[Sequence[int]]) -> list[Matrix]:
    """For each pair of members that a closure connects three axes, as rows, in the body that carries all."""
    members = tuple(m._replace(inertia=Inertia.zero()) for m in node.members)  # which may be symbols
    simplified = canonical([node._replace(number=0, predecessor=(-1, 0), members=members)])
    if not simplified:  # nothing in it moves
        return [vec.IDENTITY for _ in ends]
    (simple,) = simplified
    return [_axes(simple, [_way(simple, k) for k in pair]) for pair in ends]


def _way(node: Node, k: int) -> list[Member]:
    """The members from one to the body that carries the node."""
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
