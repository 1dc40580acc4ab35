"""Functions of your own: a Python function of a model and arrays, traced to a program like the built-in ones.

@kt.function("q, v, goal(3), gain -> tau")
def reach(model, q, v, goal, gain):
    J = kt.jacobian(model, q, "tool", "aligned")[3:]
    p = kt.frame_placement(model, q, "tool")[:3, 3]
    return J.T @ (gain * (goal - p)) + kt.gravity_force(model, q)

tau = reach(robot, q, v, goal, 200.0)          # compiled for the robot; batches, out= and the rest as usual
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.compiler.ir.check import kind_of
from kinetree.compiler.ir.graph import Array, Graph
from kinetree.compiler.ir.program import Program
from kinetree.errors import ShapeError, StateError, TraceError
from kinetree.model import Model
from kinetree.ops import Expr
from kinetree.stages.batches import batch_of
from kinetree.stages.function import Function
from kinetree.stages.job import model_digest
from kinetree.sweep.numbers import with_numbers
from kinetree.sweep.signature import read

FUNCTIONS: dict[str, Function] = {}  # the library's own functions, by name


class OwnFunction(Function):
    """A function whose body uses other functions of a model, operators, `ops` and small arrays."""

    def lower(
        self, model: Model, inputs: tuple[str, ...], options: dict[str, Any], mode: str | None = None
    ) -> Program:
        model_digest(model)  # CompileError for a symbolic model
        graph = Graph()
        arrays, loads = loaded(graph, self, model, inputs, options)
        shapes = [a.sizes(model, options) for a in self.inputs if a.name in loads]
        values = {
            name: np.array(load, object).reshape(shape) if shape else load[0]
            for (name, load), shape in zip(loads.items(), shapes, strict=True)
        }
        results = self._run(model, values, options)
        outputs = tuple(
            stored(graph, argument.name, value)
            for argument, value in zip(self.outputs, results, strict=True)
        )
        return Program.of(self.name, graph, arrays, outputs)

    def evaluate(self, model: Model, arrays: dict[str, np.ndarray], options: dict[str, Any]) -> list[Any]:
        batch, cores = batch_of(self, model, arrays, options)
        views = {
            name: np.broadcast_to(a, batch + a.shape[a.ndim - cores[name] :]) for name, a in arrays.items()
        }
        states = []
        for index in np.ndindex(batch):
            try:
                values = {name: _number(view[index]) for name, view in views.items()}
                states.append(self._run(model, values, options))
            except StateError as error:
                if not index:
                    raise
                where = f"state {index[0] if len(index) == 1 else index} of the batch"
                raise type(error)(f"{error} (Found in {where}.)") from None
        if not states:
            return [np.zeros(batch + a.sizes(model, options)) for a in self.outputs]
        stacks = [np.array(parts) for parts in zip(*states, strict=True)]
        return [s.reshape(batch + s.shape[1:])[()] for s in stacks]

    def _run(self, model: Model, values: dict[str, Any], options: dict[str, Any]) -> list[np.ndarray]:
        """Run the body for one state; returns its results as arrays of the declared shapes."""
        model = with_numbers(model, values.get("parameters"), values.get("gravity"))
        given = {a.name: values.get(a.name) for a in self.own_inputs}
        try:
            found = self.body(model, **given, **options)
        except TypeError as error:  # NumPy's own message would not help here
            if "Expr" not in str(error) or isinstance(error, TraceError):
                raise
            raise TraceError(
                f"{self.name}: {error}. Functions of NumPy such as np.sin, np.exp and np.linalg.norm do not "
                "know the numbers of a function of a model: use those of kinetree.ops"
            ) from error
        results = found if isinstance(found, tuple) and len(self.outputs) > 1 else (found,)
        if len(results) != len(self.outputs):
            raise ShapeError(
                f"{self.name}: the body returns {len(results)} results, but its signature names "
                f"{', '.join(a.name for a in self.outputs)}"
            )
        checked = []
        for argument, value in zip(self.outputs, results, strict=True):
            array, shape = _counted(np.asarray(value)), argument.sizes(model, options)
            if array.shape != shape:
                raise ShapeError(
                    f"{self.name}: the result {argument.name} has shape {array.shape}, but its signature "
                    f"says {argument.text}, which is {shape} for model {model.name!r}"
                )
            checked.append(array)
        return checked


def function(
    signature: str, *, result: Callable[..., Any] | None = None, kind: type[OwnFunction] = OwnFunction
) -> Callable[[Callable[..., Any]], OwnFunction]:
    """Declare a function of a model: `@kt.function("q, v, goal(3), gain -> tau")` over
    `def name(model, q, v, goal, gain)`.

    The names q, v, a, tau, x, f_ext have their usual shapes; others are scalars or carry their shape, in
    numbers or in nq, nv, nb, nr (rotors). A name with ? is optional, and None if left out. Parameters of the
    body that the signature does not name are static options. Conditions such as `q[6] < 0.1` are returned
    as 1 or 0.

    The body sees one state: arrays without batch axes, on which operators, `@`, slices, transposes, np.stack,
    `kinetree.ops` and all functions of a model work. It is traced, so it cannot branch on values: use
    `ops.where` instead of `if`. `result` combines several results into one value, e.g. a NamedTuple.
    """

    def declare(body: Callable[..., Any]) -> OwnFunction:
        inputs, outputs = read(signature)
        names = {a.name for a in inputs}
        parameters = list(inspect.signature(body).parameters.values())[1:]
        unknown = names - {p.name for p in parameters}
        if unknown:
            raise TypeError(f"{body.__name__}: no parameter {', '.join(sorted(unknown))} for {signature!r}")
        options = {p.name: p.default for p in parameters if p.name not in names}
        entry = kind(body, inputs, outputs, options, result, [p.name for p in parameters])
        if (entry.__module__ or "").partition(".")[0] == "kinetree":
            FUNCTIONS[entry.name] = entry
        return entry

    return declare


def _counted(results: np.ndarray) -> np.ndarray:
    """Results in which truths are the numbers 1 and 0."""
    if results.dtype == bool:
        return results.astype(float)
    if results.dtype == object:
        truths = (isinstance(x, np.bool_) or kind_of(x) == "truth" for x in results.flat)
        numbers = [ops.where(x, 1.0, 0.0) if is_truth else x for x, is_truth in zip(results.flat, truths)]
        return np.array(numbers, object).reshape(results.shape)
    return results


def _number(state: Any) -> Any:
    """An argument of one state: an array, or a plain number."""
    return state if np.ndim(state) else state[()] if isinstance(state, np.ndarray) else state


def loaded(
    graph: Graph, function: Function, model: Model, inputs: Collection[str], options: dict[str, Any]
) -> tuple[list[Array], dict[str, list[Any]]]:
    """The arrays of the inputs that are present, and their numbers by name."""
    arrays = [
        graph.array(a.name, "input", a.length(model, options)) for a in function.inputs if a.name in inputs
    ]
    return arrays, {array.name: [graph.load(array, k) for k in range(array.size)] for array in arrays}


def stored(graph: Graph, name: str, value: np.ndarray) -> Array:
    """An output array with the numbers of a result."""
    taken = {array.name for array in graph.arrays}
    array = graph.array(f"{name}_out" if name in taken else name, "output", value.size)
    for k, x in enumerate(value.flat):
        if not isinstance(x, Expr) and not ops.is_literal(x):
            raise TraceError(f"the result {name} holds a {type(x).__name__}: only real numbers can be traced")
        graph.store(array, k, x if isinstance(x, Expr) else float(x))
    return array
