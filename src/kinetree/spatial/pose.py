"""Poses: where a frame is and how it is turned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.errors import ModelError
from kinetree.spatial import vector as vec
from kinetree.spatial.reading import is_real, is_square, read_matrix, read_vector, shown, stacked, worst
from kinetree.spatial.rotation import TOLERANCE, Rotation
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import Matrix, Number, Vector


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Pose:
    """The pose of a frame B in a frame A: its attitude R = ^A R_B and its origin p in A-components.

    T = [R p; 0 1]. `T_ab @ T_bc` composes, `T.apply(x)` takes the coordinates of a point in B to those in A.

    Args:
        R: a `Rotation`, a 3x3 matrix, or the whole 4x4 matrix T. Plain numbers must be orthonormal to 1e-6,
            and are used as given.
        p: three numbers, in metres; left out with a 4x4 matrix.

    Raises:
        ModelError: plain numbers that are not a rotation, or not finite. ShapeError: not 3x3, or not three.
    """

    R: Matrix
    p: Vector

    def __init__(self, R: Any = vec.IDENTITY, p: Any = vec.ZERO):
        if p is vec.ZERO and not isinstance(R, Rotation) and is_square(R, 4):
            R, p = _apart(R)
        position = read_vector(p, 3, "position of a pose")
        if all(is_real(x) for x in position) and not worst(position) < math.inf:
            raise ModelError(f"position of a pose {shown(position)}: expected three finite numbers")
        object.__setattr__(self, "R", Rotation.from_matrix(R).rows)
        object.__setattr__(self, "p", position)

    @staticmethod
    def _given(R: Matrix, p: Vector) -> Pose:
        """The pose with these numbers, unchecked: results computed from poses are not validated again."""
        result = Pose.__new__(Pose)
        object.__setattr__(result, "R", R)
        object.__setattr__(result, "p", p)
        return result

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pose) and np.array_equal(np.asarray(self), np.asarray(other))

    def __hash__(self) -> int:
        return hash((self.R, self.p))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return stacked(self.as_matrix()).astype(dtype) if dtype is not None else stacked(self.as_matrix())

    @classmethod
    def identity(cls) -> Pose:
        """The pose of a frame in itself."""
        return cls._given(vec.IDENTITY, vec.ZERO)

    @classmethod
    def random(cls, rng: np.random.Generator | int | None = None) -> Pose:
        """A pose of floats with uniform attitude and normally distributed position."""
        generator = np.random.default_rng(rng)
        return cls(Rotation.random(generator), generator.standard_normal(3))

    @property
    def rotation(self) -> Rotation:
        """The attitude as a `Rotation`."""
        return Rotation(self.R)

    def __matmul__(self, other: Pose) -> Pose:
        """Composition: ^A T_C = ^A T_B ^B T_C."""
        if not isinstance(other, Pose):
            return NotImplemented
        return Pose._given(vec.mat_mul(self.R, other.R), vec.add(self.p, vec.mat_vec(self.R, other.p)))

    def inverse(self) -> Pose:
        """The pose of A in B: [R^T, -R^T p]."""
        return Pose._given(vec.transpose(self.R), vec.neg(vec.mat_t_vec(self.R, self.p)))

    def apply(self, x: Any) -> Vector:
        """p + R x: the A-coordinates of the point with B-coordinates `x`."""
        return vec.add(self.p, vec.mat_vec(self.R, read_vector(x, 3, "point")))

    def as_matrix(self) -> tuple[tuple[Number, ...], ...]:
        """The rows of the 4x4 matrix [R p; 0 1]. `numpy.asarray(T)` gives an array (..., 4, 4)."""
        return (*((*row, x) for row, x in zip(self.R, self.p, strict=True)), (0, 0, 0, 1))

    @classmethod
    def from_matrix(cls, matrix: Any) -> Pose:
        """The pose with the homogeneous 4x4 matrix [R p; 0 1]: rows of numbers, or an array (..., 4, 4)."""
        return cls(*_apart(matrix))

    def transform(self) -> Transform:
        """The transform of motions from A-coordinates to B-coordinates; its transpose takes forces back."""
        return Transform(vec.transpose(self.R), self.p)

    @classmethod
    def from_transform(cls, X: Transform) -> Pose:
        """The pose of the successor of `X` in its predecessor: the inverse of `transform()`."""
        return cls._given(vec.transpose(X.rotation), X.translation)


def _apart(matrix: Any) -> tuple[Matrix, Vector]:
    """R and p of the matrix [R p; 0 1]."""
    rows = read_matrix(matrix, 4, 4, "pose matrix")
    for x, expected in zip(rows[3], (0, 0, 0, 1), strict=True):
        if is_real(x) and not np.all(np.abs(x - expected) <= TOLERANCE):
            raise ModelError(f"pose matrix: the last row is {shown(rows[3])}, expected (0, 0, 0, 1)")
    return tuple(row[:3] for row in rows[:3]), tuple(row[3] for row in rows[:3])
