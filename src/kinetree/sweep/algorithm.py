"""`@algorithm`: a body over a sweep, with its signature, as an entry of the registry."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from kinetree.errors import KinetreeError
from kinetree.sweep.signature import Argument, read

DEEP = 32  # nodes from the world to a tip, from which on bodies for deep trees pay


@dataclass(frozen=True)
class Algorithm:
    """One algorithm of the registry: its body, its signature and what may be done with it.

    `pairs`: the result belongs to pairs of bodies (M, C, Gamma): it may be computed in one common frame.
    `options`: keyword arguments of the body with their defaults; they are fixed when a program is made.
    `invariant`: the result follows from the equations of motion, whatever frames and inertias give these, and
    options do not change that.
    `deep`: another body with the same result, which costs less in trees that are deeper than `DEEP` nodes.
    `columns`: how many matrices of nv columns it solves for, which is what takes most of its operations.
    `touching`: points of the bodies touch the ground: it matters where these are, and loops are its own.
    `result`: the type of a result of several parts, as a NamedTuple is; a plain tuple if None.
    `order`: the names of inputs and options in the order of a call; as a rule what must be given, then
    optional inputs, then options. An optional input that comes after an option can be given by name only.
    """

    name: str
    body: Callable[..., Any]
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    pairs: bool = False
    options: dict[str, Any] = field(default_factory=dict, hash=False)
    invariant: bool = False
    order: tuple[str, ...] = ()
    result: Callable[..., Any] | None = None
    deep: Callable[..., Any] | None = None
    columns: int = 0
    touching: bool = False

    def for_depth(self, depth: int) -> Algorithm:
        """The algorithm with the body that suits a tree of some depth."""
        return self if self.deep is None or depth <= DEEP else replace(self, body=self.deep)

    @property
    def is_generalised(self) -> bool:
        """True if inputs and outputs are functions of the coordinates alone, whatever the bodies' frames."""
        shapes = [a.shape for a in self.inputs if not a.optional] + [a.shape for a in self.outputs]
        free = {"nq", "nv", "nu", "triples"}
        plain = not self.options and all(shape and set(shape) <= free for shape in shapes)
        return plain or self.invariant

    def __repr__(self) -> str:
        inputs = ", ".join(a.name + "?" * a.optional for a in self.inputs)
        return f"<algorithm {self.name}: {inputs} -> {', '.join(a.name for a in self.outputs)}>"


REGISTRY: dict[str, Algorithm] = {}


def algorithm(
    signature: str,
    *,
    pairs: bool = False,
    invariant: bool = False,
    order: str = "",
    listed: bool = True,
    **more: Any,
) -> Callable[[Callable[..., Any]], Algorithm]:
    """Declare an algorithm: `@algorithm("q, v, a, f_ext? -> tau")` over `def name(tree, q, v, a, f_ext)`.

    A name with ? may be absent, and then reads as zero; `name(nv, 6)` gives dimensions that the name alone
    does not imply. Keyword-only parameters of the body are static options. `listed`: False for what is only a
    part of functions, and not in the registry. The rest as in `Algorithm`.
    """

    def declare(body: Callable[..., Any]) -> Algorithm:
        inputs, outputs = read(signature)
        parameters = inspect.signature(body).parameters.values()
        options = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        names = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY][1:]
        if names != [a.name for a in inputs]:
            raise TypeError(
                f"{body.__name__}: the signature {signature!r} does not match the parameters {names}"
            )
        called = tuple(order.split())
        entry = Algorithm(body.__name__, body, inputs, outputs, pairs, options, invariant, called, **more)
        if listed:
            REGISTRY[entry.name] = entry
        return entry

    return declare


def choice(name: str, value: Any, *choices: Any) -> Any:
    """The value of an option that must be one of a few; anything else is a KinetreeError that lists them."""
    if value not in choices:
        raise KinetreeError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")
    return value
