"""The passes in their order: from what a trace recorded to what a printer prints."""

from __future__ import annotations

from kinetree.compiler.check import check
from kinetree.compiler.fuse import fuse
from kinetree.compiler.hasten import hasten
from kinetree.compiler.program import Program
from kinetree.compiler.simplify import simplify
from kinetree.compiler.split import PART_SIZE, split


def optimize(program: Program, part_size: int = PART_SIZE) -> Program:
    """An equal program for a printer: simplified, with fused multiply-adds, long blocks cut into parts."""
    return check(split(check(hasten(fuse(check(simplify(check(program)))))), part_size))


__all__ = ["optimize"]
