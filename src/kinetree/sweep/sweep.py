"""The interface through which an algorithm sees a tree.

The body of an algorithm is written over a `Sweep`. It loops over handles of nodes, outward (base to tips) and
inward (tips to base), and along paths to the root; it keeps values in fields (written once per node, then
read) and sums (written once, then added to); and it returns outputs. The executor decides what the loops and
numbers are: plain Python on numbers (eager), the same on expressions (an unrolled trace), or loops recorded
once for each kind of node (a looped trace). Three rules keep a body runnable by all of them:

1. numbers only through operators and `kinetree.ops`;
2. control flow only over handles and static facts of the model;
3. storage only through fields, sums and outputs.

This class holds what all executors share: the joints, inertias and gravity of the model, in the frames of the
sweep. With `frames="body"` every quantity is in its own body's frame. With `frames="common"` all are in the
frame of the tree's root body (of the world, if the root is a group): transforms between bodies are then the
identity and cost nothing, which suits quantities of pairs of bodies in deep trees.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from kinetree.errors import ModelError, TraceError
from kinetree.model.closure_forces import multipliers, pulls
from kinetree.model.loop import LoopNode
from kinetree.model.node import NOTHING, Node, stacked
from kinetree.spatial import CoriolisInertia, Detached, Factored, Force, Matrix, Motion, Partials, Stack
from kinetree.spatial import vector as vec
from kinetree.spatial.transform import Transform
from kinetree.spatial.value import Value
from kinetree.sweep.walk import Walk


class Frame:
    """A tag that stands for the frame of one body; compared by identity."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name


class Sweep(ABC):
    """The tree as an algorithm sees it; see the module docstring."""

    world: Any  # the handle of the world, the predecessor of root nodes
    velocities: Walk  # the single velocities, for matrices of pairs of them

    def __init__(self, model: Any, frames: str = "body"):
        self.model = model
        self.frames = frames
        self.common = Frame("the common frame")
        self.world_frame = Frame("the world")
        self.poses: Any = None  # from the common frame to each body, where the sweep uses one

    # -- loops -------------------------------------------------------------------------------------

    @abstractmethod
    def outward(self) -> Iterator[Any]:
        """Handles of all nodes, each after its predecessor."""

    @abstractmethod
    def inward(self) -> Iterator[Any]:
        """Handles of all nodes, each before its predecessor."""

    @abstractmethod
    def parent(self, i: Any) -> Any:
        """The handle of the one body that carries node i."""

    @abstractmethod
    def path(self, X: Any, j: Any, *carried: Any) -> Iterator[tuple]:
        """(i, *values) for i = j and then each of its ancestors; the transforms X move the values along."""

    # -- storage -----------------------------------------------------------------------------------

    @abstractmethod
    def fields(self, *types: type) -> tuple[Any, ...]:
        """Fields of the given types: one value for each node, written once."""

    @abstractmethod
    def sums(self, *types: type) -> Any:
        """Like `fields`, for values that are written once and then added to by `.add(handle, value)`."""

    @abstractmethod
    def array(self, *dimensions: str | int) -> Any:
        """An output: dimensions "nv" are indexed by nodes, "nb" by nodes (their bodies), numbers by ":"."""

    @abstractmethod
    def triples(self) -> Any:
        """An output with one number per triple of velocities on one path, written as [i, j, k].

        One of the three indices is a velocity of the outermost node (see `columns`); the others are nodes.
        """

    def coordinates(self) -> Any:
        """An output with one number for each velocity."""
        return self.array("nv")

    @abstractmethod
    def absent(self, *dimensions: str | int) -> Any:
        """An input that was not given: zeros, by node."""

    @abstractmethod
    def velocity(self, i: Any, k: int) -> Any:
        """The handle of one velocity of node i, to index an output with."""

    def columns(self, i: Any, *matrices: Any) -> Iterator[tuple]:
        """(velocity, *columns) for each velocity of node i, with its column of each matrix."""
        for k, parts in enumerate(zip(*(matrix.columns for matrix in matrices), strict=True)):
            yield (self.velocity(i, k), *parts)

    def zero(self, i: Any, kind: type[Value]) -> Any:
        """The neutral value of a type for node i."""
        return stacked([kind.zero() for _ in self.node(i).members])

    # -- the model ---------------------------------------------------------------------------------

    @abstractmethod
    def node(self, i: Any) -> Node:
        """The node behind a handle, with its numbers."""

    @abstractmethod
    def frame_of(self, i: Any) -> tuple[Frame, ...]:
        """The frames of the members of a node."""

    @abstractmethod
    def body(self, index: int) -> Any:
        """The handle of one body of the model; 0 is the world."""

    def frame(self, name: str) -> tuple[Any, Transform]:
        """The handle of the body that carries a frame, and the transform from that body to the frame."""
        index, placement = self.model.frame(name)
        i = self.body(index)
        source = self.world_frame if index == 0 else self.frame_of(i)[self.model.location(index)[1]]
        return i, placement.between(source, Frame(name))

    def units(self) -> Iterator[Any]:
        """Unit vectors: for each velocity, an input that is one there and zero elsewhere.

        Not in a looped trace.
        """
        raise TraceError("loops over all nodes within a loop over all velocities cannot be traced as loops")

    # -- contact: not in a looped trace

    @property
    def contacts(self) -> Sequence[tuple[Any, Any]]:
        """The points that can touch the ground, each after the handle of the body that carries it."""
        raise TraceError("contact cannot be traced as loops over the tree")

    @property
    def pairs(self) -> Sequence[tuple[Any, Any, Any, int]]:
        """The pairs that can touch: handles of both bodies, (shape, pose, shape, pose), number of points."""
        raise TraceError("contact cannot be traced as loops over the tree")

    def paths(self, bodies: Sequence[Any]) -> Collection[Any]:
        """The nodes on the paths from these bodies to the root."""
        raise TraceError("contact cannot be traced as loops over the tree")

    def places_among(self, i: Any, chosen: Collection[int]) -> list[int]:
        """The joint velocities of node i, by their place in the node, whose place in u is among `chosen`."""
        return [k for k, place in enumerate(self.node(i).u_index) if place in chosen]

    def repeat(self, count: int, body: Callable[..., Any], *state: Any, until: Any = None) -> Any:
        """`ops.repeat`: the state after `count` applications of a body, or as soon as `until` holds."""
        raise TraceError("a loop of its own cannot be traced within loops over the tree")

    def rows(self, count: int, width: int) -> Any:
        """Memory for `count` rows of `width` numbers, written and read by row index."""
        raise TraceError("a loop of its own cannot be traced within loops over the tree")

    def constants(self, rows: list[Sequence[Any]], loops: bool) -> Any:
        """Constant rows of numbers, read inside loops or not."""
        raise TraceError("a loop of its own cannot be traced within loops over the tree")

    def each(self, count: int, loops: bool) -> Iterator[Any]:
        """The indices of rows; with `loops`, a loop in recorded programs."""
        raise TraceError("a loop of its own cannot be traced within loops over the tree")

    def totals(self, width: int, loops: bool) -> Any:
        """`width` running sums: `add(*numbers)` adds to them within `each`, `values()` reads them after."""
        raise TraceError("a loop of its own cannot be traced within loops over the tree")

    def implied(self, found: list[Any], rule: Callable[[list[Any]], list[Any]]) -> list[Any]:
        """The values `found`, with the derivatives of `rule(found)`, in which `found` itself is constant."""
        raise TraceError("a loop of its own cannot be traced within loops over the tree")

    @abstractmethod
    def is_marked(self, i: Any) -> bool:
        """True if the option `accelerate` names a joint of node i: a static fact."""

    @abstractmethod
    def guard(self, i: Any, pivots: tuple) -> None:
        """Flag the result if one of these pivots of node i is zero or rounding noise."""

    @abstractmethod
    def require_sound(self, i: Any, q: Any) -> None:
        """Flag the result if q is not a position of node i: if a quaternion is far from unit length."""

    @property
    def gravity(self) -> Motion:
        """The acceleration of free fall, in world axes."""
        return Motion((0, 0, 0), tuple(self.model.gravity), self.world_frame)  # type: ignore[arg-type]

    def joint(self, i: Any, q: Any, v: Any = None) -> tuple[Any, ...]:
        """X and S of node i at the coordinates q; with velocities v, also the apparent derivative of S."""
        node = self.node(i)
        self.require_sound(i, q)
        X, S = node.kinematics(q)
        ring = None if v is None else node.ring(q, v)
        frames = self.frame_of(i)
        if self.frames == "common":
            P = self._pose(i, node, X)
            S = _back(P, S)
            ring = _back(P, ring) if ring is not None else None
            if not _is_common(node):
                X = _each(X, lambda x, f: x if isinstance(x, Detached) else Transform(), frames)
        source = self.parent_frame(i)
        X = _each(X, lambda x, f: x.between(source, f), frames)
        S = _each(S, lambda s, f: s.tagged(f), frames)
        if ring is None:
            return X, S
        return X, S, _each(ring, lambda s, f: s.tagged(f), frames)

    def partials(self, i: Any, q: Any) -> Any:
        """The derivatives of S along each velocity of node i. Call `joint` first."""
        return self._along(i, self.node(i).partials(q))

    def slopes(self, i: Any, q: Any, v: Any) -> Any:
        """The derivatives of ring(q, v) along each velocity of node i, for constant v. Call `joint` first."""
        return self._along(i, self.node(i).slopes(q, v))

    def _along(self, i: Any, found: tuple[Any, ...]) -> Any:
        """Derivatives of S of node i, in the frames of the sweep; an empty tuple means zero."""
        if self.frames == "common":
            P = self.poses[i]
            found = tuple(_back(P, partial) for partial in found)
        width = len(self.node(i).v_index)
        members = [
            Partials.along([d.values[m] if isinstance(d, Stack) else d for d in found], width).tagged(frame)
            for m, frame in enumerate(self.frame_of(i))
        ]
        return stacked(members)

    def complement(self, i: Any, q: Any) -> Any:
        """The directions constrained by the joint of each body of node i, zero-padded to six columns."""
        node = self.node(i).at(q)
        found = [m.joint.complement(m.coupling.positions(q)).padded(6) for m in node.members]
        return stacked([S.tagged(f) for S, f in zip(found, self.frame_of(i), strict=True)])

    def gathered(self, i: Any, X: Any, value: Any) -> Any:
        """A force or inertia of each body of node i, including those of the bodies it carries in the node."""
        if not isinstance(value, Stack):
            return value
        parts = list(value.values)
        for m, member in reversed(list(enumerate(self.node(i).members))):
            if member.carrier >= 0:
                step = X.values[m] @ X.values[member.carrier].inverse()
                parts[member.carrier] = parts[member.carrier] + parts[m].carried(step)
        return Stack(parts)

    def held(self, i: Any, q: Any, X: Any, F: Any) -> Any:
        """The wrench through the joint of each body of node i that gives its bodies the forces F.

        Closure constraints carry their part, so dependent joints transmit no force along their motions.
        """
        node = self.node(i)
        if not isinstance(node, LoopNode):
            return self.gathered(i, X, F)
        closed, frames = node.closed(q), self.frame_of(i)
        _, S = node.spanning.kinematics(closed.q)
        needed = _each(S, lambda s, f: s.tagged(f), frames).T @ F
        parts = list(F.values if isinstance(F, Stack) else (F,))
        for wrenches in pulls(closed, multipliers(closed, needed)):
            for member, wrench in wrenches.items():
                if member >= 0:
                    parts[member] = parts[member] - wrench.tagged(frames[member])
        return self.gathered(i, X, stacked(parts))

    def inertia(self, i: Any) -> Any:
        """The inertia of node i. In common frames call `joint` first."""
        inertias = [m.inertia for m in self.node(i).members]
        if self.frames == "common":
            P = self.poses[i]
            members = P.values if isinstance(P, Stack) else (P,)
            carriers = [m.carrier for m in self.node(i).members]
            inertias = [
                I if carrier == NOTHING else I.congruence(x)
                for I, x, carrier in zip(inertias, members, carriers, strict=True)
            ]
        return stacked([I.tagged(f) for I, f in zip(inertias, self.frame_of(i), strict=True)])

    def wrenches(self, i: Any, given: Sequence[Force]) -> Any:
        """Wrenches on the members of node i, given in the axes of each body, in the frames of the sweep.

        In common frames call `joint` first.
        """
        if self.frames == "common":
            P = self.poses[i]
            members = P.values if isinstance(P, Stack) else (P,)
            given = [f.behind(x) for f, x in zip(given, members, strict=True)]
        return stacked([f.tagged(frame) for f, frame in zip(given, self.frame_of(i), strict=True)])

    def turning(self, i: Any, wrenches: Any) -> Any:
        """The change of wrenches on node i under motions that turn them about the origins of their bodies."""
        points = [vec.ZERO] * len(self.frame_of(i))
        if self.frames == "common":
            P = self.poses[i]
            points = [x.translation for x in (P.values if isinstance(P, Stack) else (P,))]
        found = wrenches.values if isinstance(wrenches, Stack) else (wrenches,)
        return stacked([CoriolisInertia.of_turning(f, p) for f, p in zip(found, points, strict=True)])

    def reflected(self, i: Any, q: Any, x: Any) -> Matrix:
        """Inertia x along the velocities of all joints of node i, reflected to the velocities of the node."""
        return self.node(i).reflected(q, x)

    def spread(self, i: Any, q: Any, v: Any) -> Any:
        """The velocities of all joints of node i, including those that loops make dependent."""
        node = self.node(i)
        return node.closed(q).velocities(v) if isinstance(node, LoopNode) else v

    def drawn(self, i: Any, q: Any, f: Any) -> Any:
        """Forces along the velocities of all joints of node i, as forces along the velocities of the node."""
        node = self.node(i)
        if not isinstance(node, LoopNode):
            return f
        total: list[Any] = [0] * len(node.v_index)
        for row, x in zip(node.closed(q).G, f, strict=True):
            for k, a in row:
                total[k] = total[k] + a * x
        return total

    def factored(self, i: Any, D: Matrix) -> Factored:
        """D, factored for solving; a singular D raises an error that names the joint."""
        result = Factored(D)
        self.guard(i, result.pivots)
        return result

    def parent_frame(self, i: Any) -> Frame:
        """The frame of the body that carries node i."""
        raise NotImplementedError

    def _pose(self, i: Any, node: Node, X: Any) -> Any:
        """From the common frame to the members of node i; the frame of a one-body root is the common one."""
        if self.poses is None:
            (self.poses,) = self.fields(Transform)
        if _is_common(node):
            self.poses[i] = Transform()
        else:
            self.poses[i] = X @ self.poses[self.parent(i)]
        return self.poses[i]


def _is_common(node: Node) -> bool:
    """True for a root of one body, whose frame is the common one."""
    return node.predecessor[0] < 0 and len(node.members) == 1


def _each(value: Any, function: Any, frames: tuple[Frame, ...]) -> Any:
    """`function(value, frame)` for each member."""
    return value.each(function, frames) if isinstance(value, Stack) else function(value, frames[0])


def _back(P: Any, S: Any) -> Any:
    """Columns in body coordinates, moved to the common frame; a detached member has the identity as pose."""
    if isinstance(P, Stack):
        return Stack(_back(p, s) for p, s in zip(P.values, S.values, strict=True))
    return P.inverse() @ S


def marked_nodes(model: Any, options: dict[str, Any]) -> frozenset[int]:
    """The nodes whose joints the option `accelerate` names; a group is named as a whole or not at all."""
    names = set(options.get("accelerate", ()))
    bodies = {model.joint_index(name) for name in names}
    found = {model.location(body)[0] for body in bodies}
    for index in found:
        moving = [m.body for m in model.nodes[index].members if m.body and model.layout.widths[m.body]]
        missing = [model.joint_names[body - 1] for body in moving if body not in bodies]
        if missing:
            raise ModelError(
                f"model {model.name!r}: joints {', '.join(map(repr, missing))} move together with one that "
                "is given in accelerate (mimic joints or loops couple them): name all of them, or none"
            )
    return frozenset(found)
