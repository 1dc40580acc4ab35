"""Long runs of copies become loops over tables, for assemblers that take minutes for large programs.

Derivatives of derivatives end with thousands of copies from a work array to a result, and thousands of zeros.
The bits stay the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kinetree.compiler.ir.graph import Array, Block, Clear, Spoil, Statement, Store
from kinetree.compiler.ir.program import Program, operands, walk
from kinetree.ops import Expr

LONG = 500  # copies between two arrays, or zeros in one, that are worth a loop


def roll(program: Program) -> Program:
    """The same program, with long runs of copies to results as loops, and with results that start at zero."""
    statements = program.body.statements
    stores = [s for s in walk(program.body) if isinstance(s, Store)]
    places = Counter((s.array, s.index) for s in stores)
    twice = {s.array for s in stores if s.accumulate or type(s.index) is Expr or places[s.array, s.index] > 1}
    once = set(program.outputs) - twice
    final = [s for s in statements if isinstance(s, Store) and s.array in once]
    zeros = _zeros(final)
    groups, loads = _copies(statements, final)
    gone: set[Statement] = {*zeros, *(s for copies in groups.values() for s in copies), *loads}
    if not gone:
        return program
    known = {s.array for s in statements if isinstance(s, Clear)}
    cleared = [Clear(a) for a in dict.fromkeys(s.array for s in zeros) if a not in known]
    kept = [s for s in statements if s not in gone]
    end = kept[-1:] if kept and isinstance(kept[-1], Spoil) else []
    tables: list[Array] = []
    loops = [_loop(program, source, copies, tables) for (_, source), copies in groups.items()]
    body = Block(statements=[*cleared, *kept[: len(kept) - len(end)], *loops, *end])
    return replace(program, body=body, tables=(*program.tables, *tables))


def _zeros(final: list[Store]) -> list[Store]:
    """Stores of zeros in results that have many of them."""
    found = [s for s in final if type(s.value) is not Expr and s.value == 0 and not np.signbit(s.value)]
    many = Counter(s.array for s in found)
    return [s for s in found if many[s.array] > LONG]


def _copies(
    statements: list[Statement], final: list[Store]
) -> tuple[dict[tuple[Array, Array], list[Store]], set[Expr]]:
    """Stores of numbers from work arrays that change no more, by result and work array; and their loads."""
    changed: dict[Array, int] = {}
    used: Counter[Expr] = Counter()
    for when, s in enumerate(statements):
        for x in walk(Block(statements=[s])):
            used.update(a for a in operands(x) if type(a) is Expr)
            if isinstance(x, Store):
                changed[x.array] = when
    last = {e for when, e in _reads(statements) if changed.get(e.args[0], -1) < when}
    groups: dict[tuple[Array, Array], list[Store]] = defaultdict(list)
    copied: Counter[Expr] = Counter()
    for s in final:
        if s.value in last:
            groups[s.array, s.value.args[0]].append(s)
    long = {pair: copies for pair, copies in groups.items() if len(copies) > LONG}
    for copies in long.values():
        copied.update(s.value for s in copies)
    return long, {e for e, count in copied.items() if used[e] == count}


def _reads(statements: list[Statement]) -> Iterator[tuple[int, Expr]]:
    """The loads of elements of work arrays, and when they happen."""
    for when, e in enumerate(statements):
        if isinstance(e, Expr) and e.op == "load":
            array, place = e.args
            if array.kind == "work" and type(place) is not Expr:
                yield when, e


def _loop(program: Program, source: Array, copies: list[Store], tables: list[Array]) -> Statement:
    """A loop over two tables of places."""
    graph, count = program.graph, len(copies)
    both = [s.value.args[1] for s in copies], [s.index for s in copies]
    from_, to = (
        graph.array(f"places{len(tables) + k}", "itable", count, np.array(places, np.int64))
        for k, places in enumerate(both)
    )
    tables += [from_, to]
    with graph.loop(count) as k:
        graph.store(copies[0].array, graph.load(to, k), graph.load(source, graph.load(from_, k)))
    return graph.root.statements.pop()


__all__ = ["roll"]
