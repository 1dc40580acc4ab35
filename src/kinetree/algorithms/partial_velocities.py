"""Kane's partial velocities: the Jacobians of all bodies at once."""

from __future__ import annotations

from typing import Any

from kinetree.spatial import Subspace, Transform
from kinetree.sweep import Sweep, algorithm


@algorithm("q -> J(nb, 6, nv)")
def partial_velocities(tree: Sweep, q: Any) -> Any:
    """The velocity of every body per unit of every generalised velocity, in body axes: V_b = J_b v.

        J_bi = Y_i S_i        with Y_i from body i to body b, for i on the path from b to the root

    the blocks of phi* H*. Cost O(N d).

    Reference: Kane's partial velocities in Jain (2024) part 4.
    """
    X, S = tree.fields(Transform, Subspace)
    J = tree.array("nb", 6, "nv")
    for i in tree.outward():
        X[i], S[i] = tree.joint(i, q[i])
    for b in tree.inward():
        for i, Y in tree.path(X, b, tree.zero(b, Transform)):
            J[b, :, i] = Y @ S[i]
    return J
