"""The rule for inputs that are not finite: a NaN or infinity anywhere makes every output of the state NaN."""

from __future__ import annotations

from dataclasses import replace

from kinetree.compiler.ir.graph import Block, Spoil
from kinetree.compiler.ir.program import Program


def spoil_nonfinite(program: Program) -> Program:
    """The same program for finite inputs; for others all its outputs are NaN, and its guard is 1."""
    if program.spoil is not None or not any(a.size for a in program.inputs):
        return program
    rule = Spoil(program.inputs, program.outputs, program.guard)
    return replace(program, body=Block(statements=[*program.body.statements, rule]))


def refuse_silently(program: Program) -> Program:
    """The same program, whose outputs are NaN where its guard refuses a state, and whose guard is then 1."""
    if program.guard is None:
        return program
    *others, rule = program.body.statements
    assert isinstance(rule, Spoil)
    return replace(program, body=Block(statements=[*others, replace(rule, silent=True)]))
