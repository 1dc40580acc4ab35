"""Composite inertias: the inertia of a body while all joints outboard of it are locked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinetree.spatial import Inertia, Lump, Subspace, Transform
from kinetree.sweep import Sweep, algorithm


def composite(tree: Sweep, q: Any) -> tuple[Any, Any, Any]:
    """The fields X and S, and the composite inertias I^C; that of the world is the inertia of the system.

    I^C_p += X^T I^C X
    """
    X, S = tree.fields(Transform, Subspace)
    I = tree.sums(Inertia)
    for i in tree.outward():
        X[i], S[i] = tree.joint(i, q[i])
        I[i] = tree.inertia(i)
    for i in tree.inward():
        I.add(tree.parent(i), X[i].T @ I[i] @ X[i])
    return X, S, I


def unit_momenta(tree: Sweep, q: Any) -> tuple[Inertia, Iterator[tuple[Any, Any]]]:
    """The inertia of the whole system, and (i, I^C_i S_i) from base to tips: momenta per unit of v_i."""
    X, S, I = composite(tree, q)
    (P,) = tree.fields(Transform)

    def momenta() -> Iterator[tuple[Any, Any]]:
        for i in tree.outward():
            p = tree.parent(i)
            P[i] = X[i] @ P[p]
            yield i, P[p].T @ (X[i].T @ (I[i] @ S[i]))

    return I[tree.world], momenta()


@algorithm("q -> I(nb, 6, 6)")
def composite_inertias(tree: Sweep, q: Any) -> Any:
    """The composite inertia I^C of every body, 6 x 6 in body axes, with everything outboard locked to it.

        I^C_p = I_p + sum X^T I^C X

    Cost O(N).

    Reference: Featherstone (2008) eq. 6.15; Jain (2024) part 4; Echeandia (2020) eq. 2.17.
    """
    X, _, I = composite(tree, q)
    out = tree.array("nb", 6, 6)
    for i in tree.outward():
        out[i] = tree.gathered(i, X[i], I[i]).matrix()
    return out


@algorithm("q -> mass(nb), com(nb, 3), inertia(nb, 3, 3)")
def composite_moments(tree: Sweep, q: Any) -> Any:
    """Mass, centre of mass and inertia about it of each body and everything it carries, in body axes.

        m_i = sum_j m_j        c_i = sum_j m_j c_j / m_i        over the bodies j that body i carries, and i

    These are the components of the composite inertia, of the bodies locked together. Cost O(N).

    Reference: Jain (2024) part 4 (composite bodies).
    """
    X, _, I = composite(tree, q)
    mass, com, inertia = tree.array("nb"), tree.array("nb", 3), tree.array("nb", 3, 3)
    for i in tree.outward():
        whole = Lump.of(tree.gathered(i, X[i], I[i]))
        mass[i], com[i], inertia[i] = whole.mass, whole.com, whole.rotational_matrix
    return mass, com, inertia


@algorithm("q -> mass(nb), com(nb, 3), inertia(nb, 3, 3)")
def composite_moments_walker_orin(tree: Sweep, q: Any) -> Any:
    """The same as `composite_moments`, with every sum taken about the common centre of mass of its parts.

        m = m_p + sum m_c        m c = m_p c_p + sum m_c c_c        J = sum (J_c + m_c (|d|^2 1 - d d^T))

    Cost O(N), more than with moments about the body's origin, which simply add.

    Reference: Walker and Orin (1982), as described by Jain (2024) part 4.
    """
    (X,) = tree.fields(Transform)
    L = tree.sums(Lump)
    for i in tree.outward():
        X[i], _ = tree.joint(i, q[i])
        L[i] = Lump.of(tree.inertia(i))
    mass, com, inertia = tree.array("nb"), tree.array("nb", 3), tree.array("nb", 3, 3)
    for i in tree.inward():
        whole = tree.gathered(i, X[i], L[i])
        mass[i], com[i], inertia[i] = whole.mass, whole.com, whole.rotational_matrix
        L.add(tree.parent(i), X[i].T @ L[i] @ X[i])
    return mass, com, inertia
