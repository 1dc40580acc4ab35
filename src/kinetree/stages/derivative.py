"""Derivatives of functions of a model, which are functions of a model again.

    jvp_of(f)         f's inputs, d_<input>?  ->  f's outputs, d_<output>      the change along a direction
    vjp_of(f)         f's inputs, b_<output>? ->  f's outputs, b_<input>       the gradient of a weighted sum
    jacobian_of(f)    f's inputs              ->  d_<output>_d_<input>         the matrices

f may be an algorithm, a function of your own, or a derivative. Each lowers to the differentiated program of
f, so it is compiled, batched and exported like f. Inputs and outputs with the shape of q are positions: they
change by increments (nv numbers, along `model.integrate`), or by their own numbers with
`coordinates="ambient"`.

Forward mode differentiates a program with loops as it is. Reverse mode would need all intermediate values of
the loops. If the result of a loop solves an equation, reverse mode uses the implicit function theorem instead
of the loop; other gradients are found column by column, in a loop over the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from kinetree.compiler.emit import python
from kinetree.compiler.ir.graph import Graph
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes import differentiate
from kinetree.compiler.passes.detach import backward
from kinetree.compiler.passes.simplify import simplify
from kinetree.errors import ArgumentError, SingularError
from kinetree.model import Model
from kinetree.model.loops import for_derivatives
from kinetree.ops.control import loop
from kinetree.stages import implicit
from kinetree.stages import increments as inc
from kinetree.stages.batches import batch_of
from kinetree.stages.function import Function
from kinetree.stages.job import Job, model_digest
from kinetree.stages.own import loaded, stored
from kinetree.stages.splice import graph_of, lowered, spliced
from kinetree.stages.sweeps import SweepFunction
from kinetree.sweep import choice
from kinetree.sweep.numbers import holds_expressions, origin
from kinetree.sweep.signature import Argument

UNROLLED_NODES = 250  # up to this many, a sweep without pairs is unrolled for reverse mode
Values = dict[str, list[Any]]  # the numbers of each input, in order


class Trace(NamedTuple):
    """The trace that a derivative is recorded in: graph, model, numbers of the inputs, options and mode."""

    graph: Graph
    model: Model
    values: Values
    options: dict[str, Any]
    mode: str | None = None


class Derivative(Function):
    """The derivative of another function; see the module."""

    suffix: str
    letter = "d"  # prefix of the names of changes

    def __init__(self, base: Function, coordinates: str, wrt: tuple[str, ...], of: tuple[str, ...] = ()):
        self.base, self.wrt, self.of = base, wrt, of
        self.times: int = getattr(base, "times", 0) + 1  # order of differentiation
        self.in_increments = choice("coordinates", coordinates, "increments", "ambient") == "increments"
        self.arguments = {a.name: a for a in base.inputs}
        self.results = {output_name(base, a): a for a in base.outputs}
        self.mark = self._fresh_mark()
        self.facts = (base, coordinates, wrt, of)
        chosen = [] if wrt == default_wrt(base) else wrt
        name = "_".join([base.name, self.suffix, *chosen, *of, *([] if self.in_increments else ["ambient"])])
        extra, outputs = self.signature_of()
        order = [*base.order, *(a.name for a in extra)]
        inputs = [*base.own_inputs, *extra]
        super().__init__(_body(name, base, self), inputs, outputs, base.options, None, order)

    def signature_of(self) -> tuple[list[Argument], list[Argument]]:
        """The inputs in addition to those of the base, and the outputs."""
        raise NotImplementedError

    def derived(self, t: Trace) -> list[Any]:
        """The numbers of the outputs, recorded in a graph."""
        raise NotImplementedError

    def _fresh_mark(self) -> str:
        """The prefix of the names of changes: d_, or d2_ for the derivative of a derivative, and so on."""
        taken = {*self.arguments, *self.results}
        marks = (f"{self.letter}{order if order > 1 else ''}_" for order in count(1))
        return next(mark for mark in marks if taken.isdisjoint(mark + name for name in taken))

    # -- the interface of a function

    def lower(
        self, model: Model, inputs: tuple[str, ...], options: dict[str, Any], mode: str | None = None
    ) -> Program:
        model_digest(model)  # CompileError for a symbolic model
        model = for_derivatives(model, self.times)
        graph = Graph()
        arrays, values = loaded(graph, self, model, inputs, options)
        results = self.derived(Trace(graph, model, values, options, mode))
        outputs = tuple(
            stored(graph, argument.name, np.array(value, object))
            for argument, value in zip(self.outputs, results, strict=True)
        )
        return Program.of(self.name, graph, arrays, outputs)

    def evaluate(self, model: Model, arrays: dict[str, np.ndarray], options: dict[str, Any]) -> list[Any]:
        if holds_expressions(model):
            return self._within(model, arrays, options)
        batch, cores = batch_of(self, model, arrays, options)
        program = lowered(Job(self, model, tuple(arrays), options))
        flat = [a.reshape(*a.shape[: a.ndim - cores[name]], -1) for name, a in arrays.items()]
        results, refused = python.run(program, *flat)
        if np.any(refused):  # the function itself raises the precise error
            self.base.evaluate(model, {n: a for n, a in arrays.items() if n in self.arguments}, options)
            raise SingularError(f"{self.name}: the derivative does not exist in a state that was given")
        shapes = [a.sizes(model, options) for a in self.outputs]
        found = [r.reshape(batch + shape) for r, shape in zip(results, shapes, strict=True)]
        return [r[()] for r in found]

    def _within(self, model: Model, arrays: dict[str, np.ndarray], options: dict[str, Any]) -> list[Any]:
        """The results within a trace in which the model's own numbers are expressions."""
        own, given = origin(model)
        own = for_derivatives(own, self.times)
        everything = arrays | {name: np.asarray(value) for name, value in given.items()}
        values = {a.name: np.ravel(everything[a.name]).tolist() for a in self.inputs if a.name in everything}
        found = self.derived(Trace(graph_of(everything), own, values, options))
        shapes = [a.sizes(own, options) for a in self.outputs]
        return [np.array(x, object).reshape(shape) for x, shape in zip(found, shapes, strict=True)]

    def __reduce__(self) -> Any:
        return _again, (self.kind, *self.facts)

    # -- shared by all kinds of derivatives

    def present_in_base(self, values: Values) -> tuple[str, ...]:
        present = tuple(a.name for a in self.base.inputs if a.name in values)
        missing = [name for name in self.directions(values) if name not in present]
        if missing:
            raise ArgumentError(
                f"{self.name}: the derivative along {missing[0]!r} needs {missing[0]!r} itself: give it, too"
            )
        return present

    def directions(self, values: Values) -> list[str]:
        """The inputs along which derivatives are taken."""
        return list(self.wrt)

    def job_of(self, t: Trace) -> Job:
        """The job of the base function, with the given inputs."""
        return Job(self.base, t.model, self.present_in_base(t.values), t.options, mode=t.mode)

    def backward_job(self, t: Trace) -> Job:
        """The same, unrolled where possible, since reverse mode cannot pass through loops."""
        job = self.job_of(t)
        is_sweep = isinstance(self.base, SweepFunction) and not self.base.algorithm.pairs
        if t.mode is None and is_sweep and len(t.model.nodes) <= UNROLLED_NODES:
            return Job(job.function, job.model, job.present, job.options, mode="unrolled")
        return job

    def is_position(self, argument: Argument) -> bool:
        return self.in_increments and argument.shape == ("nq",)

    def tangent(self, name: str, argument: Argument, optional: bool = False) -> Argument:
        """The argument that holds the changes of another one."""
        return Argument(name, ("nv",) if self.is_position(argument) else argument.shape, optional)

    def seed(self, t: Trace, name: str, change: list[Any]) -> list[Any]:
        """The change of the numbers of an input, from the change of its coordinates."""
        if not self.is_position(self.arguments[name]):
            return change
        return inc.product(inc.rate_rows(t.model, t.values[name]), change)

    def pushed(self, t: Trace, tangents: Values) -> tuple[list[list[Any]], list[list[Any]]]:
        """The outputs, and their changes along tangents; increments for positions."""
        if implicit.is_implicit(self.base, t.model):
            self.present_in_base(t.values)
            seeds = {name: self.seed(t, name, x) for name, x in tangents.items()}
            a, change = implicit.jvp(t.graph, t.model, t.values, seeds, t.mode)
            return [a], [change]
        job, along = self.job_of(t), tuple(tangents)
        own = lowered(job)
        program = t.model.memo(("jvp", job, along), lambda: simplify(differentiate.jvp(own, along)))
        given = [t.values[a.name] for a in own.inputs]
        changes = [self.seed(t, name, x) for name, x in tangents.items()]
        found = spliced(t.graph, program, [*given, *changes])
        count = len(own.outputs)
        results, slopes = found[:count], found[count:]
        for k, argument in enumerate(self.base.outputs):
            if self.is_position(argument):
                slopes[k] = inc.product(inc.velocity_rows(t.model, results[k]), slopes[k])
        return results, slopes

    def widths(self, t: Trace) -> dict[str, int]:
        """The number of coordinates of each input that is differentiated."""
        return {n: self.tangent(n, self.arguments[n]).length(t.model, t.options) for n in self.wrt}

    def columns(self, t: Trace) -> Iterator[tuple[Any, list[list[Any]]]]:
        """A loop over all coordinates of these inputs: (counter, changes of the outputs)."""
        widths = self.widths(t)
        total = sum(widths.values())
        unit = t.graph.array(f"unit_{len(t.graph.arrays)}", "work", total)
        with t.graph.loop(total) as k:
            t.graph.store(unit, k, 0.0)
        with loop(t.graph, total) as k:
            t.graph.store(unit, k, 1.0)
            parts = split_up([t.graph.load(unit, n) for n in range(total)], widths)
            yield k, self.pushed(t, parts)[1]
            t.graph.store(unit, k, 0.0)


class Jvp(Derivative):
    suffix = "jvp"

    def signature_of(self) -> tuple[list[Argument], list[Argument]]:
        tangents = [self.tangent(self.mark + a.name, a, optional=True) for a in self.base.inputs]
        slopes = [self.tangent(self.mark + name, a) for name, a in self.results.items()]
        return tangents, [*_plain(self.results), *slopes]

    def directions(self, values: Values) -> list[str]:
        return [name for name in self.arguments if self.mark + name in values]

    def derived(self, t: Trace) -> list[Any]:
        tangents = {name: t.values[self.mark + name] for name in self.directions(t.values)}
        results, slopes = self.pushed(t, tangents)
        return [*results, *slopes]


class Vjp(Derivative):
    suffix = "vjp"
    letter = "b"

    def signature_of(self) -> tuple[list[Argument], list[Argument]]:
        weights = [self.tangent(self.mark + name, a, optional=True) for name, a in self.results.items()]
        gradients = [self.tangent(self.mark + n, self.arguments[n]) for n in self.wrt]
        return weights, [*_plain(self.results), *gradients]

    def derived(self, t: Trace) -> list[Any]:
        job = self.backward_job(t)
        own = lowered(job)
        given = [t.values[a.name] for a in own.inputs]
        weights: list[list[Any]] = []
        for name, argument in self.results.items():
            size = self.tangent(name, argument).length(t.model, t.options)
            weights.append(t.values.get(self.mark + name, [0.0] * size))
        if not own.is_straight:
            return self._past_loops(t, job, given, weights)
        results = spliced(t.graph, own, given)
        if implicit.is_implicit(self.base, t.model):
            _, gradients = implicit.vjp(t.graph, t.model, t.values, weights[0], self.wrt, t.mode)
            return [*results, *self._in_coordinates(t, gradients)]
        program = t.model.memo(("vjp", job, self.wrt), lambda: simplify(differentiate.vjp(own, self.wrt)))
        gradients = spliced(t.graph, program, [*given, *self._ambient(t, results, weights)])[len(results) :]
        return [*results, *self._in_coordinates(t, gradients)]

    def _past_loops(self, t: Trace, job: Job, given: list[Any], weights: list[Any]) -> list[Any]:
        """Results and gradients of a program with loops: by implicit differentiation where possible."""
        own = lowered(job)
        way = t.model.memo(("backward", job, self.wrt), lambda: backward(own, self.wrt))
        if way is None:
            return [*spliced(t.graph, own, given), *self._by_columns(t, weights)]
        *results, found = spliced(t.graph, way.first, given)
        ambient = self._ambient(t, results, weights)
        *gradients, _ = spliced(t.graph, way.adjoint, [*given, found, *ambient])[len(results) :]
        return [*results, *self._in_coordinates(t, gradients)]

    def _ambient(self, t: Trace, results: list[Any], weights: list[Any]) -> list[Any]:
        """The weights of the numbers of the outputs, from those of their coordinates."""
        return [
            inc.transposed_product(inc.velocity_rows(t.model, result), weight, t.model.nq)
            if self.is_position(argument)
            else weight
            for argument, result, weight in zip(self.base.outputs, results, weights, strict=True)
        ]

    def _in_coordinates(self, t: Trace, gradients: list[list[Any]]) -> list[list[Any]]:
        """The gradients for the coordinates of the inputs, from those for their numbers."""
        return [
            inc.transposed_product(inc.rate_rows(t.model, t.values[name]), gradient, t.model.nv)
            if self.is_position(self.arguments[name])
            else gradient
            for name, gradient in zip(self.wrt, gradients, strict=True)
        ]

    def _by_columns(self, t: Trace, weights: list) -> list[list[Any]]:
        """The gradients of a program with loops, column by column."""
        widths = self.widths(t)
        total = sum(widths.values())
        gradient = t.graph.array(f"gradient_{len(t.graph.arrays)}", "work", total)
        for k, slopes in self.columns(t):
            sums: Any = 0.0
            for weight, slope in zip(weights, slopes, strict=True):
                sums = sum((w * x for w, x in zip(weight, slope, strict=True)), sums)
            t.graph.store(gradient, k, as_number(sums))
        return list(split_up([t.graph.load(gradient, n) for n in range(total)], widths).values())


def split_up(numbers: list[Any], widths: Mapping[str, int]) -> Values:
    """The numbers of each name, in sequence."""
    rest = iter(numbers)
    return {name: [next(rest) for _ in range(width)] for name, width in widths.items()}


def _plain(results: Mapping[str, Argument]) -> list[Argument]:
    return [Argument(name, a.shape) for name, a in results.items()]


def as_number(x: Any) -> Any:
    return float(x) if isinstance(x, int) else x


def output_name(base: Function, argument: Argument) -> str:
    """The name of an output, changed if an input has the same."""
    taken = any(a.name == argument.name for a in base.inputs)
    return f"{argument.name}_out" if taken else argument.name


def default_wrt(base: Function) -> tuple[str, ...]:
    """The required inputs."""
    return tuple(a.name for a in base.own_inputs if not a.optional)


def _body(name: str, base: Function, derivative: Derivative) -> Callable[..., Any]:
    """The Python function that a derivative stands for: its name, module and documentation."""

    def body() -> None:
        raise NotImplementedError

    body.__name__, body.__module__ = name, base.__module__
    first = (base.__doc__ or "").partition("\n\n")[0]
    body.__doc__ = f"The {derivative.suffix} of {base.name}.\n\n{base.name}: {first}"
    return body


@cache
def _again(kind: type[Derivative], *facts: Any) -> Derivative:
    """The derivative of a function, created once: executables are cached under it."""
    return kind(*facts)


def derivative(kind: type[Derivative], base: Any, coordinates: str, wrt: Any, of: Any = None) -> Derivative:
    """A derivative of a function, with names checked."""
    if not isinstance(base, Function):
        raise ArgumentError(
            f"{kind.suffix}: {base!r} is not a model function; give one such as kinetree.inverse_dynamics"
        )
    chosen = default_wrt(base) if wrt is None else _names(wrt)
    outputs = () if of is None else _names(of)
    for names, known, what in (
        (chosen, [a.name for a in base.inputs], "input"),
        (outputs, [output_name(base, a) for a in base.outputs], "output"),
    ):
        for k, name in enumerate(names):
            if name in names[:k]:
                raise ArgumentError(f"{kind.suffix}: the {what} {name!r} is named twice")
            if name not in known:
                raise ArgumentError(
                    f"{kind.suffix}: {base.name} has no {what} {name!r}; it has {', '.join(known)}"
                )
    return _again(kind, base, coordinates, chosen, outputs)


def _names(names: Any) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
