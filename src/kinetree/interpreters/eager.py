"""Eager execution: the body of an algorithm run as plain Python, node by node, on numbers of any kind.

With floats it computes; with NumPy arrays it computes a batch; with 50-digit numbers, symbols or expressions
it gives reference values, equations, or a straight-line program (`unrolled.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.compiler.ir.graph import Graph
from kinetree.errors import SingularError, TraceError
from kinetree.interpreters import rows as memory
from kinetree.interpreters.results import WORLD, Handle, Output, PlainWalk, Unit, Velocity, assembled
from kinetree.interpreters.triples import Triples
from kinetree.model.canonical import Homes
from kinetree.model.configuration import refuse_unsound_node
from kinetree.model.geometry import ContactPoint
from kinetree.model.manifold import count
from kinetree.model.node import Node
from kinetree.ops import Expr
from kinetree.ops.control import repeated
from kinetree.spatial import Coordinates, Force, Stack
from kinetree.spatial.pose import Pose
from kinetree.sweep import Algorithm, Argument, Sweep
from kinetree.sweep.bounds import NEGLIGIBLE, inertia_bounds
from kinetree.sweep.numbers import with_numbers
from kinetree.sweep.sweep import Frame, marked_nodes
from kinetree.sweep.walk import Walk


class EagerSweep(Sweep):
    """The tree, with plain Python loops over its nodes."""

    world = WORLD

    def __init__(
        self, model: Any, frames: str = "body", nodes: tuple[Node, ...] | None = None,
        marks: frozenset[int] = frozenset(), homes: Homes | None = None,
    ):  # fmt: skip
        super().__init__(model, frames)
        self.marks, self.homes = marks, homes
        self.graph: Any = None  # of the expressions among the inputs
        self.nodes: tuple[Node, ...] = model.nodes if nodes is None else nodes
        self.velocities: Walk = PlainWalk(self)
        self.sound: set[int] = set()  # nodes whose positions have been checked

    def outward(self) -> Iterator[Handle]:
        return (Handle(k) for k in range(len(self.nodes)))

    def inward(self) -> Iterator[Handle]:
        return (Handle(k) for k in reversed(range(len(self.nodes))))

    def parent(self, i: Handle) -> Handle:
        return Handle(*self.nodes[i.node].predecessor)

    def path(self, X: Any, j: Handle, *carried: Any) -> Iterator[tuple]:
        i = j
        while i.node >= 0:
            yield (i, *carried)
            carried = tuple(value.carried(X[i]) for value in carried)
            i = self.parent(i)

    def fields(self, *types: type) -> tuple[Field, ...]:
        return tuple(Field(t) for t in types)

    def sums(self, *types: type) -> Any:
        found = tuple(Sum(t) for t in types)
        return found[0] if len(found) == 1 else found

    def array(self, *dimensions: str | int) -> Output:
        return Output(self, dimensions)

    def triples(self) -> Triples:
        return Triples(self)

    def absent(self, *dimensions: str | int) -> Any:
        return eager_input(self, Argument("absent", dimensions), None)

    def velocity(self, i: Handle, k: int) -> Velocity:
        return Velocity(i.node, k)

    def units(self) -> Iterator[Unit]:
        for node in self.nodes:
            for k in range(len(node.v_index)):
                yield Unit(self, node.number, k)

    def node(self, i: Handle) -> Node:
        return self.nodes[i.node]

    def frame_of(self, i: Handle) -> tuple[Frame, ...]:
        return self._frames[i.node]

    def parent_frame(self, i: Handle) -> Frame:
        node, member = self.nodes[i.node].predecessor
        return self.world_frame if node < 0 else self._frames[node][member]

    @cached_property
    def _frames(self) -> list[tuple[Frame, ...]]:
        if self.frames == "common":
            return [(self.common,) * len(node.members) for node in self.nodes]
        names = ("a rotor", *self.model.body_names)
        return [tuple(Frame(names[m.body]) for m in node.members) for node in self.nodes]

    def body(self, index: int) -> Handle:
        return WORLD if index == 0 else Handle(*self.model.location(index))

    @cached_property
    def contacts(self) -> list[tuple[Handle, ContactPoint]]:  # type: ignore[override]
        homes = ((point, *self._home(point.body)) for point in self.model.contact_points)
        return [(place, point if way is None else point.moved(way)) for point, place, way in homes]

    def _home(self, body: int) -> tuple[Handle, Pose | None]:
        """The node of a body of the model, and its pose there; None if it is a body of the sweep itself."""
        place = self.model.location(body)
        if self.homes is None or place[0] < 0:
            return Handle(*place), None
        place, way = self.homes[place]
        return Handle(*place), Pose.from_transform(way)

    @cached_property
    def pairs(self) -> list[tuple[Handle, Handle, tuple, int]]:  # type: ignore[override]
        parts = {part.name: part for part in self.model.geometries}
        found = []
        for pair in self.model.pairs:
            a, b = parts[pair.geometry], parts[pair.other]
            (here, way), (there, other) = self._home(a.body), self._home(b.body)
            at = a.placement if way is None else way @ a.placement
            to = b.placement if other is None else other @ b.placement
            found.append((here, there, (a.shape, at, b.shape, to), count(a.shape, b.shape)))
        return found

    def paths(self, bodies: Sequence[Handle]) -> set[Handle]:
        found = set()
        for i in bodies:
            while i.node >= 0 and Handle(i.node) not in found:
                found.add(Handle(i.node))
                i = self.parent(i)
        return found

    def repeat(self, count: int, body: Callable[..., Any], *state: Any, until: Any = None) -> Any:
        return repeated(self.graph, count, body, state, until)

    def rows(self, count: int, width: int) -> Any:
        return memory.rows(self.graph, count, width)

    def constants(self, rows: list[Sequence[Any]], loops: bool) -> Any:
        return memory.constants(self.graph, rows, loops)

    def each(self, count: int, loops: bool) -> Iterator[Any]:
        return memory.each(self.graph, count, loops)

    def totals(self, width: int, loops: bool) -> Any:
        return memory.totals(self.graph, width, loops)

    def implied(self, found: list[Any], rule: Callable[[list[Any]], list[Any]]) -> list[Any]:
        graph = next((x.graph for x in found if isinstance(x, Expr)), None)
        if graph is None:
            return found
        guards = list(graph.guards)
        implied = rule([ops.implied(x, 0.0) for x in found])
        graph.guards = guards  # the values found are guarded already; do not evaluate the rule for its guards
        return [ops.implied(x, y) for x, y in zip(found, implied, strict=True)]

    def is_marked(self, i: Handle) -> bool:
        return i.node in self.marks

    def guard(self, i: Handle, pivots: tuple) -> None:
        for pivot, place in zip(pivots, self.nodes[i.node].v_index, strict=True):
            self.guard_pivot(i, place, pivot)

    def guard_pivot(self, i: Handle, place: int, pivot: Any) -> None:
        """The same for one pivot, that of the velocity at an index in v."""
        least = NEGLIGIBLE * float(inertia_bounds(self.model)[place])
        if isinstance(pivot, Expr):
            pivot.graph.guards.append(pivot * (1.0 / least))
        elif isinstance(pivot, (int, float, complex, np.ndarray, np.generic)):
            # NaN inputs give NaN; only a pivot that is too small is an error
            small = np.real(pivot) < least
            if np.any(small):
                raise SingularError(self._singular(i, np.min(np.real(pivot)), least))

    def require_sound(self, i: Handle, q: Any) -> None:
        if i.node in self.sound:
            return
        self.sound.add(i.node)
        for x in self.nodes[i.node].soundness(q):
            if isinstance(x, Expr):
                x.graph.guards.append(x)
        refuse_unsound_node(self.model, self.nodes[i.node], q)

    def _singular(self, i: Handle, pivot: float, least: float) -> str:
        bodies = [m.body for m in self.nodes[i.node].members if m.body > 0]
        joints = " and ".join(repr(self.model.joint_names[b - 1]) for b in bodies)
        return (
            f"joint {joints} of model {self.model.name!r} has no inertia along its motion: "
            f"{pivot:.3g} where rounding alone gives {least:.3g}. Give the bodies it moves mass and "
            "inertia, add armature to the joint, lock it (model.lock), or load the file with repair=True."
        )


class Field:
    """One value for each node, written once."""

    def __init__(self, kind: Any):
        self.kind = kind
        self.values: dict[int, Any] = {}

    def __setitem__(self, i: Handle, value: Any) -> None:
        if i.node in self.values:
            raise TraceError(
                "a field is written once for each node: use tree.sums for a value that is added to"
            )
        self.values[i.node] = value

    def __getitem__(self, i: Handle) -> Any:
        value = self.values.get(i.node)
        if value is None:
            if i.node < 0:
                return self.kind.zero()
            raise TraceError("a field was read before it was written for that node")
        return value.values[i.member] if i.member is not None and isinstance(value, Stack) else value


class Sum(Field):
    """One value for each node, written once and then added to."""

    def __setitem__(self, i: Handle, value: Any) -> None:
        if isinstance(value, Stack):
            super().__setitem__(i, Stack(map(self.kind.promoted, value.values)))
        else:
            super().__setitem__(i, self.kind.promoted(value))

    def add(self, i: Handle, value: Any) -> None:
        """Add to the value of one body."""
        known = self.values.get(i.node)
        if isinstance(known, Stack):
            parts = list(known.values)
            parts[i.member or 0] = parts[i.member or 0] + value
            self.values[i.node] = Stack(parts)
        else:
            self.values[i.node] = value if known is None else known + value


class CoordinateInput:
    """An input with one number per coordinate (`index` says which of a node's index tuples)."""

    def __init__(self, tree: EagerSweep, values: Any, index: str):
        self.tree, self.values, self.index = tree, values, index

    def __getitem__(self, i: Handle) -> Coordinates:
        places = getattr(self.tree.nodes[i.node], self.index)
        if self.values is None:
            return Coordinates((0,) * len(places))
        return Coordinates(self.values[k] for k in places)


class BodyInput:
    """An input with one wrench per body."""

    def __init__(self, tree: EagerSweep, values: Any):
        self.tree, self.values = tree, values

    def __getitem__(self, i: Handle) -> Any:
        wrenches = [
            Force()
            if self.values is None or not m.body
            else Force.from_components(self.values[m.body - 1][k] for k in range(6))
            for m in self.tree.nodes[i.node].members
        ]
        return self.tree.wrenches(i, wrenches)


def bind(tree: Any, algorithm: Algorithm, values: dict[str, Any], make: Any) -> list[Any]:
    """The inputs of an algorithm, indexed by node."""
    return [make(tree, argument, values.get(argument.name)) for argument in algorithm.inputs]


def eager_input(tree: EagerSweep, argument: Any, value: Any) -> Any:
    """One input for eager execution."""
    if argument.shape == ("nb", 6):
        return BodyInput(tree, value)
    if argument.shape == ("nq",):
        return CoordinateInput(tree, value, "q_index")
    if argument.shape == ("nv",):
        return CoordinateInput(tree, value, "v_index")
    if argument.shape == ("nu",):
        return CoordinateInput(tree, value, "u_index")
    if value is not None:
        return value
    return (0,) * argument.shape[0] if isinstance(argument.shape[0], int) else ()


def run(
    algorithm: Algorithm,
    model: Any,
    values: dict[str, Any],
    options: dict[str, Any],
    frames: str = "body",
    nodes: tuple[Node, ...] | None = None,
    kind: Callable[..., EagerSweep] = EagerSweep,
    homes: Homes | None = None,
) -> tuple[EagerSweep, tuple[Output, ...]]:
    """Run the body of an algorithm; `values` holds nested sequences of numbers for the given inputs.

    `nodes` replaces the model's own by equivalent ones (`kinetree.model.canonical`); `homes` says which of
    them hold the bodies.
    """
    model = with_numbers(model, values.get("parameters"), values.get("gravity"))
    nodes = _lifted(model.nodes if nodes is None else nodes, values)
    tree = kind(model, frames, nodes, marked_nodes(model, options), homes)
    if algorithm.touching:
        tree.graph = _graph_of(values)
    result = algorithm.body(tree, *bind(tree, algorithm, values, eager_input), **options)
    return tree, result if isinstance(result, tuple) else (result,)


def _graph_of(values: Any) -> Graph | None:
    """The graph of the expressions among the inputs; None if there are none."""
    if isinstance(values, Expr):
        return values.graph
    parts = values.values() if isinstance(values, dict) else values if isinstance(values, list) else ()
    return next((found for part in parts if (found := _graph_of(part)) is not None), None)


def _lifted(nodes: tuple[Node, ...], values: Any) -> tuple[Node, ...]:
    """The nodes with their floats as many-digit numbers, if the inputs are such: otherwise products of two
    model constants would be rounded to double precision.
    """
    while isinstance(values, (dict, list, tuple)):
        values = next(iter(values.values() if isinstance(values, dict) else values), None)
    if type(values).__module__.partition(".")[0] != "mpmath":
        return nodes
    from mpmath import mpf

    return tuple(
        node.with_parameters([mpf(x) if isinstance(x, float) else x for x in node.parameters])
        for node in nodes
    )


__all__ = ["EagerSweep", "assembled", "run"]
