"""How the threads of a block go through loops that end early.

Threads can go together, so that what one warp fetches of the code serves all. Further turns of a loop that
is over change nothing: so the bits are the same, however long others go on.

A loop around such a loop can go on after a few turns of it, in periods: a state that is not done yet repeats
what comes before the inner loop, with the same numbers, and takes up its turns where it left them, while
others have begun their next turn of the outer loop. Each state is at a turn of its own, and none waits
for the slowest one of each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kinetree.compiler.emit.llvm.device import Device
from kinetree.compiler.emit.llvm.gpu_kernel import GpuKernel
from kinetree.compiler.emit.llvm.instructions import in_all_lanes
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array, Block, Clear, Loop, Statement, Store
from kinetree.compiler.ir.program import Program, walk
from kinetree.ops import Expr

Place = tuple[Array, int]
LONG = 20  # turns of a loop from which on periods pay: states that part ways meet again at its end


@dataclass(frozen=True)
class March:
    """How the threads of a block go through a program with loops that end early.

    Args:
        together: where they meet. "steps": before each turn of a loop around those; "turns": before each turn
            of those too, which end for all threads at once; "idle": the same, but a warp that is done waits
            there; "searches": before turns of such loops within them as well; "": nowhere.
        period: turns of a loop that ends early after which the loop around it goes on; 0: when it has ended.
        pace: operations after which those meet again that have begun a turn together; 0: never.
        threads: of a block.
        warps: how many a processor shall hold at a time, if not as the driver likes best.
    """

    together: str = ""
    period: int = 0
    pace: int = 0
    threads: int = 64
    warps: int = 0


class Marching(GpuKernel):
    """Prints loops for threads that march."""

    def __init__(self, program: Program, number: Number, device: Device, large: bool, march: March):
        super().__init__(program, number, device, large)
        self.tile = self.threads = march.threads
        self.resident = 32 * march.warps // march.threads
        self.march = march
        repeatable = _is_repeatable(program)
        self.meetings = _meetings(program.body, march.together) if repeatable else []
        self.periods = _periods(program) if march.period and repeatable else {}
        self.meet = ""  # the barrier for all that come to what is printed now; empty if threads come alone
        self.since = 0  # operations since the last one
        self.carried: set[Place] = set()  # what is written only if ...
        self.anew = ""  # ... this holds: a turn is not taken up again

    def prepare(self) -> None:
        """Memory for where a thread is in its periods."""
        if self.periods:
            for name, kind in (("turn", "i64"), ("inner", "i64"), ("anew", "i1")):
                self.reserve(f"at.{name}", kind)

    def expression(self, e: Expr) -> None:
        self.since += 1
        if self.meet and self.march.pace and self.since > self.march.pace:
            self.do(self.meet)
            self.since = 0
        super().expression(e)

    # -- loops

    def loop(self, loop: Loop) -> None:
        outer = self.meet
        if loop in self.periods:
            self._in_periods(loop, self.periods[loop])
        else:
            super().loop(loop)
        self.meet = outer

    def before_turn(self, loop: Loop, latch: str, done: str) -> None:
        if loop in self.meetings and loop.until is None:
            self._gather()
        elif loop in self.meetings:
            self._leave_together(in_all_lanes(self, self.number, self._load(loop.flag)), latch, done)
        else:
            self.meet = self.meet if loop.until is None else ""
            super().before_turn(loop, latch, done)

    def _gather(self) -> None:
        """Wait for all threads of the block."""
        self.since, self.meet = 0, self.device.barrier
        self.do(self.meet)

    def _leave_together(self, over: str, latch: str, done: str) -> None:
        """Go to `done` when all threads of the block are over; warps that wait for others go to `latch`."""
        waits = self.march.together == "idle"
        over = self._fresh(self.device.all.format(over)) if waits else over
        others = self._number(self._not(over))
        self._leave_if(self._fresh(f"icmp eq i32 {others}, 0"), done)
        if waits:
            self._leave_if(over, latch)
            self.meet = self.device.few.format(others)

    def _number(self, condition: str) -> str:
        """For how many threads of the block a condition holds, when all have come here."""
        self.since, self.meet = 0, self.device.barrier
        return self._fresh(self.device.count.format(condition))

    def _not(self, condition: str) -> str:
        return self._fresh(f"xor i1 {condition}, true")

    # -- periods

    def _in_periods(self, loop: Loop, inner: Loop) -> None:
        """A loop around one that ends early, of which it makes a few turns at a time."""
        head, latch, done = self._labels("period", "latch", "done")
        place = loop.body.statements.index(inner)
        before, behind = loop.body.statements[:place], loop.body.statements[place + 1 :]
        stop = loop.start + loop.count * loop.step
        self.do(f"store i64 {loop.start}, ptr %at.turn")
        self.do("store i1 true, ptr %at.anew")
        self.do(f"br label %{head}")
        self._start(head)
        turn = self._fresh("load i64, ptr %at.turn")
        over = self._fresh(f"icmp eq i64 {turn}, {stop}")
        if loop in self.meetings:
            others = self._number(self._not(over))
            self._leave_if(self._fresh(f"icmp eq i32 {others}, 0"), done)
        else:
            self._leave_if(self._fresh(self.device.all.format(over)), done)
        # who is over repeats the last turn, for nothing
        turn = self._fresh(f"select i1 {over}, i64 {stop - loop.step}, i64 {turn}")
        self._scopes.append({})
        self._bind(loop.counter, turn)
        self.anew, self.carried = self._fresh("load i1, ptr %at.anew"), _written(walk(inner.body))
        self.statements(before)
        self.carried = set()
        finished = self._some_turns(inner)
        self.do(f"store i1 {self._fresh(f'or i1 {finished}, {over}')}, ptr %at.anew")
        self._leave_if(self._fresh(f"or i1 {over}, {self._not(finished)}"), latch)
        meet, self.meet = self.meet, ""
        self.statements(behind)
        self.meet = meet
        self._scopes.pop()
        self.do(f"store i64 {self._fresh(f'add i64 {turn}, {loop.step}')}, ptr %at.turn")
        self.do(f"br label %{latch}")
        self._start(latch)
        self.do(self.device.rejoin)  # else those who are not finished might go on by themselves
        self.do(f"br label %{head}")
        self._start(done)

    def _some_turns(self, loop: Loop) -> str:
        """The turns of a period; returns whether the loop is over."""
        head, latch, done = self._labels("some", "latch", "done")
        stop, meets, outer = loop.start + loop.count * loop.step, loop in self.meetings, self.meet
        left = self._fresh("load i64, ptr %at.inner")
        first = self._fresh(f"select i1 {self.anew}, i64 {loop.start}, i64 {left}")
        self.do(f"store i64 {first}, ptr %at.inner")
        begun = self._label
        self.do(f"br label %{head}")
        self._start(head)
        count = self._fresh(f"phi i64 [ 0, %{begun} ], [ %{latch}.i, %{latch} ]")
        turn = self._fresh("load i64, ptr %at.inner")
        over, last = self._over(loop, stop)
        if meets and loop.count % self.march.period:  # else some would be at their last turn amid a period
            self._leave_if(self._fresh(f"icmp ne i32 {self._number(last)}, 0"), done)
        if meets:
            self._leave_together(over, latch, done)
        else:
            self.meet = ""
            self._leave_if(over, done)
        following = self._fresh(f"select i1 {over}, i64 0, i64 {loop.step}")
        self.do(f"store i64 {self._fresh(f'add i64 {turn}, {following}')}, ptr %at.inner")
        self._scopes.append({})
        self._bind(loop.counter, turn)
        self.statements(loop.body.statements)
        self._scopes.pop()
        self.do(f"br label %{latch}")
        self._start(latch)
        self.do(f"%{latch}.i = add i64 {count}, 1")
        more = self._fresh(f"icmp ne i64 %{latch}.i, {self.march.period}")
        self.do(f"br i1 {more}, label %{head}, label %{done}")
        self._start(done)
        self.meet = outer
        return self._over(loop, stop)[0]

    def _over(self, loop: Loop, stop: int) -> tuple[str, str]:
        """Whether a thread has nothing more to do in a loop, and whether it has made all turns."""
        last = self._fresh(f"icmp eq i64 {self._fresh('load i64, ptr %at.inner')}, {stop}")
        flag = in_all_lanes(self, self.number, self._load(loop.flag))
        return self._fresh(f"or i1 {flag}, {last}"), last


def _meetings(block: Block, together: str) -> list[Loop]:
    """Loops before whose turns the threads of a block meet."""
    found = []
    for loop in (s for s in block.statements if isinstance(s, Loop) and together):
        early = loop.until is not None
        around = any(isinstance(s, Loop) and s.until is not None for s in walk(loop.body))
        if (early and together != "steps") or (around and not early):
            within = not early or together == "searches"
            found += [loop, *(_meetings(loop.body, together) if within else [])]
    return found


def _is_repeatable(program: Program) -> bool:
    """Whether several threads can compute one state at a time: no result is read again."""
    return not any(
        (isinstance(s, Store) and s.accumulate and s.array.kind == "output")
        or (isinstance(s, Expr) and s.op == "load" and s.args[0].kind == "output")
        for s in walk(program.body)
    )


def _periods(program: Program) -> dict[Loop, Loop]:
    """Loops around one that ends early, which can go on in periods."""
    found: dict[Loop, Loop] = {}
    for loop in (s for s in walk(program.body) if isinstance(s, Loop)):
        inner = [s for s in loop.body.statements if isinstance(s, Loop) and s.until is not None]
        if loop.until is None and loop.count >= LONG and len(inner) == 1:
            found |= {loop: inner[0]} if _can_part(program, loop, inner[0]) else {}
    return found


def _can_part(program: Program, loop: Loop, inner: Loop) -> bool:
    """Whether what stands before an inner loop gives the same again, and nobody misses what it wrote."""
    before = _before(loop, inner)
    written, inside = _written(before), set(map(id, walk(loop.body)))
    outside = [s for s in walk(program.body) if id(s) not in inside]
    return (
        all(array.kind == "work" for array, _ in written)
        and not any(isinstance(s, Store) and s.accumulate for s in before)
        and not (written | _written(walk(inner.body))) & (_read(before) | _read(outside))
    )


def _before(loop: Loop, inner: Loop) -> list[Statement]:
    """Everything in a loop before an inner one, also what is nested."""
    place = loop.body.statements.index(inner)
    return list(walk(Block(statements=loop.body.statements[:place])))


def _written(statements: Iterable[Statement]) -> set[Place]:
    stores = [s for s in statements if isinstance(s, (Store, Clear))]
    return {p for s in stores for p in places(s.array, s.index if isinstance(s, Store) else None)}


def _read(statements: Iterable[Statement]) -> set[Place]:
    loads = [s.args for s in statements if isinstance(s, Expr) and s.op == "load"]
    return {p for array, index in loads for p in places(array, index)}


def places(array: Array, index: Any) -> list[Place]:
    """One element of an array, or all of them if nobody knows which it is."""
    return [(array, index)] if isinstance(index, int) else [(array, k) for k in range(array.size)]
