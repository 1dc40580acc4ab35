"""Maps of models with loops: the twin is the open tree, with coordinates for all joints.

Positions are those of all joints on both sides. With u = G v for the velocities of all joints, the velocities
there are w = T G v, and everything else follows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.interop.charts import Array
from kinetree.interop.maps import Maps, as_numbers, times
from kinetree.model import Model
from kinetree.model.loop import LoopNode


class LoopMaps(Maps):
    """The maps of a model with loops, built from those of its open tree.

    Forces there act on the independent joints. States that come back are assumed to be closed: velocities and
    accelerations here are those of the independent joints.
    """

    def __init__(self, model: Model, tree: Maps) -> None:
        super().__init__(
            (model.nq, model.nv),
            (tree.nq_there, tree.nv_there),
            tree.pieces,
            tree.neutral,
            tree.joints,
            tree.notes,
        )
        self.model, self.tree = model, tree
        self.own = [0] * model.nv  # indices of the independent velocities among those of all joints
        for node in model.nodes:
            places = range(len(node.v_index)) if node.closing is None else node.closing.independent
            for k, j in zip(node.v_index, places, strict=True):
                self.own[k] = node.u_index[j]

    def _spanning(self, q: Any, v: Any) -> tuple[Array, Array, Array]:
        """G (..., nu, nv), u = G v and (dG/dt) v (..., nu)."""
        q, v = as_numbers(q, self.nq, "q"), as_numbers(v, self.nv, "v")
        shape = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        x, w = (np.moveaxis(np.broadcast_to(a, (*shape, a.shape[-1])), -1, 0) for a in (q, v))
        G, turned = np.zeros((*shape, self.tree.nv, self.nv)), np.zeros((*shape, self.tree.nv))
        for node in self.model.nodes:
            if not isinstance(node, LoopNode):
                G[..., list(node.u_index), list(node.v_index)] = 1.0
                continue
            here = node.closed([x[k] for k in node.q_index])
            own = [w[k] for k in node.v_index]
            for k, row, rate in zip(node.u_index, here.G, here.rate(own), strict=True):
                for j, value in row:
                    G[..., k, node.v_index[j]] = value
                turned[..., k] = sum((value * own[j] for j, value in rate), 0.0)
        return G, times(G, np.moveaxis(w, 0, -1)), turned

    def _matrix(self, q: Any) -> Array:
        return self._spanning(q, np.zeros(self.nv))[0]

    def a(self, q: Any, v: Any, a: Any) -> Array:
        G, u, turned = self._spanning(q, v)
        return self.tree.a(q, u, times(G, as_numbers(a, self.nv, "a")) + turned)

    def tau(self, q: Any, tau: Any) -> Array:
        tau = as_numbers(tau, self.nv, "tau")
        forces = np.zeros((*tau.shape[:-1], self.tree.nv))
        forces[..., self.own] = tau
        return self.tree.tau(q, forces)

    def v_back(self, q: Any, v: Any) -> Array:
        return self.tree.v_back(q, v)[..., self.own]

    def a_back(self, q: Any, v: Any, a: Any) -> Array:
        return self.tree.a_back(q, v, a)[..., self.own]

    def velocity_map(self, q: Any) -> Array:
        return self.tree.velocity_map(q) @ self._matrix(q)

    def velocity_map_rate(self, q: Any, v: Any) -> Array:
        _, u, turned = self._spanning(q, v)
        return self.tree.a(q, u, turned)

    def _forward(self, pieces: Any, q: Any, v: Array) -> Array:
        return self.tree._forward(pieces, q, times(self._matrix(q), v))

    def _backward(self, pieces: Any, q: Any, w: Array) -> Array:
        return times(np.swapaxes(self._matrix(q), -1, -2), self.tree._backward(pieces, q, w))


def closing(model: Model, tree: Maps) -> Maps:
    """The maps of a model, from those of its open tree."""
    return LoopMaps(model, tree) if model.loops else tree


def notes_of(model: Model, peer: str) -> list[str]:
    """Notes on the loops of a model that is an open tree in another library."""
    return [
        f"loop '{loop.name}' is open in {peer}, which has coordinates for all joints: the maps close it"
        for loop in model.loops
    ]
