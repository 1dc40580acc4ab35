"""Mechanisms and states in mpmath numbers; axes, rotations and quaternions exact to working precision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mpmath
import numpy as np

from .jet import Array
from .mechanism import Body, Mass, Mechanism, Rotor


def exact(x: Any) -> Array:
    """An array of mpmath numbers, each equal to the float given."""
    x = np.asarray(x)
    return np.array([mpmath.mpf(float(e)) for e in x.ravel()], dtype=object).reshape(x.shape)


def unit(x: Array) -> Array:
    return x / mpmath.sqrt(sum(e * e for e in x))


def rotation(R: Array) -> Array:
    """The rotation next to a matrix that is one up to rounding."""
    x = unit(exact(R[0]))
    y = exact(R[1])
    y = unit(y - x * (x @ y))
    z = np.array([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]])
    return np.array([x, y, z])


def _mass(m: Mass) -> Mass:
    inertia = exact(m.inertia)
    return Mass(mpmath.mpf(float(m.mass)), exact(m.com), (inertia + inertia.T) / 2)


def _part(p: Any) -> Any:
    axis = unit(exact(p.axis))
    out = replace(p, rotation=rotation(p.rotation), position=exact(p.position), mass=_mass(p.mass), axis=axis)
    if isinstance(p, Body):
        mimic = p.mimic and (p.mimic[0], mpmath.mpf(p.mimic[1]), mpmath.mpf(p.mimic[2]))
        armature = mpmath.mpf(p.armature) if p.armature else 0.0
        pitch = mpmath.mpf(float(p.pitch))
        return replace(out, axis2=unit(exact(p.axis2)), mimic=mimic, pitch=pitch, armature=armature)
    return out


def precise(mechanism: Mechanism) -> Mechanism:
    """The mechanism in mpmath numbers."""
    bodies: tuple[Body, ...] = tuple(_part(b) for b in mechanism.bodies)
    rotors: tuple[Rotor, ...] = tuple(
        replace(_part(r), ratios=tuple(mpmath.mpf(x) for x in r.ratios)) for r in mechanism.rotors
    )
    return Mechanism(bodies, rotors, tuple(mpmath.mpf(g) for g in mechanism.gravity))  # type: ignore[arg-type]


def precise_positions(mechanism: Mechanism, q: Any) -> Array:
    """Coordinates in mpmath numbers, with unit quaternions."""
    out = exact(q)
    for i, b in enumerate(mechanism.bodies):
        if not b.mimic and b.type in ("spherical", "free"):
            start = mechanism.positions(i).start
            out[start : start + 4] = unit(out[start : start + 4])
    return out
