"""Unit quaternions [x, y, z, w]: vector part first, scalar last, as 4-tuples of numbers of any kind.

q = [sin(t/2) n; cos(t/2)] turns by the angle t about the unit axis n. q and -q are the same attitude.
"""

from __future__ import annotations

from typing import Any

from kinetree import ops
from kinetree.spatial.even import arctangent_ratio, cosine, decided, is_symbolic, sine_ratio
from kinetree.spatial.vector import dot

Quaternion = tuple[Any, Any, Any, Any]

IDENTITY: Quaternion = (0, 0, 0, 1)


def quaternion_product(p: Any, q: Any) -> Quaternion:
    """The quaternion of the composition: R(p q) = R(p) R(q)."""
    (px, py, pz, pw), (qx, qy, qz, qw) = p, q
    return (
        pw * qx + qw * px + (py * qz - pz * qy),
        pw * qy + qw * py + (pz * qx - px * qz),
        pw * qz + qw * pz + (px * qy - py * qx),
        pw * qw - (px * qx + py * qy + pz * qz),
    )


def quaternion_conjugate(q: Any) -> Quaternion:
    """The quaternion of the opposite turn: the inverse of a unit quaternion."""
    x, y, z, w = q
    return (-x, -y, -z, w)


def quaternion_normalized(q: Any) -> Quaternion:
    """`q` divided by its norm."""
    x, y, z, w = q
    s = 1 / ops.sqrt(x * x + y * y + z * z + w * w)
    return (s * x, s * y, s * z, s * w)


def quaternion_matrix(q: Any) -> tuple:
    """The rows of the rotation matrix of `q`, of any norm but zero: orthonormal to rounding."""
    x, y, z, w = q
    s = 2 / (x * x + y * y + z * z + w * w)
    sx, sy, sz = s * x, s * y, s * z
    xx, yy, zz = sx * x, sy * y, sz * z
    xy, xz, yz = sx * y, sx * z, sy * z
    wx, wy, wz = sx * w, sy * w, sz * w
    return (
        (1 - (yy + zz), xy - wz, xz + wy),
        (xy + wz, 1 - (xx + zz), yz - wx),
        (xz - wy, yz + wx, 1 - (xx + yy)),
    )


def quaternion_from_matrix(R: Any) -> Quaternion:
    """The unit quaternion of a rotation matrix, with w >= 0.

    4 q q^T is linear in R. Its column with the largest diagonal entry, normalised, is q: there is no
    cancellation at any angle (see Bar-Itzhack (2000); the choice of the column is Shepperd's).
    """
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    columns = (
        (1 + xx - yy - zz, xy + yx, xz + zx, zy - yz),
        (xy + yx, 1 - xx + yy - zz, yz + zy, xz - zx),
        (xz + zx, yz + zy, 1 - xx - yy + zz, yx - xy),
        (zy - yz, xz - zx, yx - xy, 1 + xx + yy + zz),
    )
    best, largest = columns[3], columns[3][3]
    for i in (0, 1, 2):
        larger = decided(ops.less(largest, columns[i][i]))
        best = tuple(ops.where(larger, new, old) for new, old in zip(columns[i], best))
        largest = ops.where(larger, columns[i][i], largest)
    x, y, z, w = best
    s = _signed(1 / ops.sqrt(x * x + y * y + z * z + w * w), w)
    return (s * x, s * y, s * z, s * w)


def _signed(x: Any, w: Any) -> Any:
    """`x`, negated where w is negative: of q and -q, the one that rotates by at most pi."""
    return ops.where(decided(ops.less(w, 0)), -x, x)


def quaternion_exp(u: Any) -> Quaternion:
    """The unit quaternion of the rotation vector `u`."""
    x = dot(u, u) / 4
    s = sine_ratio(x) / 2
    return (s * u[0], s * u[1], s * u[2], cosine(x))


def quaternion_log(q: Any) -> tuple:
    """The rotation vector of a unit quaternion: 2 atan2(|v|, w) v / |v|, at most pi long, smooth at v = 0."""
    x, y, z = q[:3]
    w = _signed(q[3], q[3])
    square = x * x + y * y + z * z
    if is_symbolic(square):
        n = ops.sqrt(square)
        s = _signed(2 / w if square.is_zero else 2 * ops.atan2(n, w) / n, q[3])
        return (s * x, s * y, s * z)
    small = ops.less(16 * square, w * w)
    scalar = ops.where(small, w, 1.0)
    tangent_squared = ops.where(small, square, 0.0) / (scalar * scalar)
    n = ops.sqrt(ops.where(small, 1.0, square))
    s = 2 * ops.where(small, arctangent_ratio.series(tangent_squared) / scalar, ops.atan2(n, w) / n)
    s = _signed(s, q[3])
    return (s * x, s * y, s * z)
