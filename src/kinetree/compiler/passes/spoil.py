"""The rule for non-finite inputs: a NaN or infinity anywhere makes every output of the state NaN."""

from __future__ import annotations

from dataclasses import replace

from kinetree.compiler.ir.graph import Array, Block, Spoil, Store
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.recompute import is_input
from kinetree.ops import Expr

# operands whose non-finite values make the result of an operation non-finite
STICKY = {
    **dict.fromkeys(("add", "sub", "mul", "neg", "sin", "cos"), slice(None)),
    **dict.fromkeys(("fma", "fms", "fnma", "fnms"), slice(None)),
    "div": slice(1),
}


def spoil_nonfinite(program: Program) -> Program:
    """The same program for finite inputs; otherwise all outputs are NaN, and the guard is 1."""
    if program.spoil is not None or not any(a.size for a in program.inputs):
        return program
    rule = Spoil(program.inputs, program.outputs, program.guard)
    return replace(program, body=Block(statements=[*program.body.statements, rule]))


def refuse_silently(program: Program) -> Program:
    """The same program, except that a state refused by the guard gives NaN, and a guard of 1."""
    if program.guard is None:
        return program
    *others, rule = program.body.statements
    assert isinstance(rule, Spoil)
    return replace(program, body=Block(statements=[*others, replace(rule, silent=True)]))


def telling(program: Program) -> set[tuple[Array, int]]:
    """The input elements of a straight-line program whose non-finite values show in a result."""
    seen: set[Expr] = set()
    found: set[tuple[Array, int]] = set()
    for s in reversed(program.body.statements):
        given: tuple = ()
        if isinstance(s, Store):
            given = (s.value,) if s.array in program.outputs else ()
        elif isinstance(s, Expr) and s in seen and s.op in STICKY:
            given = s.args[STICKY[s.op]]
        for a in given:
            if type(a) is Expr:
                seen.add(a)
                if is_input(a) and a.args[0] in program.inputs and type(a.args[1]) is not Expr:
                    found.add((a.args[0], int(a.args[1])))
    return found
