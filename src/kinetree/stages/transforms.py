"""`kt.jvp`, `kt.vjp`, `kt.jacobian_of` and their like: derivatives of any function of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kinetree.errors import ArgumentError
from kinetree.model import Model
from kinetree.stages.derivative import Derivative, Jvp, Vjp, derivative
from kinetree.stages.function import Function
from kinetree.stages.matrices import Jacobian

Names = str | Sequence[str] | None
Given = Sequence[Any] | Mapping[str, Any]


def jvp_of(function: Function, *, coordinates: str = "increments") -> Derivative:
    """The function that also returns the change of its results along a direction.

    It takes the inputs of `function` and, for each input that changes, its change `d_<name>`; it returns the
    results and their changes `d_<result>`. Cost: about 3 times that of the function.

    Args:
        function: a function of a model.
        coordinates: changes of positions are "increments" (nv numbers, along model.integrate) or "ambient",
            changes of the numbers of q.
    """
    return derivative(Jvp, function, coordinates, None)


def vjp_of(function: Function, *, wrt: Names = None, coordinates: str = "increments") -> Derivative:
    """The function that also returns the gradient of a weighted sum of its results.

    It takes the inputs of `function` and the weights `b_<result>`, zero if left out; it returns the results
    and the gradients `b_<name>` with respect to the inputs. Cost: about 4 times that of the function,
    whatever the number of inputs; for programs with loops, about 3 times for each number of the inputs.

    Args:
        function: a function of a model.
        wrt: names of inputs, "parameters" and "gravity" too; by default all required ones.
        coordinates: as for `jvp_of`.
    """
    return derivative(Vjp, function, coordinates, wrt)


def jacobian_of(
    function: Function, *, wrt: Names = None, of: Names = None, coordinates: str = "increments"
) -> Derivative:
    """The function whose results are the derivative matrices `d_<result>_d_<name>`, results first.

    For inverse and forward dynamics, `inverse_dynamics_derivatives` and `forward_dynamics_derivatives` are
    cheaper.

    Args:
        function: a function of a model.
        wrt: names of inputs, "parameters" and "gravity" too; by default all required ones.
        of: names of results; by default all. A result with the name of an input is `<name>_out`.
        coordinates: as for `jvp_of`.
    """
    return derivative(Jacobian, function, coordinates, wrt, of)


def jvp(
    function: Function,
    model: Model,
    primals: Given,
    tangents: Given,
    *,
    coordinates: str = "increments",
    **options: Any,
) -> tuple[Any, Any]:
    """(value, change): a function of a model, and its change along a direction.

    Args:
        function: a function of a model.
        model: the robot.
        primals: the inputs, a tuple in the order of the function's inputs, or by name.
        tangents: the changes of the inputs, in the same form; None where one does not change.
        coordinates: as for `jvp_of`.
        options: options of the function (`frame="tool"`), and `parameters` or `gravity`.
    """
    derived = jvp_of(function, coordinates=coordinates)
    given = _by_name(function, "primals", primals)
    changes = {derived.mark + name: x for name, x in _by_name(function, "tangents", tangents).items()}
    found = derived(model, **given, **changes, **options)
    count = len(function.outputs)
    return _value(function, found[:count]), _value(function, found[count:])


def vjp(
    function: Function,
    model: Model,
    primals: Given,
    cotangents: Any,
    *,
    wrt: Names = None,
    coordinates: str = "increments",
    **options: Any,
) -> tuple[Any, tuple]:
    """(value, gradients): a function of a model, and the gradients of a weighted sum of its results.

    Args:
        function: a function of a model.
        model: the robot.
        primals: the inputs, a tuple in the order of the function's inputs, or by name.
        cotangents: the weights of the result; a tuple if there are several, None where one does not count.
        wrt: names of the inputs for which gradients are returned; by default those of `primals`.
        coordinates: as for `jvp_of`.
        options: options of the function (`frame="tool"`), and `parameters` or `gravity`.
    """
    given = _by_name(function, "primals", primals)
    derived = vjp_of(function, wrt=tuple(given) if wrt is None else wrt, coordinates=coordinates)
    several = isinstance(cotangents, (tuple, list)) and len(function.outputs) > 1
    weights = cotangents if several else (cotangents,)
    if len(weights) != len(function.outputs):
        names = ", ".join(a.name for a in function.outputs)
        raise ArgumentError(
            f"vjp: {function.name} has {len(function.outputs)} results ({names}), "
            f"but {len(weights)} cotangents were given"
        )
    marked = [derived.mark + name for name in derived.results]
    seeds = {name: x for name, x in zip(marked, weights, strict=True) if x is not None}
    found = derived(model, **given, **seeds, **options)
    count = len(function.outputs)
    return _value(function, found[:count]), tuple(found[count:])


def _by_name(function: Function, what: str, given: Given) -> dict[str, Any]:
    """Inputs by name, without those that are None."""
    if not isinstance(given, Mapping):
        names = [a.name for a in function.own_inputs]
        if not isinstance(given, (tuple, list)) or len(given) > len(names):
            raise ArgumentError(
                f"{what} of {function.name} must be a tuple of at most {len(names)} arrays "
                f"({', '.join(names)}), or a dictionary by name"
            )
        given = dict(zip(names, given, strict=False))
    return {name: x for name, x in given.items() if x is not None}


def _value(function: Function, found: Sequence[Any]) -> Any:
    if len(found) == 1:
        return found[0]
    return tuple(found) if function.result is None else function.result(*found)
