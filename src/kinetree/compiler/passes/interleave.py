"""Interleaving: work arrays that hold one number per node become one array of records.

A trace keeps every number of a field in an array of its own, so that dead ones disappear as a whole. The rest
is read and written node by node: interleaved in memory, it takes one stream instead of dozens.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from kinetree.compiler.ir.graph import Array, Clear, Store
from kinetree.compiler.ir.program import Program
from kinetree.compiler.ir.rebuild import Rebuild
from kinetree.ops import Expr


def interleave(program: Program) -> Program:
    """The same program with work arrays of equal size merged, element by element."""
    cleared = {s.array for s in program.body.statements if isinstance(s, Clear)}
    groups: dict[int, list[Array]] = defaultdict(list)
    for array in program.work:
        if array.size > 1 and array not in cleared:
            groups[array.size].append(array)
    places: dict[Array, tuple[Array, int, int]] = {}
    for size, arrays in groups.items():
        if len(arrays) > 1:
            record = Array(f"records{size}", "work", size * len(arrays))
            places.update({array: (record, len(arrays), k) for k, array in enumerate(arrays)})
    return _Interleaved(program, places).run() if places else program


class _Interleaved(Rebuild):
    """The copy that addresses records."""

    def __init__(self, program: Program, places: dict[Array, tuple[Array, int, int]]):
        super().__init__(program)
        self.places = places

    def address(self, array: Array, index: Any) -> tuple[Array, Any]:
        if array not in self.places:
            return array, index
        record, width, offset = self.places[array]
        return record, self.graph.iadd(self.graph.imul(index, width), offset)

    def expr(self, old: Expr, args: tuple) -> Any:
        if old.op == "load" and args[0] in self.places:
            return self.graph.load(*self.address(args[0], args[1]))
        return super().expr(old, args)

    def store(self, old: Store, index: Any, value: Any) -> None:
        array, index = self.address(old.array, index)
        self.graph.store(array, index, value, old.accumulate)

    def finish(self, **changes: Any) -> Program:
        records = list(dict.fromkeys(record for record, _, _ in self.places.values()))
        rest = [array for array in self.program.work if array not in self.places]
        return super().finish(work=(*rest, *records), **changes)
