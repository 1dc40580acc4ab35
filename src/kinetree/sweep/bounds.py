"""Upper bounds on the inertia along each joint: the scale below which a pivot counts as zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.model.node import NOTHING, PREDECESSOR, Node

# A pivot below this fraction of its bound is rounding noise: the joint has no inertia.
NEGLIGIBLE = 64 * 2.0**-52
SMALLEST = 2.0**-1022 / NEGLIGIBLE  # pivots below the smallest normal number have no reciprocal
FADING = 0.9


def inertia_bounds(model: Any) -> np.ndarray:
    """An upper bound on S^T I S for each velocity, with the bodies outboard attached; cached per model.

    Let |x| be the distance from a body's origin. The outboard mass m and k^2 = integral |x|^2 dm bound the
    kinetic energy of a unit velocity [w; u]: (|u| sqrt(m) + |w| k)^2. Along a placement r, k grows by at most
    sqrt(m) |r|. Outboard joints are free to move, so bodies many joints away hardly count: m and k^2 are
    reduced by a tenth at each joint. A bound that is zero, or not a plain number, is replaced by 1.
    """
    return model.memo("inertia bounds", lambda: _bounds(model.nodes, model.nv))


def _bounds(nodes: Sequence[Node], nv: int) -> np.ndarray:
    mass: dict[tuple[int, int], float] = {}
    square: dict[tuple[int, int], float] = {}
    totals = np.zeros(nv)
    reference = [node.reference for node in nodes]
    for node in reversed([node.at(node.reference) for node in nodes]):
        for k in reversed(range(len(node.members))):
            member, place = node.members[k], (node.number, k)
            m = mass.get(place, 0.0) + _plain(member.inertia.mass)
            s = square.get(place, 0.0) + sum(_plain(x) for x in member.inertia.second[:3]) / 2.0
            S = node.motion(member, reference[node.number])  # its lengths hardly depend on q
            for index, column in zip(node.v_index, S.columns, strict=True):
                w, u = _length(column.angular), _length(column.linear)
                speed = u * math.sqrt(abs(m)) + w * math.sqrt(abs(s))
                totals[index] += speed * speed  # may overflow to infinity; ** would raise
            if member.carrier == NOTHING:
                continue
            carrier = node.predecessor if member.carrier == PREDECESSOR else (node.number, member.carrier)
            reach = math.sqrt(abs(s)) + math.sqrt(abs(m)) * _length(member.placement.translation)
            mass[carrier] = mass.get(carrier, 0.0) + FADING * m
            square[carrier] = square.get(carrier, 0.0) + FADING * reach * reach
    return np.where((totals > 0.0) & np.isfinite(totals), np.maximum(totals, SMALLEST), 1.0)


def _plain(x: Any) -> float:
    return float(x) if isinstance(x, (int, float)) else 0.0


def _length(a: tuple) -> float:
    try:
        return math.hypot(*a)
    except TypeError:  # not all are plain numbers
        return math.hypot(*map(_plain, a))
