"""All joints of a model, those that depend on others by loops included: u = G v, and forces back, G^T."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree import ops
from kinetree.errors import AssemblyError
from kinetree.model import Model
from kinetree.model.configuration import refuse_unsound_node
from kinetree.model.loop import Closed, LoopNode
from kinetree.stages.own import function

Array = np.ndarray


class Span(NamedTuple):
    """A model at a position: its tree with all loops cut, q closed, and u = G v; None for an identity."""

    tree: Model
    q: Array
    G: Array | None

    def velocities(self, v: Array) -> Array:
        """The velocities of all joints."""
        return v if self.G is None else self.G @ v

    def force(self, f: Array) -> Array:
        """The generalised force of forces along the velocities of all joints."""
        return f if self.G is None else self.G.T @ f


def among_all(model: Model, x: Any) -> Any:
    """Numbers (nv,) of the independent velocities, among (nu,) of all joints: zero elsewhere."""
    if not model.loops:
        return x
    x = np.asarray(x) + np.zeros(model.nv)
    found = np.zeros(model.nu, x.dtype)
    found[independent(model)] = x
    return found


def independent(model: Model) -> Array:
    """Where the velocities in v stand among those of all joints."""
    places = np.zeros(model.nv, dtype=int)
    for node in model.nodes:
        own = node.solution.independent if isinstance(node, LoopNode) else range(len(node.v_index))
        places[list(node.v_index)] = [node.u_index[k] for k in own]
    return places


def spanned(model: Model, q: Array) -> Span:
    """The tree of a model at the position that closes the loops near q. For one state, of any numbers."""
    if not model.loops:
        return Span(model, q, None)
    x = np.array(q, dtype=np.result_type(q, float))
    G = np.zeros((model.nu, model.nv), x.dtype)
    for node in model.nodes:
        if not isinstance(node, LoopNode):
            G[list(node.u_index), list(node.v_index)] = 1.0
            continue
        closed = _closed(model, node, [q[k] for k in node.q_index])
        for k, value in zip(node.q_index, closed.q, strict=True):
            x[k] = value
        for k, row in zip(node.u_index, closed.G, strict=True):
            for i, value in row:
                G[k, node.v_index[i]] = value
    return Span(model.spanning_tree, x, G)


def _closed(model: Model, node: LoopNode, q: list[Any]) -> Closed:
    refuse_unsound_node(model, node, q)
    for number in node.soundness(q):
        ops.require(number, f"loop '{node.solution.name}' of model {model.name!r} is open", AssemblyError)
    return node.closed(q)


@function("q -> G(nu, nv)")
def loop_matrix(model: Model, q: Array) -> Array:
    """How the velocities u of all joints follow from the independent ones, u = G v.

        G = [1; -K_d^-1 K_i]        K u = 0 the rows of what closes the loops

    Rows in the order of `model.spanning_tree`, the model with its loops cut. Forces of motors on any joints
    act as G^T: tau = G^T tau_motor. The identity for a model without loops. Cost O(N), and the cube of the
    dependent velocities of each loop.

    Reference: constraint embedding, Jain (2012); Chignoli and others (arXiv 2311.13732).
    """
    G = spanned(model, q).G
    return np.eye(model.nv) if G is None else G


__all__ = ["loop_matrix"]
