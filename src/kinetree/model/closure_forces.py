"""The forces in closures: those that make the forces of dependent joints vanish.

    K_d^T lambda = (S_span^T F)_d        F what each body needs to move as it does

A row of a closure pulls at its second end with lambda dphi, and at its first end with the opposite. Redundant
rows, which were left out, carry no force.
"""

from __future__ import annotations

from collections.abc import Sequence

from kinetree.model.carried import PREDECESSOR, Motions
from kinetree.model.closed import Closed, reached
from kinetree.spatial import Force
from kinetree.spatial.vector import Number


def multipliers(closed: Closed, tau: Sequence[Number]) -> list[Number]:
    """lambda of each row, where tau are the forces that the joints of the spanning tree would need."""
    return closed.held(tau)


def pulls(closed: Closed, strengths: Sequence[Number]) -> list[dict[int, Force]]:
    """The wrenches of each row on the members it connects, in each member's axes, about its origin."""
    motions = Motions(closed.node, reached(closed.node, closed.closing.rows), closed.q)
    found: list[dict[int, Force]] = []
    for tie, size in zip(closed.closing.rows, strengths, strict=True):
        pull, wrenches = tie.pull(motions), {}
        if pull is not None:
            moment, force = pull
            for member, strength in zip(tie.ends, (-size, size), strict=True):
                wrench = Force(moment, force) * strength
                wrenches[member] = wrench if member == PREDECESSOR else motions.X[member].inverse().T @ wrench
        found.append(wrenches)
    return found
