"""Rotations as robot files write them (roll-pitch-yaw, quaternions, axes, Euler sequences), and snapping.

A right angle written with all digits, such as rpy="1.5707963267948966 0 0", becomes exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import atan2, cos, hypot, pi, sin

from kinetree.joints import Joint
from kinetree.spatial.euler import turn
from kinetree.spatial.pose import Pose
from kinetree.spatial.rotation import Rotation
from kinetree.spatial.vector import Matrix, Vector, cross, divide, dot, scale, sub, transpose

ORIGIN: Vector = (0.0, 0.0, 0.0)
HERE = Pose.identity()
_EXACT = 5e-16  # larger than the residual cos or sin of doubles nearest to multiples of pi/2


def exact(R: Rotation) -> Rotation:
    """`R` with the rounding residuals of right angles set to zero."""
    return Rotation(_matrix([[0.0 if abs(x) < _EXACT else x for x in row] for row in R.rows]))


def about(axis: int, angle: float) -> Rotation:
    """The rotation by `angle` about coordinate axis 0, 1 or 2."""
    return exact(Rotation(turn(axis, angle)))


def from_rpy(rpy: Vector) -> Rotation:
    """Roll, pitch and yaw about the fixed axes x, y and z: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    return about(2, rpy[2]) @ (about(1, rpy[1]) @ about(0, rpy[0]))


def from_euler(angles: Vector, sequence: str) -> Rotation:
    """Successive rotations about the axes in `sequence`, as in MJCF: lower case for moving axes."""
    R = Rotation.identity()
    for letter, angle in zip(sequence, angles, strict=True):
        step = about("xyz".index(letter.lower()), angle)
        R = R @ step if letter.islower() else step @ R
    return R


def from_wxyz(quaternion: Iterable[float]) -> Rotation:
    """The rotation of a scalar-first quaternion of any non-zero length."""
    w, x, y, z = quaternion
    return exact(Rotation.from_quaternion((x, y, z, w)))


def from_axis_angle(axis: Vector, angle: float) -> Rotation:
    """The rotation by `angle` about the unit vector `axis`."""
    return exact(Rotation.from_axis_angle(axis, angle))


def from_axes(x: Vector, y: Vector) -> Rotation:
    """The rotation whose first axis is along `x` and whose second is `y` orthogonalised to it."""
    x = unit(x)
    y = unit(sub(y, scale(x, dot(x, y))))
    return Rotation(transpose((x, y, cross(x, y))))


def from_z(z: Vector) -> Rotation:
    """The smallest rotation that takes the z axis to the direction `z`."""
    z = unit(z)
    axis = (-z[1], z[0], 0.0)
    length = norm(axis)
    if length < 1e-15:
        return Rotation.identity() if z[2] > 0 else about(0, pi)
    return from_axis_angle(divide(axis, length), atan2(length, z[2]))


def norm(a: Vector) -> float:
    return hypot(*a)


def unit(a: Vector) -> Vector:
    """The direction of `a`; a unit vector is returned unchanged."""
    length = norm(a)
    return a if abs(length - 1.0) < _EXACT else divide(a, length)


def to_rpy(rotation: Rotation) -> Vector:
    """Roll, pitch and yaw of a rotation, in the convention of `from_rpy`."""
    R = rotation.rows
    level = hypot(R[0][0], R[1][0])
    pitch, yaw = atan2(-R[2][0], level), atan2(R[1][0], R[0][0])
    if level > 1e-3:
        return (atan2(R[2][1], R[2][2]), pitch, yaw)
    if level < 1e-15:  # gimbal lock: yaw takes the whole rotation about the vertical
        return (0.0, pitch, atan2(-R[0][1], R[1][1]))
    c, s = cos(yaw), sin(yaw)  # roll remains after undoing the rounded yaw
    return (atan2(s * R[0][2] - c * R[1][2], c * R[1][1] - s * R[0][1]), pitch, yaw)


def snap(placement: Pose, tolerance: float) -> Pose:
    """The placement with near right angles made exact and tiny offsets set to zero."""
    p = tuple(0.0 if abs(x) <= tolerance else x for x in placement.p)
    return Pose(snap_rotation(placement.rotation, tolerance), p)


def snap_rotation(rotation: Rotation, tolerance: float) -> Rotation:
    """The rotation with axes that it maps within `tolerance` of a coordinate axis mapped exactly onto it.

    The row and column of such an axis become exact; the remaining 2x2 block is made a rotation again and
    snapped by the same rule. The result is orthonormal to rounding, and differs from the given rotation by at
    most 2 `tolerance`.
    """
    R = rotation.rows
    for i in range(3):
        for j in range(3):
            if hypot(*(R[i][k] for k in range(3) if k != j)) <= tolerance:
                return _snap_about(R, i, j, tolerance)
    return rotation


def _snap_about(R: Matrix, i: int, j: int, tolerance: float) -> Rotation:
    """`R` with entry (i, j) set to +-1 and the other two rows and columns made a plane rotation."""
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
    return Rotation(_matrix(rows))


def snap_axis(axis: Vector, tolerance: float) -> Vector:
    """The unit vector `axis`, made exact if it is within `tolerance` radians of a coordinate axis."""
    for k in range(3):
        if hypot(axis[(k + 1) % 3], axis[(k + 2) % 3]) <= tolerance:
            sign = 1.0 if axis[k] > 0 else -1.0
            return (sign * (k == 0), sign * (k == 1), sign * (k == 2))
    return axis


def snap_joint(joint: Joint, tolerance: float) -> Joint:
    """The joint with its axes (its arguments of three numbers) snapped."""
    return type(joint)(**{
        name: snap_axis(value, tolerance) if isinstance(value, tuple) else value
        for name, value in joint.arguments.items()
    })  # fmt: skip


def _matrix(rows: list[list[float]]) -> Matrix:
    return tuple(map(tuple, rows))  # type: ignore[return-value]
