"""A program as a kernel for a graphics processor, in LLVM text.

Straight programs on rows (batch, n) without gaps move tiles of states through shared memory
(`gpu_tiles.py`); loops and other strides read and write where numbers stand (`gpu_scattered.py`). What is
particular to one make of processor is a `Device`; everything else is the program.
"""

from __future__ import annotations

from kinetree.compiler.emit.llvm.device import AMD, NVIDIA, Device
from kinetree.compiler.emit.llvm.gpu_kernel import GpuModule
from kinetree.compiler.emit.llvm.gpu_plan import MARKS, fits, planned
from kinetree.compiler.emit.llvm.gpu_scattered import OWN_BYTES, Scattered
from kinetree.compiler.emit.llvm.gpu_tiles import Tiled
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.strands import Strands, one_strand

SHARED = 96 << 10  # bytes that a block can have on every device


def emit_gpu(
    program: Program,
    dtype: str,
    layout: str,
    device: Device = NVIDIA,
    *,
    large: bool = True,
    strands: Strands | None = None,
    shared: int = SHARED,
    ahead: bool = False,
    warps: int = 0,
    arriving: str = "",
    exact: bool = True,
    together: int = 0,
) -> GpuModule:
    """The module of a program.

    Args:
        layout: "rows": all arrays are rows without gaps between them; "dense": the numbers of each state have
            no gaps; "any".
        large: for angles of any size.
        strands: what the warps of a block run, for robots with limbs.
        shared: bytes of shared memory that a block can have.
        ahead: the rows of a block's next tile arrive while it computes, as devices can from sm_80 on.
        arriving: how rows arrive in shared memory by themselves: "chunks" from sm_80 on, "whole" from sm_90
            on, where a tile has them without gaps; empty: threads carry them.
        exact: with the bits of the processor; else divisions and roots of float32 are rough.
        warps: how many a processor shall hold at a time, if not as the driver likes best.
        together: threads of a block that go through loops that end early together; 0: each goes alone.
    """
    number = Number(dtype, 1)
    if layout == "rows" and fits(program):
        strands = strands or one_strand(program)
        plan = planned(program, number, strands, shared - MARKS, 2 if ahead else 1)
        if plan is not None:
            arriving = arriving or ("chunks" if ahead else "")
            tiled = Tiled(program, number, device, large, strands, plan, arriving, ahead, warps)
            return _printed(tiled, exact)
    dense = layout != "any"
    return _printed(Scattered(program, number, dense, device, large, together), exact)


def _printed(kernel: Tiled | Scattered, exact: bool) -> GpuModule:
    if not exact:
        kernel.approximate()
    return kernel.module()


__all__ = ["AMD", "NVIDIA", "OWN_BYTES", "Device", "GpuModule", "emit_gpu"]
