"""What is wrong with the inertias of a robot, and the nearest ones that a body can have."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from kinetree.io.description import NO_INERTIA, WORLD, Description, Link, Mass
from kinetree.io.report import Log
from kinetree.spatial.vector import Matrix

_ROUNDING = (
    1e-6  # files write about six digits: violations below this share of the largest moment are rounding
)
_TINY = 1e-15  # kg m^2
_LARGE = 2.0  # m, radius of gyration that no link of a robot reaches


def check_inertias(robot: Description, log: Log) -> None:
    """Record what is wrong with the inertia of every link, and mend it where `log` says so."""
    moving = {joint.child for joint in robot.joints.values() if joint.kind != "fixed"}
    for link in robot.links.values():
        if link.name == WORLD or link.virtual:
            continue
        if link.mass is None:
            if link.name in moving:
                log.add("inertia-missing", link.where, "the link moves but has no inertial")
            continue
        _check_link(link, link.mass, log)


def _check_link(link: Link, mass: Mass, log: Log) -> None:
    if mass.mass < 0:
        log.mend(
            "mass-negative", link.where, f"the mass is {mass.mass:g} kg", f"mass set to {-mass.mass:g} kg"
        )
        mass.mass = -mass.mass
    if mass.inertia == NO_INERTIA:
        if mass.mass > 0:
            log.add("inertia-zero", link.where, f"the inertia is zero, the mass {mass.mass:g} kg")
        return
    if mass.mass == 0:
        log.add("inertia-massless", link.where, "the mass is zero, the inertia is not")
    low, middle, high = moments = np.linalg.eigvalsh(np.array(mass.inertia))
    shown = ", ".join(f"{m:.4g}" for m in moments)
    rounding = _ROUNDING * max(abs(low), abs(high)) + _TINY
    if low < -rounding:
        problem = f"the inertia is not positive definite (principal moments {shown})"
        if log.mend("inertia-negative", link.where, problem, "nearest physical inertia"):
            mass.inertia = nearest_physical(mass.inertia)
    elif low + middle < high - rounding:
        problem = f"the principal moments {shown} violate the triangle inequality"
        if log.mend("inertia-triangle", link.where, problem, "nearest physical inertia"):
            mass.inertia = nearest_physical(mass.inertia)
    if mass.mass > 0:
        _check_size(link, mass, log)


def _check_size(link: Link, mass: Mass, log: Log) -> None:
    """Placeholders and wrong units show in the radius of gyration."""
    trace = mass.inertia[0][0] + mass.inertia[1][1] + mass.inertia[2][2]
    radius = sqrt(max(trace, 0.0) / 2 / mass.mass)
    if radius > _LARGE:
        log.add("inertia-units", link.where, f"{mass.mass:g} kg with a radius of gyration of {radius:.3g} m")


def nearest_physical(inertia: Matrix, floor: float = 1e-3) -> Matrix:
    """The inertia nearest to `inertia` (Frobenius norm of the second moments) that some body has.

    An inertia I is that of a body if and only if its matrix of second moments, Sigma = tr(I)/2 1 - I, has
    no negative eigenvalue. Such ones are raised to `floor` times the largest, so that it is no mere plate.
    """
    I: NDArray[np.float64] = np.array(inertia)
    moments, axes = np.linalg.eigh(np.trace(I) / 2 * np.eye(3) - I)
    largest = max(float(moments[-1]), 0.0) or float(np.abs(I).max())
    raised = np.maximum(moments, floor * largest)
    sigma = (axes * raised) @ axes.T
    mended = np.trace(sigma) * np.eye(3) - sigma
    mended = (mended + mended.T) / 2
    return tuple(tuple(float(x) for x in row) for row in mended)  # type: ignore[return-value]
