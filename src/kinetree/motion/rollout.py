"""Many steps as one function of a model: the time loop is part of the program.

A rollout starts from a state and makes `records` x `steps` steps; the state is recorded after every `steps`
steps. It is lowered, compiled and run like any other function, over SIMD lanes and threads of a batch.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.compiler.ir.graph import Array, Graph
from kinetree.compiler.ir.program import Program
from kinetree.derived import nullify_momentum
from kinetree.model import Model
from kinetree.motion.contact import INPUTS as CONTACT
from kinetree.motion.joint_forces import Servo, driven, within_efforts
from kinetree.motion.steps import step
from kinetree.ops import Expr
from kinetree.ops.control import TRUSTED, Kept, loop
from kinetree.stages.function import Function
from kinetree.stages.own import FUNCTIONS
from kinetree.sweep.signature import MODEL_INPUTS, Argument

OPTIONS = ("integrator", "passive", "limits", "constraints", "ground", "newton_limit")
STATE = ("t", "q", "v", "tau")  # what a control sees; tau is the sum of the controls before it
ACTIONS = ("tau", "f_ext", "kp", "kd", "setpoint")  # outputs of a control, or given by the caller
RESTART = ("over", "q_start", "v_start")  # whether a state restarts before the step, and from where
NEXT = "_next"  # suffix: what a control remembers after the last step
SATURATED = "saturated"
SERIES = "each_"  # prefix: one value for each step


@lru_cache(maxsize=256)
def rollout(
    controls: tuple[Function, ...], records: int, steps: int, watched: bool = False, stopping: bool = False
) -> Rollout:
    """The rollout with these controls and counts; equal arguments return the same object."""
    return Rollout(controls, records, steps, watched, stopping)


class Rollout(Function):
    """(q, v) at each record, the outputs of the controls at the first step of each, and `trust`.

    Inputs: q, v, dt and what acts: tau, f_ext, kp, kd, setpoint, constant or (`each_`) step by step;
    `each_t`; `momentum`, to which the momentum is reset after each step; and the inputs of the controls
    besides t, q, v and tau. Contributions add up; the tau that a control sees is the sum of those before it.
    If the output `over` of a control is at least 1, the step starts from its `q_start` and `v_start`. An
    output of a control with the name of one of its inputs is its memory: it becomes that input at the next
    step, and `_next` after the last. `trust` is at least 1 if every step can be trusted. If `watched`,
    `saturated` counts, for each record, the steps in which drives are at their effort limits. If `stopping`,
    a state is NaN from the first step that cannot be trusted.
    """

    def __init__(
        self, controls: tuple[Function, ...], records: int, steps: int, watched: bool, stopping: bool
    ):
        self.controls, self.records, self.steps = controls, records, steps
        self.watched, self.stopping = watched, stopping
        n = records * steps
        own = {a.name: a for a in step.own_inputs}
        inputs = [own["q"], own["v"], own["dt"], Argument("each_t", (n,), True)]
        for name in ACTIONS:
            inputs.append(Argument(name, own[name].shape, True))
            inputs.append(Argument(SERIES + name, (n, *own[name].shape), True))
        inputs.append(Argument("momentum", (6,), True))
        inputs += [Argument(name, own[name].shape, True) for name in CONTACT]
        outputs = [Argument("q", (records, "nq")), Argument("v", (records, "nv"))]
        outputs += [Argument(SATURATED, (records, "nv"))] if watched else []
        self.memory: list[str] = []
        for number, control in enumerate(controls):
            taken = [a for a in control.own_inputs if a.name not in STATE]
            inputs += [Argument(given_name(number, a.name), a.shape, a.optional) for a in taken]
            outputs += [Argument(given_name(number, a.name), (records, *a.shape)) for a in control.outputs]
            names = {a.name for a in taken}
            self.memory += [given_name(number, a.name) for a in control.outputs if a.name in names]
        shapes = {a.name: a.shape for a in inputs}
        outputs += [Argument(name + NEXT, shapes[name]) for name in self.memory]
        outputs.append(Argument("trust", ()))
        options: dict[str, Any] = dict.fromkeys((*OPTIONS, "counts"))
        super().__init__(_body, inputs, outputs, options)
        if not all(_is_ours(control) for control in controls):
            self.__module__ = ""  # it depends on more than the package's own source

    def chosen(self, **options: Any) -> dict[str, Any]:
        """The options of a job: the caller's, and everything else that determines the program."""
        laws = [(c.name, *sorted(c.options.items()), c.sees_numbers) for c in self.controls]
        counts = (self.records, self.steps, self.watched, self.stopping, *laws)
        return self.options | options | {"counts": counts}

    # -- one state of a model as a program

    def lower(
        self, model: Model, inputs: tuple[str, ...], options: dict[str, Any], mode: str | None = None
    ) -> Program:
        graph = Graph()
        given: dict[str, Array] = {}
        for argument in self.inputs:
            if argument.name in inputs:
                given[argument.name] = graph.array(argument.name, "input", argument.length(model, options))
        shapes = {a.name: a.sizes(model, options) for a in self.inputs}
        outputs = [graph.array(f"{a.name}_out", "output", a.length(model, options)) for a in self.outputs]

        def value(name: str, row: Any = 0) -> Any:
            shape = shapes[name] if not name.startswith(SERIES) else shapes[name][1:]
            size = int(np.prod(shape))
            loads = np.empty(size, object)
            start = graph.imul(row, size) if name.startswith(SERIES) else 0
            loads[:] = [graph.load(given[name], graph.iadd(start, k)) for k in range(size)]
            return loads.reshape(shape) if shape else loads[0]

        constants = {
            name: value(name) for name in given if not name.startswith(SERIES) and name not in ("q", "v")
        }
        state = {name: Kept(graph, value(name)) for name in ("q", "v")}
        memory = {name: Kept(graph, constants[name]) for name in self.memory}
        counted = [Kept(graph, np.zeros(model.nv))] if self.watched else []
        with loop(graph, self.records) as record:
            for count in counted:
                count.store(np.zeros(model.nv))
            with loop(graph, self.steps) as k:
                row = graph.iadd(graph.imul(record, self.steps), k)
                series = {n.removeprefix(SERIES): value(n, row) for n in given if n.startswith(SERIES)}
                kept = {name: place.load() for name, place in memory.items()}
                now = {name: place.load() for name, place in state.items()}
                (q, v, *over), found = self._one(model, now["q"], now["v"], constants, series, kept, options)
                if self.stopping:
                    q, v = (_trusted(x, graph.guards) for x in (q, v))
                state["q"].store(q)
                state["v"].store(v)
                for count, more in zip(counted, over, strict=True):
                    count.store(count.load() + more)
                for name, place in memory.items():
                    place.store(found[name])
                self._show(graph, found, outputs[2 + len(counted) :], record, k)
            places = [place.array for place in (state["q"], state["v"], *counted)]
            for array, place in zip(outputs, places, strict=False):
                size = array.size // self.records
                start = graph.imul(record, size)
                for i in range(size):
                    graph.store(array, graph.iadd(start, i), graph.load(place, i))
        for array, place in zip(outputs[-1 - len(memory) : -1], memory.values(), strict=True):
            for i in range(array.size):
                graph.store(array, i, graph.load(place.array, i))
        graph.store(outputs[-1], 0, graph.guards[0] if graph.guards else TRUSTED)
        graph.guards = []  # a failing state is a result, not an error
        return Program.of("rollout", graph, list(given.values()), outputs)

    def _show(self, graph: Graph, found: dict[str, Any], outputs: list[Array], record: Any, k: Any) -> None:
        """Write the outputs of the controls in the first step of a record."""
        if not found:
            return
        later = np.minimum(np.arange(self.steps), 1)
        switch = graph.switch(graph.load(graph.array("later", "itable", self.steps, later), k))
        with graph.case(switch):
            for array, value in zip(outputs, found.values(), strict=False):
                start = graph.imul(record, array.size // self.records)
                for i, x in enumerate(np.asarray(value, object).flat):
                    graph.store(array, graph.iadd(start, i), x)
        with graph.case(switch):
            pass

    def _one(
        self,
        model: Model,
        q: Any,
        v: Any,
        constants: dict[str, Any],
        series: dict[str, Any],
        memory: dict[str, Any],
        options: dict[str, Any],
    ) -> tuple[list[Any], dict[str, Any]]:
        """(q, v) after one step and, if watched, which drives saturate; and the outputs of the controls."""
        numbers = {a.name: constants[a.name] for a in MODEL_INPUTS if a.name in constants}
        acting = {name: constants[name] for name in ACTIONS if name in constants}
        acting |= {name: x for name, x in series.items() if name != "t"}
        found: dict[str, Any] = {}
        begin = [q, v]
        for number, control in enumerate(self.controls):
            so_far = acting.get("tau", np.zeros(model.nv))
            seen = {"t": series.get("t"), "q": q, "v": v, "tau": so_far}
            for a in control.own_inputs:
                known = given_name(number, a.name)
                if known in memory or known in constants:
                    seen[a.name] = memory[known] if known in memory else constants[known]
            taken = {a.name: seen[a.name] for a in control.own_inputs if a.name in seen}
            results = control(model, **taken, **(numbers if control.sees_numbers else {}))
            results = tuple(results) if len(control.outputs) > 1 else (results,)
            named = dict(zip((a.name for a in control.outputs), results, strict=True))
            found |= {given_name(number, name): value for name, value in named.items()}
            for name in ACTIONS:
                if name in named:
                    acting[name] = acting[name] + named[name] if name in acting else named[name]
            if RESTART[0] in named:
                over, *starts = (named[name] for name in RESTART)
                begin = [_started_again(over, *both) for both in zip(starts, begin, strict=True)]
        q, v = begin
        acting.setdefault("tau", np.zeros(model.nv))
        acting |= {name: constants[name] for name in CONTACT if name in constants}
        chosen = {name: options[name] for name in OPTIONS}
        before, (q, v) = (q, v), step(model, q, v, dt=constants["dt"], **acting, **chosen, **numbers)
        if "momentum" in constants:
            v = nullify_momentum(model, q, v, constants["momentum"], **numbers)
        if not self.watched:
            return [q, v], found
        at = (q, v) if options["integrator"] == "discrete" else before  # where its servo acts
        asked = driven(model, *at, acting["tau"], Servo.among(acting))
        return [q, v, within_efforts(model, asked)[1]], found

    # -- in plain Python

    def evaluate(self, model: Model, arrays: dict[str, np.ndarray], options: dict[str, Any]) -> list[Any]:
        q, v = arrays["q"], arrays["v"]
        constants = {n: a for n, a in arrays.items() if not n.startswith(SERIES) and n not in ("q", "v")}
        memory = {name: arrays[name] for name in self.memory}
        rows: list[list[Any]] = []
        for k in range(self.records * self.steps):
            series = {
                n.removeprefix(SERIES): a[..., k] if n == "each_t" else _row(self, n, a, k)
                for n, a in arrays.items()
                if n.startswith(SERIES)
            }
            (q, v, *over), found = self._one(model, q, v, constants, series, memory, options)
            memory = {name: found[name] for name in self.memory}
            if k % self.steps == 0:
                rows.append([q, v, *(0.0 * x for x in over), *found.values()])
            counts = [a + b for a, b in zip(rows[-1][2:], over)]
            rows[-1][: 2 + len(over)] = [q, v, *counts]
        cores = [len(a.shape) - 1 for a in self.outputs[: len(rows[-1])]]
        batch = np.broadcast_shapes(*(np.shape(x)[: np.ndim(x) - c] for x, c in zip(rows[-1], cores)))
        stacked = [
            np.stack([np.broadcast_to(x, batch + np.shape(x)[np.ndim(x) - c :]) for x in column], len(batch))
            for column, c in zip(zip(*rows, strict=True), cores, strict=True)
        ]
        return [*stacked, *memory.values(), np.full(batch, TRUSTED)]


def _trusted(numbers: Any, guards: list[Any]) -> Any:
    """The numbers after a step, or NaN if a guard is below 1."""
    for guard in guards:
        fine = ops.less_equal(1.0, guard)
        numbers = np.array([ops.where(fine, x, np.nan) for x in numbers], object)
    return numbers


def _started_again(over: Any, start: Any, now: Any) -> Any:
    """The numbers at the start of a step: `start` where `over` is at least 1. Batch axes lead."""
    if isinstance(over, Expr):
        fine = ops.less(over, 1.0)
        return np.array([ops.where(fine, x, y) for x, y in zip(now, start, strict=True)], object)
    return np.where(np.asarray(over)[..., None] < 1.0, now, start)


def _is_ours(control: Function) -> bool:
    """Whether a control is defined by the package's own source alone."""
    base = control if control.changed is None else control.changed[0]
    return FUNCTIONS.get(base.name) is base and not any(map(callable, control.options.values()))


def _row(function: Rollout, name: str, array: np.ndarray, k: int) -> np.ndarray:
    """The row of a series for one step; batch axes lead."""
    core = next(len(a.shape) for a in function.inputs if a.name == name)
    return np.take(array, k, array.ndim - core)


def given_name(number: int, name: str) -> str:
    """The name in the rollout of an input or output of one of the controls."""
    return f"control{number}_{name}"


def rollout_of_steps() -> None:
    """Many steps of a simulation."""


_body = rollout_of_steps
