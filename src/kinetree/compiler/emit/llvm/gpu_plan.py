"""The shared memory of a block: rows of inputs and results, and values exchanged between strands.

Results that fit are stored in shared memory as rows. Of larger ones (mass matrices of big robots) every
distinct number is stored once, and a table says which of them, or 0, each element is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array, Store
from kinetree.compiler.ir.program import Program, walk
from kinetree.compiler.passes.strands import Strands, one_strand, overwritten
from kinetree.ops import Expr

TILES = (64, 32)  # states per block
LITTLE = 12 << 10  # bytes of shared memory for 32 states below which many small blocks are best
FEW = 40 << 10  # bytes of shared memory per block that leave room for several
MUCH = 100 << 10  # bytes above which results are packed
WARP = 32
RESERVED = 1024  # bytes of shared memory that the device reserves per block
MARKS = 128  # bytes for marks, rounded up
CHUNK = 16  # bytes copied at a time


class Plan:
    """The layout of a block's shared memory, in numbers: rows of inputs and results, and exchanged values."""

    def __init__(
        self,
        program: Program,
        number: Number,
        strands: Strands,
        tile: int,
        packing: bool,
        staged: tuple[Array, ...],
        buffers: int,
    ):
        self.tile, self.numbers, self._unit = tile, 0, CHUNK // number.bytes
        self.start: dict[Array, int] = {}
        self.packed: dict[Array, dict[int, int]] = {}  # of a result: which stored number each element is
        self.zeros: list[tuple[int, int]] = []  # initially zero: start and size
        for array in staged:
            self.start[array] = self._take(tile * self.pitch(array))
        self.buffer = self.numbers  # offset between the buffers of successive tiles
        self.numbers *= buffers
        self.slots = self._take(tile * len(strands.sent))
        self.pin = self._take(tile) if strands.aside else 0  # conditions are written here, and never read
        self.aside = [self._take(tile * count) for count in strands.aside]  # per strand
        places = overwritten(strands, program).items()  # results that overwrite an input
        self.within = {result: array for result, array in places if array in staged}
        for array in program.outputs:
            slots, count = _slots(program, array)
            if array in self.within:
                self.start[array] = self.start[self.within[array]]
            elif packing and count < array.size // 2:
                self.packed[array] = slots
                self.start[array] = self._take(count * (tile + 1))
                self.zeros.append((self.start[array], tile + 1))
            else:
                size = tile * self.pitch(array)
                self.start[array] = self._take(size)
                self.zeros += [(self.start[array], size)] if len(slots) < array.size else []

    def pitch(self, array: Array) -> int:
        """The row pitch: not a multiple of 8, so that threads use different banks."""
        return array.size if array.size % 8 else array.size + 1

    def _take(self, count: int) -> int:
        first = self.numbers
        self.numbers += -(-count // self._unit) * self._unit
        return first


def _slots(program: Program, array: Array) -> tuple[dict[int, int], int]:
    """The index, from 1 on, of each element of a result that is stored; and how many there are, with 0."""
    found: dict[Any, int] = {}
    slots = {
        int(s.index): found.setdefault(s.value if type(s.value) is Expr else repr(s.value), len(found) + 1)
        for s in program.body.statements
        if isinstance(s, Store) and s.array is array
    }
    return slots, len(found) + 1


def planned(program: Program, number: Number, strands: Strands, most: int, buffers: int) -> Plan | None:
    """The plan for tiles that leave room for several blocks; None if nothing fits into `most` bytes."""
    inputs = tuple(a for a in program.inputs if a.size)
    tiles = TILES if strands.count == 1 else (WARP,)
    for tile, limit in (WARP, LITTLE), *((tile, FEW) for tile in tiles):
        plan = Plan(program, number, strands, tile, False, inputs, buffers)
        if plan.numbers * number.bytes <= limit:
            return plan
    limit = min(MUCH, most)
    for packing in (False, True):
        staged = sorted(inputs, key=lambda a: a.size)
        while True:
            plan = Plan(program, number, strands, WARP, packing, tuple(staged), buffers)
            if plan.numbers * number.bytes <= limit:
                return plan
            if not staged or not packing:
                break
            staged.pop()
        limit = most
    return None


def thread_bytes(program: Program, dtype: str, shared: int, warps: int) -> int:
    """Shared memory per thread besides its rows, if a multiprocessor is to hold this many warps."""
    number = Number(dtype, 1)
    rows = Plan(program, number, one_strand(program), WARP, False, tuple(program.inputs), 1)
    block = (shared + RESERVED) // warps - RESERVED - MARKS
    return max(0, block - rows.numbers * number.bytes) // WARP


def staged(program: Program, dtype: str, shared: int, strands: Strands, slots: int) -> list[Array]:
    """The inputs whose rows are in shared memory if each thread puts aside up to `slots` values there."""
    crowded = replace(strands, aside=[slots])
    plan = planned(program, Number(dtype, 1), crowded, shared - MARKS, 1)
    return [a for a in program.inputs if plan is not None and a in plan.start]


def fits(program: Program) -> bool:
    """Whether a program suits tiles: straight-line, each element of its results stored once."""
    if not program.is_straight or program.work:
        return False
    places = [(s.array, s.index) for s in walk(program.body) if isinstance(s, Store)]
    stores = [s for s in walk(program.body) if isinstance(s, Store)]
    integers = any(isinstance(s, Expr) and s.is_integer for s in walk(program.body))
    return len(set(places)) == len(places) and not integers and not any(s.accumulate for s in stores)
