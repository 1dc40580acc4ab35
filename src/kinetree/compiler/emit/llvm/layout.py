"""The memory layout of a program: the workspace of each thread, and the constant tables.

The workspace is interleaved: element k of an array is one number of all lanes. The hoisted sines and cosines
come first, then the inputs, the outputs, the guard and the work arrays, and their angles.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kinetree.compiler.emit.llvm.stream import is_streamed, stage_stride
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array
from kinetree.compiler.ir.program import Program

ALIGNMENT = 64


@dataclass
class Layout:
    """Offsets, in numbers from the start of the workspace and in bytes from the start of the tables."""

    number: Number
    start: dict[Array, int] = field(default_factory=dict)
    table: dict[Array, int] = field(default_factory=dict)
    angles: int = 0
    sines: int = 0
    cosines: int = 0
    values: int = 0
    stage: int = 0
    stages: dict[Array, int] = field(default_factory=dict)
    targets: int = 0
    sums: int = 0
    numbers: int = 0

    @property
    def workspace_bytes(self) -> int:
        return _round_up(self.numbers * self.number.size, ALIGNMENT)

    def target(self, array: Array) -> int:
        """The byte offset of the address that a result is stored to."""
        return self.targets * self.number.size + 8 * list(self.stages).index(array)

    def take(self, count: int) -> int:
        first = self.numbers
        self.numbers += count
        return first


def _round_up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _numbers(size: int, number: Number) -> int:
    """How many numbers hold this many bytes."""
    return -(-size // number.size)


def layout(program: Program, number: Number, angles: int, padding: int, waiting: int | None = None) -> Layout:
    """The layout of a program with `angles` hoisted sincos, padded to a multiple of `padding`.

    If `waiting` is not None, outputs are stored tile by tile, and this many elements wait for others.
    """
    result = Layout(number)
    padded = _round_up(angles, padding)
    result.sines, result.cosines = (result.take(padded) for _ in range(2))  # first: they are used most
    for array in program.inputs:
        result.start[array] = result.take(array.size)
    if waiting is None:
        for array in program.outputs:
            result.start[array] = result.take(array.size)
    else:
        result.values = result.take(waiting)
        result.targets = result.take(_numbers(8 * len(program.outputs), number))
    result.sums = result.take(1 if number.lanes > 1 else 0)
    if program.guard is not None and program.guard not in result.start:
        result.start[program.guard] = result.take(1)
    for array in program.work:
        result.start[array] = result.take(array.size)
    result.numbers = _round_up(result.numbers, padding) if angles else result.numbers
    result.angles = result.take(padded)
    if waiting is None:
        staged = [a for a in program.outputs if is_streamed(a, number)]
        rows = max((number.lanes * stage_stride(a, number) for a in staged), default=0)
        result.stage = result.take(_numbers(rows, number))
    else:
        result.stages = {a: result.take(a.size) for a in program.outputs}
    offset = 0
    for array in program.tables:
        result.table[array] = offset
        width = 8 if array.kind == "itable" else number.bytes
        offset += _round_up(array.size * width, ALIGNMENT)
    return result


def table_bytes(program: Program, dtype: str) -> bytes:
    """The constant tables as machine code reads them: 64-bit integers, numbers of `dtype`, each aligned."""
    parts = []
    for array in program.tables:
        kind = np.int64 if array.kind == "itable" else np.dtype(dtype)
        data = np.ascontiguousarray(array.data, dtype=kind).tobytes()
        parts.append(data.ljust(_round_up(len(data), ALIGNMENT), b"\0"))
    return b"".join(parts)
