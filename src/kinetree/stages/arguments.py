"""The arguments of a function of a model, checked once against the signature and the model."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.compiler.runtime.batching import refuse_masked
from kinetree.compiler.runtime.on_device import is_on_device
from kinetree.errors import ArgumentError, CompileError, ShapeError
from kinetree.model import Model
from kinetree.sweep.signature import MODEL_INPUTS, REQUIRED, Argument
from kinetree.sweep.vocabulary import meaning

if TYPE_CHECKING:
    from kinetree.stages.function import Function

NO_NUMBERS = (str, bytes, list, tuple, set, frozenset, Mapping)  # types that are refused in arrays of objects


def bound(
    function: Function, model: Model, args: tuple, keywords: dict[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The inputs as arrays by name (absent ones left out), and the static options."""
    given, options = named(function, model, args, keywords)
    arrays = {
        argument.name: as_array(function.name, model, argument, given[argument.name], options)
        for argument in function.inputs
        if argument.name in given
    }
    return arrays, options


def named(
    function: Function, model: Model, args: tuple, keywords: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The inputs of a call by name, as they were given (absent ones left out), and the static options."""
    if not isinstance(model, Model):
        raise ArgumentError(
            f"{function.name}: the first argument must be a kinetree Model, got a {type(model).__name__}"
        )
    names, count = function.order, positional(function)
    if len(args) > count:
        rest = f"; give {', '.join(names[count:])} by name" if names[count:] else ""
        raise ArgumentError(
            f"{function.name}: takes at most {count} arguments after the model "
            f"({', '.join(names[:count])}), got {len(args)}{rest}"
        )
    given = dict(zip(names, args, strict=False))
    for name, value in keywords.items():
        if name not in names and name not in (a.name for a in MODEL_INPUTS):
            raise ArgumentError(
                f"{function.name}: no argument {name!r}; it takes {', '.join(names)}, parameters, gravity, "
                "out and target"
            )
        if name in given:
            raise ArgumentError(f"{function.name}: argument {name!r} was given twice")
        given[name] = value
    given = function.prepare(given)
    options = chosen(
        function, {name: given[name] for name in function.options if name in given}, function.name
    )
    for argument in function.inputs:
        if given.get(argument.name) is None and not argument.optional:
            raise ArgumentError(f"{function.name}: argument {argument.name!r} is missing")
    names = [argument.name for argument in function.inputs]
    return {name: given[name] for name in names if given.get(name) is not None}, options


def chosen(
    function: Function, options: Mapping[str, Any], caller: str, *, complete: bool = True
) -> dict[str, Any]:
    """A value for every option of a function: the given ones and the defaults.

    `complete`: an option without a value is an error.
    """
    for name in options:
        if name not in function.options:
            known = f"it has {', '.join(function.options)}" if function.options else "it has none"
            raise CompileError(f"{caller}: {function.name} has no option {name!r}; {known}")
    found = function.options | {name: _several(name, value) for name, value in options.items()}
    for name, value in found.items():
        if isinstance(value, (dict, set)):
            raise ArgumentError(f"{caller}: {function.name} cannot take a {type(value).__name__} as {name!r}")
        if value is REQUIRED and complete:
            raise ArgumentError(f"{caller}: {function.name} needs the argument {name!r}: give {name}=...")
    return found


def _several(name: str, value: Any) -> Any:
    """Wrap a single name in a tuple where a list of names is expected."""
    if name not in ("frames", "accelerate") or value is REQUIRED:
        return (value,) if hasattr(value, "rows") else value
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, (list, tuple)) or not all(isinstance(x, str) for x in value):
        raise ArgumentError(f"{name} takes a name or a list of names, not {value!r:.80}")
    return value


def as_array(
    function: str, model: Model, argument: Argument, value: Any, options: Mapping[str, Any]
) -> np.ndarray:
    """`value` as an array whose last axes have the shape that the model needs; else ShapeError.

    An array on a device is returned unchanged.
    """
    if is_on_device(value):
        return value
    if isinstance(value, Mapping):
        vector = "velocities" if argument.shape == ("nv",) else "positions"
        raise ShapeError(
            f"{function}: {argument.name} is a dict: give all numbers, as model.{vector}({{...}})"
        )
    refuse_masked(f"{function}: {argument.name}", value)
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.asarray(value, dtype=object)
    except RuntimeError as error:  # a tensor that requires gradients
        raise ArgumentError(
            f"{function}: {argument.name} cannot be read as an array: {error} For gradients in PyTorch, call "
            f"kt.torch.wrap(kt.{function}, model)"
        ) from None
    if array.dtype.kind not in "fiubcO":
        raise ShapeError(f"{function}: {argument.name} holds {array.dtype} values, but numbers are needed")
    core = argument.sizes(model, options)
    if len(core) == 1 and (getattr(value, "is_Matrix", False) or array.dtype.kind == "O"):
        if array.shape == (*core, 1) or (array.shape == (1, *core) and array is not value):
            array = array.reshape(core)  # a column or row, as SymPy writes vectors
    if array.shape[array.ndim - len(core) :] != core or array.ndim < len(core):
        raise ShapeError(wrong_shape(function, model, argument, array.shape, options))
    if array.dtype.kind == "O" and any(x is None or isinstance(x, NO_NUMBERS) for x in array.flat):
        raise ShapeError(f"{function}: {argument.name} holds non-numeric values: {array.ravel()[:3]!r} ...")
    return array


def wrong_shape(
    function: str, model: Model, argument: Argument, shape: tuple[int, ...], options: Mapping[str, Any]
) -> str:
    """The error message: what was given, what was expected, and why."""
    core = argument.sizes(model, options)
    needed = ", ".join(["...", *map(str, core)])
    return (
        f"{function}: {argument.name} has shape {shape} but model {model.name!r} needs ({needed}): "
        f"{_reason(model, argument)}."
    )


def _reason(model: Model, argument: Argument) -> str:
    """Which joints or bodies the needed numbers belong to."""
    dimension = argument.shape[0] if argument.shape else ""
    if argument.name == "parameters":
        return f"mass, first moment and inertia of each of its {model.nbodies} bodies"
    if dimension == "nb":
        return f"a wrench [moment; force] for each of its {model.nbodies} bodies"
    if dimension == "nu":
        return model.spanning_tree.describe_coordinates(velocities=True)
    if dimension in ("nq", "nv"):
        return model.describe_coordinates(velocities=dimension == "nv")
    return "this many numbers per state"


def taken(function: Function) -> list[tuple[str, Any, str, str]]:
    """(name, default, shape, meaning) of all arguments after the model, in the order of a call."""
    inputs = {a.name: a for a in function.inputs}
    found = []
    for name in [*function.order, *(a.name for a in MODEL_INPUTS)]:
        argument = inputs.get(name)
        default = function.options[name] if argument is None else None if argument.optional else REQUIRED
        about = meaning(name, default is REQUIRED)
        found.append((name, default, "" if argument is None else argument.text, about))
    return found


def in_order(inputs: Sequence[Argument], options: Mapping[str, Any]) -> list[str]:
    """The order of arguments: required arrays, required options, optional arrays, other options."""
    needed = [a.name for a in inputs if not a.optional]
    demanded = [name for name, default in options.items() if default is REQUIRED]
    optional = [a.name for a in inputs if a.optional]
    return [*needed, *demanded, *optional, *(name for name in options if name not in demanded)]


def positional(function: Function) -> int:
    """How many arguments after the model may be positional.

    Keyword-only are all arguments from the first required one after an optional one, or from the first
    optional array after an option.
    """
    left_out = option = False
    for count, (name, default, _, _) in enumerate(taken(function)[: -len(MODEL_INPUTS)]):
        is_option = name in function.options
        if (left_out and default is REQUIRED) or (option and not is_option and default is None):
            return count
        left_out = left_out or default is not REQUIRED
        option = option or (is_option and default is not REQUIRED)
    return len(function.order)


def signature(function: Function) -> inspect.Signature:
    """The call signature of a function of a model."""
    count, P = positional(function), inspect.Parameter
    own = [
        P(name, P.POSITIONAL_OR_KEYWORD if k < count else P.KEYWORD_ONLY, default=default)
        for k, (name, default, _, _) in enumerate(taken(function)[: -len(MODEL_INPUTS)])
    ]
    names = [*(a.name for a in MODEL_INPUTS), "out", "target"]
    common = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in names]
    return inspect.Signature(
        [inspect.Parameter("model", inspect.Parameter.POSITIONAL_OR_KEYWORD), *own, *common]
    )


def documentation(function: Function, text: str) -> str:
    """The docstring of a function with its arguments and results."""
    body, _, reference = text.partition("\n\nReference:")
    rows = [
        f"    {name}{f' {shape}' if shape else ''}: {about or 'see above'}."
        for name, _, shape, about in taken(function)
    ]
    results = ", ".join(f"{a.name} {a.text}" for a in function.outputs)
    parts = [body, "Args:\n    model: the robot.\n" + "\n".join(rows), f"Returns:\n    {results}"]
    if reference:
        parts.append("Reference:" + reference)
    return "\n\n".join(parts)
