"""Mechanisms as plain numbers: what the library and the reference are both built from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Array = np.ndarray

#: joint type -> (positions, velocities)
SIZES = {
    "fixed": (0, 0),
    "revolute": (1, 1),
    "prismatic": (1, 1),
    "helical": (1, 1),
    "cylindrical": (2, 2),
    "universal": (2, 2),
    "planar": (3, 3),
    "planar_twist": (3, 3),
    "spherical": (4, 3),
    "free": (7, 6),
}
ONE_DOF = ("revolute", "prismatic", "helical")
RATES = ("revolute", "prismatic", "helical", "cylindrical", "universal", "planar")  # v is the rate of q
#: joint types whose velocities are body velocities -> the components [w; v] that they are
TWISTS = {"spherical": (0, 1, 2), "free": (0, 1, 2, 3, 4, 5), "planar_twist": (2, 3, 4)}
ALL_TYPES = tuple(kind for kind in SIZES if kind != "planar_twist")


@dataclass(frozen=True)
class Mass:
    """Mass, centre of mass, and 3x3 inertia about it in the axes of the body."""

    mass: float
    com: Array
    inertia: Array

    @property
    def pseudo(self) -> Array:
        """The 4x4 integral of x x^T dm over the homogeneous points x = (r, 1) of the body."""
        second = np.eye(3, dtype=int) * np.trace(self.inertia) / 2 - self.inertia
        out = np.empty((4, 4), self.inertia.dtype)
        out[:3, :3] = second + self.mass * np.outer(self.com, self.com)
        out[:3, 3] = out[3, :3] = self.mass * self.com
        out[3, 3] = self.mass
        return out


@dataclass(frozen=True)
class Body:
    """A body, the joint that carries it, and where that joint sits in the parent (-1: the world)."""

    parent: int
    type: str
    rotation: Array
    position: Array
    mass: Mass
    axis: Array
    axis2: Array
    pitch: float = 0.0
    armature: float = 0.0
    mimic: tuple[int, float, float] | None = None  # (body whose joint leads, multiplier, offset)

    def joint(self) -> Any:
        """The library's joint of this type."""
        import kinetree as kt

        axis, axis2 = tuple(self.axis.tolist()), tuple(self.axis2.tolist())
        match self.type:
            case "fixed":
                return kt.Fixed()
            case "helical":
                return kt.Helical(axis, self.pitch)
            case "universal":
                return kt.Universal(axis, axis2)
            case "planar_twist":
                return kt.PlanarTwist()
            case "planar" | "spherical" | "free":
                return getattr(kt, self.type.capitalize())()
        return getattr(kt, self.type.capitalize())(axis)


@dataclass(frozen=True)
class Rotor:
    """A body on the parent of `body` that turns about `axis` by the ratios times its joint coordinates."""

    body: int
    rotation: Array
    position: Array
    mass: Mass
    axis: Array
    ratios: tuple[float, ...]


@dataclass(frozen=True)
class Mechanism:
    """Bodies (parents first), rotors and gravity."""

    bodies: tuple[Body, ...]
    rotors: tuple[Rotor, ...] = ()
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"b{i}" for i in range(len(self.bodies)))

    def _starts(self, which: int) -> tuple[list[int], int]:
        starts, total = [], 0
        for b in self.bodies:
            starts.append(total)
            total += 0 if b.mimic else SIZES[b.type][which]
        return starts, total

    @property
    def nq(self) -> int:
        return self._starts(0)[1]

    @property
    def nv(self) -> int:
        return self._starts(1)[1]

    def positions(self, i: int) -> slice:
        """Where the coordinates of joint `i` (not a mimic) stand in q."""
        start = self._starts(0)[0][i]
        return slice(start, start + SIZES[self.bodies[i].type][0])

    def velocities(self, i: int) -> slice:
        """Where the velocities of joint `i` (not a mimic) stand in v."""
        start = self._starts(1)[0][i]
        return slice(start, start + SIZES[self.bodies[i].type][1])

    def leader(self, i: int) -> tuple[int, float, float]:
        """The independent joint behind joint `i`, with the total multiplier and offset."""
        multiplier, offset = 1.0, 0.0
        while (mimic := self.bodies[i].mimic) is not None:
            i, m, b = mimic
            multiplier, offset = multiplier * m, offset + multiplier * b
        return i, multiplier, offset

    def ghosts(self) -> list[tuple[int, Mass]]:
        """Armatures of joints with quasi-velocities: (joint, body that moves alike, feeling no other)."""
        out = []
        for i, b in enumerate(self.bodies):
            if b.type in TWISTS and b.armature:
                mass = 0 * b.armature if b.type == "spherical" else b.armature
                out.append((i, Mass(mass, b.mass.com * 0, np.eye(3, dtype=int) * b.armature)))
        return out

    def subtree(self, i: int) -> tuple[int, ...]:
        inside = {i}
        for k in range(i + 1, len(self.bodies)):
            if self.bodies[k].parent in inside:
                inside.add(k)
        return tuple(sorted(inside))

    def floating_subtree(self, i: int) -> Mechanism:
        """Body `i` and everything outboard of it, on a free joint (no mimic may cross the cut)."""
        keep = self.subtree(i)
        new = {k: n for n, k in enumerate(keep)}
        bodies = []
        for k in keep:
            b = self.bodies[k]
            mimic = (new[b.mimic[0]], *b.mimic[1:]) if b.mimic else None
            if k == i:
                b = replace(b, type="free", armature=0.0, rotation=np.eye(3), position=np.zeros(3))
            bodies.append(replace(b, parent=new.get(b.parent, -1), mimic=None if k == i else mimic))
        rotors = tuple(replace(r, body=new[r.body]) for r in self.rotors if r.body in keep and r.body != i)
        return Mechanism(tuple(bodies), rotors, self.gravity)

    def random_state(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """A configuration with unit quaternions, and velocities of order one."""
        parts: list[Array] = []
        for b in self.bodies:
            if b.mimic:
                continue
            n = SIZES[b.type][0]
            if b.type in ("spherical", "free"):
                quaternion = rng.normal(size=4)
                parts += [quaternion / np.linalg.norm(quaternion), rng.uniform(-1, 1, n - 4)]
            else:
                angles = {"prismatic": 0, "cylindrical": 1, "planar": 1, "universal": 2}.get(b.type, 1)
                parts.append(np.where(np.arange(n) < angles, rng.uniform(-3, 3, n), rng.uniform(-1, 1, n)))
        return np.concatenate([*parts, []]), rng.normal(size=self.nv)

    def build(self) -> Any:
        """The library's model of this mechanism."""
        return self.builder().build()

    def builder(self) -> Any:
        """All parts of this mechanism, given to the public builder."""
        import kinetree as kt

        def pose(part: Body | Rotor) -> Any:
            return kt.Pose(part.rotation.tolist(), part.position.tolist())

        def inertia(mass: Mass) -> Any:
            return kt.Inertia(mass.mass, mass.com.tolist(), mass.inertia.tolist())

        names = self.names
        builder = kt.ModelBuilder("mechanism", gravity=self.gravity)
        for i, b in enumerate(self.bodies):
            mimic = (f"j{b.mimic[0]}", *b.mimic[1:]) if b.mimic else None
            builder.add_body(
                names[i],
                None if b.parent < 0 else names[b.parent],
                b.joint(),
                placement=pose(b),
                inertia=inertia(b.mass),
                joint_name=f"j{i}",
                mimic=mimic,
                armature=b.armature,
            )
        for r in self.rotors:
            ratio = r.ratios[0] if len(r.ratios) == 1 else r.ratios
            axis = tuple(r.axis.tolist())
            builder.add_rotor(f"j{r.body}", inertia(r.mass), placement=pose(r), axis=axis, ratio=ratio)
        return builder
