"""Small programs with known answers, and kernels of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.compiler.ir.graph import Graph
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.pipeline import optimize
from kinetree.compiler.runtime.artifact import Artifact
from kinetree.compiler.runtime.description import Description
from kinetree.compiler.runtime.kernel import Kernel


def program(
    sizes: dict[str, int], results: dict[str, Callable[..., list]], guard: Callable | None = None
) -> Program:
    """The program whose outputs are given as functions of the lists of its inputs' elements."""
    graph = Graph()
    inputs = [graph.array(name, "input", size) for name, size in sizes.items()]
    values = [[graph.load(a, k) for k in range(a.size)] for a in inputs]
    outputs = []
    for name, function in results.items():
        elements = function(*values)
        array = graph.array(name, "output", len(elements))
        for k, element in enumerate(elements):
            graph.store(array, k, element)
        outputs.append(array)
    watch = None
    if guard is not None:
        watch = graph.array("guard", "output", 1)
        graph.store(watch, 0, guard(*values))
    return Program("sample", tuple(inputs), tuple(outputs), (), (), graph.root, graph, guard=watch)


def kernel_of(prog: Program, *shapes: Any, **options: Any) -> Kernel:
    """The kernel of an optimized program."""
    return bare_kernel(optimize(prog), *shapes, **options)


def bare_kernel(
    prog: Program,
    shapes_in: list | None = None,
    shapes_out: list | None = None,
    dtype: str = "float64",
    kind: type[Kernel] = Kernel,
) -> Kernel:
    """The kernel of a program as it is, with one axis for each array unless shapes are given."""
    shapes_in = shapes_in or [(a.size,) for a in prog.inputs]
    shapes_out = shapes_out or [(a.size,) for a in prog.outputs]
    return kind(Artifact.of(prog, Description.of(prog, shapes_in, shapes_out, dtype)))


def mixed(x: list, y: list) -> list:
    """A bit of everything, of order one."""
    a, b, c = x
    d, e = y
    s = ops.sin(a) * ops.cos(b) + c * d
    return [
        s,
        s * e - a,
        ops.sqrt(b * b + 1.0),
        ops.atan2(c, d * d + 1.0),
        ops.min(a, e),
        a / (d * d + 2.0),
        ops.sin(s),
    ]


def mixed_kernel(**options: Any) -> Kernel:
    """(3), (2) -> (7), (): `mixed`, and a plain sum."""
    prog = program({"x": 3, "y": 2}, {"m": mixed, "t": lambda x, y: [x[0] + x[1] + y[1]]})
    return kernel_of(prog, None, [(7,), ()], **options)


def mixed_reference(x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """What `mixed_kernel` computes, by NumPy."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    batch = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    a, b, c = np.moveaxis(np.broadcast_to(x, (*batch, 3)), -1, 0)
    d, e = np.moveaxis(np.broadcast_to(y, (*batch, 2)), -1, 0)
    s = np.sin(a) * np.cos(b) + c * d
    rows = [
        s,
        s * e - a,
        np.hypot(b, 1.0),
        np.arctan2(c, d * d + 1.0),
        np.minimum(a, e),
        a / (d * d + 2.0),
        np.sin(s),
    ]
    return np.stack(rows, axis=-1), a + b + e


def identity_kernel(size: int = 3, **options: Any) -> Kernel:
    """x -> (x + y): easy to check bit by bit."""
    prog = program({"x": size, "y": size}, {"z": lambda x, y: [a + b for a, b in zip(x, y)]})
    return kernel_of(prog, **options)
