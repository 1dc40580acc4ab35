"""Expressions: what folds, what is shared, and that neither changes a value."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from tests.conftest import SEED, each

from kinetree import ops
from kinetree.compiler.emit.python import run
from kinetree.compiler.ir.graph import Block, Graph
from kinetree.compiler.ir.program import Program
from kinetree.errors import TraceError
from kinetree.ops import Expr
from kinetree.ops import expr as ex


@pytest.fixture
def graph() -> Graph:
    return Graph()


def load(graph: Graph, count: int = 4) -> list[Expr]:
    x = graph.array("x", "input", count)
    return [graph.load(x, k) for k in range(count)]


class TestFolding:
    def test_zeros_and_ones(self, graph):
        a, *_ = load(graph)
        assert a + 0 is a and 0 + a is a and a - 0 is a and a * 1 is a and 1 * a is a and a / 1 is a
        assert a * 0 == 0.0 and 0 * a == 0.0 and 0 / a == 0.0 and a - a == 0.0
        assert len(graph.root.statements) == 4

    def test_truths(self, graph):
        a, b, *_ = load(graph)
        low, high = a < 1.0, b > 2.0
        assert (low & True) is low and (True & low) is low and (low | False) is low and (False | low) is low
        assert (low & False) is False and (True | low) is True
        assert (low & high).op == "and" and (low | high).op == "or"

    def test_signs_move_outwards(self, graph):
        a, b, *_ = load(graph)
        assert ex.neg(-a) is a and 0 - a is -a and -a + 2.0 is 2.0 - a
        assert a + -b is a - b and a - -b is a + b and -a + b is b - a
        assert -a * b is -(a * b) and -a * -b is a * b and a * -2.0 is -(a * 2.0)
        assert -a / b is -(a / b) and a / -b is -(a / b) and -1.0 / a is -(1.0 / a)
        assert ops.sin(-a) is -ops.sin(a) and ops.cos(-a) is ops.cos(a) and ops.abs(-a) is ops.abs(a)
        assert b - a is -(a - b)

    def test_equal_operations_are_one(self, graph):
        a, b, *_ = load(graph)
        assert a + b is b + a and a * b is b * a and ops.min(a, b) is ops.min(b, a)
        assert ops.sin(a) is ops.sin(a) and (a - b) is (a - b)

    def test_constants_join(self, graph):
        a, *_ = load(graph)
        assert a * 2.0 * 3.0 is a * 6.0 and a / 4.0 is a * 0.25

    def test_division_that_has_no_reciprocal_stays(self, graph):
        a, *_ = load(graph)
        assert (a / 0.0).op == "div" and (a / 5e-324).op == "div"

    def test_powers(self, graph):
        a, *_ = load(graph)
        assert a**0 == 1.0 and a**1 is a and a**2 is a * a and a**3 is a * (a * a) and a**-1 is 1.0 / a
        with pytest.raises(TraceError, match="fixed integer power"):
            a**0.5

    def test_choices(self, graph):
        a, b, *_ = load(graph)
        assert ops.where(True, a, b) is a and ops.where(False, a, b) is b
        assert ops.where(ops.less(a, b), a, a) is a and ops.where(ops.less(a, b), 2, 2.0) == 2.0


class TestTruth:
    def test_truth_is_not_known(self, graph):
        a, b, *_ = load(graph)
        for question in (
            lambda: bool(a),
            lambda: a < b and a,
            lambda: not a,
            lambda: 1 if a < 0 else 2,
            lambda: max(a, b),
        ):
            with pytest.raises(TraceError, match=r"use kinetree\.ops\.where"):
                question()

    def test_value_is_not_known(self, graph):
        a, *_ = load(graph)
        for question in (lambda: float(a), lambda: math.sin(a)):
            with pytest.raises(TraceError, match=r"functions of kinetree\.ops"):
                question()

    def test_strangers_are_refused(self, graph):
        a, *_ = load(graph)
        for stranger in ("text", 1j, None, np.array([1j])):
            with pytest.raises(TraceError, match="cannot be combined"):
                a + stranger

    def test_arrays_are_taken_entry_by_entry(self, graph):
        a, b, *_ = load(graph)
        numbers, mixed = np.array([[2.0, 3.0]]), np.array([b, 4.0], object)
        product, difference = a * numbers, mixed - a
        assert product.shape == (1, 2) and product[0, 1] is a * 3.0
        assert difference.tolist() == [b - a, 4.0 - a]

    def test_numpy_scalars_are_literals(self, graph):
        a, *_ = load(graph)
        assert (
            np.float64(2.0) * a is a * 2.0 and a + np.int64(1) is a + 1.0 and np.float32(0.5) * a is a * 0.5
        )


class TestBlocks:
    def test_a_value_does_not_leave_its_loop(self, graph):
        a, b, *_ = load(graph)
        with graph.loop(3):
            inner = a * b
        with pytest.raises(TraceError, match="a value leaves a loop only through"):
            inner + 1.0
        with pytest.raises(TraceError, match="cannot be stored"):
            graph.store(graph.array("w", "work", 1), 0, inner)

    def test_what_a_loop_computes_is_not_shared_outside(self, graph):
        a, b, *_ = load(graph)
        with graph.loop(3):
            inner = a * b + a * a
        outer = a * b + a * a
        assert outer is not inner and outer.block is graph.root

    def test_what_stands_before_a_loop_is_shared_inside(self, graph):
        a, b, *_ = load(graph)
        before = a * b
        with graph.loop(3):
            assert a * b is before

    def test_left_early(self, graph):
        loop = graph.loop(3)
        loop.__enter__()
        graph.open(Block())
        with pytest.raises(TraceError, match="left early"):
            loop.__exit__(None, None, None)

    def test_two_traces_do_not_mix(self, graph):
        a, *_ = load(graph)
        b, *_ = load(Graph())
        with pytest.raises(TraceError, match="two different traces"):
            a + b


# Random expressions: the same code on floats and on expressions gives the same value.
UNARY = ("neg", "sin", "cos", "sqrt", "abs", "exp", "square")
BINARY = ("+", "-", "*", "/", "min", "max", "atan2")
CONSTANTS = (0, 1, -1, 2, 0.0, 1.0, -1.0, 0.5, -3.0, 1e-3, 7)
VALUES = (0.0, 1.0, -1.0, 2.0, 1e-9)


def grown(chance: random.Random, leaves: int) -> tuple:
    """A random tree of about so many leaves."""
    if leaves <= 1:
        return ("x", chance.randrange(4)) if chance.random() < 0.5 else ("c", chance.choice(CONSTANTS))
    arity, heads = chance.choice(((1, UNARY), (2, BINARY), (2, BINARY), (4, ("<", "<="))))
    return (chance.choice(heads), *(grown(chance, leaves // arity - (arity == 1)) for _ in range(arity)))


def evaluate(tree, x):
    """The value of a tree, whatever kind of numbers `x` holds; divisors and roots are kept away from zero."""
    head = tree[0]
    if head == "x":
        return x[tree[1]]
    if head == "c":
        return tree[1]
    parts = [evaluate(t, x) for t in tree[1:]]
    if head in ("<", "<="):
        truth = (ops.less if head == "<" else ops.less_equal)(parts[0], parts[1])
        return ops.where(truth, parts[2], parts[3])
    return {
        "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
        "/": lambda a, b: a / (b * b + 0.5), "min": ops.min, "max": ops.max,
        "atan2": lambda a, b: ops.atan2(a, b * b + 0.5), "neg": lambda a: -a, "sin": ops.sin, "cos": ops.cos,
        "sqrt": lambda a: ops.sqrt(a * a + 0.1), "abs": ops.abs, "exp": lambda a: ops.exp(ops.sin(a)),
        "square": lambda a: a**2,
    }[head](*parts)  # fmt: skip


def test_folding_never_changes_a_value():
    each(range(SEED, SEED + 300), keeps_its_value)


def keeps_its_value(seed: int) -> None:
    chance = random.Random(seed)
    tree = grown(chance, chance.randint(1, 12))
    values = [chance.choice((*VALUES, *(chance.uniform(-2.0, 2.0) for _ in VALUES))) for _ in range(4)]
    wanted = evaluate(tree, values)
    graph = Graph()
    x, y = graph.array("x", "input", 4), graph.array("y", "output", 1)
    graph.store(y, 0, ex.literal(evaluate(tree, [graph.load(x, k) for k in range(4)])))
    program = Program("tree", (x,), (y,), (), (), graph.root, graph)
    (result,), _ = run(program, np.array(values))
    scale = _scale(tree, values)
    assert result[0] == pytest.approx(wanted, rel=1e-11, abs=1e-12 * scale)


def _scale(tree, values) -> float:
    """The largest number met on the way: rounding errors are relative to it."""
    if tree[0] in "xc":
        return 1.0 + abs(evaluate(tree, values))
    return max(1.0 + abs(evaluate(tree, values)), *(_scale(t, values) for t in tree[1:]))
