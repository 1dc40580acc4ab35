"""The passes in order: from what a trace recorded to what a printer prints.

The order of a trace, body by body, is good for registers, and `postpone` changes little of it: a greedy
list scheduler saved no more.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kinetree.compiler.ir.check import check
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.fuse import fuse
from kinetree.compiler.passes.interleave import interleave
from kinetree.compiler.passes.literals import replace_constant_arrays
from kinetree.compiler.passes.postpone import postpone
from kinetree.compiler.passes.settle import settle
from kinetree.compiler.passes.simplify import simplify
from kinetree.compiler.passes.sines_first import sines_first
from kinetree.compiler.passes.split import PART_SIZE, split
from kinetree.compiler.passes.spoil import spoil_nonfinite
from kinetree.compiler.passes.store_early import store_early

PASSES: tuple[Callable[[Program], Program], ...] = (
    settle,
    simplify,
    replace_constant_arrays,
    interleave,
    fuse,
    store_early,
    postpone,
    sines_first,
    split,
    spoil_nonfinite,
)


def optimize(program: Program, part_size: int = PART_SIZE) -> Program:
    """An equivalent program for a printer, after all passes; their inputs and outputs are checked.

    Long blocks are split at `part_size` statements. 0: not at all, and sines stay in place, for a machine
    with many registers. The rule that non-finite inputs spoil the result becomes part of the program.
    """
    with without_garbage_collection():
        check(program)
        given = program.graph
        for step in PASSES:
            before = program.graph
            if step not in (sines_first, split):
                program = step(program)
            elif part_size:
                program = split(program, part_size) if step is split else step(program)
            if before not in (program.graph, given):
                before.empty()
        return check(program)


_pauses: set[object] = set()  # active pauses that disabled a running collector


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Disable garbage collection: searching many expressions, all live, takes a third of the time."""
    if not gc.isenabled():
        yield
        return
    pause = object()
    _pauses.add(pause)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        _pauses.discard(pause)


def _start_again() -> None:
    """After a fork while another thread compiled, the child has the pause but not the thread."""
    if _pauses:
        gc.enable()
        _pauses.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_again)
