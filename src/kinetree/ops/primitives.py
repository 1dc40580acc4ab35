"""The description of one operation, as a row of the table in `table.py`.

The table is closed: nothing outside it can appear in a program, so a printer that covers it covers every
program, and a differentiation pass needs no other rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

NUMBER, INTEGER, TRUTH, ARRAY = "number", "integer", "truth", "array"


@dataclass(frozen=True, slots=True)
class Primitive:
    """One operation.

    name, takes:  its name, and the kinds of its operands: "number", "integer", "truth" or "array".
    gives:        the kind of its result.
    fold:         the operation on known numbers and on expressions, which records a node unless the result
                  is known (0 x = 0). None: always recorded as it is.
    numpy:        the operation on NumPy arrays, the reference for all printers. None: the result depends on
                  memory or on a loop, not only on the operands.
    derivative:   derivative(args, y) gives dy/d(arg) for each argument, written with ordinary operators, so
                  it works on floats, arrays and expressions alike; None marks an argument without one.
    choice:       for operations that give one of their last two operands: the condition for the first one.
    cost:         in units of `Program.ops`; empty for loads and address arithmetic.
    weight:       approximate time, in additions.
    commutative:  f(a, b) = f(b, a).
    parity:       -1 if f(-x) = -f(x), 1 if f(-x) = f(x), else 0.
    python, c:    how the operation is written. Operands are names or literals, so they may be repeated. In C,
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
