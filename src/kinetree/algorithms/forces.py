"""Forces between bodies: through joints, along constraints, into the ground."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinetree.spatial import Force, Jet, Transform
from kinetree.sweep import Sweep, algorithm


def along_joints(tree: Sweep, X: Any, S: Any, F: Any) -> Any:
    """Forces on bodies as generalised forces, an output: tau_i = S_i^T F_i, F_p += X_i^T F_i."""
    tau = tree.coordinates()
    for i in tree.inward():
        tau[i] = S[i].T @ F[i]
        F.add(tree.parent(i), X[i].T @ F[i])
    return tau


def _wrenches(tree: Sweep, F: Any, q: Any, v: Any, a: Any, f_ext: Any) -> Iterator[tuple[Any, Any]]:
    """(i, f_i): inverse dynamics with the sums F; the wrench through the joints of node i, tips to base."""
    X, J = tree.fields(Transform, Jet)
    J[tree.world] = Jet(acceleration=-tree.gravity)
    for i in tree.outward():
        X[i], S, ring = tree.joint(i, q[i], v[i])
        J[i] = (X[i] @ J[tree.parent(i)]).moved(S @ v[i], S @ a[i] + ring @ v[i])
        F[i] = tree.inertia(i).force(J[i]) - f_ext[i]
    for i in tree.inward():
        yield i, tree.held(i, q[i], X[i], F[i])
        F.add(tree.parent(i), X[i].T @ F[i])


@algorithm("q, v, a, f_ext? -> f(nb, 6)")
def joint_wrenches(tree: Sweep, q: Any, v: Any, a: Any, f_ext: Any) -> Any:
    """The wrench [moment; force] on each body through its joint, in body axes about the body origin.

        f_i = I_i a_i + v_i x* I_i v_i - f_ext,i + sum X_c^T f_c

    It supports everything outboard. The reaction of a drive on its predecessor belongs to that body. In a
    loop, the closures carry their part (`loop_wrenches`), so dependent joints give no force. Cost O(N).

    Reference: the interbody force of Concurrent Dynamics (2017); f of the recursive Newton-Euler algorithm.
    """
    out = tree.array("nb", 6)
    for i, f in _wrenches(tree, tree.sums(Force), q, v, a, f_ext):
        out[i] = f
    return out


@algorithm("q, v, a, f_ext? -> f(nb, 6)")
def constraint_forces(tree: Sweep, q: Any, v: Any, a: Any, f_ext: Any) -> Any:
    """The components of each joint's wrench along the directions that the joint constrains.

        f^c_i = N_i^T f_i        S_i^T N_i = 0, N_i orthonormal

    A joint with k degrees of freedom has 6 - k; the rest of its row is zero. They do no work. Cost O(N).

    Reference: Concurrent Dynamics (2017), proposition 5, with the transpose that it lacks.
    """
    out = tree.array("nb", 6)
    for i, f in _wrenches(tree, tree.sums(Force), q, v, a, f_ext):
        out[i] = tree.complement(i, q[i]).along(f)
    return out


@algorithm("q, v, a, f_ext? -> f(6)")
def base_reaction(tree: Sweep, q: Any, v: Any, a: Any, f_ext: Any) -> Any:
    """The wrench [moment; force] of the ground on the whole system, in world axes about the world origin.

        f_0 = sum over roots of X^T f

    It is the rate of the momentum of the system, less gravity and external forces. Cost O(N).

    Reference: Newton's law for the whole system; Jain (2024) part 4.
    """
    F = tree.sums(Force)
    for _ in _wrenches(tree, F, q, v, a, f_ext):
        pass
    out = tree.array(6)
    out[:] = F[tree.world].components
    return out
