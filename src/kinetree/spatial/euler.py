"""Euler angles of all twelve sequences, about moving axes (intrinsic) or fixed axes (extrinsic).

A sequence is three letters. Upper case turns about the moving axes: "ZYX" is R = Rz(a) Ry(b) Rx(c), yaw,
pitch, roll. Lower case turns about the fixed axes: "xyz" is R = Rz(c) Ry(b) Rx(a), the roll, pitch, yaw of
URDF files. Angles are always in the order of the letters.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from kinetree import ops
from kinetree.errors import ModelError, SingularError
from kinetree.spatial.even import decided
from kinetree.spatial.reading import in_body_axes
from kinetree.spatial.vector import cross, dot, mat_mul, mat_t_vec, mat_vec

SEQUENCES = tuple("".join(s) for s in itertools.product("XYZ", repeat=3) if s[0] != s[1] != s[2])
"""The twelve sequences about moving axes; in lower case they are the twelve about fixed axes."""

_BASIS = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


class _Sequence(NamedTuple):
    axes: tuple[int, int, int]  # in the order of the letters
    intrinsic: bool

    @property
    def moving_axes(self) -> tuple[int, int, int]:
        """The same rotations as a sequence about moving axes: fixed axes in reverse order."""
        return self.axes if self.intrinsic else (self.axes[2], self.axes[1], self.axes[0])

    def reorder(self, x: Any) -> tuple:
        """Three values from the order of the letters to that of the moving axes, or back."""
        a, b, c = x
        return (a, b, c) if self.intrinsic else (c, b, a)


def _parse(sequence: str) -> _Sequence:
    if not isinstance(sequence, str) or sequence.upper() not in SEQUENCES or sequence not in (
        sequence.upper(), sequence.lower()
    ):  # fmt: skip
        raise ModelError(
            f"Euler sequence {sequence!r}: expected three letters of one case with no two neighbours equal, "
            "upper case for moving axes (such as 'ZYX', 'ZXZ'), lower case for fixed axes (such as 'xyz')"
        )
    i, j, k = ("XYZ".index(letter) for letter in sequence.upper())
    return _Sequence((i, j, k), sequence.isupper())


def turn(axis: int, angle: Any) -> tuple:
    """The matrix of a rotation by `angle` about coordinate axis 0, 1 or 2."""
    c, s = ops.cos(angle), ops.sin(angle)
    if axis == 0:
        return ((1, 0, 0), (0, c, -s), (0, s, c))
    if axis == 1:
        return ((c, 0, s), (0, 1, 0), (-s, 0, c))
    return ((c, -s, 0), (s, c, 0), (0, 0, 1))


def euler_matrix(sequence: str, angles: Any) -> tuple:
    """The rotation matrix of Euler angles."""
    kind = _parse(sequence)
    first, second, third = (turn(k, x) for k, x in zip(kind.moving_axes, kind.reorder(angles)))
    return mat_mul(mat_mul(first, second), third)


def euler_angles(sequence: str, q: Any) -> tuple:
    """The Euler angles of a unit quaternion, the outer ones in (-pi, pi].

    The middle angle lies in [0, pi] if the first and third axis are the same, else in [-pi/2, pi/2]. In
    gimbal lock, where only the sum or difference of the outer angles is defined, the last rotation about a
    moving axis is set to zero. Accurate at and near gimbal lock (see Bernardes and Viollet (2022)).
    """
    kind = _parse(sequence)
    k, j, i = kind.moving_axes
    proper = i == k
    if proper:
        k = 3 - i - j
    parity = (i - j) * (j - k) * (k - i) // 2
    x, y, z, w = q[i], q[j], parity * q[k], q[3]
    a, b, c, d = (w, x, y, z) if proper else (w - y, x + z, w + y, z - x)
    outer, inner = a * a + b * b, c * c + d * d
    pi = 4 * ops.atan2(1 + 0 * w, 1)  # in the precision of the quaternion

    middle = 2 * ops.atan2(ops.sqrt(inner), ops.sqrt(outer))
    no_sum = decided(ops.less(outer, 1e-30 * inner))
    no_difference = decided(ops.less(inner, 1e-30 * outer))
    half_sum = ops.atan2(ops.where(no_sum, d, b), ops.where(no_sum, c, a))
    half_difference = ops.atan2(ops.where(no_difference, b, d), ops.where(no_difference, a, c))
    first, last = half_sum + half_difference, half_sum - half_difference
    if not proper:
        first, middle = parity * first, middle - pi / 2
    return kind.reorder((_wrapped(first, pi), middle, _wrapped(last, pi)))


def _wrapped(angle: Any, pi: Any) -> Any:
    """`angle`, between -2 pi and 2 pi, brought into (-pi, pi]."""
    lowered = ops.where(decided(ops.less(pi, angle)), angle - 2 * pi, angle)
    return ops.where(decided(ops.less_equal(lowered, -pi)), lowered + 2 * pi, lowered)


def euler_columns(sequence: str, angles: Any, frame: str = "body") -> tuple:
    """The three rotation axes, in the order of the letters: omega = sum of rate times axis."""
    kind = _parse(sequence)
    i, j, k = kind.moving_axes
    first, second, third = (turn(m, x) for m, x in zip(kind.moving_axes, kind.reorder(angles)))
    if in_body_axes(frame):
        columns = (mat_t_vec(third, mat_t_vec(second, _BASIS[i])), mat_t_vec(third, _BASIS[j]), _BASIS[k])
    else:
        columns = (_BASIS[i], mat_vec(first, _BASIS[j]), mat_vec(first, mat_vec(second, _BASIS[k])))
    return kind.reorder(columns)


def euler_omega(sequence: str, angles: Any, rates: Any, frame: str = "body") -> tuple:
    """The angular velocity of Euler angles that change at `rates`, in "body" or "world" axes."""
    a, b, c = euler_columns(sequence, angles, frame)
    return tuple(a[m] * rates[0] + b[m] * rates[1] + c[m] * rates[2] for m in range(3))


def euler_rate(sequence: str, angles: Any, omega: Any, frame: str = "body") -> tuple:
    """The rates of Euler angles for the angular velocity `omega`, in "body" or "world" axes.

    Raises:
        SingularError: in gimbal lock (checked for plain numbers).
    """
    a, b, c = euler_columns(sequence, angles, frame)
    bc, ca, ab = cross(b, c), cross(c, a), cross(a, b)
    volume = dot(a, bc)
    if ops.is_literal(volume) and abs(volume) < 1e-12:
        raise SingularError(
            f"Euler angles {sequence!r} at {tuple(angles)} are in gimbal lock, their rates infinite: "
            "use quaternion_rate, or another sequence"
        )
    return (dot(bc, omega) / volume, dot(ca, omega) / volume, dot(ab, omega) / volume)


def gimbal_lock_distance(sequence: str, angles: Any) -> Any:
    """How far Euler angles are from gimbal lock: 1 where the three axes are orthogonal, 0 in gimbal lock."""
    a, b, c = euler_columns(sequence, angles)
    volume = dot(a, cross(b, c))
    return ops.sqrt(volume * volume)
