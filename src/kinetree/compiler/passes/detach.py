"""Reverse-mode derivatives around loops: values found by a loop are differentiated through an equation.

A program with a loop has no direct adjoint: in reverse it would need all intermediate values of the loop. But
if all values that a loop leaves are used as `implied(value, rule)`, derivatives pass through the rule alone.
The program is then split in two: one that computes what the loops leave, and a straight-line one that takes
it as an input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kinetree.compiler.ir.graph import Array, Loop, Statement, Store, Switch, While
from kinetree.compiler.ir.program import Program, walk
from kinetree.compiler.ir.rebuild import Folding
from kinetree.compiler.passes import differentiate
from kinetree.compiler.passes.dce import eliminate_dead_code
from kinetree.errors import CompileError
from kinetree.ops import Expr

FOUND = "found"


class Backward(NamedTuple):
    """`first`: inputs -> outputs, found. `adjoint`: inputs, found, b_<output> -> outputs, b_<input>, b_found,
    of which the last is zero.
    """

    first: Program
    adjoint: Program


def backward(program: Program, wrt: Sequence[str]) -> Backward | None:
    """The adjoint of a program with loops; None if derivatives pass through a loop."""
    left = _left(program)
    size = sum(array.size for arrays in left.values() for array in arrays)
    if not size or any(array in program.outputs for arrays in left.values() for array in arrays):
        return None
    first = _Keeping(program, left, Array(FOUND, "output", size)).run()
    try:
        straight = _Past(program, left, Array(FOUND, "input", size)).run()
        adjoint = differentiate.vjp(straight, (*wrt, FOUND))
    except CompileError:
        return None
    return None if adjoint.places(adjoint.outputs[-1]) else Backward(first, adjoint)


Left = dict[Statement, list[Array]]  # of each loop, the arrays it writes that are read later or are outputs


def _left(program: Program) -> Left:
    statements, found = program.body.statements, Left()
    for k, loop in enumerate(statements):
        if isinstance(loop, (Loop, Switch, While)):
            bodies = loop.cases if isinstance(loop, Switch) else [loop.body]
            written = {s.array for body in bodies for s in walk(body) if isinstance(s, Store)}
            read = {a for s in statements[k:] if isinstance(s, Expr) for a in s.args if isinstance(a, Array)}
            read |= set(program.outputs)
            found[loop] = [a for a in (*program.work, *program.outputs) if a in written & read]
    return found


class _Split(Folding):
    """A copy that handles the values that each loop leaves."""

    def __init__(self, program: Program, left: Left, found: Array):
        super().__init__(program)
        self.left, self.found, self.place_in_found, self.depth = left, found, 0, 0
        self.graph.arrays.append(found)

    def control(self, statement: Statement) -> None:
        self.depth += 1
        self.copied(statement)
        self.depth -= 1
        if not self.depth:
            for array in self.left[statement]:
                for k in range(array.size):
                    self.pass_on(array, k, self.place_in_found)
                    self.place_in_found += 1

    def copied(self, statement: Statement) -> None:
        super().control(statement)

    def pass_on(self, array: Array, k: int, place: int) -> None:
        raise NotImplementedError


class _Keeping(_Split):
    """Returns the values that loops leave."""

    def pass_on(self, array: Array, k: int, place: int) -> None:
        self.graph.store(self.found, place, self.graph.load(array, k))

    def finish(self, **changes: Any) -> Program:
        return super().finish(outputs=(*self.program.outputs, self.found), **changes)


class _Past(_Split):
    """Takes the values that loops leave, and omits the loops."""

    def copied(self, statement: Statement) -> None:
        """Omit the loop."""

    def pass_on(self, array: Array, k: int, place: int) -> None:
        self.graph.store(array, k, self.graph.load(self.found, place))

    def finish(self, **changes: Any) -> Program:
        return eliminate_dead_code(super().finish(inputs=(*self.program.inputs, self.found), **changes))
