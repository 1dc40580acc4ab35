"""Derivatives of forward dynamics from those of inverse dynamics: da = M^-1 (dtau - dID), for large robots.

The articulated-body algorithm itself is not differentiated. Inverse dynamics is, at the acceleration that it
finds, and the mass matrix is solved once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from kinetree.compiler.ir.graph import Graph
from kinetree.compiler.passes import differentiate
from kinetree.compiler.passes.simplify import simplify
from kinetree.model import Model
from kinetree.stages.job import Job
from kinetree.stages.splice import lowered, spliced
from kinetree.stages.sweeps import SweepFunction
from kinetree.sweep import REGISTRY

IMPLICIT_VELOCITIES = 12  # from this many on it is faster than differentiating the algorithm itself

Values = dict[str, list[Any]]


def is_implicit(base: Any, model: Model) -> bool:
    """True if the derivatives of a function are found in this way."""
    is_algorithm = isinstance(base, SweepFunction) and base.algorithm is REGISTRY.get("forward_dynamics")
    return is_algorithm and model.nv >= IMPLICIT_VELOCITIES


def jvp(graph: Graph, model: Model, values: Values, tangents: Values, mode: str | None) -> tuple[Any, Any]:
    """The acceleration, and its change along tangents of the inputs."""
    a, inner = _accelerated(graph, model, values, mode)
    changes = {name: x for name, x in tangents.items() if name != "tau"}
    _, change = _derived(graph, model, inner, tuple(changes), "jvp", mode, list(changes.values()))
    given = tangents.get("tau", [0.0] * model.nv)
    force = [x - y for x, y in zip(given, change, strict=True)]
    return a, _solved(graph, model, values, force, mode)


def vjp(
    graph: Graph, model: Model, values: Values, weights: list[Any], wrt: Sequence[str], mode: str | None
) -> tuple[Any, list[Any]]:
    """The acceleration, and the gradients of a weighted sum of it with respect to some inputs."""
    a, inner = _accelerated(graph, model, values, mode)
    pull = _solved(graph, model, values, weights, mode)
    names = [name for name in wrt if name != "tau"]
    _, *found = _derived(graph, model, inner, tuple(names), "vjp", mode, [pull])
    gradients = dict(zip(names, ([-x for x in part] for part in found), strict=True))
    return a, [pull if name == "tau" else gradients[name] for name in wrt]


_PASSES: dict[str, Callable[..., Any]] = {"jvp": differentiate.jvp, "vjp": differentiate.vjp}


def _accelerated(graph: Graph, model: Model, values: Values, mode: str | None) -> tuple[list[Any], Values]:
    """The acceleration, and the inputs of inverse dynamics there."""
    names = tuple(name for name in ("q", "v", "tau", "f_ext", "parameters", "gravity") if name in values)
    program = lowered(_job("forward_dynamics", model, names, mode))
    (a,) = spliced(graph, program, [values[x.name] for x in program.inputs])
    return a, {name: a if name == "tau" else values[name] for name in names}


def _derived(
    graph: Graph,
    model: Model,
    inner: Values,
    names: tuple[str, ...],
    kind: str,
    mode: str | None,
    seeds: list[Any],
) -> list[Any]:
    """The results of a derivative of inverse dynamics."""
    values = {"a" if name == "tau" else name: x for name, x in inner.items()}
    job = _job("inverse_dynamics", model, tuple(values), mode)
    own = lowered(job)
    program = model.memo((kind, job, names), lambda: simplify(_PASSES[kind](own, names)))
    return spliced(graph, program, [*(values[x.name] for x in own.inputs), *seeds])


def _solved(graph: Graph, model: Model, values: Values, x: list[Any], mode: str | None) -> list[Any]:
    """M^-1 x."""
    given = {"q": values["q"], "x": x} | {n: values[n] for n in ("parameters",) if n in values}
    program = lowered(_job("mass_matrix_solve", model, tuple(given), mode))
    return spliced(graph, program, [given[a.name] for a in program.inputs])[0]


def _job(name: str, model: Model, names: tuple[str, ...], mode: str | None) -> Job:
    return Job(_sweep(name), model, names, {}, mode=mode)


@cache
def _sweep(name: str) -> SweepFunction:
    return SweepFunction(REGISTRY[name])
