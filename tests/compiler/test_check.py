"""The checker accepts what traces and passes make, and says what is wrong with anything else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.compiler.random_programs import random_looped, random_straight

from kinetree.compiler.ir.check import check
from kinetree.compiler.ir.graph import Array, Block, Clear, Graph, Loop, Part, Store, Switch, While
from kinetree.compiler.ir.program import Program
from kinetree.errors import CompileError
from kinetree.ops import Expr


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("make", [random_straight, random_looped])
def test_traces_pass(make, seed):
    program = make(seed)
    assert check(program) is program


class Small:
    """y = x[0] * x[1], with the pieces at hand for breaking it."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.x, self.y = self.graph.array("x", "input", 2), self.graph.array("y", "output", 1)
        self.a, self.b = self.graph.load(self.x, 0), self.graph.load(self.x, 1)
        self.product = self.a * self.b
        self.graph.store(self.y, 0, self.product)
        self.statements = self.graph.root.statements

    def program(self, **changes) -> Program:
        program = Program("small", (self.x,), (self.y,), (), (), self.graph.root, self.graph)
        return replace(program, **changes)

    def expr(self, op: str, *args) -> Expr:
        return Expr(op, args, self.graph, self.graph.root, 99)


def rejected(program: Program, match: str) -> None:
    with pytest.raises(CompileError, match=match) as caught:
        check(program)
    assert "'small'" in str(caught.value)


def test_small_passes():
    check(Small().program())


def test_order():
    small = Small()
    small.statements.reverse()
    rejected(small.program(), "not computed before it is used")


def test_twice():
    small = Small()
    small.statements.insert(0, small.a)
    rejected(small.program(), "appears twice")


def test_unknown_operation():
    small = Small()
    small.statements.append(small.expr("gamma", small.a))
    rejected(small.program(), "no such operation")


def test_arity():
    small = Small()
    small.statements.append(small.expr("mul", small.a))
    rejected(small.program(), "takes 2 operands, not 1")


def test_kinds_of_operands():
    small = Small()
    truth = small.expr("lt", small.a, 1.0)
    small.statements += [truth, small.expr("add", truth, small.a)]
    rejected(small.program(), "is a truth, expected a number")
    small = Small()
    small.statements.append(small.expr("add", small.a, 1))
    rejected(small.program(), "is a integer, expected a number")
    small = Small()
    small.statements.append(small.expr("where", small.a, 1.0, 2.0))
    rejected(small.program(), "is a number, expected a truth")
    small = Small()
    small.statements.append(small.expr("load", small.x, small.a))
    rejected(small.program(), "is a number, expected a integer")


def test_indices():
    small = Small()
    small.statements.append(small.expr("load", small.x, 2))
    rejected(small.program(), "index 2 is outside")
    small = Small()
    small.statements.append(Store(small.y, -1, 1.0))
    rejected(small.program(), "index -1 is outside")
    small = Small()
    with small.graph.loop(3, 5) as i:
        small.graph.load(small.x, i)
    rejected(small.program(), "is outside")


def test_arrays():
    small = Small()
    rejected(small.program(inputs=(small.y,)), "expected kind input")
    rejected(small.program(inputs=(small.x, small.x)), "listed twice")
    rejected(small.program(work=(Array("x", "work", 1),)), "two arrays are called 'x'")
    rejected(small.program(inputs=()), "is not an array of the program")
    rejected(small.program(guard=Array("g", "output", 2)), "exactly one element")
    rejected(small.program(work=(Array("w", "work", -1),)), "negative size")


def test_clear():
    small = Small()
    small.statements.insert(0, Clear(small.x))
    rejected(small.program(), "is cleared but is not an output")
    small = Small()
    small.statements.insert(1, Clear(small.y))
    rejected(small.program(), "at the beginning")
    small = Small()
    small.statements[:0] = [Clear(small.y), Clear(small.y)]
    rejected(small.program(), "once")


def test_spoil():
    small = Small()
    small.graph.spoil((small.x,), (small.y,), None)
    check(small.program())
    small.statements.reverse()
    rejected(small.program(), "at the end")
    small = Small()
    small.graph.spoil((), (small.y,), None)
    rejected(small.program(), "must spoil all outputs")


def test_tables():
    small = Small()
    rejected(small.program(tables=(Array("t", "table", 2),)), "needs data of shape")
    rejected(small.program(tables=(Array("t", "table", 2, np.zeros(3)),)), "needs data of shape")
    rejected(small.program(tables=(Array("t", "itable", 2, np.zeros(2)),)), "holds float64")


def test_outputs():
    small = Small()
    small.y.size = 2
    rejected(small.program(), "element 1 of output y.2. is never written")
    small.graph.clear(small.y)
    check(small.program())
    small = Small()
    small.statements.append(small.expr("load", small.y, 0))
    rejected(small.program(), "must be of kind input or work or table")
    small = Small()
    small.statements[-1].accumulate = True
    rejected(small.program(), "added to before it is set")


def test_a_value_does_not_leave_its_block():
    small = Small()
    with small.graph.loop(2):
        inner = small.a + 3.0
    small.statements.append(Store(small.y, 0, inner))
    rejected(small.program(), "in a block that has ended")


def test_a_part_uses_no_outer_number():
    small = Small()
    small.statements.append(Part(Block(small.graph.root, [Store(small.y, 0, small.a)])))
    rejected(small.program(), "not computed before it is used")


def test_control():
    small = Small()
    with small.graph.loop(2) as i:
        pass
    loop = small.statements[-1]
    assert isinstance(loop, Loop)
    loop.body.statements.clear()
    rejected(small.program(), "must begin with its counter")
    loop.body.statements.append(i)
    check(small.program())
    loop.step = 0
    rejected(small.program(), "with step 0")
    small = Small()
    small.statements.append(Switch(0, []))  # type: ignore[arg-type]
    rejected(small.program(), "has 0 cases")
    small = Small()
    with small.graph.repeat(1) as again:
        again.successor = small.a
    assert isinstance(small.statements[-1], While)
    rejected(small.program(), "expected a integer")
