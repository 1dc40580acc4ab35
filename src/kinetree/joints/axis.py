"""The axis of a joint: validation, the rotation about it, and two directions across it."""

from __future__ import annotations

import math
from typing import Any

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.spatial import vector as vec
from kinetree.spatial.transform import Transform

Vector = tuple[Any, Any, Any]

# Files give axes with few digits, such as (0.577, 0.577, 0.577); a larger deviation is taken for a mistake.
UNIT_TOLERANCE = 1e-3


def unit_axis(axis: Any, owner: str) -> Vector:
    """The axis as a unit vector, a tuple of three numbers; exact zeros and ones become the integers 0 and 1.

    Only plain real numbers are checked and normalised; symbols and expressions are taken as they are.
    """
    given = tuple(axis) if hasattr(axis, "__iter__") and not isinstance(axis, (str, dict)) else ()
    if len(given) != 3 or not all(map(_is_number, given)):
        shown = f"an array of shape {axis.shape}" if hasattr(axis, "shape") else repr(axis)
        raise ModelError(f"{owner}: the axis must be three numbers, as in (0, 0, 1), got {shown}")
    if not all(ops.is_literal(a) for a in given):
        return given  # type: ignore[return-value]
    values = tuple(float(a) for a in given)
    length = math.hypot(*values)
    if not math.isfinite(length):
        raise ModelError(
            f"{owner}: the axis {values} is not finite: give three finite numbers, as in (0, 0, 1)"
        )
    if length == 0.0:
        raise ModelError(
            f"{owner}: the axis is the zero vector: give a direction of unit length, as in (0, 0, 1)"
        )
    if abs(length - 1.0) > UNIT_TOLERANCE:
        unit = tuple(round(a / length, 6) for a in values)
        raise ModelError(
            f"{owner}: the axis {values} has length {length:.6g}, not 1: divide it by its length: {unit}"
        )
    if abs(length - 1.0) > 2.3e-16:
        values = tuple(a / length for a in values)
    return tuple(int(a) if a in (0.0, 1.0, -1.0) else a for a in values)  # type: ignore[return-value]


def _is_number(a: Any) -> bool:
    return not (a is None or isinstance(a, (str, bytes, list, tuple)) or getattr(a, "ndim", 0) > 0)


def coordinate_axis(axis: Vector) -> tuple[int, int] | None:
    """(index, sign) of an axis that lies exactly along a coordinate axis, else None."""
    if not all(ops.is_literal(a) for a in axis):
        return None
    along = [k for k in range(3) if axis[k] != 0]
    if len(along) != 1 or axis[along[0]] not in (1, -1):
        return None
    return along[0], 1 if axis[along[0]] > 0 else -1


def rotation_about(axis: Vector, angle: Any) -> Transform:
    """The transform to a frame that is turned by `angle` about the unit vector `axis`."""
    return turned_and_shifted(axis, angle, (0, 0, 0))


def turned_and_shifted(axis: Vector, angle: Any, shift: Vector) -> Transform:
    """The transform to a frame with origin at `shift`, turned by `angle` about `axis`.

    E = R^T with R = c 1 + (1 - c) a a^T + s a~ (Rodrigues); a `Turn` factor for a coordinate axis.
    """
    c, s = ops.cos(angle), ops.sin(angle)
    along = coordinate_axis(axis)
    if along is not None:
        index, sign = along
        return Transform(((1, 0, 0), (0, 1, 0), (0, 0, 1)), shift, spin=(index, c, s if sign > 0 else -s))
    x, y, z = axis
    d = 1 - c
    dx, dy, dz = d * x, d * y, d * z
    sx, sy, sz = s * x, s * y, s * z
    dxy, dxz, dyz = dx * y, dx * z, dy * z
    return Transform(
        (
            (c + dx * x, dxy + sz, dxz - sy),
            (dxy - sz, c + dy * y, dyz + sx),
            (dxz + sy, dyz - sx, c + dz * z),
        ),
        shift,
    )


def axes_with_z(axis: Vector) -> tuple[Vector, Vector, Vector]:
    """A rotation E with E axis = z; exact for coordinate axes."""
    for k in range(3):
        if abs(axis[k]) == 1:
            x = tuple(1 if i == (k + 1) % 3 else 0 for i in range(3))
            return (x, vec.cross(axis, x), axis)  # type: ignore[arg-type, return-value]
    x, y = perpendiculars(axis)
    return (x, y, axis)


def perpendiculars(axis: Vector) -> tuple[Vector, Vector]:
    """Two unit vectors that make a right-handed orthonormal triple with the unit vector `axis` as the third.

    Reference: Duff and others (2017): no branch, accurate everywhere.
    """
    x, y, z = axis
    sign = ops.where(ops.less(z, 0), -1, 1)
    a = -1 / (sign + z)
    b = x * y * a
    return (1 + sign * x * x * a, sign * b, -sign * x), (b, sign + y * y * a, -y)
