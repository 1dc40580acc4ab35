"""Mechanisms with loops, for tests: planar and spatial, with rods, balls, rotors and relations."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import kinetree as kt

HINGE = kt.Revolute((0, 1, 0))


def link(length: float, mass: float = 1.0) -> kt.Inertia:
    """A body with its centre of mass halfway along x."""
    tensor = np.diag([0.01, 0.02, 0.03]) + 0.002
    return kt.Inertia(mass + length, (length / 2, 0.02, -0.01), tensor)


def at(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> kt.Pose:
    return kt.Pose(p=(x, y, z))


def four_bar(independent: Any = ("crank",), close: bool = True, **joint: Any) -> kt.Model:
    """A planar crank and rocker, closed by a hinge: 5 rows of which 3 are redundant."""
    b = kt.ModelBuilder("four_bar")
    b.add_body("crank", None, HINGE, at(), link(0.3), **joint)
    b.add_body("coupler", "crank", HINGE, at(0.3), link(0.8), **joint)
    b.add_body("rocker", None, HINGE, at(0.7), link(0.6), **joint)
    rotor = kt.Inertia(0.2, (0, 0, 0), np.diag([1e-3, 1e-3, 2e-3]))
    b.add_rotor("coupler", rotor, axis=(0, 1, 0), ratio=10.0)
    if close:
        b.add_loop("coupler", "rocker", HINGE, at(0.8), at(0.6), independent, "four_bar")
    return b.build()


def slider_crank() -> kt.Model:
    b = kt.ModelBuilder("slider_crank")
    b.add_body("crank", None, HINGE, at(), link(0.2))
    b.add_body("rod", "crank", HINGE, at(0.2), link(0.7))
    b.add_body("slider", None, kt.Prismatic((1, 0, 0)), at(0.4), link(0.1), armature=0.3)
    b.add_loop("rod", "slider", kt.Spherical(), at(0.7), None, "crank", "pin")
    return b.build()


def spatial_linkage(spin: str | None = None) -> kt.Model:
    """A crank and a rocker about skew axes, and a rod with balls at both ends, which may spin."""
    b = kt.ModelBuilder("spatial_linkage")
    b.add_body("crank", None, kt.Revolute((0, 0, 1)), at(), link(0.2))
    b.add_body("rod", "crank", kt.Spherical(), at(0.2), link(0.6))
    b.add_body("rocker", None, kt.Revolute((0, 1, 0)), at(0.5, 0.5, 0.0), link(0.4))
    options = {} if spin is None else {"spin": spin}
    b.add_loop("rod", "rocker", kt.Spherical(), at(0.6), at(0.4), "crank", "ball", **options)
    return b.build()


def ankle() -> kt.Model:
    """A foot that pitches and rolls, driven by two cranks by rods without mass; on a base that floats."""
    b = kt.ModelBuilder("ankle")
    b.add_body("shin", None, kt.Free(), None, kt.Inertia(3.0, (0, 0, 0.1), np.diag([0.05, 0.06, 0.02])))
    b.add_body("foot", "shin", kt.Universal((0, 1, 0), (1, 0, 0)), at(0, 0, -0.3), link(0.2))
    for side, y in (("left", 0.05), ("right", -0.05)):
        b.add_body(side, "shin", HINGE, at(-0.04, y, -0.05), link(0.06), armature=0.01, damping=0.2)
        b.add_distance(side, "foot", 0.26, (-0.05, 0, 0), (-0.08, y, 0.02), name=f"{side} rod")
    b.add_body("toe", "foot", HINGE, at(0.15), link(0.05))
    return b.build()


def related() -> kt.Model:
    """A coordinate that is a polynomial of another, and a tree beside it."""
    b = kt.ModelBuilder("related")
    b.add_body("arm", None, HINGE, at(), link(0.3))
    b.add_body("hand", "arm", kt.Spherical(), at(0.3), link(0.2))
    b.add_body("finger", "hand", HINGE, at(0.2), link(0.1))
    b.add_body("thumb", "hand", HINGE, at(0.2, 0.1), link(0.1))
    b.add_relation("thumb", "finger", (0.1, 0.8, -0.2, 0.05), name="tendon")
    return b.build()


def platform() -> kt.Model:
    """A platform that floats on three rods without mass, with a ball inside the loop."""
    b = kt.ModelBuilder("platform")
    b.add_body("plate", None, kt.Free(), None, kt.Inertia(2.0, (0.01, 0, 0), np.diag([0.02, 0.03, 0.04])))
    for k in range(3):
        angle = 2 * np.pi * k / 3
        x, y = np.cos(angle), np.sin(angle)
        b.add_distance(None, "plate", 0.5, (0.3 * x, 0.3 * y, -0.45), (0.15 * x, 0.15 * y, 0), name=f"rod{k}")
    return b.build()


# Each is built once, so that tests share what is compiled for it.
MAKERS = (four_bar, slider_crank, spatial_linkage, ankle, related, platform)
ALL = {make.__name__: cache(make) for make in MAKERS}
