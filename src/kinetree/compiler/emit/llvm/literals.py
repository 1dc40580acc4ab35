"""Constants in memory: a table in which every lane of an entry is the same.

A constant in the text of a function takes two instructions wherever it is used, one for its address and one
that spreads it over the lanes. Read from a table whose address is known, it is an operand of the instruction
that needs it. The loads are volatile, or else LLVM would see through them.
"""

from __future__ import annotations

from kinetree.compiler.emit.llvm.types import Number


class Literals:
    """The table for one kind of number. It is printed (`text`) when all functions are."""

    def __init__(self, number: Number):
        self.number = number
        self._places: dict[str, int] = {}

    @property
    def name(self) -> str:
        return f"literals_{self.number.suffix}"

    @property
    def address(self) -> str:
        """An instruction that gives the address of the table, as something that LLVM knows nothing of."""
        return f'call ptr asm "", "=r,0"(ptr @{self.name})'

    def place(self, value: float) -> int:
        """The number of the entry that holds a constant."""
        return self._places.setdefault(self.number.constant(value), len(self._places))

    @property
    def text(self) -> str:
        """The definition of the table."""
        number = self.number
        entries = ", ".join(f"{number.vector} {constant}" for constant in self._places)
        kind = f"[{len(self._places)} x {number.vector}]"
        return f"@{self.name} = internal constant {kind} [{entries}], align {number.size}"
