"""Plucker transforms between the frame of a predecessor and the frame of its successor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinetree.spatial import vector as vec
from kinetree.spatial.factors import Dense, Factor, Turn, adjoined, factors
from kinetree.spatial.matrix import Transposed
from kinetree.spatial.motion import Force, ForceSet, Motion
from kinetree.spatial.value import Value, joined
from kinetree.spatial.vector import Matrix, Number, Vector


class Sandwich:
    """The left half of X.T @ I @ X, waiting for the right half."""

    __slots__ = ("inertia", "transform")

    def __init__(self, transform: Transform, inertia: Any):
        self.transform = transform
        self.inertia = inertia

    def __matmul__(self, other: Transform) -> Any:
        if other is not self.transform:
            raise TypeError("X.T @ I @ Y needs the same transform on both sides")
        return self.inertia.congruence(other)


class Transform(Value):
    """X = [E 0; -E r~ E]: takes motions in predecessor coordinates to successor coordinates.

    `r` is the successor's origin in predecessor axes and E the coordinate rotation (the transpose of the
    successor's orientation). E is kept as factors, applied from first to last, because a constant placement
    followed by a joint rotation costs less than the dense product of the two.

        X @ motion     predecessor -> successor          X.T @ force      successor -> predecessor
        X2 @ X1        composition                       X.T @ I @ X      inertia, successor -> predecessor
    """

    __slots__ = ("factors", "source", "target", "translation")
    is_uniform = True
    adds_up = False

    def __init__(self, E: Matrix = vec.IDENTITY, r: Vector = vec.ZERO, spin: tuple | None = None):
        turn: tuple[Factor, ...] = () if spin is None else (Turn(*spin),)
        self.factors: tuple[Factor, ...] = turn if E is vec.IDENTITY else factors(E) + turn
        self.translation = r
        self.source: Any = None
        self.target: Any = None

    @classmethod
    def from_factors(cls, translation: Vector, parts: tuple[Factor, ...]) -> Transform:
        result = cls.__new__(cls)
        result.factors = parts
        result.translation = translation
        result.source = result.target = None
        return result

    @classmethod
    def identity(cls) -> Transform:
        return cls()

    @property
    def parts(self) -> tuple[Any, ...]:
        return (*self.translation, *(factor.parts for factor in self.factors))

    def with_parts(self, parts: Sequence[Any]) -> Transform:
        x, y, z, *numbers = parts
        turned = tuple(factor.with_parts(own) for factor, own in zip(self.factors, numbers, strict=True))
        return Transform.from_factors((x, y, z), turned)

    def uniform(self) -> Transform:
        """The same transform with its rotation as one dense factor."""
        if len(self.factors) == 1 and isinstance(self.factors[0], Dense):
            return self
        return Transform.from_factors(self.translation, (Dense(self.rotation),))

    def arrived(self, frame: Any) -> Transform:
        """The transform after a path has carried its source to `frame`."""
        return self.between(frame, None)

    def between(self, source: Any, target: Any) -> Transform:
        """The same transform, tagged as leading from frame `source` to frame `target`."""
        result = Transform.from_factors(self.translation, self.factors)
        result.source, result.target = source, target
        return result

    @property
    def rotation(self) -> Matrix:
        """The matrix E."""
        E: Matrix = vec.IDENTITY
        for factor in self.factors:
            E = vec.mat_mul(factor.matrix(), E)
        return E

    def turned(self, a: Vector) -> Vector:
        """E a."""
        for factor in self.factors:
            a = factor.apply(a)
        return a

    def turned_back(self, a: Vector) -> Vector:
        """E^T a."""
        for factor in reversed(self.factors):
            a = factor.undo(a)
        return a

    @property
    def T(self) -> Transposed:
        return Transposed(self)

    def inverse(self) -> Transform:
        """The transform from successor to predecessor."""
        parts = tuple(factor.inverse() for factor in reversed(self.factors))
        result = Transform.from_factors(vec.neg(self.turned(self.translation)), parts)
        result.source, result.target = self.target, self.source
        return result

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Motion):
            return self._motion(other)
        if isinstance(other, Transform):
            return self._after(other)
        if isinstance(other, Detached):
            return other
        return other.transformed(self)

    def _motion(self, m: Motion) -> Motion:
        joined(self.source, m.frame, "transform of a motion")
        at_origin = vec.add(m.linear, vec.cross(m.angular, self.translation))
        return Motion(self.turned(m.angular), self.turned(at_origin), self.target)

    def following(self, first: Transform) -> Transform:
        """self @ first with the rotation kept as factors, for a joint motion after a constant placement.

        Adjacent turns about the same axis are merged by the addition theorem.
        """
        shift = vec.add(first.translation, first.turned_back(self.translation))
        return Transform.from_factors(shift, adjoined(first.factors, self.factors))

    def turned_only(self) -> Transform:
        """From the successor to a frame at its origin whose axes are the predecessor's."""
        parts = tuple(factor.inverse() for factor in reversed(self.factors))
        return Transform.from_factors(vec.ZERO, parts).between(self.target, None)

    def shifted_only(self, predecessor: Transform, successor: Transform) -> Transform:
        """This transform between frames with world axes, given the poses of both bodies in the world."""
        return Transform(r=vec.sub(successor.translation, predecessor.translation))

    def held(self) -> Transform:
        """This transform in one common frame: the identity."""
        return Transform()

    def detached(self) -> Transform:
        """The pose of a detached part, which has no predecessor: the identity."""
        return Transform()

    def _after(self, first: Transform) -> Transform:
        joined(self.source, first.target, "composition of transforms")
        shift = vec.add(first.translation, first.turned_back(self.translation))
        result = Transform.from_factors(shift, _merged(first.factors + self.factors))
        result.source, result.target = first.source, self.target
        return result

    def apply_transposed(self, other: Any) -> Any:
        """X^T @ other: forces go from successor to predecessor; an inertia waits for its right half."""
        if isinstance(other, Force):
            joined(self.target, other.frame, "transposed transform of a force")
            linear = self.turned_back(other.linear)
            angular = vec.add(self.turned_back(other.angular), vec.cross(self.translation, linear))
            return Force(angular, linear, self.source)
        if isinstance(other, ForceSet):
            return ForceSet(self.apply_transposed(column) for column in other.columns)
        return Sandwich(self, other)

    def matrix(self) -> tuple[tuple[Number, ...], ...]:
        """The 6 x 6 matrix."""
        columns = [self._motion(Motion.from_components(e)).components for e in _UNIT6]
        return tuple(zip(*columns, strict=True))

    def numbers(self) -> tuple[tuple[Number, ...], ...]:
        return self.matrix()

    def pose(self) -> tuple[tuple[Number, ...], ...]:
        """The 4 x 4 matrix of the successor's pose in the predecessor: [R p; 0 1]."""
        R, p = vec.transpose(self.rotation), self.translation
        return (*((*R[k], p[k]) for k in range(3)), (0, 0, 0, 1))

    def carried(self, X: Transform) -> Transform:
        """self @ X: the transform to the same target from the predecessor, where X starts."""
        return self @ X

    def __repr__(self) -> str:
        return f"Transform(E={self.rotation}, r={self.translation})"


_UNIT6 = tuple(tuple(1 if i == j else 0 for i in range(6)) for j in range(6))


def _merged(parts: tuple[Factor, ...]) -> tuple[Factor, ...]:
    """At most one dense factor: a longer product of rotations is multiplied out."""
    if len(parts) < 2:
        return parts
    E: Matrix = vec.IDENTITY
    for factor in parts:
        E = vec.mat_mul(factor.matrix(), E)
    return factors(E)


class Detached(Value):
    """The transform of a part without a predecessor: motions arrive as zero, forces are not passed on."""

    __slots__ = ()
    is_uniform = True
    adds_up = False
    parts = ()

    def with_parts(self, parts: Sequence[Any]) -> Detached:
        return self

    def carried(self, X: Any) -> Detached:
        return self

    @property
    def T(self) -> Transposed:
        return Transposed(self)

    def __matmul__(self, other: Any) -> Any:
        return Motion() if isinstance(other, Motion) else other.detached()

    def apply_transposed(self, other: Any) -> None:
        return None

    def between(self, source: Any, target: Any) -> Detached:
        return self

    def shifted_only(self, predecessor: Any, successor: Any) -> Detached:
        return self

    def held(self) -> Detached:
        return self
