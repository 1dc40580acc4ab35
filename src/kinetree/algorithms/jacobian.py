"""Jacobians: of a named frame, their rates, and of all bodies at once."""

from __future__ import annotations

from typing import Any

from kinetree.algorithms.frames import frame_at, reference_transform
from kinetree.spatial import Motion, Subspace, Transform
from kinetree.sweep import Sweep, algorithm


@algorithm("q, point?(3) -> J(6, nv)", order="q frame reference point")
def jacobian(tree: Sweep, q: Any, point: Any, *, frame: str, reference: str = "body") -> Any:
    """The Jacobian J of a frame, or of the frame moved to a point given in its axes: J v is its velocity.

        J_i = Y_i S_i        for the bodies i on the path to the root, 0 for all others

    with the transform Y_i from body i to the reference: "body" (axes and origin of the frame), "world" (those
    of the world), or "aligned" (axes of the world, origin of the frame). Cost O(d), and O(N) for the
    placement.

    Reference: Jain (2024) part 4 (J = B* phi* H*); Featherstone (2008) eq. 4.20.
    """
    X, S, P = tree.fields(Transform, Subspace, Transform)
    for i in tree.outward():
        X[i], S[i] = tree.joint(i, q[i])
        P[i] = X[i] @ P[tree.parent(i)]
    body, placement = frame_at(tree, frame, point)
    J = tree.array(6, "nv")
    start = reference_transform(placement @ P[body], reference) @ placement
    for i, Y in tree.path(X, body, start):
        J[:, i] = Y @ S[i]
    return J


@algorithm("q, v, point?(3) -> J(6, nv)", order="q v frame reference point")
def jacobian_rate(tree: Sweep, q: Any, v: Any, point: Any, *, frame: str, reference: str = "body") -> Any:
    """The time derivative of the Jacobian of a frame: J' v + J a is its acceleration.

        J'_i = Y_i (V_i x S_i + dS_i) - V_r x Y_i S_i

    where V_r is the velocity of the reference: that of the frame ("body"), zero ("world"), or that of its
    origin alone ("aligned"). Cost O(d), and O(N) for the velocities.

    Reference: Jain (2024) part 4; Featherstone (2008) section 2.10.
    """
    X, S, rate, P, V = tree.fields(Transform, Subspace, Subspace, Transform, Motion)
    for i in tree.outward():
        p = tree.parent(i)
        X[i], S[i], ring = tree.joint(i, q[i], v[i])
        P[i] = X[i] @ P[p]
        V[i] = X[i] @ V[p] + S[i] @ v[i]
        rate[i] = S[i].cross_from(V[i]) + ring
    body, placement = frame_at(tree, frame, point)
    start = reference_transform(placement @ P[body], reference) @ placement
    moving = start @ V[body]
    if reference != "body":
        moving = Motion(linear=(0, 0, 0) if reference == "world" else moving.linear, frame=moving.frame)
    J = tree.array(6, "nv")
    for i, Y in tree.path(X, body, start):
        J[:, i] = Y @ rate[i] - (Y @ S[i]).cross_from(moving)
    return J


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
