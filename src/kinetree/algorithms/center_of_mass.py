"""The centre of mass of the whole system, its velocity and its Jacobian."""

from __future__ import annotations

from typing import Any

from kinetree.algorithms.composite import composite, unit_momenta
from kinetree.spatial import Force, Inertia, Motion, Transform
from kinetree.sweep import Sweep, algorithm


@algorithm("q -> c(3)")
def center_of_mass(tree: Sweep, q: Any) -> Any:
    """The centre of mass of everything that moves, in world axes.

        c = sum_i m_i c_i / sum_i m_i

    from the composite inertia of the whole system, summed from tips to base. Cost O(N).

    Reference: Jain (2024) part 4 (system centre of mass).
    """
    *_, I = composite(tree, q)
    c = tree.array(3)
    c[:] = I[tree.world].com
    return c


@algorithm("q, v -> c(3)")
def center_of_mass_velocity(tree: Sweep, q: Any, v: Any) -> Any:
    """The velocity of the centre of mass, in world axes: linear momentum over mass. Cost O(N).

        c' = sum_i m_i c'_i / sum_i m_i

    Reference: Jain (2024) part 4 (velocity of the centre of mass).
    """
    X, V = tree.fields(Transform, Motion)
    I, h = tree.sums(Inertia, Force)
    for i in tree.outward():
        X[i], S = tree.joint(i, q[i])
        V[i] = X[i] @ V[tree.parent(i)] + S @ v[i]
        I[i] = tree.inertia(i)
        h[i] = tree.inertia(i) @ V[i]
    for i in tree.inward():
        p = tree.parent(i)
        I.add(p, X[i].T @ I[i] @ X[i])
        h.add(p, X[i].T @ h[i])
    c = tree.array(3)
    c[:] = I[tree.world].per_mass(h[tree.world].linear)
    return c


@algorithm("q -> J(3, nv)")
def center_of_mass_jacobian(tree: Sweep, q: Any) -> Any:
    """The Jacobian of the centre of mass: J v is its velocity, in world axes.

        J_i = [0 1] (I^C_i S_i) / m        the linear momentum per unit of v_i, in world axes

    Cost O(N).

    Reference: Jain (2024) part 4 (momentum from composite inertias).
    """
    whole, momenta = unit_momenta(tree, q)
    J = tree.array(3, "nv")
    for i, momentum in momenta:
        columns = [whole.per_mass(column.linear) for column in momentum.columns]
        J[:, i] = tuple(tuple(column[k] for column in columns) for k in range(3))
    return J
