"""The contract of all spatial values: what executors need to know of them, and nothing of their physics.

A value says what it is made of (`parts`, `with_parts`), what its zero is (`zero`), how it goes from a body to
the predecessor (`carried`), how it looks as an array (`numbers`), and whether all values of its type have the
same form. Storage, sweeps and interpreters rely on these alone and name no type, so a new type is one file.

A value may carry a tag for the frame it is expressed in, any object; None is untagged and fits everything.
Sweeps tag what they hand out, so adding a force in body 3's axes to one in its parent's axes raises an error
at once, eagerly and while tracing. In compiled code the tags cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from kinetree.errors import FrameError, TraceError
from kinetree.spatial.reading import stacked

Builder = Callable[[Iterator[Any]], Any]


class Value:
    """A quantity of one body, of a joint, or of two nodes; see the module docstring."""

    __slots__ = ()
    __array_ufunc__ = None  # an array times a value is a value: the array is a batch of numbers

    # All values of the type have the same number of parts (after `uniform()`), whatever their joint, so they
    # can be read from a body whose joint is not known.
    is_uniform: ClassVar[bool] = False
    # The numbers of a sum are the sums of the numbers.
    is_linear: ClassVar[bool] = False
    # What the bodies of a group pass on to their one predecessor is summed.
    adds_up: ClassVar[bool] = True

    @property
    def parts(self) -> tuple[Any, ...]:
        """The numbers and values that this one is made of."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it is made of")

    def with_parts(self, parts: Sequence[Any]) -> Self:
        """A value of the same form with other parts, in no particular frame."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is made")

    @classmethod
    def zero(cls) -> Self:
        """The value of the world, and of a sum of nothing."""
        return cls()

    @classmethod
    def promoted(cls, value: Any) -> Any:
        """A value that can be added to one of this type, converted to this type."""
        return value

    def uniform(self) -> Self:
        """The same value in the form that all values of a uniform type share."""
        return self

    def carried(self, X: Any) -> Any:
        """The value in the coordinates of the predecessor, where X starts; None if nothing is passed on."""
        raise TraceError(f"a {type(self).__name__} does not go along a path")

    def numbers(self) -> Any:
        """The value as nested sequences of numbers: vectors by component, matrices by row."""
        raise TraceError(f"a {type(self).__name__} has no array form")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """`numpy.asarray(value)`: vectors (..., 6), matrices by row (..., 6, n); batch axes lead."""
        result = stacked(_tuples(self.numbers()))
        return result if dtype is None else result.astype(dtype)

    def tagged(self, frame: Any) -> Self:
        """The same numbers, said to be expressed in `frame`."""
        return self

    def between(self, source: Any, target: Any) -> Any:
        """The same numbers, of a body with frame `target` whose predecessor has the frame `source`."""
        return self.tagged(target)

    def arrived(self, frame: Any) -> Any:
        """The same numbers, of a value that a path has carried to the body with this frame."""
        return self.tagged(frame)


class Tensor(Value):
    """A value like an inertia, with a `matrix()`; a path carries it by `congruence(X)`, X^T value X."""

    __slots__ = ()
    matrix: Callable[[], Any]
    congruence: Callable[[Any], Any]

    def carried(self, X: Any) -> Any:
        return self.congruence(X)

    def numbers(self) -> Any:
        return self.matrix()


class Tuple(tuple, Value):
    """A value that is a tuple of its parts."""

    __slots__ = ()

    @property
    def parts(self) -> tuple[Any, ...]:
        return tuple(self)

    def with_parts(self, parts: Sequence[Any]) -> Self:
        return type(self)(parts)


def take_apart(value: Any) -> tuple[list[Any], Builder]:
    """The numbers of a value in a fixed order, and a function that rebuilds its form from such numbers.

    A value is a number, a `Value`, or a tuple or list of values.
    """
    numbers: list[Any] = []
    return numbers, _visit(value, numbers)


def _visit(value: Any, out: list[Any]) -> Builder:
    if not isinstance(value, (Value, tuple, list)):
        out.append(value)
        return next
    build = value.with_parts if isinstance(value, Value) else type(value)
    builders = [_visit(part, out) for part in (value.parts if isinstance(value, Value) else value)]
    return lambda numbers: build([builder(numbers) for builder in builders])


def _tuples(x: Any) -> Any:
    return tuple(map(_tuples, x)) if isinstance(x, (tuple, list)) else x


def as_numbers(value: Any) -> Any:
    """A value or a plain number in the form it has in arrays."""
    return value.numbers() if isinstance(value, Value) else value


def joined(a: Any, b: Any, what: str) -> Any:
    """The common frame of two tags, or FrameError."""
    if a is b or b is None:
        return a
    if a is None:
        return b
    raise FrameError(
        f"{what}: one operand is expressed in the frame of {a}, the other in the frame of {b}. "
        "Transform one of them first: X @ motion takes it to the successor, X.T @ force to the predecessor."
    )
