"""A node of the tree: one or several bodies moved by one set of coordinates.

Most nodes hold one link. A node with several members also holds what moves together with it: geared rotors,
mimic joints, armatures. The kinematics below turn the coordinates of the node into the placement X, the
motion subspace S and its partial derivatives for every member, relative to the one body that carries the
node. Algorithms see only stacks of these, not where they come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kinetree import ops
from kinetree.joints.base import Joint
from kinetree.model.coupling import Coupling, Own, spread
from kinetree.spatial import Detached, Inertia, Matrix, Motion, Stack, Subspace, Transform
from kinetree.spatial.factors import Factor, Turn
from kinetree.spatial.value import take_apart
from kinetree.spatial.vector import Number

if TYPE_CHECKING:
    from kinetree.model.loop import Closing

PREDECESSOR = -1  # the carrier of a member that is mounted on the node's predecessor
NOTHING = -2  # the carrier of a member that interacts with no other body (an armature)


class Member(NamedTuple):
    """One body of a node: a link, a rotor, or an armature.

    body: index in the model (1 ...), 0 for rotors and armatures.
    carrier: index of the member that carries it, or PREDECESSOR, or NOTHING.
    placement: carrier -> predecessor side of the joint (constant).
    coupling: the coordinates of the joint in terms of the node's.
    """

    body: int
    carrier: int
    placement: Transform
    joint: Joint
    coupling: Coupling
    inertia: Inertia

    @property
    def is_independent(self) -> bool:
        """True if its joint has coordinates of its own."""
        return isinstance(self.coupling, Own)


class Node(NamedTuple):
    """Bodies moved by one set of coordinates.

    number: place among the nodes of the model.
    predecessor: (node, member) of the body that carries it; (-1, 0) for the world.
    q_index, v_index: the places of its coordinates and velocities in q and v.
    u_index: the places of the velocities of all its joints, counting those that loops make dependent.
    """

    number: int
    predecessor: tuple[int, int]
    members: tuple[Member, ...]
    q_index: tuple[int, ...]
    v_index: tuple[int, ...]
    u_index: tuple[int, ...]
    closing: Closing | None = None  # of a node with loops (`loop.py`)

    @property
    def reference(self) -> tuple[Number, ...]:
        """A valid position of the node."""
        return (0.0,) * len(self.q_index)

    def at(self, q: Sequence[Number]) -> Node:
        """The node at q, with its loops closed."""
        return self

    @property
    def structure(self) -> tuple:
        """The structure of the node, without its numbers: nodes of equal structure share their code."""
        members = []
        for m in self.members:
            axis, turns = tuple(map(_pattern, m.joint.parameters)), tuple(map(_shape, m.placement.factors))
            members.append((m.body > 0, m.carrier, type(m.joint), axis, turns, m.coupling.structure))
        return (self.predecessor[0] < 0, tuple(members), len(self.q_index), len(self.v_index))

    @property
    def parameters(self) -> tuple[Number, ...]:
        """All numbers of the node, in the order in which `with_parameters` takes them."""
        numbers: list[Number] = []
        for m in self.members:
            numbers.extend(take_apart(m.placement)[0])
            numbers.extend(m.joint.parameters)
            numbers.extend(m.coupling.parameters)
            numbers.extend(m.inertia.parameters)
        return tuple(numbers)

    def with_parameters(self, numbers: Sequence[Number]) -> Node:
        """A node of the same structure with other numbers, which may be expressions."""
        rest = iter(numbers)

        def take(count: int) -> tuple[Any, ...]:
            return tuple(next(rest) for _ in range(count))

        members = []
        for m in self.members:
            _, build = take_apart(m.placement)
            placement = build(rest)
            joint = m.joint.with_parameters(take(len(m.joint.parameters)))
            coupling = m.coupling.with_parameters(take(len(m.coupling.parameters)))
            inertia = Inertia.from_parameters(take(10))
            members.append(Member(m.body, m.carrier, placement, joint, coupling, inertia))
        return self._replace(members=tuple(members))

    def kinematics(self, q: Sequence[Number]) -> tuple[Any, Any]:
        """X and S of the node (stacks if it has several members): motions relative to the predecessor."""
        placements: list[Any] = []
        subspaces: list[Subspace] = []
        for m in self.members:
            own = m.coupling.positions(q)
            motion = self.motion(m, q)
            if m.carrier == NOTHING:
                placements.append(Detached())
                subspaces.append(motion)
                continue
            step = m.joint.placement(own).following(m.placement)
            if m.carrier == PREDECESSOR:
                placements.append(step)
                subspaces.append(motion)
            else:
                placements.append(step @ placements[m.carrier])
                subspaces.append(step @ subspaces[m.carrier] + motion)
        return stacked(placements), stacked(subspaces)

    def reflected(self, q: Sequence[Number], x: Sequence[Number]) -> Matrix:
        """Inertia x along the velocities of all joints, reflected to the node's velocities: G^T diag(x) G."""
        return Matrix.diagonal(x)

    def soundness(self, q: Sequence[Number]) -> list[Number]:
        """Numbers that are at least 1 if q is a position of the node's joints (see `Joint.soundness`)."""
        return [x for m in self.members if m.body for x in m.joint.soundness(m.coupling.positions(q))]

    def motion(self, m: Member, q: Sequence[Number]) -> Subspace:
        """S G of one member: its motion relative to its carrier, along each velocity of the node."""
        return spread(m.joint.subspace(m.coupling.positions(q)), m.coupling.G(q), len(self.v_index))

    def partials(self, q: Sequence[Number]) -> tuple[Any, ...]:
        """The derivative of S along each velocity (apparent: of its components); () if S is constant."""
        if self.has_constant_subspace:
            return ()
        width = range(len(self.v_index))
        return tuple(self._derivative(q, [int(j == k) for j in width]) for k in width)

    def ring(self, q: Sequence[Number], v: Sequence[Number]) -> Any:
        """The apparent derivative of S while the node moves at v; zero columns where S is constant."""
        if self.has_constant_subspace:
            return stacked([Subspace(Motion() for _ in self.v_index)] * len(self.members))
        columns = cache(lambda: self._derivative(q, v))
        known: list[tuple[Any, list[Motion]]] = []

        def product(x: Any) -> list[Motion]:  # of all members at once, for one x
            if not known or known[0][0] is not x:
                known[:] = [(x, self._drift(q, v, x))]
            return known[0][1]

        return stacked([_Ring(k, columns, product) for k in range(len(self.members))])

    def slopes(self, q: Sequence[Number], v: Sequence[Number]) -> tuple[Any, ...]:
        """The derivatives of ring(q, v), along each velocity; () if S is constant."""
        if self.has_constant_subspace:
            return ()
        width = range(len(self.v_index))
        return tuple(self._second_derivative(q, [int(j == k) for j in width], v) for k in width)

    @property
    def has_constant_subspace(self) -> bool:
        """True if no member's S depends on q."""
        return not any(
            (m.carrier >= 0 and m.joint.nv and self.v_index)
            or type(m.joint).subspace_partials is not Joint.subspace_partials
            or type(m.coupling).G_partials is not Coupling.G_partials
            for m in self.members
        )

    def _derivative(self, q: Sequence[Number], w: Sequence[Number]) -> Any:
        """The apparent derivative of S along the velocity w.

        A member carried by another member of the node sees the columns of that one through its own moving
        joint: d(step S_c) = step dS_c - (S G w) x step S_c.
        """
        found: list[Subspace] = []
        subspaces: list[Subspace] = []
        for m in self.members:
            motion, result = self.motion(m, q), self._own_derivative(m, q, w)
            if m.carrier >= 0:
                step = m.joint.placement(m.coupling.positions(q)).following(m.placement)
                carried = step @ subspaces[m.carrier]
                result = step @ found[m.carrier] + carried.cross_from(-(motion @ w)) + result
                motion = carried + motion
            subspaces.append(motion)
            found.append(result)
        return stacked(found)

    def _drift(self, q: Sequence[Number], w: Sequence[Number], x: Sequence[Number]) -> list[Motion]:
        """The derivative of S x along w for each member: `_derivative` times x, at the cost of one column."""
        found: list[Motion] = []
        subspaces: list[Subspace] = []
        for m in self.members:
            motion, result = self.motion(m, q), self._own_drift(m, q, w, x)
            if m.carrier >= 0:
                step = m.joint.placement(m.coupling.positions(q)).following(m.placement)
                carried = step @ subspaces[m.carrier]
                result = step @ found[m.carrier] + (-(motion @ w)).cross(carried @ x) + result
                motion = carried + motion
            found.append(result)
            subspaces.append(motion)
        return found

    def _own_drift(self, m: Member, q: Sequence[Number], w: Sequence[Number], x: Sequence[Number]) -> Motion:
        """d_w (S G) x of one member: sum_j u_j dS_j (G x) + S (dG x)."""
        own, result = m.coupling.positions(q), Motion()
        partials = m.joint.subspace_partials(own)
        if partials:
            y = m.coupling.velocities(q, x)
            for partial, rate in zip(partials, m.coupling.velocities(q, w), strict=True):
                result = result + (partial @ y) * rate
        rates = m.coupling.G_drift(q, w, x)
        return result + m.joint.subspace(own) @ rates if rates else result

    def _own_derivative(self, m: Member, q: Sequence[Number], w: Sequence[Number]) -> Subspace:
        """d_w (S G) of one member: (sum_j u_j dS_j) G + S dG, with the velocity u = G w of its joint."""
        width, own, G = len(self.v_index), m.coupling.positions(q), m.coupling.G(q)
        result = Subspace(Motion() for _ in range(width))
        partials = m.joint.subspace_partials(own)
        for partial, rate in zip(partials, m.coupling.velocities(q, w) if partials else (), strict=True):
            result = result + spread(_scaled(partial, rate), G, width)
        rates = m.coupling.G_rate(q, w)
        return result + spread(m.joint.subspace(own), rates, width) if rates else result

    def _second_derivative(self, q: Sequence[Number], u: Sequence[Number], w: Sequence[Number]) -> Any:
        """The derivative along u of the derivative along w, both constant.

        For a member carried by another one, with O its own motion and Y = step S_c:
        d_u d_w Y = step d_u d_w S_c - (O u) x step d_w S_c - (d_u O w) x Y - (O w) x d_u Y.
        """
        found: list[tuple[Subspace, Subspace, Subspace, Subspace]] = []
        for m in self.members:
            S, both = self.motion(m, q), self._own_second_derivative(m, q, u, w)
            along_u, along_w = self._own_derivative(m, q, u), self._own_derivative(m, q, w)
            if m.carrier >= 0:
                step = m.joint.placement(m.coupling.positions(q)).following(m.placement)
                Y, Y_u, Y_w, Y_uw = (step @ part for part in found[m.carrier])
                towards_u, towards_w, turned = -(S @ u), -(S @ w), -(along_u @ w)
                Y_u = Y_u + Y.cross_from(towards_u)
                both = Y_uw + Y_w.cross_from(towards_u) + Y_u.cross_from(towards_w) + both
                both = both + Y.cross_from(turned)
                S, along_u = Y + S, Y_u + along_u
                along_w = Y_w + Y.cross_from(towards_w) + along_w
            found.append((S, along_u, along_w, both))
        return stacked([both for *_, both in found])

    def _own_second_derivative(
        self, m: Member, q: Sequence[Number], u: Sequence[Number], w: Sequence[Number]
    ) -> Subspace:
        """d_u d_w (S G) of one member."""
        width, own, G = len(self.v_index), m.coupling.positions(q), m.coupling.G(q)
        result = Subspace(Motion() for _ in range(width))
        partials, second = m.joint.subspace_partials(own), m.joint.subspace_second_partials(own)
        if partials:
            rates = m.coupling.velocities(q, u), m.coupling.velocities(q, w)
            for rate, row in zip(rates[0], second, strict=True) if second else ():
                for other, partial in zip(rates[1], row, strict=True):
                    result = result + spread(_scaled(partial, rate * other), G, width)
        along_u, along_w = m.coupling.G_rate(q, u), m.coupling.G_rate(q, w)
        both = m.coupling.G_second(q, u, w)
        if along_u:
            for k, partial in enumerate(partials):
                turned = sum((f * w[i] for i, f in along_u[k]), 0)
                result = result + spread(_scaled(partial, turned), G, width)
                result = result + spread(_scaled(partial, rates[1][k]), along_u, width)
                result = result + spread(_scaled(partial, rates[0][k]), along_w, width)
        return result + spread(m.joint.subspace(own), both, width) if both else result


class _Ring(Subspace):
    """The apparent derivative of S of one member: columns on demand, products at the cost of one column."""

    __slots__ = ("_columns", "_member", "_product", "_then")

    def __init__(self, member: int, columns: Any, product: Any, then: tuple[Any, ...] = ()):
        self._member, self._columns, self._product, self._then = member, columns, product, then

    def _found(self, value: Any) -> Any:
        for function in self._then:
            value = function(value)
        return value

    @property
    def columns(self) -> tuple[Motion, ...]:  # type: ignore[override]
        made = self._columns()
        own = made.values[self._member] if isinstance(made, Stack) else made
        return self._found(own).columns

    def __matmul__(self, x: Any) -> Motion:
        return self._found(self._product(x)[self._member])

    def _and(self, function: Any) -> _Ring:
        return _Ring(self._member, self._columns, self._product, (*self._then, function))

    def tagged(self, frame: Any) -> _Ring:
        return self._and(lambda value: value.tagged(frame))

    def transformed(self, X: Transform) -> _Ring:
        return self._and(lambda value: X @ value)

    def with_parts(self, parts: Sequence[Any]) -> Subspace:  # type: ignore[override]
        return Subspace(parts)

    def __add__(self, other: Any) -> Subspace:  # type: ignore[override]
        return Subspace(self.columns) + other


def _scaled(S: Subspace, factor: Number) -> Subspace:
    return S if type(factor) is int and factor == 1 else Subspace(column * factor for column in S.columns)


def stacked(values: Sequence[Any]) -> Any:
    """The value itself for one body, a `Stack` for several."""
    return values[0] if len(values) == 1 else Stack(values)


def _pattern(number: Number) -> int | None:
    """0, 1 or -1 if a number is exactly that, as in an axis along x; it is then part of the structure."""
    return int(number) if ops.is_literal(number) and number in (0, 1, -1) else None


def _shape(factor: Factor) -> int:
    """The axis of a turn, -1 for a general rotation."""
    return factor.axis if isinstance(factor, Turn) else -1
