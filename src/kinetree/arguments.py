"""What a caller hands to a function of a model: arrays, checked once against the signature and the model."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from kinetree.errors import ShapeError
from kinetree.model import Model
from kinetree.sweep import Algorithm, Argument
from kinetree.sweep.algorithm import REQUIRED
from kinetree.sweep.vocabulary import meaning


def bound(
    algorithm: Algorithm, model: Model, args: tuple, keywords: dict[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The inputs as arrays by name (absent ones left out), and the static options."""
    if not isinstance(model, Model):
        raise ShapeError(
            f"{algorithm.name}: the first argument must be a kinetree Model, got a {type(model).__name__}"
        )
    needed = [a.name for a in algorithm.inputs if not a.optional]
    names = [*needed, *algorithm.options, *(a.name for a in algorithm.inputs if a.optional)]
    if len(args) > len(names):
        raise ShapeError(
            f"{algorithm.name}: takes at most {len(names)} arguments after the model "
            f"({', '.join(names)}), got {len(args)}"
        )
    given = dict(zip(names, args, strict=False))
    for name, value in keywords.items():
        if name not in names:
            raise ShapeError(
                f"{algorithm.name}: no argument {name!r}; it takes {', '.join(names)}, out and target"
            )
        if name in given:
            raise ShapeError(f"{algorithm.name}: argument {name!r} was given twice")
        given[name] = value
    arrays = {}
    for argument in algorithm.inputs:
        value = given.get(argument.name)
        if value is None:
            if not argument.optional:
                raise ShapeError(f"{algorithm.name}: argument {argument.name!r} is missing")
            continue
        arrays[argument.name] = as_array(algorithm.name, model, argument, value)
    options = {name: given.get(name, default) for name, default in algorithm.options.items()}
    for name, value in options.items():
        if value is REQUIRED:
            raise ShapeError(f"{algorithm.name}: argument {name!r} is missing")
    return arrays, options


def as_array(function: str, model: Model, argument: Argument, value: Any) -> np.ndarray:
    """`value` as an array whose last axes have the shape that the model needs; else ShapeError."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.asarray(value, dtype=object)
    if array.dtype.kind not in "fiubcO":
        raise ShapeError(f"{function}: {argument.name} holds {array.dtype} values, but numbers are needed")
    core = argument.sizes(model)
    if array.shape[array.ndim - len(core) :] != core or array.ndim < len(core):
        raise ShapeError(wrong_shape(function, model, argument, array.shape))
    if array.dtype.kind == "O" and any(x is None or isinstance(x, (str, bytes)) for x in array.flat):
        raise ShapeError(
            f"{function}: {argument.name} holds values that are no numbers: {array.ravel()[:3]!r} ..."
        )
    return array


def wrong_shape(function: str, model: Model, argument: Argument, shape: tuple[int, ...]) -> str:
    """What was given, what was expected, and why."""
    core = argument.sizes(model)
    needed = ", ".join(["...", *map(str, core)])
    return (
        f"{function}: {argument.name} has shape {shape} but model {model.name!r} needs ({needed}): "
        f"{_reason(model, argument)}."
    )


def _reason(model: Model, argument: Argument) -> str:
    """Which joints or bodies the needed numbers belong to."""
    dimension = argument.shape[0] if argument.shape else ""
    if dimension == "nb":
        return f"a wrench [moment; force] for each of its {model.nbodies} bodies"
    if dimension in ("nq", "nv"):
        return model.describe_coordinates(velocities=dimension == "nv")
    return "so many numbers for each state"


def taken(algorithm: Algorithm) -> list[tuple[str, Any, str, str]]:
    """(name, default, shape, meaning) of all arguments after the model, in the order of a call."""
    needed = [(a.name, REQUIRED, a.text, meaning(a.name)) for a in algorithm.inputs if not a.optional]
    options = [(name, default, "", meaning(name)) for name, default in algorithm.options.items()]
    optional = [(a.name, None, a.text, meaning(a.name)) for a in algorithm.inputs if a.optional]
    return needed + options + optional


def signature(algorithm: Algorithm) -> inspect.Signature:
    """How the function of a model is called."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [inspect.Parameter(name, kind, default=default) for name, default, _, _ in taken(algorithm)]
    common = [inspect.Parameter(name, keyword, default=None) for name in ("out", "target")]
    return inspect.Signature([inspect.Parameter("model", kind), *own, *common])


def documentation(algorithm: Algorithm) -> str:
    """The docstring of an algorithm with its arguments and results."""
    text = inspect.getdoc(algorithm.text) or ""
    body, _, reference = text.partition("\n\nReference:")
    rows = [
        f"    {name}{f' {shape}' if shape else ''}: {about}."
        for name, _, shape, about in taken(algorithm)
    ]
    results = ", ".join(f"{a.name} {a.text}" for a in algorithm.outputs)
    parts = [body, "Args:\n    model: the robot.\n" + "\n".join(rows), f"Returns:\n    {results}"]
    if reference:
        parts.append("Reference:" + reference)
    return "\n\n".join(parts)
