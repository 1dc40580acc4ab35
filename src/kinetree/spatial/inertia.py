"""Spatial inertia of a rigid body: ten numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.spatial import consistency
from kinetree.spatial import vector as vec
from kinetree.spatial.motion import Force, Motion
from kinetree.spatial.reading import read_vector
from kinetree.spatial.transform import Transform
from kinetree.spatial.value import Tensor, joined
from kinetree.spatial.vector import Matrix, Number, Symmetric, Vector


class Inertia(Tensor):
    """I = [J h~; -h~ m], with h = m c and J about the frame's origin.

    `Inertia(mass, com, inertia)` takes the 3x3 rotational inertia about the centre of mass, in body axes
    (matrix entries: the off-diagonal ones are -integral(xy dm)).
    """

    __slots__ = ("first_moment", "frame", "mass", "second")
    is_uniform = is_linear = True

    def __init__(self, mass: Number, com: Iterable[Number] = vec.ZERO, inertia: Any = None):
        c = _vector(com, "the centre of mass")
        self.mass = _number(mass, "the mass")
        self.first_moment: Vector = vec.scale(c, self.mass)
        self.second: Symmetric = _shifted(_symmetric(inertia), vec.ZERO, self.first_moment, c)
        self.frame: Any = None

    @classmethod
    def from_moments(cls, mass: Number, first: Vector, second: Symmetric, frame: Any = None) -> Inertia:
        """From the mass, h = m c, and the six entries (xx, yy, zz, xy, xz, yz) of J about the origin."""
        result = cls.__new__(cls)
        result.mass, result.first_moment, result.second, result.frame = mass, first, second, frame
        return result

    @classmethod
    def zero(cls) -> Inertia:
        return cls.from_moments(0, vec.ZERO, vec.NO_MOMENTS)

    @property
    def parameters(self) -> tuple[Number, ...]:
        """The ten numbers m, h (3), J (6), in this order."""
        return (self.mass, *self.first_moment, *self.second)

    @classmethod
    def from_parameters(cls, p: Iterable[Number]) -> Inertia:
        """The inertia with the ten numbers of `parameters`."""
        m, hx, hy, hz, *second = p
        return cls.from_moments(m, (hx, hy, hz), tuple(second))  # type: ignore[arg-type]

    parts = parameters

    def with_parts(self, parts: Sequence[Number]) -> Inertia:
        return Inertia.from_parameters(parts)

    @property
    def com(self) -> Vector:
        """The centre of mass; the origin for a body without mass."""
        return self.per_mass(self.first_moment)

    def per_mass(self, total: Vector) -> Vector:
        """A vector divided by the mass; unchanged, and so usually zero, for a body without mass."""
        mass = self.mass
        if isinstance(mass, (int, float)) and mass == 0:
            mass = 1.0
        if isinstance(mass, (ops.Expr, np.ndarray)):
            mass = ops.where(ops.equal(mass, 0.0), 1.0, mass)
        return (total[0] / mass, total[1] / mass, total[2] / mass)

    @property
    def about_com(self) -> Symmetric:
        """The six entries of the rotational inertia about the centre of mass."""
        c = self.com
        return vec.sym_sub(self.second, _shifted(vec.NO_MOMENTS, vec.ZERO, self.first_moment, c))

    def tagged(self, frame: Any) -> Inertia:
        return Inertia.from_moments(self.mass, self.first_moment, self.second, frame)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Motion):
            frame = joined(self.frame, other.frame, "inertia times motion")
            w, v, h, m = other.angular, other.linear, self.first_moment, self.mass
            angular = vec.add(vec.sym_vec(self.second, w), vec.cross(h, v))
            return Force(angular, vec.sub(vec.scale(v, m), vec.cross(h, w)), frame)
        return other.multiplied(self)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Inertia):
            return other + self
        frame = joined(self.frame, other.frame, "sum of inertias")
        first, second = vec.add(self.first_moment, other.first_moment), vec.sym_add(self.second, other.second)
        return Inertia.from_moments(self.mass + other.mass, first, second, frame)

    def __sub__(self, other: Inertia) -> Inertia:
        return self + Inertia.from_parameters(-x for x in other.parameters)

    def congruence(self, X: Transform) -> Inertia:
        """X^T I X: the inertia in predecessor coordinates (parallel-axis theorem and rotation)."""
        joined(X.target, self.frame, "congruence of an inertia")
        h, second = self.first_moment, self.second
        for factor in reversed(X.factors):
            h, second = factor.undo(h), factor.undo_symmetric(second)
        moved = vec.add(h, vec.scale(X.translation, self.mass))
        second = _shifted(second, h, moved, X.translation)
        return Inertia.from_moments(self.mass, moved, second, X.source)

    def transform(self, X: Transform) -> Inertia:
        """The inertia in successor coordinates, for an inertia in predecessor coordinates."""
        return self.congruence(X.inverse())

    def force(self, jet: Any) -> Force:
        """The force that produces the motion `jet` of the body (classical form; see `Jet`)."""
        frame = joined(self.frame, jet.frame, "inertia times jet")
        w, acc, h = jet.velocity, jet.acceleration, self.first_moment
        spin = vec.cross(w, vec.sym_vec(self.second, w))
        angular = vec.add(vec.add(vec.sym_vec(self.second, acc.angular), spin), vec.cross(h, acc.linear))
        return Force(angular, vec.add(vec.scale(acc.linear, self.mass), vec.mat_vec(jet.turning, h)), frame)

    def matrix(self) -> tuple[tuple[Number, ...], ...]:
        """The 6 x 6 matrix."""
        J, h = vec.sym_matrix(self.second), vec.skew(self.first_moment)
        t = vec.transpose(h)
        m = self.mass
        diagonal = ((m, 0, 0), (0, m, 0), (0, 0, m))
        return tuple(J[i] + h[i] for i in range(3)) + tuple(t[i] + diagonal[i] for i in range(3))

    def rotational_at(self, x: Iterable[Number]) -> Matrix:
        """The 3x3 rotational inertia about the point `x`: J_c - m p~ p~, p from x to the centre of mass."""
        return vec.sym_matrix(self.transform(Transform(vec.IDENTITY, _vector(x, "the point"))).second)

    def kinetic_energy(self, velocity: Motion) -> Number:
        """V^T I V / 2."""
        return velocity.dot(self @ velocity) / 2

    is_physical, fault, dyads = consistency.is_physical, consistency.fault, consistency.dyads

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Inertia) and self.parameters == other.parameters

    def __hash__(self) -> int:
        return hash(self.parameters)

    def __repr__(self) -> str:
        return f"Inertia(mass={self.mass}, com={self.com}, second moments about the origin={self.second})"


def _shifted(second: Symmetric, h: Vector, moved: Vector, r: Vector) -> Symmetric:
    """J about an origin that lies -r away: J + 2 (k.r) 1 - k r^T - r k^T with k = (h + moved) / 2."""
    xx, yy, zz, xy, xz, yz = second
    px, py, pz = (h[0] + moved[0]) * r[0], (h[1] + moved[1]) * r[1], (h[2] + moved[2]) * r[2]
    return (
        xx + (py + pz),
        yy + (px + pz),
        zz + (px + py),
        xy - (moved[0] * r[1] + h[1] * r[0]),
        xz - (moved[0] * r[2] + h[2] * r[0]),
        yz - (moved[1] * r[2] + h[2] * r[1]),
    )


def _number(x: Any, what: str) -> Number:
    """`x`, checked to be a number of any kind; NumPy scalars become plain numbers."""
    if x is None or isinstance(x, (str, bytes, list, tuple, dict, set)):
        raise ModelError(f"Inertia: {what} must be given in numbers, got {x!r}")
    return x.item() if hasattr(x, "item") and getattr(x, "ndim", 1) == 0 else x


def _vector(values: Any, what: str) -> Vector:
    x, y, z = (_number(x, what) for x in read_vector(values, 3, f"Inertia: {what}"))
    return (x, y, z)


def _symmetric(matrix: Any) -> Symmetric:
    """Six entries of a 3x3 matrix, of a diagonal given by three numbers, or zero for None."""
    if matrix is None:
        return vec.NO_MOMENTS
    what = "the rotational inertia"
    rows = read_vector(matrix, 3, f"Inertia: {what}") if not hasattr(matrix, "shape") else tuple(matrix)
    if not any(hasattr(row, "__len__") for row in rows):
        x, y, z = _vector(rows, what)
        return (x, y, z, 0, 0, 0)
    a, b, c = (_vector(row, what) for row in read_vector(rows, 3, f"Inertia: {what}"))
    return (a[0], b[1], c[2], a[1], a[2], b[2])
