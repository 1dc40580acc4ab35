"""The Riccati recursion: articulated inertias and the gains that come with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinetree.errors import SingularError
from kinetree.model import Model
from kinetree.soa.influence import InfluenceMatrix
from kinetree.sweep.bounds import NEGLIGIBLE, inertia_bounds

Array = np.ndarray


class Articulation:
    """P, D, G and taubar of every node.

    D_i = S_i^T P_i S_i        G_i = P_i S_i D_i^-1        taubar_i = 1 - G_i S_i^T
    P_p = M_p + sum X_i^T taubar_i P_i X_i

    Reference: Jain (2024) part 4, topic 5; Featherstone (2008) eq. 7.21.
    """

    def __init__(self, model: Model, tree: InfluenceMatrix, S: Sequence[Array], M: Sequence[Array]):
        count = len(S)
        parents = [p - 1 for p in tree.topology.parents]
        bounds = inertia_bounds(model)
        self.P = list(M)
        self.D, self.G, self.taubar = ([np.empty(0)] * count for _ in range(3))
        for i in reversed(range(count)):
            U = self.P[i] @ S[i]
            D = S[i].T @ U
            _check(model, i, D, bounds)
            G = np.linalg.solve(D, U.T).T
            self.D[i], self.G[i], self.taubar[i] = D, G, np.eye(len(G)) - G @ S[i].T
            if parents[i] >= 0:
                passed = self.P[i] - G @ U.T
                X = tree.blocks[i]
                self.P[parents[i]] = self.P[parents[i]] + X.T @ ((passed + passed.T) / 2) @ X


def _check(model: Model, i: int, D: Array, bounds: Array) -> None:
    """Raise SingularError unless every pivot of D is more than rounding noise."""
    node = model.nodes[i]
    least = NEGLIGIBLE * bounds[list(node.v_index)]
    try:
        pivots = np.diag(np.linalg.cholesky(D)) ** 2
    except np.linalg.LinAlgError:
        pivots = np.zeros(len(D))
    if not (pivots > least).all():
        joints = " and ".join(repr(model.joint_names[m.body - 1]) for m in node.members if m.body > 0)
        raise SingularError(
            f"operators: joint {joints} of model {model.name!r} has no inertia along its motion (D = "
            f"{np.array2string(D, precision=3)}): give the bodies it moves mass, or the joint an armature"
        )
