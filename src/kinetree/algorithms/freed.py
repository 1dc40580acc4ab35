"""Articulated-body sweeps within an iteration: over some nodes, with added forces and inertia."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kinetree.algorithms.articulation import freed
from kinetree.spatial import Coordinates, Factored, Force, ForceSet, Motion
from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.sweep import Sweep

NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Freed:
    """Articulated inertias of some nodes, the forces on them, and the velocities they produce."""

    def __init__(self, tree: Sweep, q: Any, X: Any, S: Any, push: dict, inertia: dict):
        self.tree, self.q, self.X, self.S, self.push, self.inertia = tree, q, X, S, push, inertia
        self.I, self.p = tree.sums(ArticulatedInertia, Force)
        self.U, self.D, self.y, self.A = tree.fields(ForceSet, Factored, Coordinates, Motion)
        self.a: dict[Any, Any] = {}

    def inward(self, nodes: Iterable[Any], loads: Mapping[Any, Sequence[Any]] = NOTHING) -> Any:
        """Free the joints of these nodes; returns the sum of r . D^-1 r.

        `loads` are added to a node when the sweep reaches it; what they add is not stored earlier.
        """
        total: Any = 0
        for i in nodes:
            for load in loads.get(i, ()):
                load.load(self)
            total = total + self.free(i)
        return total

    def free(self, i: Any) -> Any:
        """Free the joint of a node; returns r . D^-1 r."""
        tree, X, p = self.tree, self.X, self.p
        Ia = freed(tree, i, self.I, self.S, self.U, self.D, self.inertia.get(i))
        r = self.push[i] - self.S[i].T @ p[i]
        self.y[i] = y = self.D[i].solve(r)
        self.I.add(tree.parent(i), X[i].T @ Ia @ X[i])
        p.add(tree.parent(i), X[i].T @ (p[i] + self.U[i] @ y))
        return r.dot(y)

    def outward(self, nodes: Iterable[Any]) -> list[Any]:
        """The velocities of all these nodes."""
        return [x for i in nodes for x in self.answer(i)]

    def answer(self, i: Any, share: Any = 1) -> Any:
        """The velocities of a node for a fraction of the forces: share y - D^-1 U^T X A_p."""
        return self.reply(i, self.y[i] * share)

    def reply(self, i: Any, y: Any) -> Any:
        """The velocities of a node for D^-1 r = y: y - D^-1 U^T X A_p."""
        pulled = self.X[i] @ self.A[self.tree.parent(i)]
        U, D = self.U[i], self.D[i]
        if isinstance(U, ForceSet):  # its halves were computed in the inward sweep
            back = D.backward(ForceSet(D.halves(U.columns)[1]).T @ pulled)
        else:
            back = D.solve(U.T @ pulled)
        return self.move(i, y - back)

    def move(self, i: Any, a: Any) -> Any:
        """Set the velocities of a node; returns them."""
        self.A[i] = self.X[i] @ self.A[self.tree.parent(i)] + self.S[i] @ a
        self.a[i] = a
        return a

    def brake(self, i: Any, place: int, slope: Any, push: Any) -> None:
        """Add a force along one joint velocity of a node, and its rate of decrease."""
        width = range(len(self.tree.node(i).u_index))
        stiff = self.tree.reflected(i, self.q[i], [slope if k == place else 0 for k in width])
        self.inertia[i] = self.inertia[i] + stiff if i in self.inertia else stiff
        force = self.tree.drawn(i, self.q[i], [push if k == place else 0 for k in width])
        self.push[i] = self.push[i] + force

    def spread(self, i: Any) -> Any:
        """The velocities of all joints of a node."""
        return self.tree.spread(i, self.q[i], self.a[i])
