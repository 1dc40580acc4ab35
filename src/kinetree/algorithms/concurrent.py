"""Forward dynamics in the form of concurrent dynamics: inertial axes and joint centres."""

from __future__ import annotations

from typing import Any

from kinetree.algorithms.articulation import freed
from kinetree.spatial import Coordinates, Factored, Force, ForceSet, Jet, Motion, Subspace, Transform
from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.sweep import Sweep, algorithm


@algorithm("q, v, tau, f_ext? -> a")
def forward_dynamics_concurrent(tree: Sweep, q: Any, v: Any, tau: Any, f_ext: Any) -> Any:
    """Accelerations by the product of influence matrices, equation (19b) of concurrent dynamics.

        a = [e - K^T Phi_D Psi_beta G] R^-1 [e - G^T Psi_beta^T Phi_D^T K] (tau - C)

    Every frame has world axes and its origin at the joint's centre: D_i shifts from the predecessor's, G_i is
    the joint axis, J_i the branch inertia, R_i = G^T J G, K_i = J G R^-1, beta_i = (e - G K^T) D_i. C is the
    force at a = 0, including gravity and external forces. Accelerations are classical. Cost O(N).

    Reference: Concurrent Dynamics (2017), equations (1) to (19b), for joints of every kind.
    """
    P, D, G, motion = tree.fields(Transform, Transform, Subspace, Jet)
    U, R, w, x = tree.fields(ForceSet, Factored, Coordinates, Motion)
    J, F, z = tree.sums(ArticulatedInertia, Force, Force)
    motion[tree.world] = Jet(acceleration=-tree.gravity.tagged(None))
    for i in tree.outward():
        p = tree.parent(i)
        X, S, ring = tree.joint(i, q[i], v[i])
        P[i] = X @ P[p]
        D[i] = X.shifted_only(P[p], P[i])
        turn = P[i].turned_only()
        G[i] = turn @ S
        motion[i] = (D[i] @ motion[p].tagged(None)).moved(G[i] @ v[i], turn @ (ring @ v[i]))
        J[i] = inertia = tree.inertia(i).congruence(turn.inverse())
        F[i] = inertia.force(motion[i]) - f_ext[i].behind(turn.inverse())
        z[i] = tree.zero(i, Force)
    for i in tree.inward():
        p = tree.parent(i)
        J.add(p, D[i].T @ freed(tree, i, J, G, U, R) @ D[i])
        w[i] = tau[i] - G[i].T @ F[i] - G[i].T @ z[i]
        F.add(p, D[i].T @ F[i])
        z.add(p, D[i].T @ (z[i] + U[i] @ R[i].solve(w[i])))
    a = tree.coordinates()
    for i in tree.outward():
        before = D[i] @ x[tree.parent(i)].tagged(None)
        a[i] = result = R[i].solve(w[i] - U[i].T @ before)
        x[i] = before + G[i] @ result
    return a
