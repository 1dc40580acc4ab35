"""All joints of a model, including those that loops make dependent: u = G v, and forces by G^T."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree import functions as of
from kinetree import ops
from kinetree.errors import AssemblyError
from kinetree.model import Model
from kinetree.model.closed import Closed
from kinetree.model.closed_positions import loop_nodes
from kinetree.model.closure_forces import multipliers, pulls
from kinetree.model.configuration import refuse_unsound_node
from kinetree.model.loop import LoopNode
from kinetree.spatial import Force
from kinetree.stages.own import function
from kinetree.sweep.numbers import tree_of

Array = np.ndarray


class Span(NamedTuple):
    """A model at a position: its spanning tree, q closed, and G of u = G v; None for the identity."""

    tree: Model
    q: Array
    G: Array | None

    def velocities(self, v: Array) -> Array:
        """The velocities of all joints."""
        return v if self.G is None else self.G @ v

    def force(self, f: Array) -> Array:
        """The generalised force equivalent to forces along the velocities of all joints."""
        return f if self.G is None else self.G.T @ f


def among_all(model: Model, x: Any) -> Any:
    """Numbers (nv,) of the independent velocities, placed among (nu,) of all joints; zero elsewhere."""
    if not model.loops:
        return x
    x = np.asarray(x) + np.zeros(model.nv)
    found = np.zeros(model.nu, x.dtype)
    found[independent(model)] = x
    return found


def independent(model: Model) -> Array:
    """The places of the velocities in v among those of all joints."""
    places = np.zeros(model.nv, dtype=int)
    for node in model.nodes:
        own = node.solution.independent if isinstance(node, LoopNode) else range(len(node.v_index))
        places[list(node.v_index)] = [node.u_index[k] for k in own]
    return places


def spanned(model: Model, q: Array) -> Span:
    """The spanning tree of a model at the closed position near q. For one state, with numbers of any kind."""
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
    return Span(tree_of(model), x, G)


def _closed(model: Model, node: LoopNode, q: list[Any]) -> Closed:
    refuse_unsound_node(model, node, q)
    for number in node.soundness(q):
        ops.require(number, f"loop '{node.solution.name}' of model {model.name!r} is open", AssemblyError)
    return node.closed(q)


def motions(model: Model, q: Array, v: Array, a: Array) -> tuple[Span, Array, Array]:
    """The spanning tree at a position, and velocities and accelerations of all joints: G v, G a + G' v."""
    span = spanned(model, q)
    if span.G is None:
        return span, v, a
    change = span.velocities(a)
    for node in loop_nodes(model):
        rates = [v[k] for k in node.v_index]
        drift = node.closed([q[k] for k in node.q_index]).drift(rates, rates)
        for k, value in zip(node.u_index, drift, strict=True):
            change[k] = change[k] + value
    return span, span.velocities(v), change


@function("q -> G(nu, nv)")
def loop_matrix(model: Model, q: Array) -> Array:
    """The matrix G that gives the velocities u of all joints from the independent ones, u = G v.

        G = [1; -K_d^-1 K_i]        K u = 0 the rows of the closures

    Rows are in the order of `model.spanning_tree`, the model with its loops cut. Motor forces on any joints
    act through G^T: tau = G^T tau_motor. G is the identity for a model without loops. Cost O(N), plus the
    cube of the number of dependent velocities of each loop.

    Reference: constraint embedding, Jain (2012); Chignoli and others (2023).
    """
    G = spanned(model, q).G
    return np.eye(model.nv) if G is None else G


@function("q, v, a, f_ext? -> f(nc, 6)")
def loop_wrenches(model: Model, q: Array, v: Array, a: Array, f_ext: Array | None) -> Array:
    """The wrench [moment; force] on the second body of each closure, through that closure.

        K_d^T lambda = (S^T F)_d        F what each body needs to move as it does

    In the axes of that body, about its origin, in the order of `model.closure_names`; the opposite wrench
    acts on the first body. They make the forces of dependent joints zero. Redundant rows carry nothing: in an
    over-determined loop the forces depend on the stiffness of its bodies, and these are one possibility. A
    relation between coordinates has no wrench. Cost O(N).

    Reference: multipliers of constraint embedding, Jain (2012).
    """
    span, u, change = motions(model, q, v, a)
    tau = of.inverse_dynamics(span.tree, span.q, u, change, f_ext)
    found = []
    for loop in model.loops:
        home = model.nodes[model.location(model.joint_index(loop.dependent[0][0]))[0]]
        assert isinstance(home, LoopNode)
        closed = home.closed([q[k] for k in home.q_index])
        parts = pulls(closed, multipliers(closed, [tau[k] for k in home.u_index]))
        totals = [Force()] * len(loop.closures)
        for (closure, _), tie, wrenches in zip(loop.rows, closed.closing.rows, parts, strict=True):
            if wrenches:
                totals[closure] = totals[closure] + wrenches[tie.ends[1]]
        found += [list(total.components) for total in totals]
    return np.array(found).reshape(-1, 6)


__all__ = ["loop_matrix", "loop_wrenches"]
