"""Points and directions fixed in the members of a node, with derivatives along velocities of its joints.

All are expressed in the axes of the body that carries the node, or in axes rotated relative to it. Velocity j
of the joint of member m turns everything that m carries by w_j and moves its origin r_m by l_j, so a point p
and a direction c beyond it change by

    d_j p = l_j + w_j x (p - r_m)        d_j c = w_j x c

w_j and l_j are themselves directions fixed in m, so derivatives of any order follow by the product rule. A
jet is a dictionary from masks to derivatives, with bit k set for a derivative along direction k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kinetree import ops
from kinetree.joints.axis import rotation_about
from kinetree.joints.base import CoordinateJoint, Joint
from kinetree.spatial import vector as vec
from kinetree.spatial.motion import Motion
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import Matrix, Number, Vector

PREDECESSOR = -1
Jet = dict[int, Any]  # mask -> derivative
Columns = dict[int, Jet]  # spanning velocity -> its column
Place = int | tuple[int, int]  # a member, or a place within its joint, after some of its steps
Moves = dict[int, list[Motion]]  # spanning velocity -> its column of S, and the derivatives of the column


class Carried(NamedTuple):
    """A point or a direction fixed in a member, in that member's frame."""

    member: int
    vector: Vector
    is_point: bool = False

    def changed(self, member: int, C: Transform) -> Carried:
        """The same after the frame of a member was changed by C."""
        if self.member != member:
            return self
        base = vec.sub(self.vector, C.translation) if self.is_point else self.vector
        return self._replace(vector=without_noise(C.turned(base)))


class Joined(NamedTuple):
    """One velocity of the joint of a member: the jets of w_j and l_j.

    A mimic joint shares the velocity of the joint that it follows.
    """

    velocity: int
    place: Place
    turn: Jet
    shift: Jet


class Motions:
    """The motions of the members of a spanning node at q, with derivatives along up to two velocities.

    Args:
        node: the spanning node.
        members: the members in question, and all that carry them.
        along: velocities of all joints.
        base: the rotation from the body that carries the node to the axes in which results are expressed.
        steady: members whose velocities are taken along these axes of the body that carries the node, not
            their own; there must be no derivatives then.
    """

    def __init__(
        self,
        node: Any,
        members: frozenset[int],
        q: Sequence[Number],
        *along: Sequence[Number],
        base: Transform | None = None,
        steady: Sequence[tuple[int, Matrix]] = (),
    ):
        self.node, self.q, self.along, self.base = node, q, along, base
        self.steady: dict[Place, Transform] = {k: _seen_from(base, axes) for k, axes in steady}
        self.masks = range(1 << len(along))
        still = dict.fromkeys(self.masks, vec.ZERO)
        self.X: dict[Place, Transform] = {PREDECESSOR: Transform()}
        self.origin: dict[Place, Jet] = {PREDECESSOR: still}
        self.slid: dict[Place, list[Vector]] = {}
        self.turning: dict[Place, list[Jet]] = {PREDECESSOR: [{0: vec.ZERO, 1: vec.ZERO} for _ in along]}
        self.joints: dict[Place, list[Joined]] = {PREDECESSOR: []}
        self._carried: dict[Carried, tuple[Jet, Columns]] = {}
        for k, m in enumerate(node.members):
            if k in members:
                self._visit(k, m)

    def _visit(self, k: int, m: Any) -> None:
        """Process all steps of the joint of a member; each moves what comes after it."""
        is_first = m.carrier == PREDECESSOR
        turned = is_first and self.base is not None
        step = _turned_away(m.placement, self.base) if turned else m.placement
        moves, place, held = list(self._moves(m)), m.carrier, step
        for n, (own, columns) in enumerate(moves):
            step = own.following(step)
            before, place = place, k if n == len(moves) - 1 else (k, n)
            self.X[place] = step if is_first else _without_noise(step @ self.X[m.carrier])
            if any(_turns(parts) for parts in columns.values()):
                self._move(place, before, columns, own.following(held).translation)
            else:
                self._slide(place, before, columns, held, own.translation)
            held = Transform()

    def _moves(self, m: Any) -> Iterator[tuple[Transform, Moves]]:
        """The steps of the joint of a member, each with the columns of its velocities."""
        x, rows = m.coupling.positions(self.q), m.coupling.G(self.q)
        if not _is_sequence(m.joint):
            yield m.joint.placement(x), self._columns(m, rows)
            return
        for step in m.joint.steps:
            (k,) = step.velocities
            turn = step.kind == "hinge"
            own = rotation_about(step.axis, x[k]) if turn else Transform(r=vec.scale(step.axis, x[k]))
            column = Motion(step.axis) if turn else Motion(vec.ZERO, step.axis)
            yield own, {j: [column * factor] for j, factor in rows[k]}

    def _columns(self, m: Any, rows: Any) -> Moves:
        """The columns of S of a joint, and their derivatives if S depends on its position."""
        S = self.node.motion(m, self.q)
        parts = [S]
        if type(m.joint).subspace_partials is not Joint.subspace_partials:
            parts += [self.node._own_derivative(m, self.q, w) for w in self.along]
            if len(self.along) == 2:
                parts.append(self.node._own_second_derivative(m, self.q, *self.along))
        return {
            j: [part.columns[j] for part in parts]
            for j in sorted({place for row in rows for place, _ in row})
        }

    def _move(self, place: Place, before: Place, columns: Moves, to: Vector) -> None:
        """Process a step that turns: angular velocities along each direction, its origin, its columns.

        to: the origin, in the axes of the place before.
        """
        back = self._back(place, columns)
        turning = self.turning[place] = [dict(jet) for jet in self.turning[before]]
        moved = [[_combined(back, part, w) for part in (0, 1)] for w in self.along]
        for jet, (turn, _) in zip(turning, moved, strict=True):
            jet[0] = vec.add(jet[0], turn)
        again: list[Vector] = []  # the derivative of the second of these along the first
        if len(self.along) == 2:
            again = [vec.cross(turning[0][0], part) for part in moved[1]]
            if any(len(parts) > 1 for parts in back.values()):
                more = [_combined(back, part, self.along[1], 1) for part in (0, 1)]
                again = [vec.add(a, b) for a, b in zip(again, more, strict=True)]
            turning[1][1] = vec.add(turning[1][1], again[0])
        self._origin(place, before, to, [shift for _, shift in moved] + again[1:])
        self._join(place, before, back)

    def _slide(self, place: Place, before: Place, columns: Moves, held: Transform, own: Vector) -> None:
        """Process a step that does not turn: it keeps the origin, and shifts what it carries in its axes.

        held: the transform to where it begins; own: its shift from there.
        """
        start, *rates = self.slid.get(before) or [vec.ZERO] * (1 + len(self.along))
        self.slid[place] = [vec.add(held.turned(vec.add(held.translation, start)), own)]
        for rate, w in zip(rates, self.along, strict=True):
            moved = held.turned(rate)
            for j, parts in columns.items():
                moved = vec.add(moved, vec.scale(parts[0].linear, w[j]))
            self.slid[place].append(moved)
        self.turning[place], self.origin[place] = self.turning[before], self.origin[before]
        self._join(place, before, self._back(place, columns))

    def _back(self, place: Place, columns: Moves) -> dict[int, list[tuple[Vector, Vector]]]:
        """The angular and linear parts of columns, and of their derivatives, in the axes of the results."""
        X = self.steady.get(place, self.X[place])
        return {
            j: [(X.turned_back(part.angular), X.turned_back(part.linear)) for part in parts]
            for j, parts in columns.items()
        }

    def _join(self, place: Place, before: Place, back: dict[int, list[tuple[Vector, Vector]]]) -> None:
        self.joints[place] = list(self.joints[before])
        for j, parts in back.items():
            jets = [self._direction(place, [pair[k] for pair in parts]) for k in (0, 1)]
            self.joints[place].append(Joined(j, place, *jets))

    def _origin(self, place: Place, before: Place, to: Vector, shifts: list[Vector]) -> None:
        """The jet of an origin, for the shifts along each direction and, last, along both."""
        arm, start = self._arm(before, to), self.origin[before]
        if not any(map(_is_something, (x for v in (*arm.values(), *shifts) for x in v))):
            self.origin[place] = start
            return
        origin = {s: vec.add(start[s], arm[s]) for s in self.masks}
        for d in range(len(self.along)):
            origin[1 << d] = vec.add(origin[1 << d], shifts[d])
        if len(self.along) == 2:
            turned = vec.cross(self.turning[before][1][0], shifts[0])
            origin[3] = vec.add(origin[3], vec.add(turned, shifts[2]))
        self.origin[place] = origin

    def _arm(self, place: Place, vector: Vector) -> Jet:
        """The jet of the vector from the origin of a place to a point in its axes."""
        start, *rates = self.slid.get(place, [vec.ZERO])
        X = self.X[place]
        parts = [X.turned_back(part) for part in (vec.add(start, vector), *rates)]
        return self._direction(place, [*parts, vec.ZERO] if len(rates) == 2 else parts)

    def _direction(self, place: Place, parts: Sequence[Vector]) -> Jet:
        """The jet of a direction fixed in a place; `parts` may add its own derivatives in those axes."""
        first, *rest = parts
        turning = self.turning[place]
        jet: Jet = {0: first}
        for d in range(len(self.along)):
            jet[1 << d] = vec.cross(turning[d][0], first)
            if rest:
                jet[1 << d] = vec.add(jet[1 << d], rest[d])
        if len(self.along) == 2:
            jet[3] = vec.add(vec.cross(turning[1][1], first), vec.cross(turning[1][0], jet[1]))
            if rest:
                jet[3] = vec.add(jet[3], vec.add(vec.cross(turning[0][0], rest[1]), rest[2]))
        return jet

    def carried(self, what: Carried) -> tuple[Jet, Columns]:
        """A point or direction, and its columns."""
        if what not in self._carried:
            self._carried[what] = self._carry(what)
        return self._carried[what]

    def _carry(self, what: Carried) -> tuple[Jet, Columns]:
        k = what.member
        if k == PREDECESSOR:
            here = what.vector if self.base is None else without_noise(self.base.turned(what.vector))
            here = here if what.is_point else _cosines(here)
            return {mask: here if mask == 0 else vec.ZERO for mask in self.masks}, {}
        if what.is_point:
            arm = self._arm(k, what.vector)
            jet = {s: vec.add(self.origin[k][s], x) for s, x in arm.items()}
        else:
            arm = jet = self._direction(k, [self.X[k].turned_back(what.vector)])
        columns: Columns = {}
        for own in self.joints[k]:
            j, column = own.velocity, self._column(own, arm, jet, what)
            columns[j] = {s: vec.add(columns[j][s], x) for s, x in column.items()} if j in columns else column
        return jet, columns

    def _column(self, own: Joined, arm: Jet, jet: Jet, what: Carried) -> Jet:
        """The change of a point, w_j x lever + l_j, or of a direction, w_j x arm, with one joint velocity."""
        if not what.is_point:
            return {s: _turned(own.turn, arm, s) for s in self.masks}
        origin = self.origin[own.place]
        at_joint = origin is self.origin[what.member]
        lever = arm if at_joint else {s: vec.sub(x, origin[s]) for s, x in jet.items()}
        return {s: vec.add(own.shift[s], _turned(own.turn, lever, s)) for s in self.masks}


def _is_sequence(joint: Joint) -> bool:
    """Whether a joint is a sequence of hinges and slides, each with its own velocity.

    Their axes are expressed where they turn least; the axes of the whole joint turn with its last step.
    """
    steps = joint.steps if isinstance(joint, CoordinateJoint) and joint.nv > 1 else None
    if steps is None or sorted(step.velocities for step in steps) != [(k,) for k in range(joint.nv)]:
        return False
    return all(step.velocities == step.positions and type(step.ratio) is int for step in steps)


def _turns(parts: Sequence[Motion]) -> bool:
    return any(_is_something(x) for part in parts for x in part.angular)


def _is_something(x: Number) -> bool:
    return not (ops.is_literal(x) and x == 0)


def _combined(
    back: dict[int, list[tuple[Vector, Vector]]], part: int, w: Sequence[Number], which: int = 0
) -> Vector:
    """Columns, or their derivatives, times the velocities w, summed; part 0 is angular, part 1 linear."""
    total = vec.ZERO
    for j, parts in back.items():
        total = vec.add(total, vec.scale(parts[which][part], w[j]))
    return total


def _turned(turn: Jet, arm: Jet, s: int) -> Vector:
    """A derivative of w x arm."""
    total = vec.ZERO
    for t in masks_within(s):
        total = vec.add(total, vec.cross(turn[t], arm[s ^ t]))
    return total


def masks_within(s: int) -> list[int]:
    """All submasks of a mask."""
    return [t for t in range(s + 1) if t & s == t]


def without_noise(numbers: Sequence[Number]) -> Any:
    """The numbers, with those that are rounding noise relative to the others set to zero."""
    if not all(map(ops.is_literal, numbers)):
        return tuple(numbers)
    least = 1e-15 * max(map(abs, numbers))
    return tuple(0 if abs(x) <= least else x for x in numbers)


def _turned_away(placement: Transform, base: Transform | None) -> Transform:
    """A constant placement, seen from the rotated axes `base`."""
    assert base is not None
    rows = vec.mat_mul(placement.rotation, vec.transpose(base.rotation))
    return _without_noise(Transform(rows, without_noise(base.turned(placement.translation))))


def _seen_from(base: Transform | None, axes: Matrix) -> Transform:
    """The rotation to axes of the body that carries the node, from those in which results are expressed."""
    away = axes if base is None else vec.mat_mul(axes, vec.transpose(base.rotation))
    return _without_noise(Transform(away))


def _without_noise(X: Transform) -> Transform:
    """The transform with direction cosines rounded to 0 and 1 where they differ by rounding alone."""
    if not all(ops.is_literal(x) for row in X.rotation for x in row):
        return X
    return Transform(tuple(map(_cosines, X.rotation)), X.translation)  # type: ignore[arg-type]


def _cosines(row: Sequence[Number]) -> Any:
    if not all(map(ops.is_literal, row)):
        return row
    return tuple(next((n for n in (0, 1, -1) if abs(x - n) < 1e-15), x) for x in row)
