"""Spatial motion and force vectors (angular part first), and sets of force columns."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, ClassVar, Self

from kinetree.spatial import vector as vec
from kinetree.spatial.matrix import Coordinates, Matrix, Transposed
from kinetree.spatial.value import Value, joined
from kinetree.spatial.vector import Number, Vector


class _Spatial(Value):
    """Six numbers, [angular; linear], and the frame in which they are expressed."""

    __slots__ = ("angular", "frame", "linear")
    is_uniform = is_linear = True

    def __init__(self, angular: Vector = vec.ZERO, linear: Vector = vec.ZERO, frame: Any = None):
        self.angular = angular
        self.linear = linear
        self.frame = frame

    @classmethod
    def from_components(cls, values: Iterable[Number], frame: Any = None):
        """The vector with the six components [angular; linear]."""
        a, b, c, d, e, f = values
        return cls((a, b, c), (d, e, f), frame)

    @property
    def components(self) -> tuple[Number, ...]:
        return self.angular + self.linear

    @property
    def parts(self) -> tuple[Number, ...]:
        return self.components

    def with_parts(self, parts):
        return type(self).from_components(parts)

    def numbers(self) -> tuple[Number, ...]:
        return self.components

    def __add__(self, other):
        frame = joined(self.frame, other.frame, "sum of spatial vectors")
        return type(self)(vec.add(self.angular, other.angular), vec.add(self.linear, other.linear), frame)

    def __sub__(self, other):
        frame = joined(self.frame, other.frame, "difference of spatial vectors")
        return type(self)(vec.sub(self.angular, other.angular), vec.sub(self.linear, other.linear), frame)

    def __neg__(self):
        return type(self)(vec.neg(self.angular), vec.neg(self.linear), self.frame)

    def __mul__(self, s: Number):
        return type(self)(vec.scale(self.angular, s), vec.scale(self.linear, s), self.frame)

    __rmul__ = __mul__

    def tagged(self, frame: Any):
        """The same components, said to be expressed in `frame`."""
        return type(self)(self.angular, self.linear, frame)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.angular}, {self.linear})"


class Motion(_Spatial):
    """A velocity, an acceleration or a joint axis: [omega; v] at the frame's origin."""

    __slots__ = ()

    def cross(self, other: Motion) -> Motion:
        """The motion product V x W: how a motion that moves with V changes."""
        frame = joined(self.frame, other.frame, "motion cross product")
        w, v = self.angular, self.linear
        return Motion(
            vec.cross(w, other.angular), vec.add(vec.cross(w, other.linear), vec.cross(v, other.angular)),
            frame
        )

    def cross_star(self, force: Force) -> Force:
        """The force product V x* F: how a force that moves with V changes."""
        frame = joined(self.frame, force.frame, "force cross product")
        w, v = self.angular, self.linear
        return Force(
            vec.add(vec.cross(w, force.angular), vec.cross(v, force.linear)), vec.cross(w, force.linear),
            frame
        )

    def dot(self, force: Force) -> Number:
        """The power of a force over this motion."""
        joined(self.frame, force.frame, "power")
        return vec.dot(self.angular, force.angular) + vec.dot(self.linear, force.linear)

    @property
    def T(self) -> Transposed:
        return Transposed(self)

    def apply_transposed(self, force: Force) -> Number:
        """V^T F: the power, summed over a group of bodies if these are stacks."""
        return self.dot(force)

    def classical(self, velocity: Motion) -> Motion:
        """A + [0; omega x v]: the acceleration of the body's origin, for the spatial acceleration A."""
        point = vec.add(self.linear, vec.cross(velocity.angular, velocity.linear))
        return Motion(self.angular, point, self.frame)


class Force(_Spatial):
    """A wrench or a momentum: [moment about the frame's origin; force]."""

    __slots__ = ()

    def dot(self, motion: Motion) -> Number:
        return motion.dot(self)

    def known_along(self, S: Any, generalised: Iterable[Number]) -> Force:
        """The same force with its known S^T F inserted where a column of S is a coordinate direction."""
        values = list(self.components)
        for (place, factor), value in zip(S.directions, generalised, strict=True):
            if place is not None:
                values[place] = value if factor == 1 else value / factor
        return Force.from_components(values, self.frame)

    def behind(self, X: Any) -> Force:
        """X^T F of one body, in predecessor coordinates; not summed over a group."""
        return X.apply_transposed(self)

    carried = behind

    def cross_bar_star(self, motion: Motion) -> Force:
        """The third cross product, (F x-bar*) V = V x* F."""
        return motion.cross_star(self)


class Columns(Value):
    """A 6 x k matrix by its columns, all of one type."""

    __slots__ = ("columns",)
    of: ClassVar[Any]  # the type of the columns

    def __init__(self, columns: Iterable[Any] = ()):
        self.columns = tuple(columns)

    @property
    def parts(self) -> tuple[Any, ...]:
        return self.columns

    def with_parts(self, parts: Sequence[Any]) -> Self:
        return type(self)(parts)

    def numbers(self) -> tuple:
        return tuple(zip(*(column.components for column in self.columns), strict=True)) or ((),) * 6

    def tagged(self, frame: Any) -> Self:
        return type(self)(column.tagged(frame) for column in self.columns)

    def __matmul__(self, x: Iterable[Number]) -> Any:
        products = [column * value for column, value in zip(self.columns, x, strict=True)]
        return reduce(operator.add, products) if products else self.of()

    @property
    def T(self) -> Transposed:
        return Transposed(self)

    def apply_transposed(self, other: Any) -> Any:
        """The products with one vector as coordinates, with other columns as a block."""
        if isinstance(other, _Spatial):
            return Coordinates(column.dot(other) for column in self.columns)
        return Matrix([column.dot(vector) for vector in other.columns] for column in self.columns)

    def __add__(self, other: Any) -> Self:
        return type(self)(a + b for a, b in zip(self.columns, other.columns, strict=True))

    def __sub__(self, other: Any) -> Self:
        return type(self)(a - b for a, b in zip(self.columns, other.columns, strict=True))

    def __neg__(self) -> Self:
        return type(self)(-a for a in self.columns)


class ForceSet(Columns):
    """The columns of a 6 x k matrix of forces, such as U = I S."""

    __slots__ = ()
    of = Force

    def carried(self, X: Any) -> ForceSet:
        return X.apply_transposed(self)
