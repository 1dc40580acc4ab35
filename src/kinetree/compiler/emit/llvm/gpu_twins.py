"""Kernels with two neighbouring threads per state, one for each limb of a pair (`passes/twins.py`)."""

from __future__ import annotations

from typing import Any

from kinetree.compiler.emit.llvm.gpu_scattered import Scattered
from kinetree.compiler.emit.llvm.instructions import in_all_lanes
from kinetree.compiler.ir.graph import Loop
from kinetree.compiler.passes.twins import Either, Of
from kinetree.ops import PRIMITIVES, Expr
from kinetree.ops.primitives import TRUTH


class Twins(Scattered):
    """Prints a program for one of two threads."""

    threads_per_state = 2

    def _member(self) -> list[str]:
        return [
            "  %side = and i64 %tid, 1",
            "  %second = icmp ne i64 %side, 0",
            "  %member = lshr i64 %tid, 1",
            "  %lane.first = and i32 %tid32, 30",
            "  %lane.second = or i32 %lane.first, 1",
        ]

    def before_turn(self, loop: Loop, latch: str, done: str) -> None:
        """Threads that exchange numbers leave a loop together."""
        if loop in self.meetings or loop.until is None:
            super().before_turn(loop, latch, done)
        else:
            flag = in_all_lanes(self, self.number, self._load(loop.flag))
            self._leave_if(self._fresh(self.device.all.format(flag)), done)

    def _operand(self, value: Any) -> str:
        if isinstance(value, Either):
            return self._either(value)
        if isinstance(value, Of):
            return self._of(value)
        if _is_read_again(value):
            known = self._find(value)
            if known is None:
                known = self._scopes[-1][value] = self._load(value)
            return known
        return super()._operand(value)

    def _integer(self, value: Any) -> str:
        if isinstance(value, Either):
            first, second = self._integer(value.first), self._integer(value.second)
            return self._fresh(f"select i1 %second, i64 {second}, i64 {first}")
        return super()._integer(value)

    def expression(self, e: Expr) -> None:
        if not _is_read_again(e):
            super().expression(e)

    def _either(self, value: Either) -> str:
        pair = value.first, value.second
        kind = self._kind(next((x for x in pair if type(x) is not float), 0.0))
        first, second = map(self._operand, pair)
        text = f"select i1 %second, {kind} {second}, {kind} {first}"
        known = self._find(text)  # by its text: 0.0 and -0.0 are equal
        if known is None:
            known = self._scopes[-1][text] = self._fresh(text)
        return known

    def _of(self, value: Of) -> str:
        known = self._find(value)
        if known is None:
            known = self._scopes[-1][value] = self._told(
                self._operand(value.value), self._kind(value.value), value.is_second
            )
        return known

    def _kind(self, value: Any) -> str:
        """The type of a value in the text."""
        is_truth = isinstance(value, bool) or (type(value) is Expr and PRIMITIVES[value.op].gives == TRUTH)
        return "i1" if is_truth else self.number.scalar

    def _told(self, own: str, kind: str, by_second: bool) -> str:
        """What the first or the second thread of a state has, in both."""
        if kind == "i1":
            found = self._word(self._fresh(f"zext i1 {own} to i32"), by_second)
            return self._fresh(f"icmp ne i32 {found}, 0")
        if kind == "float":
            found = self._word(self._fresh(f"bitcast float {own} to i32"), by_second)
            return self._fresh(f"bitcast i32 {found} to float")
        words = self._fresh(f"bitcast double {own} to <2 x i32>")
        found = "poison"
        for k in range(2):
            word = self._word(self._fresh(f"extractelement <2 x i32> {words}, i32 {k}"), by_second)
            found = self._fresh(f"insertelement <2 x i32> {found}, i32 {word}, i32 {k}")
        return self._fresh(f"bitcast <2 x i32> {found} to double")

    def _word(self, own: str, by_second: bool) -> str:
        return self._fresh(self.device.told.format(own, "%lane.second" if by_second else "%lane.first"))

    def _met(self) -> str:
        """Whether an angle was too large, in either thread."""
        mine = super()._met()
        first, second = (self._told(mine, "i1", by_second) for by_second in (False, True))
        return self._fresh(f"or i1 {first}, {second}")


def _is_read_again(value: Any) -> bool:
    """Whether a value is an element of an input, which is read at each use."""
    return (
        type(value) is Expr
        and value.op == "load"
        and value.args[0].kind == "input"
        and isinstance(value.args[1], Either)
    )
