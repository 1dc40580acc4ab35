"""How numbers, vectors of lanes and constants are spelled in LLVM's text."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

SCALARS = {"float64": "double", "float32": "float"}
INTEGERS = {"float64": "i64", "float32": "i32"}
SUFFIX = {"float64": "f64", "float32": "f32"}


@dataclass(frozen=True)
class Number:
    """The type of a program's numbers: `lanes` states side by side, or one state if `lanes` is 1."""

    dtype: str
    lanes: int

    @property
    def scalar(self) -> str:
        return SCALARS[self.dtype]

    @property
    def bytes(self) -> int:
        """The size of one scalar."""
        return 8 if self.dtype == "float64" else 4

    @property
    def size(self) -> int:
        """The size of one number: all its lanes."""
        return self.bytes * self.lanes

    @property
    def vector(self) -> str:
        return self.of(self.scalar)

    @property
    def boolean(self) -> str:
        return self.of("i1")

    @property
    def integer(self) -> str:
        """The integer type with the bits of a number."""
        return self.of(INTEGERS[self.dtype])

    @property
    def suffix(self) -> str:
        """How overloaded intrinsics name this type: `llvm.fma.<suffix>`."""
        return SUFFIX[self.dtype] if self.lanes == 1 else f"v{self.lanes}{SUFFIX[self.dtype]}"

    def of(self, element: str) -> str:
        """`element` in every lane."""
        return element if self.lanes == 1 else f"<{self.lanes} x {element}>"

    def constant(self, value: float) -> str:
        """A constant that is the same in every lane."""
        bits = literal(value, self.dtype)
        return bits if self.lanes == 1 else f"splat ({self.scalar} {bits})"

    def integer_constant(self, value: int) -> str:
        return str(value) if self.lanes == 1 else f"splat ({INTEGERS[self.dtype]} {value})"


def literal(value: float, dtype: str) -> str:
    """The exact bits of a constant, rounded to `dtype` (LLVM writes floats with the bits of a double)."""
    if dtype == "float32":
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
