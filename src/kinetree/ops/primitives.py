"""What is known about an operation, in one row; `table.py` holds the rows.

The table is closed: nothing outside it can appear in a program, so a printer that covers it covers
everything, and a differentiation pass needs no other rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

NUMBER, INTEGER, TRUTH, ARRAY = "number", "integer", "truth", "array"


@dataclass(frozen=True, slots=True)
class Primitive:
    """One operation.

    name, takes:  how it is called, and what its operands are: "number", "integer", "truth" or "array".
    gives:        what the result is, likewise.
    fold:         the operation on known numbers and on expressions, which it records unless the result is
                  known (0 x = 0). None: always recorded as it is.
    numpy:        the rule on NumPy arrays, the reference for all printers. None: not a function of the
                  operands alone, but of memory or of a loop.
    derivative:   derivative(args, y) gives dy/d(arg) for each argument, written with ordinary operators, so
                  that it works on floats, arrays and expressions alike; None marks an argument without one.
    choice:       for operations that give one of their last two operands: the condition for the first one.
    cost:         in units of `Program.ops`; empty for what only fetches and addresses.
    weight:       roughly the time it takes, in additions.
    commutative:  f(a, b) = f(b, a).
    parity:       -1 if f(-x) = -f(x), 1 if f(-x) = f(x), else 0.
    python, c:    how the operation is written. Operands are names or literals, so they may be repeated; in C,
                  {f} is the suffix of library functions and {p} the prefix of macros.
    """

    name: str
    takes: tuple[str, ...]
    gives: str = NUMBER
    fold: Callable[..., Any] | None = None
    numpy: Callable[..., Any] | None = None
    derivative: Callable[[tuple, Any], tuple] | None = None
    choice: Callable[[tuple], Any] | None = None
    cost: dict[str, int] = field(default_factory=dict)
    weight: float = 1.0
    commutative: bool = False
    parity: int = 0
    python: str = ""
    c: str = ""

    @property
    def arity(self) -> int:
        return len(self.takes)


PRIMITIVES: dict[str, Primitive] = {}  # filled by `table.py` when the package is imported
