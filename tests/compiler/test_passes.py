"""Passes keep what a program computes and do what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.interpreter import interpret
from tests.compiler.random_programs import random_inputs, random_looped, random_straight
from tests.conftest import share

from kinetree import ops
from kinetree.compiler.ir.check import check
from kinetree.compiler.ir.graph import Graph, Loop, Part, Store
from kinetree.compiler.ir.indices import ANYTHING, Facts, Indices, exactly
from kinetree.compiler.ir.program import Program, captured, walk
from kinetree.compiler.ir.rebuild import Rebuild
from kinetree.compiler.passes.dce import eliminate_dead_code
from kinetree.compiler.passes.fuse import CLOSE, fuse
from kinetree.compiler.passes.pipeline import optimize
from kinetree.compiler.passes.postpone import SHORTEST, postpone
from kinetree.compiler.passes.simplify import simplify
from kinetree.compiler.passes.sines_first import sines_first
from kinetree.compiler.passes.split import split
from kinetree.compiler.passes.store_early import store_early
from kinetree.ops import Expr

SEEDS = share(range(40), 5)
MAKERS = [random_straight, random_looped]


def close(a: list, b: list, tolerance: float = 1e-13) -> bool:
    return all(np.allclose(x, y, rtol=tolerance, atol=tolerance) for x, y in zip(a, b))


def equal(a: list, b: list) -> bool:
    return all(np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b))


def text(program: Program) -> list[str]:
    return [repr(s) if isinstance(s, Expr) else type(s).__name__ for s in walk(program.body)]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", SEEDS)
class TestMeaning:
    def test_rebuild_is_the_identity(self, make, seed):
        program = make(seed)
        copy = check(Rebuild(program).run())
        assert text(copy) == text(program)
        x = random_inputs(program, seed)
        assert equal(interpret(copy, *x)[0], interpret(program, *x)[0])

    def test_simplify_and_dead_code(self, make, seed):
        program = make(seed)
        x = random_inputs(program, seed)
        wanted, status = interpret(program, *x)
        assert equal(interpret(check(eliminate_dead_code(program)), *x)[0], wanted)
        result, same_status = interpret(check(simplify(program)), *x)
        assert close(result, wanted) and status == same_status

    def test_postpone(self, make, seed):
        program = make(seed)
        x = random_inputs(program, seed)
        moved = check(postpone(program))
        assert equal(interpret(moved, *x)[0], interpret(program, *x)[0])
        assert sorted(operations(moved)) == sorted(operations(program))

    def test_fuse(self, make, seed):
        program = make(seed)
        x = random_inputs(program, seed)
        fused = check(fuse(program))
        assert close(interpret(fused, *x)[0], interpret(program, *x)[0])
        assert fused.ops["flops"] == program.ops["flops"]

    @pytest.mark.parametrize("size", [1, 4, 9, 30])
    def test_split_changes_no_bit(self, make, seed, size):
        program = fuse(simplify(make(seed)))
        x = random_inputs(program, seed)
        parts = check(split(program, size))
        assert equal(interpret(parts, *x)[0], interpret(program, *x)[0])

    def test_passes_settle(self, make, seed):
        once = simplify(make(seed))
        assert simplify(once) is once and text(simplify(Rebuild(once).run())) == text(once)
        assert fuse(once).ops == fuse(fuse(once)).ops


def straight(build, inputs: int = 4, outputs: int = 1, **arrays) -> Program:
    """A program from a function of (graph, loads of x, y)."""
    graph = Graph()
    x, y = graph.array("x", "input", inputs), graph.array("y", "output", outputs)
    work = tuple(graph.array(name, "work", size) for name, size in arrays.items())
    build(graph, [graph.load(x, k) for k in range(inputs)], y, *work)
    return Program("straight", (x,), (y,), work, (), graph.root, graph)


def operations(program: Program) -> list[str]:
    return [s.op for s in walk(program.body) if isinstance(s, Expr) and s.op != "load"]


class TestDeadCode:
    def test_unused_work_goes(self):
        def build(graph, x, y, w, v):
            graph.store(w, 0, x[0] * x[1])
            graph.store(w, 1, x[2] * x[3])
            graph.store(v, 0, graph.load(w, 1))
            graph.store(y, 0, graph.load(w, 0))

        program = eliminate_dead_code(straight(build, w=2, v=1))
        assert operations(program) == ["mul"] and [a.name for a in program.work] == ["w"]

    def test_components_are_told_apart(self):
        """Of a field with three components per node only the one that is read is stored, also in loops."""
        program = random_looped(3)
        stores = [s for s in walk(eliminate_dead_code(program).body) if isinstance(s, Store)]
        before = [s for s in walk(program.body) if isinstance(s, Store)]
        total = [s for s in before if s.array.name == "total"]
        kept = [s for s in stores if s.array.name == "total"]
        assert len(kept) == len(total) // 2

    def test_nothing_dead_nothing_new(self):
        program = simplify(random_straight(1))
        assert text(eliminate_dead_code(program)) == text(program)

    def test_control_flow_without_effect_goes(self):
        def build(graph, x, y, w):
            with graph.loop(3) as i:
                graph.store(w, i, x[0])
            graph.store(y, 0, x[1])

        assert len(eliminate_dead_code(straight(build, w=3)).body.statements) == 2


class TestSimplify:
    def test_stores_are_forwarded(self):
        def build(graph, x, y, w):
            graph.store(w, 0, 0.0)
            graph.store(w, 1, x[0])
            graph.store(w, 0, x[1], accumulate=True)
            graph.store(y, 0, graph.load(w, 0) * x[2] + (graph.load(w, 1) - x[0]))

        program = simplify(straight(build, w=2))
        assert operations(program) == ["mul"] and program.work == ()

    def test_an_unknown_index_makes_contents_unknown(self):
        def build(graph, x, y, w):
            with graph.loop(2) as i:
                graph.store(w, 0, x[0])
                graph.store(w, i, x[1])
                graph.store(y, 0, graph.load(w, 0))

        program = straight(build, w=2)
        after = simplify(program)
        x = np.array([1.0, 2.0, 3.0, 4.0])
        assert interpret(after, x)[0][0] == interpret(program, x)[0][0] == [1.0]
        loads = [s for s in walk(after.body) if isinstance(s, Expr) and s.op == "load"]
        assert any(s.args[0].kind == "work" for s in loads)

    def test_a_loop_may_change_what_was_known_before_it(self):
        def build(graph, x, y, w):
            graph.store(w, 0, 1.0)
            with graph.loop(3):
                graph.store(w, 0, graph.load(w, 0) * x[0])
            graph.store(y, 0, graph.load(w, 0))

        program = straight(build, w=1)
        assert interpret(simplify(program), np.full(4, 2.0))[0][0] == [8.0]


class TestFuse:
    def test_each_single_product_goes_into_its_sum(self):
        fused = fuse(straight(lambda g, x, y: g.store(y, 0, x[0] * x[1] + x[2] * x[3])))
        assert operations(fused) == ["mul", "fma"]

    @pytest.mark.parametrize(
        ("build", "wanted"),
        [
            (lambda x: x[0] * x[1] + x[2] * x[3] + x[0], ["fma", "fma"]),
            (lambda x: (x[0] * x[1] + x[2] * x[3]) + (x[0] * x[2] + x[1]), ["fma", "fma", "fma"]),
            (lambda x: x[0] - (x[0] * x[1] - x[2] * x[3]), ["fnma", "fma"]),
            (lambda x: (x[0] * x[1] - x[2] * x[3]) - x[0], ["fms", "fnma"]),
            (lambda x: -(x[0] * x[1] - x[2] * x[3]), ["mul", "fnma"]),
            (lambda x: -(x[0] * x[1] + x[2] * x[3]), ["mul", "fnms"]),
            (lambda x: -(x[0] * x[1] + x[2]), ["fnms"]),
            (lambda x: -((x[0] * x[1] + x[2] * x[3]) + x[0]), ["fnms", "fnma"]),
            (lambda x: -(x[0] * x[1]), ["mul", "neg"]),  # a sum of one term
            (lambda x: (x[0] + x[1]) + (x[2] + x[3]), ["add", "add", "add"]),  # nothing to gain
        ],
    )
    def test_sums_of_sums_are_chains_where_that_is_shorter(self, build, wanted):
        program = straight(lambda g, x, y: g.store(y, 0, build(x)))
        fused = check(fuse(program))
        assert sorted(operations(fused)) == sorted(wanted)
        x = np.array([3.0, 5.0, 7.0, 11.0])  # exact in any order
        assert equal(interpret(fused, x)[0], interpret(program, x)[0])

    def test_a_sum_that_others_need_stays(self):
        def build(graph, x, y):
            inner = x[0] * x[1] + x[2] * x[3]
            graph.store(y, 0, inner + x[0])
            graph.store(y, 1, inner)

        assert operations(fuse(straight(build, outputs=2))) == ["mul", "fma", "add"]

    def test_a_sum_that_waits_long_is_made_at_once(self):
        def build(graph, x, y):
            value, inner = x[3], x[0] * x[1] + x[2] * x[3]
            for _ in range(CLOSE):
                value = ops.sin(value)
            graph.store(y, 0, inner + value)

        assert [op for op in operations(fuse(straight(build))) if op != "sin"] == ["mul", "fma", "add"]

    def test_signs(self):
        def build(graph, x, y):
            graph.store(y, 0, x[0] * x[1] - x[2])
            graph.store(y, 1, x[0] - x[1] * x[2])
            graph.store(y, 2, 2.0 - x[0] * x[2])

        fused = fuse(straight(build, outputs=3))
        assert operations(fused) == ["fms", "fnma", "fnma"]
        assert equal(interpret(fused, np.array([3.0, 5.0, 7.0, 0.0]))[0], [[8.0, -32.0, -19.0]])

    def test_a_product_that_is_used_twice_stays(self):
        def build(graph, x, y):
            product = x[0] * x[1]
            graph.store(y, 0, product + x[2])
            graph.store(y, 1, product)

        assert operations(fuse(straight(build, outputs=2))) == ["mul", "add"]


class TestPostpone:
    def late(self, build) -> list[str]:
        """The operations in their order after those that fill the row."""

        def filled(graph, x, y):
            wanted, value = build(x), x[3]
            for _ in range(SHORTEST):
                value = ops.sin(value)
            graph.store(y, 0, value)
            graph.store(y, 1, wanted(value))

        found = operations(check(postpone(store_early(straight(filled, outputs=2)))))
        return found[found.index("sin") :][SHORTEST:]

    def test_an_operation_goes_to_its_first_use(self):
        assert self.late(lambda x: (lambda a: lambda v: v * a)(x[0] + x[1])) == ["add", "mul"]

    def test_what_leads_to_it_goes_along(self):
        assert self.late(lambda x: (lambda a: lambda v: v * a)(x[2] - (x[0] + x[1]))) == ["add", "sub", "mul"]

    def test_two_numbers_do_not_wait_for_one(self):
        def build(x):
            product = (x[0] + x[1]) * (x[0] - x[1])
            return lambda v: v + product

        assert self.late(build) == ["add"]


class TestSinesFirst:
    def test_sines_of_a_state_come_first_and_others_stay(self):
        graph = Graph()
        x, y, w = graph.array("x", "input", 2), graph.array("y", "output", 1), graph.array("w", "work", 2)
        for k in range(2):
            graph.store(w, k, graph.load(x, k))
        with graph.loop(3):
            total = graph.load(w, 0) * 3.0
            total = total + ops.sin(graph.load(w, 1)) * ops.cos(total)
            graph.store(w, 0, total)
            graph.store(w, 1, ops.sin(graph.load(w, 0)))
        graph.store(y, 0, graph.load(w, 1))
        program = Program("p", (x,), (y,), (w,), (), graph.root, graph)
        moved = check(sines_first(program))
        state = np.array([0.9, 2.0])
        assert equal(interpret(moved, state)[0], interpret(program, state)[0])
        (loop,) = (s for s in moved.body.statements if isinstance(s, Loop))
        order = [s.op for s in loop.body.statements if isinstance(s, Expr) and s.op != "counter"]
        assert order[:4] == ["load", "sin", "load", "mul"]
        assert sorted(operations(moved)) == sorted(operations(program))


class TestSplit:
    def long(self, length: int = 300) -> Program:
        return fuse(simplify(random_straight(5, length)))

    def test_short_programs_stay(self):
        program = self.long()
        assert split(program) is program

    def test_parts_have_about_the_size(self):
        program = self.long(600)
        parts = [s for s in split(program, 100).body.statements if isinstance(s, Part)]
        sizes = [
            sum(isinstance(s, Expr) and bool(ops.PRIMITIVES[s.op].cost) for s in walk(p.body)) for p in parts
        ]
        assert len(parts) > 1 and all(50 <= size <= 150 for size in sizes)
        assert all(captured(p) == () for p in parts)

    def test_elements_of_the_cut_are_used_again(self):
        def build(graph, x, y):
            value = x[0]
            for k in range(2000):
                value = ops.sin(value) * x[k % 4]
            graph.store(y, 0, value)

        program = split(straight(build), 100)
        assert program.work[-1].name == "cut" and program.work[-1].size <= 4

    def test_long_loop_bodies_are_cut_and_take_integers(self):
        program = split(fuse(simplify(random_looped(2))), 4)
        parts = [s for s in walk(program.body) if isinstance(s, Part)]
        assert any(captured(p) for p in parts) and all(e.is_integer for p in parts for e in captured(p))

    def test_a_part_inside_a_loop_loads_inputs_anew(self):
        """Although an equal load stands outside the loop, where a part cannot see it."""
        graph = Graph()
        x, y = graph.array("x", "input", 2), graph.array("y", "output", 3)
        factor, total = graph.load(x, 0), graph.load(x, 1)
        for _ in range(100):
            total = total * factor + 0.5
        with graph.loop(3) as i:
            value = factor
            for _ in range(400):
                value = value * factor + 0.25
            graph.store(y, i, value + total)
        program = Program("p", (x,), (y,), (), (), graph.root, graph)
        cut = optimize(program, 200)
        assert any(isinstance(s, Part) for s in walk(cut.body))
        state = np.array([0.9, 2.0])
        np.testing.assert_allclose(interpret(cut, state)[0], interpret(program, state)[0], rtol=1e-14)

    @pytest.mark.parametrize("changed", ["nothing", "another", "later", "this", "somewhere"])
    def test_parts_load_again_what_is_the_same(self, changed):
        """In a loop, whose turns begin with what the one before has stored."""
        graph = Graph()
        x, y, w = graph.array("x", "input", 2), graph.array("y", "output", 1), graph.array("w", "work", 4)
        for k in range(4):
            graph.store(w, k, graph.load(x, k % 2))
        with graph.loop(3) as i:
            kept, total = graph.load(w, 0), graph.load(x, 1)
            for k in range(30):
                total = ops.sin(total) * 0.5 + k
            if changed in ("another", "this"):
                graph.store(w, int(changed == "another"), total)
            if changed == "somewhere":
                graph.store(w, i, total)
            for k in range(30):
                total = ops.sin(total) * 0.5 + k
            total = total * kept
            if changed == "later":
                graph.store(w, 0, total)
            graph.store(y, 0, total)
        program = Program("p", (x,), (y,), (w,), (), graph.root, graph)
        cut = check(split(program, 20))
        state = np.array([0.9, 2.0])
        assert equal(interpret(cut, state)[0], interpret(program, state)[0])
        stores = [s for s in walk(cut.body) if isinstance(s, Store) and s.array.name == "cut"]
        copies = [s for s in stores if s.value.op == "load"]
        assert stores and bool(copies) == (changed in ("this", "somewhere"))


class TestIndices:
    def test_facts_hold(self):
        """Whatever an index of a random looped program is while it runs, its facts say so."""
        program = random_looped(4)
        indices = Indices(program)
        for s in walk(program.body):
            if isinstance(s, Store):
                facts = indices.facts(s.index)
                assert facts.lowest >= 0 and facts.highest < s.array.size

    def test_strides_are_told_apart(self):
        a, b = Facts(0, 99, 3, 1), Facts(0, 99, 6, 2)
        assert not a.may_equal(b) and a.may_equal(Facts(0, 99, 6, 4)) and a.may_equal(exactly(4))
        assert not a.may_equal(exactly(5)) and a.may_equal(ANYTHING) and not exactly(3).may_equal(exactly(4))


def test_pipeline_is_deterministic():
    for seed in range(5):
        first, second = optimize(random_straight(seed, 200), 50), optimize(random_straight(seed, 200), 50)
        assert text(first) == text(second)
