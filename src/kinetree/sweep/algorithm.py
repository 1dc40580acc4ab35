"""`@algorithm`: a text over a sweep, with its signature, as an entry of the registry."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kinetree.errors import KinetreeError
from kinetree.sweep.vocabulary import Dimension, implied

REQUIRED = inspect.Parameter.empty  # the default of an option that must be given
_ARGUMENT = re.compile(r"\s*(\w+)(\?)?(?:\(([^)]*)\))?\s*")


@dataclass(frozen=True)
class Argument:
    """An input or output array: its name, core shape in terms of nq, nv, nb, and if it is optional."""

    name: str
    shape: tuple[Dimension, ...]
    optional: bool = False

    @property
    def text(self) -> str:
        """The shape as it is written: batch axes, then the core."""
        return f"({', '.join(['...', *map(str, self.shape)])})"

    def sizes(self, model: Any) -> tuple[int, ...]:
        """The core shape for one model."""
        known = {"nq": model.nq, "nv": model.nv, "nb": model.nbodies}
        return tuple(known[d] if isinstance(d, str) else d for d in self.shape)


@dataclass(frozen=True)
class Algorithm:
    """One algorithm of the registry: its text, its signature and what may be done with it.

    `pairs`: the result belongs to pairs of bodies (M, C, Gamma): it may be computed in one common frame.
    `options`: keyword arguments of the text with their defaults; they are fixed when a program is made.
    `invariant`: a scalar that follows from the mass matrix, whatever frames and inertias give that matrix.
    """

    name: str
    text: Callable[..., Any]
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    pairs: bool = False
    options: dict[str, Any] = field(default_factory=dict, hash=False)
    invariant: bool = False

    @property
    def is_generalised(self) -> bool:
        """True if inputs and outputs are functions of the coordinates alone, whatever the bodies' frames."""
        shapes = [a.shape for a in self.inputs if not a.optional] + [a.shape for a in self.outputs]
        plain = not self.options and all(shape and set(shape) <= {"nq", "nv"} for shape in shapes)
        return plain or self.invariant

    def __repr__(self) -> str:
        inputs = ", ".join(a.name + "?" * a.optional for a in self.inputs)
        return f"<algorithm {self.name}: {inputs} -> {', '.join(a.name for a in self.outputs)}>"


REGISTRY: dict[str, Algorithm] = {}


def algorithm(
    signature: str, *, pairs: bool = False, invariant: bool = False
) -> Callable[[Callable[..., Any]], Algorithm]:
    """Declare an algorithm: `@algorithm("q, v, a, f_ext? -> tau")` over `def name(tree, q, v, a, f_ext)`.

    A name with ? may be absent, and then reads as zero; `name(nv, 6)` gives dimensions that the name alone
    does not imply. Keyword-only parameters of the text are static options.
    """
    left, _, right = signature.partition("->")

    def declare(text: Callable[..., Any]) -> Algorithm:
        parameters = inspect.signature(text).parameters.values()
        options = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        inputs, outputs = _arguments(left), _arguments(right)
        entry = Algorithm(text.__name__, text, inputs, outputs, pairs, options, invariant)
        names = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY][1:]
        if names != [a.name for a in entry.inputs]:
            raise TypeError(
                f"{text.__name__}: the signature {signature!r} does not match the parameters {names}"
            )
        REGISTRY[entry.name] = entry
        return entry

    return declare


def choice(name: str, value: Any, *choices: Any) -> Any:
    """The value of an option that must be one of a few; anything else is a KinetreeError that lists them."""
    if value not in choices:
        raise KinetreeError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")
    return value


def _arguments(part: str) -> tuple[Argument, ...]:
    found = []
    position = 0
    while position < len(part) and part[position:].strip():
        match = _ARGUMENT.match(part, position)
        if match is None:
            raise TypeError(f"cannot read the signature {part!r} from {part[position:]!r} on")
        name, optional, dimensions = match.groups()
        if dimensions is None:
            shape = implied(name)
        else:
            words = [word.strip() for word in dimensions.split(",") if word.strip()]
            shape = tuple(int(word) if word.isdigit() else word for word in words)
        found.append(Argument(name, shape, bool(optional)))
        position = match.end() + 1  # skip the comma
    return tuple(found)
