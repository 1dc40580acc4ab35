"""Signatures of functions of a model, such as "q, v, goal(3), f_ext? -> tau, J(6, nv)"."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kinetree.model.sparsity import paths_of
from kinetree.sweep.vocabulary import Dimension, implied

REQUIRED = inspect.Parameter.empty  # the default of an option that must be given
_ARGUMENT = re.compile(r"\s*([A-Za-z]\w*)(\?)?(?:\(([^)]*)\))?\s*(?:,|$)")
_DIMENSION = re.compile(r"\d+|[A-Za-z]\w*|\d+ [A-Za-z]\w*")


@dataclass(frozen=True)
class Argument:
    """An input or output array: its name, core shape, and whether it is optional.

    A dimension is a number; nq, nv, nu (velocities of all joints), nb (bodies), nr (rotors), nc (closure
    constraints), points (contact points, with the ground or between bodies), triples (of velocities on one
    path); the name of an option, for its length ("frames"); or a multiple of one of these ("6 frames").
    """

    name: str
    shape: tuple[Dimension, ...]
    optional: bool = False

    @property
    def text(self) -> str:
        """The shape as text: batch axes, then the core."""
        return f"({', '.join(['...', *map(str, self.shape)])})"

    def sizes(self, model: Any, options: Mapping[str, Any] | None = None) -> tuple[int, ...]:
        """The core shape for one model and choice of options."""
        return tuple(_size(d, model, options or {}) for d in self.shape)

    def length(self, model: Any, options: Mapping[str, Any] | None = None) -> int:
        """The number of entries for one state."""
        return math.prod(self.sizes(model, options))


# Every function of a model takes these instead of the model's own numbers.
MODEL_INPUTS = tuple(Argument(name, implied(name), optional=True) for name in ("parameters", "gravity"))


def _size(dimension: Dimension, model: Any, options: Mapping[str, Any]) -> int:
    if isinstance(dimension, int):
        return dimension
    factor, _, name = dimension.rpartition(" ")
    size = SIZES[name](model) if name in SIZES else sum(_rows(part, model) for part in options[name])
    return int(factor or 1) * size


def _rows(part: Any, model: Any) -> int:
    """The number of entries that one part of an option stands for: one, unless it has a method `rows`."""
    return part.rows(model) if hasattr(part, "rows") else 1


# The sizes of named dimensions.
SIZES: dict[str, Callable[[Any], int]] = {
    "nq": lambda model: model.nq, "nv": lambda model: model.nv, "nb": lambda model: model.nbodies,
    "nu": lambda model: model.nu, "nc": lambda model: len(model.closure_names),
    "nr": lambda model: len(model.rotors), "triples": lambda model: paths_of(model).count,
    "points": lambda model: len(model.contact_points) + len(model.pair_points),
}  # fmt: skip


def read(signature: str) -> tuple[tuple[Argument, ...], tuple[Argument, ...]]:
    """The inputs and outputs of a signature."""
    left, arrow, right = signature.partition("->")
    if not arrow or not right.strip():
        raise TypeError(f"the signature {signature!r} names no result: write inputs -> outputs")
    return arguments(left), arguments(right)


def arguments(part: str) -> tuple[Argument, ...]:
    """The arguments that one side of a signature names."""
    found = []
    position = 0
    while part[position:].strip():
        match = _ARGUMENT.match(part, position)
        if match is None:
            raise TypeError(f"cannot read the signature {part!r} from {part[position:]!r} on")
        name, optional, dimensions = match.groups()
        if dimensions is None:
            shape = implied(name)
        else:
            words = [" ".join(word.split()) for word in dimensions.split(",") if word.strip()]
            if not all(_DIMENSION.fullmatch(word) for word in words):
                raise TypeError(f"cannot read the dimensions ({dimensions}) of {name} in {part!r}")
            shape = tuple(int(word) if word.isdigit() else word for word in words)
        found.append(Argument(name, shape, bool(optional)))
        position = match.end()
    return tuple(found)
