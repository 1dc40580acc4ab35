"""Momentum of the whole system, in any frame and about the centre of mass; centroidal momentum matrix."""

from __future__ import annotations

from typing import Any

from kinetree.algorithms.composite import composite, unit_momenta
from kinetree.spatial import CoriolisInertia, Force, ForceSet, Inertia, Lump, Motion, Subspace, Transform
from kinetree.sweep import Sweep, algorithm


@algorithm("q -> A(6, nv)")
def centroidal_momentum_matrix(tree: Sweep, q: Any) -> Any:
    """The matrix A with A v the momentum [angular; linear] about the centre of mass, in world axes.

        A_i = X_Gi^T I^C_i S_i        from body i to the centre of mass

    Cost O(N).

    Reference: Orin, Goswami and Lee (2013); Jain (2024) part 4 (h = E phi R H* v).
    """
    whole, momenta = unit_momenta(tree, q)
    A = tree.array(6, "nv")
    to_center = Transform(r=whole.com).inverse()
    for i, momentum in momenta:
        A[:, i] = to_center.T @ momentum
    return A


@algorithm("q -> I(6, 6)")
def system_inertia(tree: Sweep, q: Any) -> Any:
    """The inertia of the whole system in its present posture, 6 x 6 about the centre of mass, in world axes.

        I_S = sum_i X_iG^T I_i X_iG        block diagonal: [J 0; 0 m]

    Also called the locked or centroidal composite inertia. Cost O(N).

    Reference: Jain (2024) part 4 (system inertia); Orin, Goswami and Lee (2013).
    """
    *_, I = composite(tree, q)
    whole = tree.array(6, 6)
    whole[:, :] = Lump.of(I[tree.world]).matrix()
    return whole


@algorithm("q, v -> A(6, nv)")
def centroidal_momentum_matrix_rate(tree: Sweep, q: Any, v: Any) -> Any:
    """The time derivative of the centroidal momentum matrix: A' v + A a is the rate of the momentum.

        W_i = I^C_i S_i        W'_i = I^C_i dS_i + (B^C_i + B^C_i^T) S_i        A'_i = W'_i - [c' x W_i; 0]

    about the centre of mass c; dS = V x S plus the apparent derivative, B: Coriolis inertias. Cost O(N).

    Reference: Echeandia (2020) eq. 3.1 (the rate of a composite inertia is B + B^T); Orin, Goswami and Lee
    (2013).
    """
    X, S, P, V, U, W = tree.fields(Transform, Subspace, Transform, Motion, ForceSet, ForceSet)
    (rate,) = tree.fields(Subspace)
    I, B, h = tree.sums(Inertia, CoriolisInertia, Force)
    for i in tree.outward():
        p = tree.parent(i)
        X[i], S[i], ring = tree.joint(i, q[i], v[i])
        P[i] = X[i] @ P[p]
        V[i] = X[i] @ V[p] + S[i] @ v[i]
        rate[i] = S[i].cross_from(V[i]) + ring
        I[i] = inertia = tree.inertia(i)
        B[i] = CoriolisInertia.of(V[i], inertia)
        h[i] = inertia @ V[i]
    for i in tree.inward():
        p = tree.parent(i)
        U[i] = I[i] @ S[i]
        W[i] = I[i] @ rate[i] + B[i] @ S[i] + B[i].adjoint @ S[i]
        I.add(p, X[i].T @ I[i] @ X[i])
        B.add(p, X[i].T @ B[i] @ X[i])
        h.add(p, X[i].T @ h[i])
    A = tree.array(6, "nv")
    whole = I[tree.world]
    to_center = Transform(r=whole.com).inverse()
    moving = Motion(linear=whole.per_mass(h[tree.world].linear))
    for i in tree.outward():
        P_p = P[tree.parent(i)]
        columns = P_p.T @ (X[i].T @ U[i])
        shift = ForceSet(moving.cross_star(column) for column in columns.columns)
        A[:, i] = to_center.T @ (P_p.T @ (X[i].T @ W[i])) - shift
    return A


@algorithm("q, v -> h(6)")
def momentum(tree: Sweep, q: Any, v: Any, *, frame: str = "world") -> Any:
    """The momentum [angular; linear] of everything that moves, in the axes of a frame, about its origin.

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
    """The poses of the bodies, and the momentum and inertia of the whole system in world coordinates."""
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
