"""Physical consistency of inertias, and the distance between two of them.

Ten parameters are those of a body if and only if their pseudo-inertia P is positive semidefinite:

    P = [Sigma h; h^T m]        Sigma = tr(J) / 2 - J = integral x x^T dm        h = m c

with J about the origin. It is linear in the parameters, so bodies form a convex cone, and -log det P is a
barrier that keeps a search inside it. The distance |L^-1 (P - P_0) L^-T| from a prior P_0 = L L^T does not
depend on units or frames.

Reference: Wensing, Kim and Slotine (2018); Lee, Wensing and Park (2020).
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray

LEAST = 1e-4  # of the trace: thickness added to a prior that is flat, thin or not a body
SMALLEST = 1e-3  # kg m^2 and kg: the trace assumed for a body without inertia


def pseudo_inertia(parameters: Array) -> Array:
    """The pseudo-inertia P (..., 4, 4) of ten parameters; linear."""
    return np.einsum("...k,kij->...ij", parameters, BASIS)


def _unit(parameters: Array) -> Array:
    m, hx, hy, hz, xx, yy, zz, xy, xz, yz = parameters
    half = (xx + yy + zz) / 2
    return np.array(
        [[half - xx, -xy, -xz, hx], [-xy, half - yy, -yz, hy], [-xz, -yz, half - zz, hz], [hx, hy, hz, m]]
    )


BASIS = np.stack([_unit(unit) for unit in np.eye(10)])  # (10, 4, 4): what each parameter adds to P


def parameters_of(P: Array) -> Array:
    """The ten parameters of a pseudo-inertia: the inverse of `pseudo_inertia`."""
    x, y, z = P[0, 0], P[1, 1], P[2, 2]
    inertia = [y + z, x + z, x + y, -P[0, 1], -P[0, 2], -P[1, 2]]
    return np.array([P[3, 3], P[0, 3], P[1, 3], P[2, 3], *inertia])


def are_positive(parameters: Array) -> bool:
    """True if the parameters (n, 10) are those of bodies with extent in all directions."""
    return bool((np.linalg.eigvalsh(pseudo_inertia(parameters)) > 0).all())


def thickened(parameters: Array) -> Array:
    """The parameters, changed slightly where they belong to a flat or thin body, or to none."""
    P = pseudo_inertia(parameters)
    values, vectors = np.linalg.eigh(P)
    floor = LEAST * max(float(np.trace(P)), SMALLEST)
    return parameters_of(vectors @ np.diag(np.maximum(values, floor)) @ vectors.T)


def barrier(parameters: Array) -> tuple[float, Array, Array]:
    """-sum log det P over bodies (n, 10), its gradient (n, 10) and its second derivatives (n, 10, 10)."""
    P = pseudo_inertia(parameters)
    inverse = np.linalg.inv(P)
    shares = np.einsum("nij,kjl->nkil", inverse, BASIS)
    gradient = -np.einsum("nkii->nk", shares)
    bends = np.einsum("nkij,nlji->nkl", shares, shares)
    return -float(np.linalg.slogdet(P)[1].sum()), gradient, bends


def metric(prior: Array) -> Array:
    """The matrix W (16, 10) of the distance |W (parameters - prior)| from a prior."""
    inverse = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(prior)))
    return (inverse @ BASIS @ inverse.T).reshape(10, 16).T
