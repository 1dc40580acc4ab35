"""Where a named frame is and how it moves: along one path of the tree."""

from __future__ import annotations

from typing import Any

from kinetree.spatial import Motion, Subspace, Transform
from kinetree.sweep import Sweep, algorithm, choice


def reference_transform(placement: Transform, reference: str) -> Transform:
    """From the coordinates of a frame with this world placement to the reference's.

    "body": the frame itself. "world": the world's axes and origin. "aligned": the world's axes, the frame's
    origin.
    """
    if choice("reference", reference, "body", "world", "aligned") == "world":
        return placement.inverse()
    if reference == "aligned":
        return placement.turned_only()
    return Transform().between(placement.target, placement.target)


@algorithm("q -> T(4, 4)")
def frame_placement(tree: Sweep, q: Any, *, frame: str) -> Any:
    """The world pose of a frame (or body) given by name, as a homogeneous matrix [R p; 0 1].

    Cost O(N), O(d) when unrolled.

    Reference: Jain, spatial operator algebra part 1 (nodes of a body).
    """
    (P,) = tree.fields(Transform)
    for i in tree.outward():
        X, _ = tree.joint(i, q[i])
        P[i] = X @ P[tree.parent(i)]
    body, placement = tree.frame(frame)
    T = tree.array(4, 4)
    T[:, :] = (placement @ P[body]).pose()
    return T


@algorithm("q, v, point?(3) -> V(6)")
def frame_velocity(tree: Sweep, q: Any, v: Any, point: Any, *, frame: str, reference: str = "body") -> Any:
    """The spatial velocity [omega; v] of a frame, or of the frame moved to a point given in its axes.

    `reference`: "body" (axes and origin of the frame), "world" (axes and origin of the world), or "aligned"
    (axes of the world, origin of the frame). Cost O(N), O(d) when unrolled.
    """
    P, V = tree.fields(Transform, Motion)
    for i in tree.outward():
        p = tree.parent(i)
        X, S = tree.joint(i, q[i])
        P[i] = X @ P[p]
        V[i] = X @ V[p] + S @ v[i]
    body, placement = tree.frame(frame)
    placement = Transform(r=tuple(point)) @ placement.between(placement.source, None)
    out = tree.array(6)
    out[:] = (reference_transform(placement @ P[body], reference) @ (placement @ V[body])).components
    return out


@algorithm("q, v, a, point?(3) -> A(6)")
def frame_acceleration(
    tree: Sweep,
    q: Any,
    v: Any,
    a: Any,
    point: Any,
    *,
    frame: str,
    reference: str = "body",
    kind: str = "spatial",
) -> Any:
    """The acceleration of a frame without gravity, or of the frame moved to a point given in its axes.

    The spatial acceleration, a 6-vector that is transformed like a velocity; with kind="classical" the second
    derivative of the position of the frame's origin, in the axes of the reference. Cost O(N), O(d) when
    unrolled.

    Reference: Featherstone (2008) section 2.11; Boyden (planet on a circle).
    """
    P, V, A = tree.fields(Transform, Motion, Motion)
    for i in tree.outward():
        p = tree.parent(i)
        X, S, ring = tree.joint(i, q[i], v[i])
        moving = S @ v[i]
        P[i] = X @ P[p]
        V[i] = X @ V[p] + moving
        A[i] = X @ A[p] + S @ a[i] + ring @ v[i] + V[i].cross(moving)
    body, placement = tree.frame(frame)
    placement = Transform(r=tuple(point)) @ placement.between(placement.source, None)
    acceleration = placement @ A[body]
    world = placement @ P[body]
    if choice("kind", kind, "spatial", "classical") == "classical":
        acceleration = acceleration.classical(placement @ V[body])
        reference = "aligned" if reference == "world" else reference
    out = tree.array(6)
    out[:] = (reference_transform(world, reference) @ acceleration).components
    return out


@algorithm("q, point?(3) -> J(6, nv)")
def jacobian(tree: Sweep, q: Any, point: Any, *, frame: str, reference: str = "body") -> Any:
    """The Jacobian J of a frame, or of the frame moved to a point given in its axes: J v is its velocity.

        J_i = Y_i S_i        for the bodies i on the path to the root, 0 for all others

    where Y_i leads from body i to the reference: "body" (axes and origin of the frame), "world" (axes and
    origin of the world), or "aligned" (axes of the world, origin of the frame). Cost O(d), and O(N) for the
    placement.

    Reference: Jain, spatial operator algebra part 4 (J = B* phi* H*); Featherstone (2008) eq. 4.20.
    """
    X, S, P = tree.fields(Transform, Subspace, Transform)
    for i in tree.outward():
        X[i], S[i] = tree.joint(i, q[i])
        P[i] = X[i] @ P[tree.parent(i)]
    body, placement = tree.frame(frame)
    placement = Transform(r=tuple(point)) @ placement.between(placement.source, None)
    J = tree.array(6, "nv")
    start = reference_transform(placement @ P[body], reference) @ placement
    for i, Y in tree.path(X, body, start):
        J[:, i] = Y @ S[i]
    return J


@algorithm("q, v, point?(3) -> J(6, nv)")
def jacobian_rate(tree: Sweep, q: Any, v: Any, point: Any, *, frame: str, reference: str = "body") -> Any:
    """The time derivative of the Jacobian of a frame: J' v + J a is its acceleration.

        J'_i = Y_i (V_i x S_i + dS_i) - V_r x Y_i S_i

    where V_r is the velocity of the reference: that of the frame ("body"), zero ("world"), or that of its
    origin alone ("aligned"). Cost O(d), and O(N) for the velocities.

    Reference: Jain, spatial operator algebra part 4; Featherstone (2008) section 2.10.
    """
    X, S, rate, P, V = tree.fields(Transform, Subspace, Subspace, Transform, Motion)
    for i in tree.outward():
        p = tree.parent(i)
        X[i], S[i], ring = tree.joint(i, q[i], v[i])
        P[i] = X[i] @ P[p]
        V[i] = X[i] @ V[p] + S[i] @ v[i]
        rate[i] = S[i].cross_from(V[i]) + ring
    body, placement = tree.frame(frame)
    placement = Transform(r=tuple(point)) @ placement.between(placement.source, None)
    start = reference_transform(placement @ P[body], reference) @ placement
    moving = start @ V[body]
    if reference != "body":
        moving = Motion(linear=(0, 0, 0) if reference == "world" else moving.linear, frame=moving.frame)
    J = tree.array(6, "nv")
    for i, Y in tree.path(X, body, start):
        J[:, i] = Y @ rate[i] - (Y @ S[i]).cross_from(moving)
    return J
