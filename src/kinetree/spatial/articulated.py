"""Symmetric 6x6 inertias without the structure of a rigid body: articulated inertias (21 numbers)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinetree.spatial import vector as vec
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.matrix import Factored
from kinetree.spatial.motion import Force, ForceSet, Motion
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform
from kinetree.spatial.value import Tensor, joined
from kinetree.spatial.vector import Matrix, Number, Symmetric

NO_COUPLING: Matrix = (vec.ZERO, vec.ZERO, vec.ZERO)


class ArticulatedInertia(Tensor):
    """I^A = [J H; H^T M]: the apparent inertia of a body whose outboard joints are free to move."""

    __slots__ = ("H", "J", "M", "frame")
    is_uniform = is_linear = True

    def __init__(
        self, J: Symmetric = vec.NO_MOMENTS, H: Matrix = NO_COUPLING, M: Symmetric = vec.NO_MOMENTS,
        frame: Any = None,
    ):  # fmt: skip
        self.J, self.H, self.M, self.frame = J, H, M, frame

    @classmethod
    def from_rigid(cls, inertia: Inertia) -> ArticulatedInertia:
        m = inertia.mass
        return cls(inertia.second, vec.skew(inertia.first_moment), (m, m, m, 0, 0, 0), inertia.frame)

    @property
    def parts(self) -> tuple[Number, ...]:
        """J (6), H (9, by rows), M (6)."""
        return (*self.J, *self.H[0], *self.H[1], *self.H[2], *self.M)

    def with_parts(self, parts: Sequence[Number]) -> ArticulatedInertia:
        p = tuple(parts)
        return ArticulatedInertia(p[:6], (p[6:9], p[9:12], p[12:15]), p[15:21])  # type: ignore[arg-type]

    @classmethod
    def promoted(cls, value: Any) -> Any:
        """A rigid inertia as an articulated one."""
        return cls.from_rigid(value) if isinstance(value, Inertia) else value

    def tagged(self, frame: Any) -> ArticulatedInertia:
        return ArticulatedInertia(self.J, self.H, self.M, frame)

    def __add__(self, other: Any) -> ArticulatedInertia:
        other = self.promoted(other)
        frame = joined(self.frame, other.frame, "sum of inertias")
        return ArticulatedInertia(
            vec.sym_add(self.J, other.J), vec.mat_add(self.H, other.H), vec.sym_add(self.M, other.M), frame
        )

    def __neg__(self) -> ArticulatedInertia:
        return self.with_parts([-x for x in self.parts]).tagged(self.frame)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Motion):
            frame = joined(self.frame, other.frame, "inertia times motion")
            w, v = other.angular, other.linear
            return Force(
                vec.add(vec.sym_vec(self.J, w), vec.mat_vec(self.H, v)),
                vec.add(vec.mat_t_vec(self.H, w), vec.sym_vec(self.M, v)),
                frame,
            )
        return other.multiplied(self)

    def congruence(self, X: Transform) -> ArticulatedInertia:
        """X^T I^A X: the inertia in predecessor coordinates."""
        joined(X.target, self.frame, "congruence of an inertia")
        J, H, M = self.J, self.H, self.M
        for factor in reversed(X.factors):
            J, H, M = factor.undo_symmetric(J), factor.undo_matrix(H), factor.undo_symmetric(M)
        return ArticulatedInertia(*_shifted(J, H, M, X.translation), X.source)

    def deflated(self, S: Subspace, U: ForceSet, D: Factored) -> ArticulatedInertia:
        """I^A - U D^-1 U^T with U = I^A S, D = S^T U: the part that the predecessor feels through the joint.

        The result annihilates S: rows and columns of the coordinate directions in S are exactly zero.
        """
        return self.lowered(U, D, S.spanned_directions)

    def lowered(self, W: ForceSet, D: Factored, zero: frozenset[int] = frozenset()) -> ArticulatedInertia:
        """I^A - W D^-1 W^T; `zero` lists rows and columns known to vanish."""
        rows, scaled = ([column.components for column in half] for half in D.halves(W.columns))

        def entry(i: int, j: int, value: Number) -> Number:
            if i in zero or j in zero:
                return 0
            for a, b in zip(rows, scaled, strict=True):
                value = value - a[i] * b[j]
            return value

        J = tuple(entry(i, j, x) for (i, j), x in zip(_SYMMETRIC, self.J, strict=True))
        M = tuple(entry(i + 3, j + 3, x) for (i, j), x in zip(_SYMMETRIC, self.M, strict=True))
        H = tuple(tuple(entry(i, j + 3, self.H[i][j]) for j in range(3)) for i in range(3))
        return ArticulatedInertia(J, H, M, self.frame)  # type: ignore[arg-type]

    def matrix(self) -> tuple[tuple[Number, ...], ...]:
        """The 6 x 6 matrix."""
        J, M, t = vec.sym_matrix(self.J), vec.sym_matrix(self.M), vec.transpose(self.H)
        return tuple(J[i] + self.H[i] for i in range(3)) + tuple(t[i] + M[i] for i in range(3))


_SYMMETRIC = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def _shifted(J: Symmetric, H: Matrix, M: Symmetric, r: vec.Vector) -> tuple[Symmetric, Matrix, Symmetric]:
    """Parallel-axis theorem: H' = H + r~ M and J' = J - H r~ + r~ H'^T."""
    m = vec.sym_matrix(M)
    columns = (vec.cross(r, m[0]), vec.cross(r, m[1]), vec.cross(r, m[2]))
    G = vec.mat_add(H, vec.transpose(columns))
    x, y, z = r
    xx, yy, zz, xy, xz, yz = J
    shifted = (
        xx + (H[0][2] + G[0][2]) * y - (H[0][1] + G[0][1]) * z,
        yy + (H[1][0] + G[1][0]) * z - (H[1][2] + G[1][2]) * x,
        zz + (H[2][1] + G[2][1]) * x - (H[2][0] + G[2][0]) * y,
        xy + (H[0][0] - G[1][1]) * z - H[0][2] * x + G[1][2] * y,
        xz + (G[2][2] - H[0][0]) * y + H[0][1] * x - G[2][1] * z,
        yz + (H[1][1] - G[2][2]) * x - H[1][0] * y + G[2][0] * z,
    )
    return shifted, G, M
