"""`@algorithm`: a body over a sweep, with its signature, as an entry of the registry."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from kinetree.errors import KinetreeError
from kinetree.sweep.signature import Argument, read

DEEP = 32  # depth, in nodes from the world to a tip, beyond which the `deep` body of an algorithm is used


@dataclass(frozen=True)
class Algorithm:
    """One algorithm of the registry: its body, its signature and what may be done with it.

    `pairs`: the result belongs to pairs of bodies (M, C, Gamma), so it may be computed in one common frame.
    `options`: keyword arguments of the body with their defaults; they are fixed when a program is compiled.
    `invariant`: the result depends only on the equations of motion, not on the frames and inertias behind
    them, whatever the options.
    `deep`: an alternative body with the same result, cheaper in trees deeper than `DEEP` nodes.
    `columns`: number of matrices with nv columns that it solves for; these take most of its operations.
    `touching`: it computes contact: bodies that can touch keep their frames, and the body has its own loops.
    `result`: the type of a result with several parts, such as a NamedTuple; None for a plain tuple.
    `order`: names of inputs and options in call order; by default required ones, then optional inputs, then
    options. An optional input that comes after an option can be given by name only.
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
        """The algorithm with the body that suits a tree of this depth."""
        return self if self.deep is None or depth <= DEEP else replace(self, body=self.deep)

    @property
    def is_generalised(self) -> bool:
        """True if inputs and outputs depend on the coordinates alone, not on the frames of the bodies."""
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

    A name with ? is optional and reads as zero if absent; `name(nv, 6)` gives dimensions that the name alone
    does not imply. Keyword-only parameters of the body are static options. `listed=False` keeps a building
    block of other functions out of the registry. The other arguments are those of `Algorithm`.
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
    """The value of an option, checked: a KinetreeError lists the choices if it is not one of them."""
    if value not in choices:
        raise KinetreeError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")
    return value
