"""Momentum of the whole: about the world origin, in any frame, and about the centre of mass."""

from __future__ import annotations

from typing import Any

from kinetree.spatial import Force, Inertia, Motion, Transform
from kinetree.sweep import Sweep, algorithm


@algorithm("q, v -> h(6)")
def momentum(tree: Sweep, q: Any, v: Any, *, frame: str = "world") -> Any:
    """The momentum [angular; linear] of everything that moves, about the origin and in the axes of a frame.

        h = sum_i X_i0^T I_i V_i

    By default the world: axes of the world, about its origin. Cost O(N).

    Reference: Jain (2024) part 4 (system momentum).
    """
    P, h = _summed(tree, q, v)[:2]
    body, placement = tree.frame(frame)
    out = tree.array(6)
    out[:] = ((placement @ P[body]).inverse().T @ h).components
    return out


@algorithm("q, v -> h(6)")
def centroidal_momentum(tree: Sweep, q: Any, v: Any) -> Any:
    """The momentum [angular; linear] about the centre of mass, in world axes. Cost O(N).

        h_G = sum_i X_iG^T I_i V_i

    Reference: Orin, Goswami and Lee (2013); Jain (2024) part 4.
    """
    _, h, I = _summed(tree, q, v)
    out = tree.array(6)
    out[:] = (Transform(r=I.com).inverse().T @ h).components
    return out


def _summed(tree: Sweep, q: Any, v: Any) -> tuple[Any, Force, Inertia]:
    """Poses of the bodies, and the momentum and the inertia of the whole in the world."""
    X, P, V = tree.fields(Transform, Transform, Motion)
    h, I = tree.sums(Force, Inertia)
    for i in tree.outward():
        p = tree.parent(i)
        X[i], S = tree.joint(i, q[i])
        P[i] = X[i] @ P[p]
        V[i] = X[i] @ V[p] + S @ v[i]
        I[i] = tree.inertia(i)
        h[i] = tree.inertia(i) @ V[i]
    for i in tree.inward():
        p = tree.parent(i)
        h.add(p, X[i].T @ h[i])
        I.add(p, X[i].T @ I[i] @ X[i])
    return P, h[tree.world], I[tree.world]
