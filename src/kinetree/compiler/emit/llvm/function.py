"""A writer of LLVM functions with control flow, for hand-written code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

Value = str | int  # a name or a literal
ATTRIBUTES = 'nounwind "no-builtins"'


class Lines(Protocol):
    """Anything that instructions can be appended to."""

    def do(self, statement: str) -> None: ...

    def let(self, value: str) -> str: ...

    def at(self, base: str, index: Value, unit: str = "i64") -> str: ...


class Function:
    """The text of one function, written statement by statement."""

    def __init__(self, head: str, attributes: str = ATTRIBUTES):
        self._head, self._attributes = head, attributes
        self._lines = ["entry:"]
        self._count = 0
        self._block = "entry"
        self._loop = (0, "")  # start of the innermost loop, and the block before it

    @property
    def text(self) -> str:
        return "\n".join([f"define {self._head} {self._attributes} {{", *self._lines, "}"])

    def do(self, statement: str) -> None:
        """A statement without a value."""
        self._lines.append(f"  {statement}")

    def let(self, value: str) -> str:
        """A new name for the value of an instruction."""
        self._count += 1
        self.do(f"%v{self._count} = {value}")
        return f"%v{self._count}"

    # -- numbers and conditions

    def add(self, a: Value, b: Value) -> str:
        return self.let(f"add i64 {a}, {b}")

    def sub(self, a: Value, b: Value) -> str:
        return self.let(f"sub i64 {a}, {b}")

    def mul(self, a: Value, b: Value) -> str:
        return self.let(f"mul i64 {a}, {b}")

    def choose(self, condition: str, a: Value, b: Value, kind: str = "i64") -> str:
        return self.let(f"select i1 {condition}, {kind} {a}, {kind} {b}")

    def is_(self, comparison: str, a: Value, b: Value, kind: str = "i64") -> str:
        return self.let(f"icmp {comparison} {kind} {a}, {b}")

    def same(self, a: str, b: str) -> str:
        """Whether two pointers are equal."""
        return self.is_("eq", a, b, "ptr")

    def is_null(self, a: str) -> str:
        return self.same(a, "null")

    def not_(self, condition: str) -> str:
        return self.let(f"xor i1 {condition}, true")

    def all_of(self, *conditions: str) -> str:
        return self._joined("and", conditions)

    def any_of(self, *conditions: str) -> str:
        return self._joined("or", conditions)

    def _joined(self, operation: str, conditions: tuple[str, ...]) -> str:
        result, *rest = conditions
        for condition in rest:
            result = self.let(f"{operation} i1 {result}, {condition}")
        return result

    # -- memory, in words of 8 bytes

    def at(self, base: str, index: Value, unit: str = "i64") -> str:
        """The address of an element."""
        return self.let(f"getelementptr {unit}, ptr {base}, i64 {index}")

    def load(self, base: str, index: Value = 0, kind: str = "i64") -> str:
        return self.let(f"load {kind}, ptr {self.at(base, index)}")

    def store(self, value: Value, base: str, index: Value = 0, kind: str = "i64") -> None:
        self.do(f"store {kind} {value}, ptr {self.at(base, index)}")

    def member(self, base: str, offset: int, kind: str = "ptr") -> str:
        """The member at a byte offset from the start of an object."""
        return self.let(f"load {kind}, ptr {self.at(base, offset, 'i8')}")

    # -- control flow

    def call(self, kind: str, function: str, *arguments: str) -> str:
        """The result of a function; arguments are given with their types."""
        what = f"call {kind} {function}({', '.join(arguments)})"
        if kind == "void":
            self.do(what)
            return ""
        return self.let(what)

    def give(self, value: str) -> None:
        """Return from the function."""
        self.do(f"ret {value}")

    def block(self, name: str) -> None:
        """Begin a named block that others can jump to."""
        self._lines.append(f"{name}:")
        self._block = name

    def jump(self, target: str) -> None:
        self.do(f"br label %{target}")

    def when(self, condition: str, target: str) -> None:
        """Jump to `target` if the condition holds."""
        following = self._label()
        self.do(f"br i1 {condition}, label %{target}, label %{following}")
        self.block(following)

    def unless(self, condition: str, target: str) -> None:
        """Jump to `target` if the condition does not hold."""
        following = self._label()
        self.do(f"br i1 {condition}, label %{following}, label %{target}")
        self.block(following)

    @contextmanager
    def given(self, condition: str) -> Iterator[None]:
        """Code that runs only if the condition holds."""
        end = self._label()
        self.unless(condition, end)
        yield
        self.jump(end)
        self.block(end)

    @contextmanager
    def each(self, first: Value, end: Value, step: Value = 1, some: bool = False) -> Iterator[str]:
        """A loop over the integers from `first` to below `end`; `some`: there is at least one."""
        before, head, after, outer = self._block, self._label(), self._label(), self._loop
        self.jump(head)
        self.block(head)
        self._loop = len(self._lines), before
        index = f"%{head}.index"
        if not some:
            self.unless(self.is_("slt", index, end), after)
        yield index
        following = self.add(index, step)
        self.carry(index, "i64", first, following)
        if some:
            self.do(f"br i1 {self.is_('slt', following, end)}, label %{head}, label %{after}")
        else:
            self.jump(head)
        self.block(after)
        self._loop = outer

    def carry(self, name: str, kind: str, first: Value, following: Value) -> None:
        """At the end of a loop body: the value of a name in the first iteration, and in those that follow."""
        place, before = self._loop
        phi = f"  {name} = phi {kind} [ {first}, %{before} ], [ {following}, %{self._block} ]"
        self._lines.insert(place, phi)

    def _label(self) -> str:
        self._count += 1
        return f"b{self._count}"
