"""Functions whose body is a sweep over the tree: the algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.simplify import simplify
from kinetree.errors import CompileError
from kinetree.interpreters import eager, looped, symbolic, unrolled
from kinetree.model import Model, Node
from kinetree.model.canonical import Homes, canonical, canonical_with_homes, depths
from kinetree.model.loop import LoopNode
from kinetree.stages.batches import batch_of, numbers
from kinetree.stages.function import Function
from kinetree.stages.job import model_digest
from kinetree.sweep import Algorithm
from kinetree.sweep.walk import VelocityTree

MODES = (None, "unrolled", "looped")

# Above this many operations a program keeps its loops by default: unrolling no longer pays, and compiling
# takes too long.
UNROLLED_OPERATIONS = 25_000
# Above this many operations for solving for the columns of matrices, the columns are computed in a loop.
SOLVED_OPERATIONS = 75_000
# Above this many nodes, finding canonical frames would take longer than they save.
CANONICAL_NODES = 5_000


class SweepFunction(Function):
    """An algorithm of the registry as a function of a model."""

    def __init__(self, algorithm: Algorithm):
        self.algorithm = algorithm
        a = algorithm
        super().__init__(a.body, a.inputs, a.outputs, a.options, a.result, a.order)

    def lower(
        self, model: Model, inputs: tuple[str, ...], options: dict[str, Any], mode: str | None = None
    ) -> Program:
        return lower(self.algorithm, model, inputs, options, mode)

    def evaluate(self, model: Model, arrays: dict[str, np.ndarray], options: dict[str, Any]) -> list[Any]:
        batch, cores = batch_of(self, model, arrays, options)
        values = {name: numbers(array, cores[name], batch) for name, array in arrays.items()}
        suited = self.algorithm.for_depth(max(depths(model.nodes), default=0))
        objects = any(array.dtype == object for array in arrays.values())
        if not batch and symbolic.appear(model, arrays):
            outputs = symbolic.run(suited, model, values, options)
        else:
            _, outputs = eager.run(suited, model, values, options)
        return [eager.assembled(output, batch, objects) for output in outputs]


def lower(
    algorithm: Algorithm,
    model: Model,
    present: tuple[str, ...],
    options: dict[str, Any],
    mode: str | None = None,
) -> Program:
    """The program of an algorithm for one model.

    Results that depend on the coordinates alone are computed with canonical nodes. Quantities of pairs of
    bodies are traced in body frames and in a common frame; the program with fewer operations is kept.
    Programs that are too long keep their loops: first those over columns of a matrix, then all.
    """
    if mode not in MODES:
        raise CompileError(f"compile: mode must be 'unrolled', 'looped' or None, not {mode!r}")
    model_digest(model)  # CompileError for a symbolic model
    nodes: tuple[Node, ...] | None = None  # the model's own
    own = {"f_ext", "parameters"}.isdisjoint(
        present
    )  # no input is given in the axes of the model's own bodies
    homes = None
    if algorithm.is_generalised and own and len(model.nodes) <= CANONICAL_NODES:
        nodes = canonical_nodes(model)
        if algorithm.touching:
            nodes, homes = _touching_nodes(model)
    known = nodes or model.nodes
    algorithm = algorithm.for_depth(max(depths(known), default=0))
    estimate, solving = _estimate(algorithm, known), _solving(algorithm, known, model.nv)
    is_mixed = mode is None and solving >= SOLVED_OPERATIONS
    if mode is None:
        mode = "unrolled" if estimate < UNROLLED_OPERATIONS or algorithm.touching else "looped"
    if mode == "looped":
        frames = "common" if algorithm.pairs else "body"
        return simplify(looped.trace(algorithm, model, present, options, frames, nodes))
    programs = [
        simplify(unrolled.trace(algorithm, model, present, options, frames, nodes, is_mixed, homes))
        for frames, nodes in product(("body", "common") if algorithm.pairs else ("body",), _variants(nodes))
    ]
    return min(programs, key=lambda program: program.ops["flops"])


def _variants(nodes: tuple[Node, ...] | None) -> list[tuple[Node, ...] | None]:
    """Equivalent forms of the nodes, of which none is always the cheapest; None means the model's own."""
    if not any(isinstance(node, LoopNode) and node.is_wide for node in nodes or ()):
        return [nodes]
    return [nodes, tuple(n.without_matrix if isinstance(n, LoopNode) else n for n in nodes or ())]


def canonical_nodes(model: Model) -> tuple[Node, ...]:
    """The canonical nodes of a model, cached."""
    return model.memo("canonical nodes", lambda: canonical(model.nodes))


def _touching_nodes(model: Model) -> tuple[tuple[Node, ...], Homes]:
    """Canonical nodes that leave bodies with contact points in place, and where bodies went."""
    bodies = {point.body for point in model.contact_points}
    bodies |= {body for point in model.pair_points for body in (point.body, point.other_body) if body}
    kept = {model.location(body) for body in bodies}
    return model.memo("touching nodes", lambda: canonical_with_homes(model.nodes, kept))


def _estimate(algorithm: Algorithm, nodes: Sequence[Node]) -> float:
    """A rough count of the operations of the unrolled program (calibrated on the robots of the zoo)."""
    bodies = sum(len(node.members) for node in nodes)
    if not algorithm.pairs:
        return 400.0 * bodies
    order = max(3 if "triples" in a.shape else len(a.shape) for a in algorithm.outputs)
    per_path = 60.0 if order == 2 else 15.0
    return 200.0 * bodies + per_path * sum(float(d) ** (order - 1) for d in depths(nodes))


def _solving(algorithm: Algorithm, nodes: Sequence[Node], nv: int) -> float:
    """A rough count of further operations that solve for columns of matrices."""
    if not algorithm.columns:
        return 0.0
    pairs = VelocityTree(nodes).paths()
    return 6.0 * algorithm.columns * pairs * pairs / (nv + 1)  # non-zeros per column: those on one path
