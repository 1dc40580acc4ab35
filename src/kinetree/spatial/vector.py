"""3-vectors and 3x3 matrices of numbers of any kind, as plain tuples, with a few functions on them."""

from __future__ import annotations

from typing import Any

Number = Any
Vector = tuple[Number, Number, Number]
Matrix = tuple[Vector, Vector, Vector]
Symmetric = tuple[Number, Number, Number, Number, Number, Number]  # xx, yy, zz, xy, xz, yz

ZERO: Vector = (0, 0, 0)
IDENTITY: Matrix = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
NO_MOMENTS: Symmetric = (0, 0, 0, 0, 0, 0)


def add(a: Vector, b: Vector) -> Vector:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def sub(a: Vector, b: Vector) -> Vector:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def neg(a: Vector) -> Vector:
    return (-a[0], -a[1], -a[2])


def scale(a: Vector, s: Number) -> Vector:
    return (a[0] * s, a[1] * s, a[2] * s)


def divide(a: Vector, s: Number) -> Vector:
    return (a[0] / s, a[1] / s, a[2] / s)


def dot(a: Vector, b: Vector) -> Number:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def skew(a: Vector) -> Matrix:
    """The matrix a~ with a~ b = a x b."""
    return ((0, -a[2], a[1]), (a[2], 0, -a[0]), (-a[1], a[0], 0))


def transpose(m: Matrix) -> Matrix:
    return ((m[0][0], m[1][0], m[2][0]), (m[0][1], m[1][1], m[2][1]), (m[0][2], m[1][2], m[2][2]))


def mat_vec(m: Matrix, a: Vector) -> Vector:
    return (dot(m[0], a), dot(m[1], a), dot(m[2], a))


def mat_t_vec(m: Matrix, a: Vector) -> Vector:
    """The transposed matrix times a vector."""
    return (
        m[0][0] * a[0] + m[1][0] * a[1] + m[2][0] * a[2],
        m[0][1] * a[0] + m[1][1] * a[1] + m[2][1] * a[2],
        m[0][2] * a[0] + m[1][2] * a[1] + m[2][2] * a[2],
    )


def mat_mul(a: Matrix, b: Matrix) -> Matrix:
    t = transpose(b)
    return (
        (dot(a[0], t[0]), dot(a[0], t[1]), dot(a[0], t[2])),
        (dot(a[1], t[0]), dot(a[1], t[1]), dot(a[1], t[2])),
        (dot(a[2], t[0]), dot(a[2], t[1]), dot(a[2], t[2])),
    )


def mat_add(a: Matrix, b: Matrix) -> Matrix:
    return (add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2]))


def mat_sub(a: Matrix, b: Matrix) -> Matrix:
    return (sub(a[0], b[0]), sub(a[1], b[1]), sub(a[2], b[2]))


def sym_vec(s: Symmetric, a: Vector) -> Vector:
    xx, yy, zz, xy, xz, yz = s
    return (
        xx * a[0] + xy * a[1] + xz * a[2],
        xy * a[0] + yy * a[1] + yz * a[2],
        xz * a[0] + yz * a[1] + zz * a[2],
    )


def sym_matrix(s: Symmetric) -> Matrix:
    xx, yy, zz, xy, xz, yz = s
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


def sym_add(a: Symmetric, b: Symmetric) -> Symmetric:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


def sym_sub(a: Symmetric, b: Symmetric) -> Symmetric:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5])
