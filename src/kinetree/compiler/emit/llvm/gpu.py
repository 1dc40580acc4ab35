"""A program as a GPU kernel, in LLVM text.

Straight-line programs on contiguous rows (batch, n) move tiles of states through shared memory
(`gpu_tiles.py`); loops and other strides access global memory directly (`gpu_scattered.py`). A `Device` holds
what is specific to one make of GPU; the rest is the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from kinetree.compiler.emit.llvm.device import AMD, NVIDIA, Device
from kinetree.compiler.emit.llvm.gpu_kernel import GpuModule
from kinetree.compiler.emit.llvm.gpu_plan import MARKS, fits, planned
from kinetree.compiler.emit.llvm.gpu_scattered import OWN_BYTES, Scattered
from kinetree.compiler.emit.llvm.gpu_tiles import Tiled
from kinetree.compiler.emit.llvm.gpu_together import is_repeatable
from kinetree.compiler.emit.llvm.gpu_twins import Twins
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.strands import Strands, one_strand
from kinetree.compiler.passes.twins import twins

SHARED = 96 << 10  # bytes per block available on every device


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
    pairs: Sequence[tuple[Array, int, int]] = (),
) -> GpuModule:
    """The module of a program.

    Args:
        layout: "rows": all arrays are contiguous rows; "dense": the numbers of each state are contiguous;
            "any".
        large: for angles of any size.
        strands: what the warps of a block run, for robots with limbs.
        shared: bytes of shared memory that a block can have.
        ahead: prefetch the rows of a block's next tile while it computes, possible from sm_80 on.
        arriving: asynchronous copies of rows to shared memory: "chunks" from sm_80 on, "whole" from sm_90
            on, for contiguous rows of a tile; empty: threads copy them.
        exact: with the bits of the CPU; otherwise float32 division and square root are approximate.
        warps: resident warps per multiprocessor, if not left to the driver.
        together: threads of a block that run loops with early exit in lockstep; 0: each on its own.
        pairs: elements of inputs that belong to the two limbs of a pair, for two threads per state in
            programs with loops.
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
    able = pairs and device.told and is_repeatable(program) and not program.is_straight
    twin = twins(program, pairs) if able else None
    if twin is not None:
        return _printed(Twins(twin, number, dense, device, large, together), exact)
    return _printed(Scattered(program, number, dense, device, large, together), exact)


def _printed(kernel: Tiled | Scattered, exact: bool) -> GpuModule:
    if not exact:
        kernel.approximate()
    return kernel.module()


__all__ = ["AMD", "NVIDIA", "OWN_BYTES", "Device", "GpuModule", "emit_gpu"]
