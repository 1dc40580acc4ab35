"""The stacked quantities of all bodies at one state: the operators of `kinetree.soa` as dense matrices.

Every moving part (bodies, and whatever else a node holds) has six rows. With E the strict child-to-parent
shift,

    V = E^T V + S v        alpha = E^T alpha + S a + c        f = E f + M alpha + b        tau = S^T f

and phi = (1 - E)^-1. S is the transpose of H of the spatial operator algebra; c holds the velocity-dependent
accelerations and, on the roots, gravity as -g; b holds the gyroscopic forces minus the external ones.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from kinetree.model import Model
from kinetree.soa import operators

Array = np.ndarray


class System:
    """The stacked matrices of a model in the state (q, v), under the wrenches `f_ext` (nb, 6)."""

    def __init__(self, model: Model, q: Any, v: Any = None, f_ext: Any = None):
        self.model = model
        self.v = np.zeros(model.nv) if v is None else np.asarray(v, float)
        self.operators = op = operators(model, q, self.v)
        self.E, self.S, self.M = op.E_phi.dense(), op.H.T.dense(), op.M.dense()
        self.size, self.V = len(self.M), op.V
        fall = np.concatenate([np.zeros(3), np.array(model.gravity, float)])
        self.c = op.a - op.E.T @ fall
        self.b = op.b.copy()
        members = [member for node in model.nodes for member in node.members]
        for own, member in zip(self.b.reshape(-1, 6), members, strict=True):
            if member.body and f_ext is not None:
                own -= np.asarray(f_ext, float)[member.body - 1]

    @cached_property
    def ring(self) -> Array:
        """The apparent derivative of S, sum_k v_k dS/dk."""
        result = np.zeros_like(self.S)
        for place, node, ring in zip(
            self.operators.places(self.operators.M.rows), self.model.nodes, self.operators.ring, strict=True
        ):
            result[place, list(node.v_index)] = ring
        return result

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
