"""The passes in their order: from what a trace recorded to what a printer prints.

The order of a trace, body by body, is a good one for registers, and `postpone` changes little of it: a greedy
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
    """An equal program for a printer, by all passes; what they are given and what they make is checked.

    Long blocks are cut at `part_size` statements; 0: not at all, and sines stay where they are, for a machine
    with many registers. What was a promise about the result becomes part of the program: inputs that are not
    finite spoil it.
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


_pauses: set[object] = set()  # those that are not over, and that the collector ran before


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Expressions are many and all alive: looking for dead ones among them takes a third of the time."""
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
    """A process that was forked while another thread compiled has the pause, but not the thread."""
    if _pauses:
        gc.enable()
        _pauses.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_again)
