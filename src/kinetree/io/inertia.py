"""Checks of the inertias of a robot, and the nearest physical ones."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from kinetree.io.description import WORLD, Description, Link
from kinetree.io.report import Log
from kinetree.spatial.consistency import fault
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.vector import ZERO, Matrix, sym_matrix

_ROUNDING = 1e-6  # files write about six digits
_POINT = 1e-14  # relative to mass (m^2) or to the moments about the origin: rounding residual of a point mass
_LARGE = 2.0  # m: no link of a robot has a larger radius of gyration


def check_inertias(robot: Description, log: Log) -> None:
    """Record what is wrong with the inertia of every link, and repair it if `log` says so."""
    moving = {joint.child for joint in robot.joints.values() if not joint.is_fixed}
    for link in robot.links.values():
        if link.name == WORLD or link.virtual:
            continue
        if link.inertia is None:
            if link.name in moving:
                log.add("inertia-missing", link.where, "the link moves but has no inertial")
            continue
        link.inertia = _checked(link, link.inertia, log)


def _checked(link: Link, inertia: Inertia, log: Log) -> Inertia:
    """The inertia of a link, repaired if `log` says so."""
    mass, com, moments = inertia.mass, inertia.com, inertia.about_com
    if mass < 0:
        log.repairable("mass-negative", link.where, f"the mass is {mass:g} kg", f"mass set to {-mass:g} kg")
        inertia, mass = Inertia(-mass, com, sym_matrix(moments)), -mass
    if max(map(abs, moments)) <= _POINT * max(mass, *map(abs, inertia.second)):
        if mass > 0:
            log.add("inertia-zero", link.where, f"the inertia is zero, the mass {mass:g} kg")
        return inertia
    if mass == 0:
        log.add("inertia-massless", link.where, "the mass is zero, the inertia is not")
    central = Inertia.from_moments(mass, ZERO, moments)
    rule, problem = "inertia-negative", fault(central, _ROUNDING, spins=True)
    if problem is None:
        rule, problem = "inertia-triangle", fault(central, _ROUNDING)
    if problem is not None and log.repairable(rule, link.where, problem, "nearest physical inertia"):
        inertia = Inertia(mass, com, nearest_physical(sym_matrix(moments)))
    radius = sqrt(max(sum(moments[:3]), 0.0) / 2 / mass) if mass > 0 else 0.0
    if radius > _LARGE:  # placeholders and wrong units show in the radius of gyration
        log.add("inertia-units", link.where, f"{mass:g} kg with a radius of gyration of {radius:.3g} m")
    return inertia


def nearest_physical(inertia: Matrix, floor: float = 1e-3) -> Matrix:
    """The physical inertia nearest to `inertia` in the Frobenius norm of the second moments.

    An inertia I is physical if and only if its matrix of second moments, Sigma = tr(I)/2 1 - I, has no
    negative eigenvalue. Eigenvalues below `floor` times the largest are raised to that, so that the result
    is thicker than a plate.
    """
    I: NDArray[np.float64] = np.array(inertia)
    moments, axes = np.linalg.eigh(np.trace(I) / 2 * np.eye(3) - I)
    largest = max(float(moments[-1]), 0.0) or float(np.abs(I).max())
    raised = np.maximum(moments, floor * largest)
    sigma = (axes * raised) @ axes.T
    repaired = np.trace(sigma) * np.eye(3) - sigma
    repaired = (repaired + repaired.T) / 2
    return tuple(tuple(float(x) for x in row) for row in repaired)  # type: ignore[return-value]
