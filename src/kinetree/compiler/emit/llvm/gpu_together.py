"""Threads of a block that run loops with early exit in lockstep.

Instructions fetched by one warp then serve all. Warps wait for each other before each iteration of such a
loop, and of the loops around it; a warp whose states are all done waits until the others are. Further
iterations of a finished loop change nothing, so the bits do not depend on how long others continue.
"""

from __future__ import annotations

from kinetree.compiler.emit.llvm.device import Device
from kinetree.compiler.emit.llvm.gpu_kernel import GpuKernel
from kinetree.compiler.emit.llvm.instructions import in_all_lanes
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Block, Loop, Store
from kinetree.compiler.ir.program import Program, walk

ALONE = 64  # threads per block if warps do not wait for each other


class Together(GpuKernel):
    """Prints loops for blocks of `together` threads that wait for each other; 0: each on its own."""

    def __init__(self, program: Program, number: Number, device: Device, large: bool, together: int):
        super().__init__(program, number, device, large)
        self.meetings = _meetings(program.body) if together and is_repeatable(program) else []
        self.tile = self.threads = together if self.meetings else ALONE
        self.is_flexible = bool(self.meetings and device.width)

    def width(self) -> list[str]:
        """Blocks of a small batch are smaller, so that more multiprocessors have some."""
        if not self.is_flexible:
            return super().width()
        return [
            f"  %width32 = {self.device.width}",
            "  %width64 = zext i32 %width32 to i64",
            f"  %width = udiv i64 %width64, {self.threads // self.tile}",
        ]

    def before_turn(self, loop: Loop, latch: str, done: str) -> None:
        if loop not in self.meetings:
            super().before_turn(loop, latch, done)
        elif loop.until is None:
            self.do(self.device.barrier)
        else:
            flag = in_all_lanes(self, self.number, self._load(loop.flag))
            over = self._fresh(self.device.all.format(flag))
            others = self._fresh(self.device.count.format(self._fresh(f"xor i1 {over}, true")))
            self._leave_if(self._fresh(f"icmp eq i32 {others}, 0"), done)
            self._leave_if(over, latch)


def _meetings(block: Block) -> list[Loop]:
    """Loops whose iterations start with a barrier: the outermost with early exit, and those around them."""
    found = []
    for loop in (s for s in block.statements if isinstance(s, Loop)):
        inner = [] if loop.until is not None else _meetings(loop.body)
        found += [loop, *inner] if inner or loop.until is not None else []
    return found


def is_repeatable(program: Program) -> bool:
    """Whether several threads can compute the same state at once: nothing is added to a result."""
    stores = (s for s in walk(program.body) if isinstance(s, Store))
    return not any(s.accumulate and s.array.kind == "output" for s in stores)
