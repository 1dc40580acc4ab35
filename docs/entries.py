"""Entries of the reference: a function of a model, a function, a class with its members, a namespace."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from types import ModuleType
from typing import Any

from docs.examples import EXAMPLES, VALUES

import kinetree as kt
from docs import docstrings
from kinetree.joints import Joint
from kinetree.model.shapes import Shape
from kinetree.spatial.value import Value
from kinetree.stages import Function
from kinetree.stages.arguments import taken
from kinetree.sweep import REQUIRED
from kinetree.sweep.algorithm import Algorithm
from kinetree.sweep.signature import MODEL_INPUTS

COMMON = [*(a.name for a in MODEL_INPUTS), "out", "target"]  # keywords of every function of a model


def entry(name: str) -> list[str]:
    """What the reference says of a public name."""
    value = found(name)
    name = name.rpartition(":")[2]
    if isinstance(value, Function):
        return of_a_model(name, value)
    if isinstance(value, ModuleType):
        return namespace(name, value)
    if isinstance(value, type):
        return of_a_class(name, value)
    if not callable(value):
        return [*of_an_object(name, value)]
    return plain(f"## {name}", f"kt.{name}", name, value)


def found(name: str) -> Any:
    """A public name, or what another one returns or is built on, written as `module:name`."""
    module, colon, name = name.rpartition(":")
    return getattr(importlib.import_module(module), name) if colon else getattr(kt, name)


def of_an_object(name: str, value: Any) -> Iterator[str]:
    """An object that is there once: its docstring and an example."""
    yield from (f"## {name}", "", docstrings.summary(value), "", *spaced(docstrings.body(value)))
    yield from fence("python", EXAMPLES[name])


def of_a_model(name: str, value: Function) -> list[str]:
    """A function of a model: what it gives, the equation, the arguments with shapes and units, its body."""
    written = getattr(value, "body", value)
    outputs = ", ".join(f"`{a.name}` {a.text}" for a in value.outputs)
    lines = [
        f"## {name}",
        "",
        docstrings.summary(written),
        "",
        *fence("py", call_form(f"kt.{name}", inspect.signature(value), set(COMMON))),
        *spaced(docstrings.body(written, arguments=False)),
        *arguments(value),
        "",
        f"**Returns** {outputs}.",
        "",
        *fence("python", EXAMPLES.get(name) or example(name, value)),
    ]
    algorithm = getattr(value, "algorithm", None)
    if isinstance(algorithm, Algorithm):
        lines += ['??? note "The body"', "", *indented(fence("py", docstrings.code(written)))]
    return lines


def arguments(value: Function) -> list[str]:
    """The table of the arguments that are not common to all functions."""
    rows = [row for row in taken(value) if row[0] not in COMMON]
    return [
        "| argument | shape | meaning |",
        "|---|---|---|",
        "| `model` | | the robot |",
        *(f"| `{name}` | {shape} | {about}{given(default)} |" for name, default, shape, about in rows),
    ]


def given(default: Any) -> str:
    return "" if default is REQUIRED or default is None else f"; default `{default!r}`"


def example(name: str, value: Function) -> str:
    """A call of a function of a model with the values that every page begins with."""
    required = [n for n, default, *_ in taken(value) if default is REQUIRED and n not in COMMON]
    written = ", ".join(VALUES[n] for n in required)
    outputs = ", ".join(a.name for a in value.outputs)
    return f"{outputs} = kt.{name}(robot, {written})"


def plain(heading: str, called: str, key: str, value: Any, hide: int = 0) -> list[str]:
    """A function or method: how it is called, its docstring, an example."""
    parameters = list(inspect.signature(value).parameters.values())[hide:]
    signature = inspect.signature(value).replace(parameters=parameters)
    return [
        heading,
        "",
        docstrings.summary(value),
        "",
        *fence("py", call_form(called, signature)),
        *spaced(docstrings.body(value)),
        *(fence("python", EXAMPLES[key]) if key in EXAMPLES else []),
    ]


def of_a_class(name: str, value: type) -> list[str]:
    """A class: how it is made, then each member."""
    lines = [f"## {name}", "", docstrings.summary(value), ""]
    if hasattr(kt, name) and name not in MADE_ELSEWHERE:
        lines += fence("py", call_form(f"kt.{name}", constructor(value)))
    lines += spaced(docstrings.body(value))
    lines += fence("python", EXAMPLES[name]) if name in EXAMPLES else []
    for member in members(value):
        lines += of_a_member(name, value, member)
    return lines


MADE_ELSEWHERE = ("Model", "Trajectory", "Function")


def constructor(value: type) -> inspect.Signature:
    found = inspect.signature(value.__init__)  # type: ignore[misc]
    return found.replace(parameters=list(found.parameters.values())[1:], return_annotation=found.empty)


def members(value: type) -> list[str]:
    """The public members of a class, in the order of definition.

    Those that all joints have are in the entry of Joint, those of all spatial values in that of Value, those
    of all shapes in that of Shape.
    """
    if issubclass(value, Joint) and value is not Joint:
        return []
    hidden = {
        name
        for base in (Value, Shape)
        if issubclass(value, base) and value is not base
        for name in vars(base)
    }
    classes = reversed(value.__mro__[:-1])
    names = dict.fromkeys(name for cls in classes for name in vars(cls) if not name.startswith("_"))
    return [name for name in names if is_documented(value, name) and name not in hidden]


def is_documented(value: type, name: str) -> bool:
    """Methods and properties; plain attributes are in the table of the class."""
    found = inspect.getattr_static(value, name)
    return isinstance(found, (property, cached_property, staticmethod, classmethod)) or inspect.isfunction(
        found
    )


def of_a_member(owner: str, value: type, name: str) -> list[str]:
    """A method or property of a class."""
    found = inspect.getattr_static(value, name)
    key = f"{owner}.{name}"
    if isinstance(found, (property, cached_property)):
        text = [docstrings.summary(found), "", *spaced(docstrings.body(found))]
        return [f"### {key}", "", *text, *(fence("python", EXAMPLES[key]) if key in EXAMPLES else [])]
    bound = isinstance(found, (staticmethod, classmethod))
    called = f"kt.{key}" if bound else f"{VALUES.get(owner, owner.lower())}.{name}"
    method = found.__func__ if bound else found
    return plain(f"### {key}()", called, key, method, hide=0 if isinstance(found, staticmethod) else 1)


def namespace(name: str, value: ModuleType) -> list[str]:
    """A public module: what it is, and each of its names."""
    lines = [f"## {name}", "", docstrings.summary(value), "", *spaced(docstrings.body(value))]
    lines += fence("python", EXAMPLES[name])
    for own in public(value):
        lines += of_a_namespace(f"{name}.{own}", getattr(value, own))
    return lines


def public(module: ModuleType) -> list[str]:
    """The names of a public module that are defined in this package, in the order of its `__all__`."""
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    return [
        name
        for name in names
        if callable(getattr(module, name)) or isinstance(getattr(module, name), ModuleType)
    ]


def of_a_namespace(key: str, value: Any) -> list[str]:
    if isinstance(value, type):
        made = [] if issubclass(value, Exception) else fence("py", call_form(f"kt.{key}", constructor(value)))
        text = [docstrings.summary(value), "", *made, *spaced(docstrings.body(value))]
        return [f"### {key}", "", *text, *(fence("python", EXAMPLES[key]) if key in EXAMPLES else [])]
    return plain(f"### {key}()", f"kt.{key}", key, value)


def call_form(called: str, signature: inspect.Signature, hidden: set[str] = frozenset()) -> str:  # type: ignore[assignment]
    """A signature as it is called, without the names of types; one argument a line if it is long."""
    parts: list[str] = []
    for p in signature.parameters.values():
        if p.name in hidden:
            continue
        if p.kind is p.KEYWORD_ONLY and "*" not in parts and not any(x.startswith("*") for x in parts):
            parts.append("*")
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default in (p.empty, REQUIRED) else f"={shown(p.default)}"
        parts.append(f"{star}{p.name}{default}")
    result = signature.return_annotation
    arrow = f" -> {result}" if isinstance(result, str) and result not in ("None", "Any") else ""
    line = f"{called}({', '.join(parts)}){arrow}"
    if len(line) <= 100:
        return line
    return (
        f"{called}(\n    {', '.join(parts)},\n){arrow}"
        if len(line) <= 130
        else (f"{called}(\n" + "".join(f"    {part},\n" for part in parts) + f"){arrow}")
    )


def shown(default: Any) -> str:
    """A default value; what has no short form is left to the text."""
    text = repr(default)
    return text if len(text) < 40 and not text.startswith("<") else "..."


def fence(kind: str, text: str) -> list[str]:
    return [f"```{kind}", text, "```", ""]


def spaced(blocks: Iterator[str]) -> list[str]:
    return [line for block in blocks for line in (block, "")]


def indented(lines: list[str]) -> list[str]:
    return [re.sub(r"^(?=.)", "    ", line, flags=re.M) for line in lines]
