"""The factors of coordinate rotations in a sweep: turns about one axis, and general 3x3 matrices.

A factor takes predecessor components to successor components (`apply`) and back (`undo`). A turn about a
coordinate axis costs 6 operations on a vector, 15 on a symmetric matrix and 24 on a general one; a dense
factor costs 15, 75 and 90.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kinetree.ops import is_literal
from kinetree.spatial import vector as vec
from kinetree.spatial.vector import Matrix, Number, Symmetric, Vector

_PLACE = {(0, 0): 0, (1, 1): 1, (2, 2): 2, (0, 1): 3, (1, 0): 3, (0, 2): 4, (2, 0): 4, (1, 2): 5, (2, 1): 5}


class Turn(NamedTuple):
    """The successor is turned by an angle about coordinate axis 0, 1 or 2."""

    axis: int
    cos: Number
    sin: Number

    @property
    def parts(self) -> tuple[Number, ...]:
        return (self.cos, self.sin)

    def with_parts(self, parts: Sequence[Number]) -> Turn:
        return Turn(self.axis, *parts)

    def apply(self, a: Vector) -> Vector:
        u, w = (self.axis + 1) % 3, (self.axis + 2) % 3
        out = list(a)
        out[u] = self.cos * a[u] + self.sin * a[w]
        out[w] = self.cos * a[w] - self.sin * a[u]
        return (out[0], out[1], out[2])

    def undo(self, a: Vector) -> Vector:
        return self.inverse().apply(a)

    def inverse(self) -> Turn:
        return Turn(self.axis, self.cos, -self.sin)

    def then(self, other: Turn) -> Turn:
        """This turn followed by another about the same axis."""
        c, s = other.cos, other.sin
        return Turn(self.axis, c * self.cos - s * self.sin, s * self.cos + c * self.sin)

    def undo_symmetric(self, m: Symmetric) -> Symmetric:
        """R M R^T. The block in the plane of the turn needs only t = s (Muu - Mww) + 2 c Muw."""
        k, u, w = self.axis, (self.axis + 1) % 3, (self.axis + 2) % 3
        uu, ww, uw = _PLACE[u, u], _PLACE[w, w], _PLACE[u, w]
        ku, kw = _PLACE[k, u], _PLACE[k, w]
        c, s = self.cos, self.sin
        t = s * (m[uu] - m[ww]) + (2 * c) * m[uw]
        out = list(m)
        out[uu] = m[uu] - s * t
        out[ww] = m[ww] + s * t
        out[uw] = c * t - m[uw]
        out[ku] = c * m[ku] - s * m[kw]
        out[kw] = s * m[ku] + c * m[kw]
        return (out[0], out[1], out[2], out[3], out[4], out[5])

    def undo_matrix(self, m: Matrix) -> Matrix:
        """R M R^T for a general M: the block in the plane keeps its trace and its skew part."""
        k, u, w = self.axis, (self.axis + 1) % 3, (self.axis + 2) % 3
        c, s = self.cos, self.sin
        b = m[u][w] + m[w][u]
        t = s * (m[u][u] - m[w][w]) + c * b
        d = c * t - b
        out = [list(m[0]), list(m[1]), list(m[2])]
        out[u][u] = m[u][u] - s * t
        out[w][w] = m[w][w] + s * t
        out[u][w] = m[u][w] + d
        out[w][u] = m[w][u] + d
        out[k][u] = c * m[k][u] - s * m[k][w]
        out[k][w] = s * m[k][u] + c * m[k][w]
        out[u][k] = c * m[u][k] - s * m[w][k]
        out[w][k] = s * m[u][k] + c * m[w][k]
        rows = [(r[0], r[1], r[2]) for r in out]
        return (rows[0], rows[1], rows[2])

    def matrix(self) -> Matrix:
        """E, the matrix of `apply`."""
        columns = (self.apply((1, 0, 0)), self.apply((0, 1, 0)), self.apply((0, 0, 1)))
        return vec.transpose(columns)


class Dense(NamedTuple):
    """The successor is turned by a general rotation; `E` takes predecessor to successor components."""

    E: Matrix

    @property
    def parts(self) -> tuple[Number, ...]:
        return (*self.E[0], *self.E[1], *self.E[2])

    def with_parts(self, parts: Sequence[Number]) -> Dense:
        p = tuple(parts)
        return Dense((p[0:3], p[3:6], p[6:9]))  # type: ignore[arg-type]

    def apply(self, a: Vector) -> Vector:
        return vec.mat_vec(self.E, a)

    def undo(self, a: Vector) -> Vector:
        return vec.mat_t_vec(self.E, a)

    def inverse(self) -> Dense:
        return Dense(vec.transpose(self.E))

    def undo_symmetric(self, m: Symmetric) -> Symmetric:
        e = vec.transpose(self.E)
        t = (vec.sym_vec(m, e[0]), vec.sym_vec(m, e[1]), vec.sym_vec(m, e[2]))
        return (
            vec.dot(e[0], t[0]), vec.dot(e[1], t[1]), vec.dot(e[2], t[2]),
            vec.dot(e[0], t[1]), vec.dot(e[0], t[2]), vec.dot(e[1], t[2]),
        )  # fmt: skip

    def undo_matrix(self, m: Matrix) -> Matrix:
        return vec.mat_mul(vec.transpose(self.E), vec.mat_mul(m, self.E))

    def matrix(self) -> Matrix:
        return self.E


Factor = Turn | Dense


def factors(E: Matrix) -> tuple[Factor, ...]:
    """`E` as cheap factors: none for the identity, a `Turn` where a literal E is one, else `Dense`."""
    if not all(is_literal(x) for row in E for x in row):
        return (Dense(E),)
    if all(E[i][j] == (1 if i == j else 0) for i in range(3) for j in range(3)):
        return ()
    for k in range(3):
        u, w = (k + 1) % 3, (k + 2) % 3
        around = E[k][k] == 1 and E[k][u] == E[k][w] == E[u][k] == E[w][k] == 0
        if around and E[u][u] == E[w][w] and E[u][w] == -E[w][u]:
            return (Turn(k, E[u][u], E[u][w]),)
    return (Dense(E),)


def adjoined(first: tuple[Factor, ...], second: tuple[Factor, ...]) -> tuple[Factor, ...]:
    """The factors of two rotations in sequence; adjacent turns about the same axis are merged."""
    if first and second:
        a, b = first[-1], second[0]
        if isinstance(a, Turn) and isinstance(b, Turn) and a.axis == b.axis:
            return (*first[:-1], a.then(b), *second[1:])
    return first + second
