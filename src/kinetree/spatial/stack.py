"""Stacks: the spatial quantities of several bodies that are moved by one set of coordinates.

A stack applies every operation body by body, so an algorithm written for one body serves a group of them.
The only reductions are the transposed products: S.T @ F and X.T @ F sum over the bodies, because the group
has one set of coordinates and one predecessor.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.matrix import Factored, Transposed
from kinetree.spatial.motion import ForceSet
from kinetree.spatial.transform import Detached, Sandwich
from kinetree.spatial.value import Value


class Stack(Value):
    """One value for each body of a group."""

    __slots__ = ("values",)

    def __init__(self, values: Iterable[Any]):
        self.values = tuple(values)

    @property
    def parts(self) -> tuple[Any, ...]:
        return self.values

    def with_parts(self, parts: Sequence[Any]) -> Stack:
        return Stack(parts)

    def uniform(self) -> Stack:
        return Stack(value.uniform() for value in self.values)

    def carried(self, X: Any) -> Any:
        """What the bodies pass on to their predecessor: their sum, or a stack for transforms."""
        steps = X.values if isinstance(X, Stack) else (X,) * len(self.values)
        pairs = zip(self.values, steps, strict=True)
        if not self.values[0].adds_up:
            return Stack(value.carried(step) for value, step in pairs)
        return total(value.carried(step) for value, step in pairs if not isinstance(step, Detached))

    def tagged(self, frame: Any) -> Stack:
        return Stack(value.tagged(frame) for value in self.values)

    def between(self, source: Any, target: Any) -> Stack:
        return Stack(value.between(source, target) for value in self.values)

    def arrived(self, frame: Any) -> Stack:
        return Stack(value.arrived(frame) for value in self.values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        parts = [getattr(value, name) for value in self.values]
        if not callable(parts[0]):
            return Stack(parts)
        return lambda *args: Stack(
            part(*(a.values[k] if isinstance(a, Stack) else a for a in args)) for k, part in enumerate(parts)
        )

    def _with(self, other: Any, operation: Any) -> Stack:
        others = other.values if isinstance(other, Stack) else [other] * len(self.values)
        return Stack(operation(a, b) for a, b in zip(self.values, others, strict=True))

    def __matmul__(self, other: Any) -> Any:
        return other.multiplied(self) if isinstance(other, Stack) else self._with(other, operator.matmul)

    def multiplied(self, left: Stack) -> Any:
        """left @ self."""
        return left._with(self, operator.matmul)

    def each(self, function: Callable[[Any, Any], Any], others: Sequence[Any]) -> Stack:
        """`function(value, other)` for each body."""
        return Stack(function(a, b) for a, b in zip(self.values, others, strict=True))

    def __add__(self, other: Any) -> Stack:
        return self._with(other, operator.add)

    def __sub__(self, other: Any) -> Stack:
        return self._with(other, operator.sub)

    def __mul__(self, other: Any) -> Stack:
        return self._with(other, operator.mul)

    def __neg__(self) -> Stack:
        return Stack(-value for value in self.values)

    @property
    def columns(self) -> tuple[Stack, ...]:
        """The columns of the matrices of a group, each a stack."""
        return tuple(Stack(column) for column in zip(*(value.columns for value in self.values), strict=True))

    @property
    def T(self) -> Transposed:
        return Transposed(self)

    def apply_transposed(self, other: Any) -> Any:
        """The sum over the bodies of value.T @ other; detached parts contribute nothing."""
        if isinstance(other, LowRank):
            return other.sandwich(self)
        parts = [a.apply_transposed(b) for a, b in zip(self.values, other.values, strict=True)]
        parts = [part for part in parts if part is not None]
        if isinstance(parts[0], Sandwich):
            return StackSandwich(self, parts)
        return total(parts)

    def known_along(self, S: Stack, generalised: Any) -> Stack:
        """The same forces: a known sum says nothing about each of them."""
        return self

    def deflated(self, S: Stack, U: Stack, D: Factored) -> LowRank:
        """I - U D^-1 U^T for the whole group, kept as factors."""
        return self.lowered(U, D)

    def lowered(self, U: Stack, D: Factored) -> LowRank:
        """I - U D^-1 U^T for the whole group, kept as factors; D may be any matrix."""
        return LowRank(self, U, D)


def total(parts: Iterable[Any]) -> Any:
    """The sum of values of one type."""
    result: Any = None
    for part in parts:
        result = part if result is None else result + part
    return result


class StackSandwich:
    """The left half of X.T @ I @ X for a group."""

    __slots__ = ("parts", "transforms")

    def __init__(self, transforms: Stack, parts: list[Sandwich]):
        self.transforms = transforms
        self.parts = parts

    def __matmul__(self, other: Stack) -> Any:
        return total(part @ part.transform for part in self.parts)


class LowRank:
    """I - U D^-1 U^T of a group, which couples its bodies; kept factored until it reaches the predecessor."""

    __slots__ = ("D", "U", "inertias")

    def __init__(self, inertias: Stack, U: Stack, D: Factored):
        self.inertias, self.U, self.D = inertias, U, D

    def __matmul__(self, motions: Stack) -> Stack:
        return self.inertias @ motions - self.U @ self.D.solve(self.U.T @ motions)

    def sandwich(self, transforms: Stack) -> LowRankSandwich:
        return LowRankSandwich(self, transforms)


class LowRankSandwich:
    """The left half of X.T @ (I - U D^-1 U^T) @ X: congruences minus W D^-1 W^T with W = X.T @ U."""

    __slots__ = ("inertia", "transforms")

    def __init__(self, inertia: LowRank, transforms: Stack):
        self.inertia, self.transforms = inertia, transforms

    def __matmul__(self, other: Stack) -> ArticulatedInertia:
        whole = (other.T @ self.inertia.inertias) @ other
        if isinstance(whole, Inertia):
            whole = ArticulatedInertia.from_rigid(whole)
        W: ForceSet = other.T @ self.inertia.U
        return whole.lowered(W, self.inertia.D)
