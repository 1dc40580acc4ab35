"""The matrices of one node, and the two cross products, in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kinetree.model.node import Node
from kinetree.spatial import Detached, Stack

Array = np.ndarray


def node_matrices(node: Node, q: Array) -> tuple[Array, Array, Array]:
    """X (6k x 6, from the predecessor), S (6k x n) and the inertia (6k x 6k) of a node with k bodies."""
    X, S = node.kinematics(_own(node, q))
    transforms = [
        np.zeros((6, 6)) if isinstance(x, Detached) else np.array(x.matrix(), float) for x in _each(X)
    ]
    inertia = np.zeros((6 * len(node.members),) * 2)
    for k, member in enumerate(node.members):
        inertia[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = np.array(member.inertia.matrix(), float)
    return np.concatenate(transforms), _columns(S, len(node.v_index)), inertia


def partial_matrices(node: Node, q: Array) -> Iterator[Array]:
    """The derivative of S along each velocity of the node; none if S is constant."""
    return (_columns(dS, len(node.v_index)) for dS in node.partials(_own(node, q)))


def _own(node: Node, q: Array) -> tuple[float, ...]:
    return tuple(q[list(node.q_index)].tolist())


def _each(value: Any) -> tuple[Any, ...]:
    return value.values if isinstance(value, Stack) else (value,)


def _columns(S: Any, width: int) -> Array:
    rows = [np.array([c.components for c in part.columns], float).reshape(width, 6).T for part in _each(S)]
    return np.concatenate(rows)


def cross(V: Array, W: Array) -> Array:
    """V x W of stacked motions, body by body."""
    (w, u), (dw, du) = _halves(V), _halves(W)
    return np.concatenate([np.cross(w, dw), np.cross(w, du) + np.cross(u, dw)], axis=1).ravel()


def cross_star(V: Array, F: Array) -> Array:
    """V x* F of stacked motions and forces, body by body."""
    (w, u), (n, f) = _halves(V), _halves(F)
    return np.concatenate([np.cross(w, n) + np.cross(u, f), np.cross(w, f)], axis=1).ravel()


def _halves(x: Array) -> tuple[Array, Array]:
    pairs = x.reshape(-1, 6)
    return pairs[:, :3], pairs[:, 3:]
