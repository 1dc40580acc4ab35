"""The unrolled trace: an algorithm run on expressions gives one straight-line program for the model.

Every constant of the model is a literal, so zeros, ones and right angles fold away. For small and medium
robots nothing is faster.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.compiler.ir.graph import Array, Graph
from kinetree.compiler.ir.program import Program
from kinetree.interpreters import eager
from kinetree.interpreters.walks import Memory, mixed_sweep
from kinetree.model import Node
from kinetree.model.canonical import Homes
from kinetree.sweep import Algorithm
from kinetree.sweep.signature import MODEL_INPUTS


def trace(
    algorithm: Algorithm,
    model: Any,
    present: tuple[str, ...],
    options: dict[str, Any],
    frames: str = "body",
    nodes: tuple[Node, ...] | None = None,
    is_mixed: bool = False,
    homes: Homes | None = None,
) -> Program:
    """The program of an algorithm for one model; `present` names the inputs that a caller gives.

    `is_mixed`: loops over the columns of matrices stay loops. `homes`: which `nodes` hold the bodies.
    """
    graph = Graph()
    inputs, values = [], {}
    for argument in (*algorithm.inputs, *MODEL_INPUTS):
        if argument.name in present:
            shape = argument.sizes(model, options)
            array = graph.array(argument.name, "input", math.prod(shape))
            inputs.append(array)
            loads = np.empty(array.size, object)
            loads[:] = [graph.load(array, k) for k in range(array.size)]
            values[argument.name] = loads.reshape(shape).tolist()
    kind = mixed_sweep(graph) if is_mixed else eager.EagerSweep
    _, results = eager.run(algorithm, model, values, options, frames, nodes, kind, homes)
    outputs = tuple(
        _stored(graph, argument.name, result)
        for argument, result in zip(algorithm.outputs, results, strict=True)
    )
    return Program.of(algorithm.name, graph, inputs, outputs)


def _stored(graph: Graph, name: str, result: eager.Output) -> Array:
    """An output array with the values of a result."""
    if isinstance(result, Memory):
        result.array.name = name
        return result.array
    array = graph.array(name, "output", math.prod(result.shape))
    if len(result.values) < array.size:
        graph.clear(array)
    for index, value in sorted(result.values.items()):
        place = int(np.ravel_multi_index(index, result.shape)) if index else 0
        graph.store(array, place, value if isinstance(value, ops.Expr) else float(value))
    return array
