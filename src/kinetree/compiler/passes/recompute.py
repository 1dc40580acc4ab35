"""Rematerialisation, for straight-line programs that keep more values than there are registers.

Where most values are live, some that are needed much later follow from others by a few operations:
velocities, for example, from the positions and velocities of the joints. They are dropped and recomputed
before they are needed, in the same order: a list of statements then has some of its expressions twice, and
what follows the second uses the second. The bits stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from kinetree.compiler.ir.graph import Block, Statement
from kinetree.compiler.ir.program import Program, inside, operands
from kinetree.ops import Expr

DEAR = {"sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "tanh", "div", "sqrt", "lookup"}
ROUNDS = 4


def numbers(s: Statement) -> list[Expr]:
    """The values that a statement reads."""
    return [a for a in operands(s) if type(a) is Expr]


def is_input(e: Expr) -> bool:
    """True for inputs, which are always available."""
    return e.op == "load" and e.args[0].kind in ("input", "table")


def alive(body: Sequence[Statement]) -> list[int]:
    """How many of the values computed here are live after each statement."""
    here = {s for s in body if isinstance(s, Expr) and not is_input(s)}
    counts = [0] * len(body)
    live: set[Expr] = set()
    for k in range(len(body) - 1, -1, -1):
        s = body[k]
        counts[k] = len(live)
        if isinstance(s, Expr):
            live.discard(s)
        live.update(a for a in numbers(s) if a in here)
    return counts


def most_alive(program: Program) -> int:
    """The most values that are live at a time; those that a loop uses are live until it ends."""
    born: dict[Expr, tuple[int, int]] = {}  # the place in the text, and the depth
    last: dict[Expr, int] = {}
    waiting: dict[int, list[Expr]] = {}  # values of a depth that are used deeper
    place = 0

    def visit(block: Block, depth: int) -> None:
        nonlocal place
        for s in block.statements:
            place += 1
            for a in numbers(s):
                if a in born:
                    last[a] = place
                    if born[a][1] < depth:
                        waiting.setdefault(born[a][1], []).append(a)
            if isinstance(s, Expr) and s.args and not is_input(s):
                born[s] = place, depth
            for inner in inside(s):
                visit(inner, depth + 1)
            last.update(dict.fromkeys(waiting.pop(depth, ()), place))

    visit(program.body, 0)
    change = [0] * (place + 2)
    for e, when in last.items():
        change[born[e][0]] += 1
        change[when] -= 1
    return max(accumulate(change), default=0)


def recomputed(body: list[Statement], most: int, price: float) -> list[Statement]:
    """The statements, some of them repeated, so that fewer values are live where there are more than `most`.

    `price`: the most operations for recomputing a value.
    """
    for _ in range(ROUNDS):
        counts = alive(body)
        peak = max(range(len(body)), key=counts.__getitem__, default=0)
        if not body or counts[peak] <= most:
            break
        other = _without(body, peak, price)
        if max(alive(other)) >= counts[peak]:
            break
        body = other
    return body


def _without(body: list[Statement], peak: int, price: float) -> list[Statement]:
    """The statements, with some values that are live after `peak` recomputed behind it."""
    place = {s: k for k, s in enumerate(body[: peak + 1]) if isinstance(s, Expr)}
    later = {s for s in body[peak + 1 :] if isinstance(s, Expr)}
    used: set[Expr] = set()
    for s in body[peak + 1 :]:
        used.update(a for a in numbers(s) if a in place and not is_input(a))
    kept = {e for e in used if e not in later}
    again: set[Expr] = set()
    for e in sorted(kept, key=place.__getitem__):
        cone = _cone(e, kept - {e}, again, place, 4 * int(price))
        if cone is not None and len(cone) <= price:
            again |= cone
            kept.discard(e)
    order = body[: peak + 1]
    done: set[Expr] = set()
    for s in body[peak + 1 :]:
        for e in sorted(_needed(s, again, done), key=place.__getitem__):
            done.add(e)
            order.append(e)
        order.append(s)
    return order


def _cone(e: Expr, kept: set[Expr], again: set[Expr], place: dict[Expr, int], most: int) -> set[Expr] | None:
    """What else must be recomputed for a value; None if that is too expensive or too much."""
    found: set[Expr] = set()
    waiting = [e]
    while waiting:
        one = waiting.pop()
        if one in found or one in again:
            continue
        if one.op in DEAR or one not in place or len(found) > most:
            return None
        found.add(one)
        waiting += [a for a in numbers(one) if not is_input(a) and a not in kept]
    return found


def _needed(s: Statement, again: set[Expr], done: set[Expr]) -> set[Expr]:
    """What to recompute before a statement."""
    found: set[Expr] = set()
    waiting = [a for a in numbers(s) if a in again and a not in done]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += [a for a in numbers(one) if a in again and a not in done]
    return found
