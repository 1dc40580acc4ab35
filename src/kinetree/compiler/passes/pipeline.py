"""The passes in their order: from what a trace recorded to what a printer prints.

There is no pass that reorders operations. The order of a trace, body by body, is a good one for registers: a
greedy list scheduler saved a tenth of the spills of forward dynamics and no time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from kinetree.compiler.ir.check import check
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.fuse import fuse
from kinetree.compiler.passes.simplify import simplify
from kinetree.compiler.passes.split import PART_SIZE, split
from kinetree.compiler.passes.store_early import store_early


def optimize(program: Program, part_size: int = PART_SIZE) -> Program:
    """An equal program for a printer: simplified, with fused multiply-adds, long blocks cut into parts."""
    with without_garbage_collection():
        return check(split(check(store_early(fuse(check(simplify(check(program)))))), part_size))


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Expressions are many and all alive: looking for dead ones among them takes a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


__all__ = ["optimize", "without_garbage_collection"]
