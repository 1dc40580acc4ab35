"""Threads of a block that go through loops that end early together.

What one warp fetches of the code then serves all. Warps wait for each other before each turn of such a loop,
and of the loops around it; one whose states are all done waits there until the others are. Further turns of
a loop that is over change nothing: so the bits are the same, however long others go on.
"""

from __future__ import annotations

from kinetree.compiler.emit.llvm.device import Device
from kinetree.compiler.emit.llvm.gpu_kernel import GpuKernel
from kinetree.compiler.emit.llvm.instructions import in_all_lanes
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Block, Loop, Store
from kinetree.compiler.ir.program import Program, walk
from kinetree.ops import Expr

ALONE = 64  # threads of a block whose warps do not wait for each other


class Together(GpuKernel):
    """Prints loops for blocks of `together` threads that wait for each other; 0: each goes alone."""

    def __init__(self, program: Program, number: Number, device: Device, large: bool, together: int):
        super().__init__(program, number, device, large)
        self.meetings = _meetings(program.body) if together and _is_repeatable(program) else []
        self.tile = self.threads = together if self.meetings else ALONE

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
    """Loops before whose turns threads wait: the outermost that end early, and those around them."""
    found = []
    for loop in (s for s in block.statements if isinstance(s, Loop)):
        inner = [] if loop.until is not None else _meetings(loop.body)
        found += [loop, *inner] if inner or loop.until is not None else []
    return found


def _is_repeatable(program: Program) -> bool:
    """Whether several threads can compute one state at a time: no result is read again."""
    return not any(
        (isinstance(s, Store) and s.accumulate and s.array.kind == "output")
        or (isinstance(s, Expr) and s.op == "load" and s.args[0].kind == "output")
        for s in walk(program.body)
    )
