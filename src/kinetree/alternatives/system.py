"""The stacked quantities of all bodies at one state, as dense matrices.

Every part that moves (bodies, and whatever else a node holds) has six rows. With E the strict child-to-parent
shift,

    V = E^T V + S v        alpha = E^T alpha + S a + c        f = E f + M alpha + b        tau = S^T f

and phi = (1 - E)^-1. S is the transpose of H of the spatial operator algebra; c holds the velocity-dependent
accelerations and, on the roots, gravity as -g; b the gyroscopic forces less the external ones.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from kinetree.model import Model
from kinetree.model.node import NOTHING
from kinetree.spatial import Motion, Stack
from kinetree.textbook import crf, crm

Array = np.ndarray


class System:
    """The stacked matrices of a model in the state (q, v), under the wrenches `f_ext` (nb, 6)."""

    def __init__(self, model: Model, q: Any, v: Any = None, f_ext: Any = None):
        q = np.asarray(q, float).tolist()
        self.model = model
        self.v = np.zeros(model.nv) if v is None else np.asarray(v, float)
        starts = np.cumsum([0] + [6 * len(node.members) for node in model.nodes])
        self.size = int(starts[-1])
        self.nodes = [
            (slice(int(a), int(b)), list(n.v_index)) for n, a, b in zip(model.nodes, starts, starts[1:])
        ]
        self.E = np.zeros((self.size, self.size))
        self.S = np.zeros((self.size, model.nv))
        self.ring = np.zeros((self.size, model.nv))
        self.M = np.zeros((self.size, self.size))
        self.c = np.zeros(self.size)
        self.b = np.zeros(self.size)
        x, y, z = (float(g) for g in model.gravity)
        fall = Motion(linear=(x, y, z))
        for node, start in zip(model.nodes, starts, strict=False):
            own = [q[k] for k in node.q_index]
            X, S = (_parts(part) for part in node.kinematics(own))
            partials = [_parts(part) for part in node.partials(own)]
            for m, member in enumerate(node.members):
                rows = slice(int(start) + 6 * m, int(start) + 6 * m + 6)
                self.S[rows, list(node.v_index)] = _columns(S[m])
                for k, partial in zip(node.v_index, partials, strict=False):
                    self.ring[rows, list(node.v_index)] += self.v[k] * _columns(partial[m])
                self.M[rows, rows] = member.inertia.matrix()
                if member.body and f_ext is not None:
                    self.b[rows] -= np.asarray(f_ext, float)[member.body - 1]
                if member.carrier == NOTHING:
                    continue
                if node.predecessor[0] < 0:
                    self.c[rows] -= (X[m] @ fall).components
                else:
                    above = int(starts[node.predecessor[0]]) + 6 * node.predecessor[1]
                    self.E[above : above + 6, rows] = np.array(X[m].matrix(), float).T
        self.V = np.linalg.solve(np.eye(self.size) - self.E.T, self.S @ self.v)
        self.c = self.c + self._stacked(crm, self.S @ self.v) + self.ring @ self.v
        self.b = self.b + self._stacked(crf, self.M @ self.V)

    def _stacked(self, cross: Any, x: Array) -> Array:
        """V x (each part's own six rows)."""
        parts = zip(self.V.reshape(-1, 6), x.reshape(-1, 6), strict=True)
        found = [np.array(cross(Motion.from_components(V.tolist())), float) @ y for V, y in parts]
        return np.concatenate([*found, np.zeros(0)])

    @cached_property
    def phi(self) -> Array:
        """(1 - E)^-1, the sum of the powers of the nilpotent E."""
        return np.linalg.inv(np.eye(self.size) - self.E)

    @property
    def bias(self) -> Array:
        """C v + g - Q: S^T phi (M phi^T c + b)."""
        return self.S.T @ self.phi @ (self.M @ self.phi.T @ self.c + self.b)

    def inverse_dynamics(self, a: Any) -> Array:
        """S^T phi (M phi^T (S a + c) + b)."""
        return self.S.T @ self.forces(a)

    def forces(self, a: Any) -> Array:
        """The forces through the joints, phi (M alpha + b), six rows for each part."""
        alpha = self.phi.T @ (self.S @ np.asarray(a, float) + self.c)
        return self.phi @ (self.M @ alpha + self.b)


def _parts(value: Any) -> tuple[Any, ...]:
    return value.values if isinstance(value, Stack) else (value,)


def _columns(S: Any) -> Array:
    return np.array([column.components for column in S.columns], float).reshape(-1, 6).T
