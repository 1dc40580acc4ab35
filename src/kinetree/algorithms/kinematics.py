"""Poses, velocities and accelerations of all bodies."""

from __future__ import annotations

from typing import Any

from kinetree.spatial import Motion, Transform
from kinetree.sweep import Sweep, algorithm, choice


@algorithm("q -> T(nb, 4, 4)")
def placements(tree: Sweep, q: Any) -> Any:
    """World poses T of all bodies, as homogeneous matrices [R p; 0 1].

        T_i = T_p T_joint(q_i)

    Cost O(N).

    Reference: Jain (2024) part 1; Featherstone (2008) section 4.4.
    """
    (P,) = tree.fields(Transform)
    T = tree.array("nb", 4, 4)
    for i in tree.outward():
        X, _ = tree.joint(i, q[i])
        P[i] = X @ P[tree.parent(i)]
        T[i] = P[i].pose()
    return T


@algorithm("q, v -> V(nb, 6)")
def body_velocities(tree: Sweep, q: Any, v: Any) -> Any:
    """Spatial velocities [omega; v] of all bodies, in body axes at the body origins.

        V_i = X_i V_p + S_i v_i

    Cost O(N).

    Reference: Featherstone (2008) eq. 5.14; Jain (2024) part 4 (V = phi* H* v).
    """
    (V,) = tree.fields(Motion)
    out = tree.array("nb", 6)
    for i in tree.outward():
        X, S = tree.joint(i, q[i])
        V[i] = X @ V[tree.parent(i)] + S @ v[i]
        out[i] = V[i]
    return out


@algorithm("q, v, a -> A(nb, 6)")
def body_accelerations(tree: Sweep, q: Any, v: Any, a: Any, *, kind: str = "spatial") -> Any:
    """Accelerations of all bodies without gravity, in body axes at the body origins.

        A_i = X_i A_p + S_i a_i + c_i + V_i x S_i v_i

    with c_i the apparent derivative of S_i times v_i. The spatial acceleration is the derivative of the
    components of V; with kind="classical" it is that of the body's origin, A + [0; omega x v]. Cost O(N).

    Reference: Featherstone (2008) eq. 5.15; Boyden (1997) on the two accelerations; Echeandia (2020) eq.
    2.16, corrected.
    """
    classical = choice("kind", kind, "spatial", "classical") == "classical"
    V, A = tree.fields(Motion, Motion)
    out = tree.array("nb", 6)
    for i in tree.outward():
        p = tree.parent(i)
        X, S, ring = tree.joint(i, q[i], v[i])
        moving = S @ v[i]
        V[i] = X @ V[p] + moving
        A[i] = X @ A[p] + S @ a[i] + ring @ v[i] + V[i].cross(moving)
        out[i] = A[i].classical(V[i]) if classical else A[i]
    return out
