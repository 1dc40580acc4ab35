"""How a program is best run on a GPU: rules, as measured; most are for straight programs on rows of states.

A state has one thread, unless its results are so many that few states fit into a block. What a thread keeps
should fit its registers: the limbs of a robot are computed one after the other, some numbers are computed
again instead of kept, and others wait in shared memory. `docs/gpu.md` says what was tried.
"""

from __future__ import annotations

import math
from typing import Any

from kinetree.compiler.emit.llvm.gpu_plan import thread_bytes
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.strands import pressure, put_aside, strands
from kinetree.compiler.runtime import cuda
from kinetree.stages.job import Job
from kinetree.stages.targets.limbs import owners

ARRIVING = {(9, 0): "whole", (8, 0): "chunks", (0, 0): ""}  # how rows arrive by themselves, by capability
WHOLE = 12000  # the driver that knows how they arrive whole, as it counts
HEAVY = 24  # operations for each number of inputs and results, from which on arithmetic takes longer
WIDE = 4  # results for each number of inputs, from which on few states fit into a block
FEW_BYTES = 3 << 10  # of the results of a state, if they are to fit into shared memory as they are
KEPT = {"float64": 95, "float32": 230}  # numbers alive at a time, beyond which some are computed again
PRICE = 12  # operations that a number may cost which is computed again
CROWDED = {"float64": 108, "float32": 260}  # numbers alive at a time, beyond which some wait elsewhere
HELD = {"float64": 95, "float32": 215}  # numbers that stay in registers then
PRICES = (3, 6, 12, 16)  # operations that a number may cost then, the fewest that suffice
FULL = (8, 4)  # warps of a processor whose threads have all registers that they can have
ROOM = ((48, 0), (100, 16), (180, 12), (1 << 30, 8))  # words that a thread keeps, and warps with such room
TOGETHER = {"float32": 128}  # threads of a block that go through loops that end early together


def way_of(job: Job, program: Program, where: cuda.Device) -> dict[str, Any]:
    """What `emit_gpu` is to be told of a program, besides its layout."""
    if not program.is_straight:
        return {}
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


def _arriving(where: cuda.Device) -> str:
    """How rows arrive on a device."""
    how = next(how for least, how in ARRIVING.items() if where.capability >= least)
    return "chunks" if how == "whole" and cuda.driver_version() < WHOLE else how


def _crowded(job: Job, program: Program, shared: int) -> dict[str, Any]:
    """For programs that keep more than registers hold: numbers wait in shared memory.

    As few are computed again as lets all find a place; with fewer warps there are more places.
    """
    dtype = str(job.dtype)
    held, (owner, weights) = HELD[dtype], owners(job, program)
    ways = [strands(program, owner, weights, 1, held, price) for price in PRICES]
    best = min(ways, key=pressure)
    slots = 0
    for warps in FULL:
        slots = max(0, thread_bytes(program, dtype, shared, warps) // (8 if dtype == "float64" else 4) - 1)
        for one in ways:
            if pressure(one) <= held + slots:
                return {"strands": put_aside(one, program, held, slots), "warps": warps}
    return {"strands": put_aside(best, program, held, slots), "warps": FULL[-1]}
