"""Constants in memory: a table in which all lanes of an entry are equal.

A constant in the code takes two instructions at each use, one for its address and one to broadcast it. Read
from a table whose address is known, it is a memory operand of the instruction that needs it. The loads are
volatile, or LLVM would fold them.
"""

from __future__ import annotations

from kinetree.compiler.emit.llvm.types import Number


class Literals:
    """The table for one type of number, printed (`text`) after all functions."""

    def __init__(self, number: Number):
        self.number = number
        self._places: dict[str, int] = {}

    @property
    def name(self) -> str:
        return f"literals_{self.number.suffix}"

    @property
    def address(self) -> str:
        """An instruction that gives the address of the table in a form opaque to LLVM."""
        return f'call ptr asm "", "=r,0"(ptr @{self.name})'

    def place(self, value: float) -> int:
        """The index of the entry that holds a constant."""
        return self._places.setdefault(self.number.constant(value), len(self._places))

    @property
    def text(self) -> str:
        """The definition of the table."""
        number = self.number
        entries = ", ".join(f"{number.vector} {constant}" for constant in self._places)
        kind = f"[{len(self._places)} x {number.vector}]"
        return f"@{self.name} = internal constant {kind} [{entries}], align {number.size}"
