"""Pose, velocity and acceleration of a named frame, along one path of the tree."""

from __future__ import annotations

from typing import Any

from kinetree.spatial import Motion, Transform
from kinetree.sweep import Sweep, algorithm, choice


def frame_at(tree: Sweep, frame: str, point: Any) -> tuple[Any, Transform]:
    """The body that carries a frame, and the transform from it to the frame, moved to a point in its axes."""
    body, placement = tree.frame(frame)
    x, y, z = point
    return body, Transform(r=(x, y, z)) @ placement.between(placement.source, None)


def reference_transform(placement: Transform, reference: str) -> Transform:
    """The transform from the coordinates of a frame with this world placement to those of the reference.

    "body": the frame itself; "world": its axes and origin; "aligned": the world's axes, the frame's origin.
    """
    if choice("reference", reference, "body", "world", "aligned") == "world":
        return placement.inverse()
    if reference == "aligned":
        return placement.turned_only()
    return Transform().between(placement.target, placement.target)


@algorithm("q, point?(3) -> T(4, 4)")
def frame_placement(tree: Sweep, q: Any, point: Any, *, frame: str) -> Any:
    """The world pose of a frame (or body), or of the frame moved to a point given in its axes, as [R p; 0 1].

        T = T_b T_bf [1 r; 0 1]        of the frame f of body b, at the point r

    Cost O(N), O(d) when unrolled.

    Reference: Jain (2024) part 1 (nodes of a body).
    """
    (P,) = tree.fields(Transform)
    for i in tree.outward():
        X, _ = tree.joint(i, q[i])
        P[i] = X @ P[tree.parent(i)]
    body, placement = frame_at(tree, frame, point)
    T = tree.array(4, 4)
    T[:, :] = (placement @ P[body]).pose()
    return T


@algorithm("q, v, point?(3) -> V(6)", order="q v frame reference point")
def frame_velocity(tree: Sweep, q: Any, v: Any, point: Any, *, frame: str, reference: str = "body") -> Any:
    """The spatial velocity [omega; v] of a frame, or of the frame moved to a point given in its axes.

        V = X_fb V_b        from body b to the frame

    `reference`: "body" (axes and origin of the frame), "world" (axes and origin of the world), or "aligned"
    (axes of the world, origin of the frame). Cost O(N), O(d) when unrolled.
    """
    P, V = tree.fields(Transform, Motion)
    for i in tree.outward():
        p = tree.parent(i)
        X, S = tree.joint(i, q[i])
        P[i] = X @ P[p]
        V[i] = X @ V[p] + S @ v[i]
    body, placement = frame_at(tree, frame, point)
    out = tree.array(6)
    out[:] = (reference_transform(placement @ P[body], reference) @ (placement @ V[body])).components
    return out


@algorithm("q, v, a, point?(3) -> A(6)", order="q v a frame reference kind point")
def frame_acceleration(
    tree: Sweep, q: Any, v: Any, a: Any, point: Any, *, frame: str, reference: str = "body",
    kind: str = "spatial",
) -> Any:  # fmt: skip
    """The acceleration of a frame without gravity, or of the frame moved to a point given in its axes.

        A = X_fb A_b        classical: A + [0; omega x v]

    The spatial acceleration is transformed like a velocity. With kind="classical" it is the second derivative
    of the position of the frame's origin, in the axes of the reference. Cost O(N), O(d) when unrolled.

    Reference: Featherstone (2008) section 2.11; Boyden (1997), planet on a circle.
    """
    P, V, A = tree.fields(Transform, Motion, Motion)
    for i in tree.outward():
        p = tree.parent(i)
        X, S, ring = tree.joint(i, q[i], v[i])
        moving = S @ v[i]
        P[i] = X @ P[p]
        V[i] = X @ V[p] + moving
        A[i] = X @ A[p] + S @ a[i] + ring @ v[i] + V[i].cross(moving)
    body, placement = frame_at(tree, frame, point)
    acceleration = placement @ A[body]
    world = placement @ P[body]
    if choice("kind", kind, "spatial", "classical") == "classical":
        acceleration = acceleration.classical(placement @ V[body])
        reference = "aligned" if reference == "world" else reference
    out = tree.array(6)
    out[:] = (reference_transform(world, reference) @ acceleration).components
    return out
