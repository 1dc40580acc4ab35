"""Shared by all printers: the walk over statements, and what line-based languages have in common.

`Walk` dispatches statements to methods. `Printer` prints lines with indented bodies; a C-like or future
language defines its spelling and overrides nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from kinetree.compiler.ir.graph import (
    Array,
    Block,
    Clear,
    Loop,
    Part,
    Spoil,
    Statement,
    Store,
    Switch,
    While,
)
from kinetree.ops import PRIMITIVES, Expr, Primitive


class Walk(ABC):
    """Prints statements in order, each by the method for its kind."""

    def statements(self, statements: Sequence[Statement]) -> None:
        """Print some statements in their order."""
        for s in statements:
            if type(s) is Expr:
                if s.args:  # counters and variables are introduced by their loops
                    self.expression(s)
            else:
                getattr(self, _METHODS[type(s)])(s)

    @abstractmethod
    def expression(self, e: Expr) -> None: ...

    @abstractmethod
    def store(self, s: Store) -> None: ...

    @abstractmethod
    def clear(self, s: Clear) -> None: ...

    @abstractmethod
    def loop(self, s: Loop) -> None: ...

    @abstractmethod
    def switch(self, s: Switch) -> None: ...

    @abstractmethod
    def repeat(self, s: While) -> None: ...

    @abstractmethod
    def part(self, s: Part) -> None: ...

    @abstractmethod
    def spoil(self, s: Spoil) -> None: ...


_METHODS = {
    Store: "store", Clear: "clear", Loop: "loop", Switch: "switch", While: "repeat", Part: "part",
    Spoil: "spoil",
}  # fmt: skip


class Printer(Walk):
    """Lines of text. Values are named t1, t2 ... by number, arrays as `names` says."""

    end: ClassVar[str] = ""  # of a statement
    close: ClassVar[str] = ""  # of a body
    truths: ClassVar[tuple[str, str]] = ("0", "1")
    empty: ClassVar[str] = ""  # an empty statement, where a body needs one

    def __init__(self, names: dict[Array, str]):
        self.names = names
        self.lines: list[str] = []
        self.depth = 1

    # -- defined by a language

    @abstractmethod
    def pattern(self, row: Primitive) -> str:
        """How an operation is written, with {} for its operands."""

    @abstractmethod
    def number(self, value: float) -> str:
        """A literal number."""

    @abstractmethod
    def loop_head(self, t: str, start: int, stop: int, step: int) -> str:
        """The line that begins a loop of `t` over start, start + step ... below stop."""

    @abstractmethod
    def while_head(self, t: str, initial: str) -> str:
        """The lines that begin a loop of `t`, starting with `initial`, until it is 0."""

    @abstractmethod
    def leaving(self, flag: str) -> str:
        """The line that leaves a loop if a number is at least 1."""

    def declaration(self, e: Expr) -> str:
        """What precedes the name of a new value."""
        return ""

    # -- statements

    def line(self, text: str) -> None:
        self.lines += ["    " * self.depth + line for line in text.splitlines()]

    def body(self, block: Block, *last: str, first: Sequence[str] = ()) -> None:
        """An indented block, with extra lines at its beginning and end."""
        start = len(self.lines)
        self.depth += 1
        for text in first:
            self.line(text)
        self.statements(block.statements)
        for text in last:
            self.line(text)
        if self.empty and len(self.lines) == start:
            self.line(self.empty)
        self.depth -= 1
        if self.close:
            self.line(self.close)

    def expression(self, e: Expr) -> None:
        if e.op == "lookup":
            value = self.looked_up(*e.args)
        else:
            value = self.fetched(*e.args) if e.op in ("load", "iload") else self.spelled(e)
        self.line(f"{self.declaration(e)}t{e.number} = {value}{self.end}")

    def spelled(self, e: Expr) -> str:
        """The text of an operation."""
        return self.pattern(PRIMITIVES[e.op]).format(*map(self.operand, e.args))

    def store(self, s: Store) -> None:
        sign = "+=" if s.accumulate else "="
        self.line(f"{self.element(s.array, s.index)} {sign} {self.operand(s.value)}{self.end}")

    def loop(self, s: Loop) -> None:
        self.line(self.loop_head(f"t{s.counter.number}", s.start, s.start + s.count * s.step, s.step))
        self.body(s.body, first=() if s.until is None else (self.leaving(self.place(s.until, "0")),))

    def repeat(self, s: While) -> None:
        t = f"t{s.variable.number}"
        self.line(self.while_head(t, self.operand(s.initial)))
        self.body(s.body, f"{t} = {self.operand(s.successor)}{self.end}")

    # -- operands

    def fetched(self, array: Array, index: Any) -> str:
        """The text of a load."""
        return self.element(array, index)

    @abstractmethod
    def looked_up(self, matrix: Array, row: Any, column: Any) -> str:
        """The text of a lookup."""

    def element(self, array: Array, index: Any) -> str:
        return self.place(array, self.operand(index))

    def place(self, array: Array, index: str) -> str:
        """The text of an array element."""
        return f"{self.names[array]}[{index}]"

    def operand(self, value: Any) -> str:
        if type(value) is Expr:
            return f"t{value.number}"
        if isinstance(value, bool):
            return self.truths[value]
        if isinstance(value, (int, np.integer)):
            return str(int(value))
        text = self.number(value)
        return f"({text})" if text.startswith("-") else text
