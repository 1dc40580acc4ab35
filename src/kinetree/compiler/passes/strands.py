"""Strands: a straight-line program as several that run side by side for one state, with synchronisation.

A strand is what one warp of a GPU runs. The caller assigns each input element to a limb; limb 0 joins the
others. An operation belongs to the limb of its operands; operations on numbers of several limbs belong to
limb 0. A strand has some limbs. Values that one strand computes and another needs are exchanged between
phases: within a phase no strand waits for another.

A strand works on one limb as far as possible, then on the next, if that keeps fewer values live than the
program's own order. Every operation is done once, so the bits of the results are those of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kinetree.compiler.ir.graph import Array, Spoil, Statement, Store
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.park import Fetch, Put, parked, windows
from kinetree.compiler.passes.recompute import alive, is_input, numbers, recomputed
from kinetree.compiler.passes.store_early import only_for_guard
from kinetree.ops import Expr

UNLIMITED = 1 << 30
JOINT = 0  # the limb that joins the others
ROUNDS = 4  # rounds of moving operations to where their results are needed


@dataclass
class Strands:
    """The statements of each strand and phase, and the exchanged values."""

    phases: list[list[list[Statement]]]  # by phase and strand, in the program's order
    sent: dict[Expr, tuple[int, int]] = field(default_factory=dict)  # exchanged values: (strand, phase)
    aside: list[int] = field(default_factory=list)  # values that each strand puts aside at a time

    @property
    def count(self) -> int:
        return len(self.phases[0])


def strands(
    program: Program,
    owner_of: Callable[[Array, int], int],
    weights: Sequence[float],
    count: int,
    most: int = UNLIMITED,
    price: float = 0,
) -> Strands:
    """A straight-line program as `count` strands; `owner_of(input, element)` is the limb of an input.

    `weights` is roughly the work of each limb; `most` is how many values a strand can keep before some are
    recomputed instead, each by at most `price` operations.
    """
    body: list[Statement] = [s for s in program.body.statements if not isinstance(s, Spoil)]
    limbs = _owners(body, owner_of, only_for_guard(program))
    body = min((body, _limb_by_limb(body, limbs, len(weights))), key=_most)
    if count == 1:
        return Strands([[recomputed(body, most, price)]])
    dealt = _dealt(weights, count)
    owners = {s: dealt[limb] for s, limb in limbs.items()}
    phase: dict[Statement, int] = {}
    sent: dict[Expr, tuple[int, int]] = {}
    for s in body:
        when = 0
        for a in numbers(s):
            if is_input(a):
                continue
            apart = owners[a] != owners[s]
            when = max(when, phase[a] + apart)
            if apart:
                sent[a] = (owners[a], phase[a])
        phase[s] = when
    last = max(phase.values(), default=0)
    phases: list[list[list[Statement]]] = [[[] for _ in range(count)] for _ in range(last + 1)]
    for s in body:
        phases[phase[s]][owners[s]].append(s)
    return Strands(phases, sent)


def overwritten(found: Strands, program: Program) -> dict[Array, Array]:
    """Results that can overwrite an input: each element is read for the last time before."""
    places: dict[Array, Array] = {}
    if found.count > 1:
        return places
    read: dict[tuple[Array, int], int] = {}
    written: dict[Array, dict[int, int]] = {}
    for when, s in enumerate(found.phases[0][0]):
        if isinstance(s, (Put, Fetch)):
            continue
        read |= {(a.args[0], int(a.args[1])): when for a in numbers(s) if is_input(a)}
        if isinstance(s, Store):
            written.setdefault(s.array, {})[int(s.index)] = when
    for result in program.outputs:
        times = written.get(result, {})
        for array in program.inputs:
            fitting = array.size == result.size == len(times) and array not in places.values()
            if fitting and all(read.get((array, k), -1) <= when for k, when in times.items()):
                places[result] = array
                break
    return places


def put_aside(found: Strands, program: Program, most: int, slots: int, inputs: Sequence[Array]) -> Strands:
    """The same strands, with values put aside where more than `most` are live: in `slots`, and in the places
    of these inputs.
    """
    phases: list[list[list]] = [[[] for _ in phase] for phase in found.phases]
    gathered = {e for e in only_for_guard(program) if e.op == "min"}
    aside = []
    for w in range(found.count):
        when = [k for k, phase in enumerate(found.phases) for _ in phase[w]]
        body = [s for phase in found.phases for s in phase[w]]
        free = windows(body, inputs, overwritten(found, program)) if found.count == 1 else {}
        steps, count = parked(body, most, slots, set(found.sent), gathered, free)
        aside.append(count)
        for place, step in steps:
            phases[when[place]][w].append(step)
    return Strands(phases, found.sent, aside)


def one_strand(program: Program) -> Strands:
    """The whole program as one strand."""
    return Strands([[[s for s in program.body.statements if not isinstance(s, Spoil)]]])


def _dealt(weights: Sequence[float], count: int) -> list[int]:
    """The strand of each limb: heaviest first, each to the strand with the least work."""
    load, found = [0.0] * count, [0] * len(weights)
    load[JOINT] = weights[0]
    for limb in sorted(range(1, len(weights)), key=lambda k: -weights[k]):
        found[limb] = load.index(min(load))
        load[found[limb]] += weights[limb]
    return found


def _limb_by_limb(body: Sequence[Statement], limbs: dict[Statement, int], count: int) -> list[Statement]:
    """The statements reordered: as many as possible of one limb, then of the next."""
    left: list[list[Statement]] = [[] for _ in range(count)]
    for s in body:
        left[limbs[s]].append(s)
    done: set[Statement] = set()
    order: list[Statement] = []
    while any(left):
        for limb in range(count):
            waiting = []
            for s in left[limb]:
                if all(a in done or is_input(a) for a in numbers(s)):
                    done.add(s)
                    order.append(s)
                else:
                    waiting.append(s)
            left[limb] = waiting
    return order


def pressure(strands: Strands) -> int:
    """The most values that a strand keeps live at a time."""
    count = strands.count
    return max(_most([s for phase in strands.phases for s in phase[w]]) for w in range(count))


def _most(body: Sequence[Statement]) -> int:
    """The most values live at a time when statements run in this order."""
    return max(alive(body), default=0)


def _owners(
    body: Sequence[Statement], owner_of: Callable[[Array, int], int], guarding: set[Expr]
) -> dict[Statement, int]:
    """The limb of each statement; operations for the guard alone belong to limb 0."""
    owners: dict[Statement, int] = {}
    users: dict[Statement, list[Statement]] = {}
    deep: set[Statement] = set()  # of limb 0, and computed from values of other limbs
    for s in body:
        if isinstance(s, Expr) and is_input(s):
            array, index = s.args
            owners[s] = owner_of(array, index) if array.kind == "input" else JOINT
            continue
        given = numbers(s)
        for a in given:
            users.setdefault(a, []).append(s)
        others = {owners[a] for a in given} - {JOINT}
        gathers = s in guarding and isinstance(s, Expr) and s.op == "min"
        owners[s] = others.pop() if len(others) == 1 and not gathers else JOINT
    for _ in range(ROUNDS):
        deep = _deep(body, owners)
        moved = 0
        for s in reversed(body):
            if owners[s] == JOINT or not isinstance(s, Expr) or is_input(s):
                continue
            if any(a in deep for a in numbers(s)) and all(owners[u] == JOINT for u in users.get(s, ())):
                owners[s] = JOINT
                moved += 1
        if not moved:
            break
    return owners


def _deep(body: Sequence[Statement], owners: dict[Statement, int]) -> set[Statement]:
    """The statements of limb 0 that depend on values of other limbs."""
    after: set[Statement] = set()
    deep: set[Statement] = set()
    for s in body:
        given = numbers(s)
        if any(a in after or (owners[a] != JOINT and not is_input(a)) for a in given):
            after.add(s)
            if owners[s] == JOINT:
                deep.add(s)
    return deep


__all__ = ["Strands", "one_strand", "pressure", "strands"]
