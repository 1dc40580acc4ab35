"""Rotations: one immutable value, with conversions from and to every representation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.errors import ModelError, SingularError
from kinetree.spatial import vector as vec
from kinetree.spatial.euler import euler_angles, euler_matrix, turn
from kinetree.spatial.even import decided, sine_ratio, versine_ratio
from kinetree.spatial.quaternion import Quaternion, quaternion_from_matrix, quaternion_log, quaternion_matrix
from kinetree.spatial.reading import is_real, read_matrix, read_vector, shown, stacked, worst
from kinetree.spatial.vector import Matrix, Number, Vector

TOLERANCE = 1e-6
"""How far from orthonormal a matrix of plain numbers may be."""


@dataclass(frozen=True, slots=True, eq=False)
class Rotation:
    """The attitude of a frame B in a frame A: `R.apply(x)` takes B-components of a vector to A-components.

    Held as the rows of the 3x3 matrix ^A R_B (robotics convention: columns are the axes of B seen from A).
    The entries are numbers of any kind; arrays make a batch. `Rotation.identity()`, `R_ab @ R_bc`,
    `R.inverse()`, and `from_...`, `as_...` for each representation: matrix, quaternion (x, y, z, w), rotation
    vector, axis and angle, Euler angles, Rodrigues parameters, modified Rodrigues parameters.
    """

    rows: Matrix  # taken as given; `Rotation.from_matrix` checks them

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rotation) and np.array_equal(np.asarray(self), np.asarray(other))

    def __hash__(self) -> int:
        return hash(self.rows)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return stacked(self.rows).astype(dtype) if dtype is not None else stacked(self.rows)

    # --- the group ---

    @classmethod
    def identity(cls) -> Rotation:
        """The rotation that changes nothing."""
        return cls(vec.IDENTITY)

    @classmethod
    def random(cls, rng: np.random.Generator | int | None = None) -> Rotation:
        """A rotation of floats, uniformly distributed over all attitudes."""
        q = np.random.default_rng(rng).standard_normal(4)
        return cls.from_quaternion(q / np.linalg.norm(q))

    def __matmul__(self, other: Rotation) -> Rotation:
        """Composition: ^A R_C = ^A R_B ^B R_C."""
        return Rotation(vec.mat_mul(self.rows, other.rows)) if isinstance(other, Rotation) else NotImplemented

    def inverse(self) -> Rotation:
        """^B R_A, the transpose."""
        return Rotation(vec.transpose(self.rows))

    def apply(self, x: Any) -> Vector:
        """R x: the A-components of the vector with B-components `x`."""
        return vec.mat_vec(self.rows, read_vector(x, 3, "the vector to rotate"))

    def normalized(self) -> Rotation:
        """The rotation without the drift of many products: orthonormal to rounding."""
        return Rotation.from_quaternion(self.as_quaternion())

    def as_convention(self, convention: str) -> Matrix:
        """The matrix in the "robotics" or the "aerospace" convention.

        Robotics: as stored; it takes B-components to A-components, and rotations about moving axes multiply
        on the right. Aerospace: its transpose; it takes A-components to B-components, and such rotations
        multiply on the left.
        """
        if convention not in ("robotics", "aerospace"):
            raise ModelError(f"attitude convention {convention!r}: expected 'robotics' or 'aerospace'")
        return self.rows if convention == "robotics" else vec.transpose(self.rows)

    @classmethod
    def from_convention(cls, convention: str, matrix: Any) -> Rotation:
        """The rotation with this matrix in the "robotics" or "aerospace" convention."""
        return cls(cls.from_matrix(matrix).as_convention(convention))

    # --- matrix ---

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """The rotation with the 3x3 matrix ^A R_B: rows of numbers, or an array (..., 3, 3).

        Plain numbers must be orthonormal to 1e-6, and are then used as given.

        Raises:
            ModelError: they are not orthonormal, or are a reflection.
        """
        if isinstance(matrix, Rotation):
            return matrix
        if matrix is vec.IDENTITY:
            return cls(matrix)
        rows = read_matrix(matrix, 3, 3, "rotation matrix")
        if all(is_real(x) for row in rows for x in row):
            _check_orthonormal(rows)
        return cls(rows)

    def as_matrix(self) -> Matrix:
        """The rows of ^A R_B. `numpy.asarray(R)` gives an array (..., 3, 3)."""
        return self.rows

    # --- quaternion, rotation vector, axis and angle ---

    @classmethod
    def from_quaternion(cls, q: Any) -> Rotation:
        """The rotation of a quaternion (x, y, z, w) of any norm but zero."""
        q = read_vector(q, 4, "quaternion")
        if all(is_real(x) for x in q) and not np.all(q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2 > 0):
            raise ModelError(f"quaternion {shown(q)} has norm zero or is not a number: expected x, y, z, w")
        return cls(quaternion_matrix(q))

    def as_quaternion(self) -> Quaternion:
        """The unit quaternion (x, y, z, w) with w >= 0."""
        return quaternion_from_matrix(self.rows)

    @classmethod
    def from_rotation_vector(cls, u: Any) -> Rotation:
        """exp(u~): the turn by the angle |u| about u. Smooth and accurate for every u, zero included."""
        u = read_vector(u, 3, "rotation vector")
        x = vec.dot(u, u)
        return cls(_turned(u, sine_ratio(x), versine_ratio(x)))

    def as_rotation_vector(self) -> Vector:
        """u with exp(u~) = R and |u| <= pi."""
        return quaternion_log(self.as_quaternion())

    @classmethod
    def from_axis_angle(cls, axis: Any, angle: Number) -> Rotation:
        """cos(angle) 1 + (1 - cos(angle)) n n^T + sin(angle) n~, for the unit vector n along `axis`."""
        n = read_vector(axis, 3, "rotation axis")
        square = vec.dot(n, n)
        if is_real(square) and not np.all(square > 0):
            raise ModelError(f"rotation axis {shown(n)} has length zero or is not a number")
        along = [i for i in range(3) if not (ops.is_literal(n[i]) and n[i] == 0)]
        if len(along) == 1 and ops.is_literal(n[along[0]]):  # a coordinate axis: exact zeros and ones
            return cls(turn(along[0], angle if n[along[0]] > 0 else -angle))
        n = vec.scale(n, 1 / ops.sqrt(square))
        return cls(_turned(n, ops.sin(angle), 1 - ops.cos(angle)))

    def as_axis_angle(self) -> tuple[Vector, Number]:
        """The unit axis and the angle in [0, pi]. The axis of the identity is z."""
        x, y, z, w = self.as_quaternion()
        square = x * x + y * y + z * z
        none = decided(ops.equal(square, 0))
        n = ops.sqrt(ops.where(none, 1, square))
        axis = (x / n, y / n, ops.where(none, 1, z / n))
        return axis, 2 * ops.atan2(ops.where(none, 0, n), w)

    # --- Euler angles, Rodrigues parameters ---

    @classmethod
    def from_euler(cls, sequence: str, angles: Any) -> Rotation:
        """The rotation of Euler angles: "ZYX" about moving, "xyz" about fixed axes, or any other sequence."""
        return cls(euler_matrix(sequence, read_vector(angles, 3, "Euler angles")))

    def as_euler(self, sequence: str) -> Vector:
        """The Euler angles in the order of the letters, also in gimbal lock (see `euler_angles`)."""
        return euler_angles(sequence, self.as_quaternion())

    @classmethod
    def from_rodrigues(cls, rho: Any) -> Rotation:
        """The rotation of the classical Rodrigues (Gibbs, Cayley) parameters n tan(angle / 2)."""
        x, y, z = read_vector(rho, 3, "Rodrigues parameters")
        return cls(quaternion_matrix((x, y, z, 1)))

    def as_rodrigues(self) -> Vector:
        """n tan(angle / 2).

        Raises:
            SingularError: half turns, for which they are infinite (checked for plain numbers).
        """
        x, y, z, w = self.as_quaternion()
        if ops.is_literal(w) and w < 1e-12:
            raise SingularError(
                "Rodrigues parameters n tan(angle / 2) are infinite for a half turn: use modified Rodrigues "
                "parameters, a rotation vector or a quaternion"
            )
        return (x / w, y / w, z / w)

    @classmethod
    def from_mrp(cls, sigma: Any) -> Rotation:
        """The rotation of the modified Rodrigues parameters n tan(angle / 4)."""
        s = read_vector(sigma, 3, "modified Rodrigues parameters")
        return cls(quaternion_matrix((2 * s[0], 2 * s[1], 2 * s[2], 1 - vec.dot(s, s))))

    def as_mrp(self) -> Vector:
        """n tan(angle / 4) with the angle in [0, pi]: of length at most one, never singular."""
        x, y, z, w = self.as_quaternion()
        return (x / (1 + w), y / (1 + w), z / (1 + w))


def _turned(u: Vector, sine: Number, versine: Number) -> Matrix:
    """1 + sine u~ + versine u~^2."""
    x, y, z = u
    vx, vy, vz = versine * x, versine * y, versine * z
    sx, sy, sz = sine * x, sine * y, sine * z
    return (
        (1 - (vy * y + vz * z), vx * y - sz, vx * z + sy),
        (vx * y + sz, 1 - (vx * x + vz * z), vy * z - sx),
        (vx * z - sy, vy * z + sx, 1 - (vx * x + vy * y)),
    )


def _check_orthonormal(rows: Matrix) -> None:
    product = vec.mat_mul(rows, vec.transpose(rows))
    error = worst(product[i][j] - (i == j) for i in range(3) for j in range(i, 3))
    if not error <= TOLERANCE:
        raise ModelError(
            f"rotation matrix {shown(rows)}: R R^T differs from the identity by {error:.3g}, "
            f"expected at most {TOLERANCE:g}. Give an orthonormal matrix, or start from a quaternion, "
            "Euler angles or an axis and an angle."
        )
    if worst([1 - vec.dot(rows[0], vec.cross(rows[1], rows[2]))]) > 1:
        raise ModelError(
            f"rotation matrix {shown(rows)} has determinant -1: it mirrors. Change the sign of one column."
        )
