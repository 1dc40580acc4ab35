"""How best to run a program on a GPU: measured rules, most of them for straight-line programs on rows of
states.

A state has one thread, unless it has so many results that few states fit into a block, or a time loop keeps
so many values that two threads share it. The values that a thread keeps should fit its registers: the limbs
of a robot are computed one after another, some values are recomputed instead of kept, and others wait in
shared memory. `docs/design/gpu.md` lists what was tried.
"""

from __future__ import annotations

import math
from typing import Any

from kinetree.compiler.emit.llvm.gpu_plan import staged, thread_bytes
from kinetree.compiler.ir.graph import Loop
from kinetree.compiler.ir.program import Program, walk
from kinetree.compiler.passes.recompute import most_alive
from kinetree.compiler.passes.strands import pressure, put_aside, strands
from kinetree.compiler.runtime import cuda
from kinetree.stages.job import Job
from kinetree.stages.targets.limbs import owners, pairs

ARRIVING = {(9, 0): "whole", (8, 0): "chunks", (0, 0): ""}  # async copies of rows, by compute capability
WHOLE = 12000  # the driver version (as it counts) from which whole rows can be copied
HEAVY = 24  # operations per input and result above which arithmetic dominates
WIDE = 4  # results per input above which few states fit into a block
FEW_BYTES = 3 << 10  # largest results of a state that fit into shared memory as they are
KEPT = {"float64": 95, "float32": 230}  # live values above which some are recomputed
PRICE = 12  # operations that recomputing a value may cost
CROWDED = {"float64": 108, "float32": 260}  # live values above which some wait in shared memory
HELD = {"float64": 95, "float32": 215}  # values that stay in registers then
PRICES = (3, 6, 12, 16)  # costs of recomputation tried then, lowest first
FULL = (8, 4)  # warps per multiprocessor whose threads have all registers that they can have
ROOM = ((48, 0), (100, 16), (180, 12), (1 << 30, 8))  # words that a thread keeps -> warps with such room
TOGETHER = 256  # most threads per block that run loops with early exit in lockstep
TWINS = 360  # live words above which two threads compute a state in a time loop
TWINS_TOGETHER = ((10, 580), (1 << 30, 460))  # the same for loops with early exit, by their most turns


def way_of(job: Job, program: Program, where: cuda.Device) -> dict[str, Any]:
    """The options of `emit_gpu` for a program, besides its layout."""
    if not program.is_straight:
        return {"pairs": pairs(job, program)} if _has_twins(program, str(job.dtype)) else {}
    dtype, able = str(job.dtype), _arriving(where)
    inputs, outputs = (sum(math.prod(s) for s in part) for part in job.shapes)
    size = 8 if dtype == "float64" else 4
    owner, weights = owners(job, program)
    if len(weights) > 1 and outputs > WIDE * inputs:
        several = strands(program, owner, weights, len(weights))
        return {"strands": several, "arriving": able, "ahead": bool(able) and outputs * size < FEW_BYTES}
    one = strands(program, owner, weights, 1, KEPT[dtype], PRICE)
    if pressure(one) > CROWDED[dtype]:
        return {"arriving": able, **_crowded(job, program, where.shared)}
    heavy = program.ops["flops"] > HEAVY * (inputs + outputs) and pressure(one) <= KEPT[dtype]
    words = pressure(one) * size // 4
    warps = next(count for most, count in ROOM if words <= most)
    return {"strands": one, "arriving": able, "ahead": bool(able) and heavy, "warps": warps}


def _has_twins(program: Program, dtype: str) -> bool:
    """Whether two threads compute a state: more is live than one can keep."""
    turns = [s.count for s in walk(program.body) if isinstance(s, Loop) and s.until is not None]
    most = next(words for count, words in TWINS_TOGETHER if max(turns) <= count) if turns else TWINS
    return most_alive(program) * (2 if dtype == "float64" else 1) > most


def _arriving(where: cuda.Device) -> str:
    """How rows are copied on a device."""
    how = next(how for least, how in ARRIVING.items() if where.capability >= least)
    return "chunks" if how == "whole" and cuda.driver_version() < WHOLE else how


def _crowded(job: Job, program: Program, shared: int) -> dict[str, Any]:
    """Options for programs that keep more values than there are registers: some wait in shared memory.

    As few as possible are recomputed while all others find a place; fewer warps have more places.
    """
    dtype = str(job.dtype)
    held, (owner, weights) = HELD[dtype], owners(job, program)
    ways = [strands(program, owner, weights, 1, held, price) for price in PRICES]
    best = min(ways, key=pressure)
    for warps in FULL:
        slots = max(0, thread_bytes(program, dtype, shared, warps) // (8 if dtype == "float64" else 4) - 1)
        found = next((one for one in ways if pressure(one) <= held + slots), None)
        if found is not None:
            break
    found = found or best
    places = staged(program, dtype, shared, found, slots)
    return {"strands": put_aside(found, program, held, slots, places), "warps": warps}
