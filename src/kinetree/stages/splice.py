"""Functions inside functions: the program of one becomes part of another that is being traced.

A function that is called with expressions is lowered for its model as usual, with canonical frames, and with
loops where they pay. Its statements are then copied into the graph of the expressions. The expressions
replace its inputs, so that constants fold; only inputs that loops index go through memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.compiler.ir.graph import Array, Clear, Graph, Store
from kinetree.compiler.ir.program import Program, walk
from kinetree.compiler.ir.rebuild import Folding
from kinetree.compiler.passes.simplify import simplify
from kinetree.errors import ShapeError, TraceError
from kinetree.model import Model
from kinetree.ops import Expr, is_literal
from kinetree.sweep.numbers import holds_expressions

if TYPE_CHECKING:
    from kinetree.stages.function import Function


def inlined(
    function: Function, model: Model, arrays: dict[str, np.ndarray], options: dict[str, Any]
) -> tuple[np.ndarray, ...] | np.ndarray:
    """The results of a function of expressions, recorded in their graph."""
    from kinetree.stages.job import Job

    if holds_expressions(model):  # the model's numbers are part of the trace: run the body on them
        values = function.evaluate(model, arrays, options)
        return values[0] if len(values) == 1 else tuple(values)
    graph = graph_of(arrays)
    inputs, outputs = function.shapes(model, tuple(arrays), options)
    for (name, array), shape in zip(arrays.items(), inputs, strict=True):
        if array.shape != shape:
            raise ShapeError(
                f"{function.name}: {name} has shape {array.shape} inside a function, where no batch is: "
                f"{shape} is needed"
            )
    program = lowered(Job(function, model, tuple(arrays), options))
    values = spliced(graph, program, [array.ravel().tolist() for array in arrays.values()])
    results = []
    for value, shape in zip(values, outputs, strict=True):
        result = np.empty(len(value), object)
        result[:] = value
        results.append(result.reshape(shape) if shape else value[0])
    return results[0] if len(results) == 1 else tuple(results)


def lowered(job: Any) -> Program:
    """The simplified program of a job, cached on its model."""
    return job.model.memo((lowered, job), lambda: simplify(job.lowered()))


def graph_of(arrays: dict[str, np.ndarray]) -> Graph:
    """The graph that the expressions among some numbers belong to."""
    found = None
    for name, array in arrays.items():
        for x in array.flat:
            if type(x) is Expr:
                if found is not None and x.graph is not found:
                    raise TraceError("expressions of two different traces cannot be combined")
                found = x.graph
            elif not is_literal(x):
                raise TraceError(
                    f"{name} mixes expressions with {type(x).__name__} {x!r}: only real numbers can be"
                )
    assert found is not None
    return found


def spliced(graph: Graph, program: Program, inputs: list[list[Any]]) -> list[list[Any]]:
    """The outputs of a program whose statements are recorded in `graph`."""
    return _Splice(graph, program, inputs).results()


class _Splice(Folding):
    """Copies a program into a graph that also holds others."""

    def __init__(self, graph: Graph, program: Program, inputs: list[list[Any]]):
        self.program = program
        self.graph = graph
        self.values: dict[Expr, Any] = {}
        self.known: dict[Array, list[Any]] = {}  # arrays whose elements are values, not memory
        self.moved: dict[Array, Array] = {}
        moving = {  # arrays that loops index
            s.args[0] for s in walk(program.body)
            if isinstance(s, Expr) and s.op == "load" and type(s.args[1]) is Expr
        }  # fmt: skip
        for array, numbers in zip(program.inputs, inputs, strict=True):
            values = [x if type(x) is Expr else float(x) for x in numbers]
            if array not in moving:
                self.known[array] = values
                continue
            place = self._move(array, "work")
            for k, value in enumerate(values):
                graph.store(place, k, value)
        for array in program.results:
            if program.is_straight:
                self.known[array] = [0.0] * array.size
            else:
                self._move(array, "work")
        for array in (*program.work, *program.tables):
            self._move(array, array.kind)

    def _move(self, array: Array, kind: str) -> Array:
        """An array of the program as one of the graph."""
        name = f"{array.name}_{len(self.graph.arrays)}"
        self.moved[array] = self.graph.array(name, kind, array.size, array.data)
        return self.moved[array]

    def place(self, array: Array) -> Array:
        return self.moved[array]

    def results(self) -> list[list[Any]]:
        """Copy everything; returns the values of the outputs."""
        self.block(self.program.body)
        guard = self.program.guard
        if guard is not None:
            self.graph.guards.append(self._contents(guard)[0])
        return [self._contents(array) for array in self.program.outputs]

    def _contents(self, array: Array) -> list[Any]:
        if array in self.known:
            return self.known[array]
        return [self.graph.load(self.moved[array], k) for k in range(array.size)]

    def expr(self, old: Expr, args: tuple) -> Any:
        if old.op in ("load", "iload"):
            array, index = args
            if array in self.known:
                return self.known[array][index]
            return self.graph.load(self.moved[array], index)
        if old.op == "lookup":
            args = (self.moved[args[0]], *args[1:])
        return super().expr(old, args)

    def store(self, old: Store, index: Any, value: Any) -> None:
        if old.array in self.known:
            place = self.known[old.array]
            place[index] = place[index] + value if old.accumulate else value
        else:
            self.graph.store(self.moved[old.array], index, value, old.accumulate)

    def clear(self, old: Clear) -> None:
        if old.array in self.moved:  # not at the beginning: it may be inside a loop
            place = self.moved[old.array]
            with self.graph.loop(place.size) as k:
                self.graph.store(place, k, 0.0)
