"""Poses as robot files write them: roll-pitch-yaw, quaternions, axis-angle, Euler sequences; and snapping."""

from __future__ import annotations

from collections.abc import Iterable
from math import acos, atan2, cos, hypot, pi, sin
from typing import NamedTuple

from kinetree.spatial.vector import (
    Matrix,
    Vector,
    add,
    cross,
    dot,
    mat_mul,
    mat_t_vec,
    mat_vec,
    neg,
    scale,
    sub,
    transpose,
)

IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
ORIGIN: Vector = (0.0, 0.0, 0.0)
_EXACT = 5e-16  # cos and sin of the doubles nearest to multiples of pi/2 are smaller


class Placement(NamedTuple):
    """The pose of a frame in another: the columns of `R` are its axes, `p` is its origin."""

    R: Matrix = IDENTITY
    p: Vector = ORIGIN

    def __matmul__(self, other: Placement) -> Placement:
        """`other`, given in this frame, seen from where this frame is given."""
        return Placement(mat_mul(self.R, other.R), add(self.p, mat_vec(self.R, other.p)))

    def inverse(self) -> Placement:
        return Placement(transpose(self.R), neg(mat_t_vec(self.R, self.p)))

    @property
    def is_identity(self) -> bool:
        return self.R == IDENTITY and self.p == ORIGIN


def about(axis: int, angle: float) -> Matrix:
    """The rotation by `angle` about coordinate axis 0, 1 or 2; right angles to the last digit are exact."""
    c, s = cos(angle), sin(angle)
    c, s = (0.0 if abs(c) < _EXACT else c), (0.0 if abs(s) < _EXACT else s)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    rows = [[0.0] * 3 for _ in range(3)]
    rows[axis][axis] = 1.0
    rows[i][i], rows[i][j], rows[j][i], rows[j][j] = c, -s, s, c
    return _matrix(rows)


def from_rpy(rpy: Vector) -> Matrix:
    """Roll, pitch and yaw about the fixed axes x, y and z: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    return mat_mul(about(2, rpy[2]), mat_mul(about(1, rpy[1]), about(0, rpy[0])))


def from_euler(angles: Vector, sequence: str) -> Matrix:
    """Rotations about the letters of `sequence` in turn: lower case for moving, upper case for fixed axes."""
    R = IDENTITY
    for letter, angle in zip(sequence, angles, strict=True):
        turn = about("xyz".index(letter.lower()), angle)
        R = mat_mul(R, turn) if letter.islower() else mat_mul(turn, R)
    return R


def from_wxyz(quaternion: Iterable[float]) -> Matrix:
    """The rotation of a quaternion with its scalar first, of any length but zero."""
    w, x, y, z = quaternion
    length = hypot(w, x, y, z)
    w, x, y, z = (c / length for c in (w, x, y, z))
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def from_axis_angle(axis: Vector, angle: float) -> Matrix:
    """The rotation by `angle` about the unit vector `axis`."""
    for k in range(3):  # coordinate axes stay exact
        if abs(axis[k]) == 1.0:
            return about(k, angle * axis[k])
    c, s = cos(angle / 2), sin(angle / 2)
    return from_wxyz((c, *scale(axis, s)))


def from_axes(x: Vector, y: Vector) -> Matrix:
    """The rotation whose first axis is along `x` and whose second is `y` made orthogonal to it."""
    x = unit(x)
    y = unit(sub(y, scale(x, dot(x, y))))
    return transpose((x, y, cross(x, y)))


def from_z(z: Vector) -> Matrix:
    """The smallest rotation that turns the z axis to the direction `z`."""
    z = unit(z)
    axis = (-z[1], z[0], 0.0)
    length = norm(axis)
    if length < 1e-15:
        return IDENTITY if z[2] > 0 else about(0, pi)
    return from_axis_angle(scale(axis, 1 / length), atan2(length, z[2]))


def norm(a: Vector) -> float:
    return hypot(*a)


def unit(a: Vector) -> Vector:
    """The direction of `a`; a vector that is of unit length already stays as it is."""
    length = norm(a)
    return a if abs(length - 1.0) < _EXACT else (a[0] / length, a[1] / length, a[2] / length)


def to_rpy(R: Matrix) -> Vector:
    """Roll, pitch and yaw of a rotation, in the convention of `from_rpy`."""
    pitch = atan2(-R[2][0], hypot(R[0][0], R[1][0]))
    if hypot(R[0][0], R[1][0]) < 1e-12:  # gimbal lock: yaw takes all of the turn about the vertical
        return (0.0, pitch, atan2(-R[0][1], R[1][1]))
    return (atan2(R[2][1], R[2][2]), pitch, atan2(R[1][0], R[0][0]))


def angle_of(R: Matrix) -> float:
    """The angle of a rotation, 0 to pi."""
    return acos(max(-1.0, min(1.0, (R[0][0] + R[1][1] + R[2][2] - 1) / 2)))


def snap_rotation(R: Matrix, tolerance: float) -> Matrix:
    """`R` with every axis that it takes to a coordinate axis within `tolerance` taken there exactly.

    An axis within `tolerance` radians of another makes its row and column exact; the remaining 2x2 block is
    made a rotation again and snapped by the same rule. The result is orthonormal to rounding, and turns by at
    most 2 `tolerance` against `R`.
    """
    for i in range(3):
        for j in range(3):
            off = hypot(*(R[i][k] for k in range(3) if k != j))
            if off <= tolerance:
                return _snap_about(R, i, j, tolerance)
    return R


def _snap_about(R: Matrix, i: int, j: int, tolerance: float) -> Matrix:
    """`R` with entry (i, j) made +-1 and the other two rows and columns a plane rotation."""
    a, b = (i + 1) % 3, (i + 2) % 3
    c, d = (j + 1) % 3, (j + 2) % 3
    sign = 1.0 if R[i][j] > 0 else -1.0
    # rows a, b and columns c, d are in cyclic order: the block is [[x, -sign y], [y, sign x]]
    x, y = R[a][c] + sign * R[b][d], R[b][c] - sign * R[a][d]
    length = hypot(x, y)
    x, y = x / length, y / length
    if abs(y) <= tolerance:
        x, y = (1.0 if x > 0 else -1.0), 0.0
    elif abs(x) <= tolerance:
        x, y = 0.0, (1.0 if y > 0 else -1.0)
    rows = [[0.0] * 3 for _ in range(3)]
    rows[i][j] = sign
    rows[a][c], rows[a][d], rows[b][c], rows[b][d] = x, -sign * y + 0.0, y, sign * x
    return _matrix(rows)


def snap_vector(p: Vector, tolerance: float) -> Vector:
    """`p` with entries not larger than `tolerance` made zero."""
    return (
        0.0 if abs(p[0]) <= tolerance else p[0],
        0.0 if abs(p[1]) <= tolerance else p[1],
        0.0 if abs(p[2]) <= tolerance else p[2],
    )


def snap_axis(axis: Vector, tolerance: float) -> Vector:
    """The unit vector `axis`, exactly along a coordinate axis if it is so within `tolerance` radians."""
    for k in range(3):
        if hypot(axis[(k + 1) % 3], axis[(k + 2) % 3]) <= tolerance:
            exact = [0.0, 0.0, 0.0]
            exact[k] = 1.0 if axis[k] > 0 else -1.0
            return (exact[0], exact[1], exact[2])
    return axis


def snap(placement: Placement, tolerance: float) -> Placement:
    """The placement with near right angles made exact and near zero offsets made zero."""
    if tolerance <= 0.0:
        return placement
    return Placement(snap_rotation(placement.R, tolerance), snap_vector(placement.p, tolerance))


def _matrix(rows: list[list[float]]) -> Matrix:
    return (
        (rows[0][0], rows[0][1], rows[0][2]),
        (rows[1][0], rows[1][1], rows[1][2]),
        (rows[2][0], rows[2][1], rows[2][2]),
    )
