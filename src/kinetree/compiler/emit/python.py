"""The Python printer: a program as a Python function, slow and plain, the oracle for all other printers.

The text uses the functions of `kinetree.ops`, so it runs on whatever they know: batches of float64 or
float32, complex numbers (for complex-step derivatives) and, with arrays of objects, mpmath. Uninitialised
memory holds NaN and every index is checked, so a program that reads or writes where it must not is found
out here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import ops
from kinetree.compiler.ir.graph import Array, Block, Loop, Part, Statement, Store, Switch, While
from kinetree.compiler.ir.program import Program
from kinetree.errors import CompileError
from kinetree.ops import Expr

_PATTERNS = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "neg": "-{}",
    "iadd": "{} + {}", "imul": "{} * {}",
    "fma": "{} * {} + {}", "fms": "{} * {} - {}", "fnma": "{2} - {0} * {1}",
    "lt": "ops.less({}, {})", "le": "ops.less_equal({}, {})", "eq": "ops.equal({}, {})",
    "and": "np.logical_and({}, {})", "or": "np.logical_or({}, {})", "not": "np.logical_not({})",
    **{op: f"ops.{op}({{}})" for op in
       ("sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "tanh", "sign", "floor", "abs")},
    **{op: f"ops.{op}({{}}, {{}})" for op in ("atan2", "min", "max")},
    "where": "ops.where({}, {}, {})",
}  # fmt: skip


def python_source(program: Program) -> str:
    """The text of a Python function of all arrays of the program: inputs, outputs, guard, work, tables."""
    return _Printer(program).text()


def run(program: Program, *inputs: Any) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """The outputs of a program and its status (True: not to be trusted, see `Program.guard`).

    Args:
        inputs: one array (..., size) per input; the leading axes broadcast.
    Raises:
        CompileError: wrong number or size of inputs, or an index outside an array.
    """
    if len(inputs) != len(program.inputs):
        raise CompileError(f"{program.name}: takes {len(program.inputs)} inputs, not {len(inputs)}")
    arrays = [np.asarray(x) for x in inputs]
    for array, x in zip(program.inputs, arrays):
        if x.ndim == 0 or x.shape[-1] != array.size:
            raise CompileError(f"{program.name}: {array.name} has shape {x.shape}, needs (..., {array.size})")
    dtype = np.result_type(*arrays) if arrays else np.dtype(float)
    dtype = dtype if dtype.kind in "fcO" else np.dtype(float)
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    count = int(np.prod(batch, dtype=int))
    rows = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(count, -1).T.astype(dtype) for x in arrays]
    guards = () if program.guard is None else (program.guard,)
    memory = {a: np.full((a.size, count), np.nan, dtype) for a in (*program.outputs, *guards, *program.work)}
    for array in program.zeroed:
        memory[array][...] = 0.0
    namespace: dict[str, Any] = {"ops": ops, "np": np, "inf": np.inf, "nan": np.nan, "at": _at}
    exec(compile(python_source(program), "<program>", "exec"), namespace)
    tables = [_table(a, dtype) for a in program.tables]
    with np.errstate(all="ignore"):
        namespace["program"](*rows, *memory.values(), *tables)
    poisoned = np.zeros(count, bool)
    if dtype.kind in "fc":
        for x in rows:
            poisoned |= ~np.isfinite(x).all(axis=0)
    results = []
    for array in program.outputs:
        memory[array][:, poisoned] = np.nan
        results.append(memory[array].T.reshape(*batch, array.size))
    status = np.zeros(count, bool)
    if program.guard is not None:
        status = ~(memory[program.guard][0].real >= 1.0) & ~poisoned
    return tuple(results), status.reshape(batch)


def _table(array: Array, dtype: np.dtype) -> Any:
    assert array.data is not None
    if array.kind == "itable":
        return [int(x) for x in array.data]
    return [float(x) for x in array.data] if dtype.kind == "O" else array.data.astype(dtype)


def _at(index: int, size: int) -> int:
    if not 0 <= index < size:
        raise CompileError(f"index {index} is outside an array of size {size}")
    return index


class _Printer:
    def __init__(self, program: Program):
        self.program = program
        self.lines: list[str] = []
        self.names: dict[Array, str] = {}
        p = program
        groups = {"input": p.inputs, "output": p.outputs, "work": p.work, "table": p.tables}
        for word, arrays in groups.items():
            self.names.update({a: f"{word}{k}" for k, a in enumerate(arrays)})
        if program.guard is not None:
            self.names[program.guard] = "guard"

    def text(self) -> str:
        p = self.program
        guards = () if p.guard is None else (p.guard,)
        order = (*p.inputs, *p.outputs, *guards, *p.work, *p.tables)
        self.lines = [f"def program({', '.join(self.names[a] for a in order)}):"]
        self.block(p.body, 1)
        return "\n".join(self.lines) + "\n"

    def block(self, block: Block, depth: int) -> None:
        start = len(self.lines)
        for statement in block.statements:
            self.statement(statement, depth)
        if len(self.lines) == start:
            self.line(depth, "pass")

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def statement(self, s: Statement, depth: int) -> None:
        if isinstance(s, Expr):
            if s.op not in ("counter", "variable"):
                self.line(depth, f"t{s.number} = {self.expression(s)}")
        elif isinstance(s, Store):
            sign = "+=" if s.accumulate else "="
            self.line(depth, f"{self.element(s.array, s.index)} {sign} {self.operand(s.value)}")
        elif isinstance(s, Loop):
            stop = s.start + s.count * s.step
            self.line(depth, f"for t{s.counter.number} in range({s.start}, {stop}, {s.step}):")
            self.block(s.body, depth + 1)
        elif isinstance(s, Switch):
            for number, case in enumerate(s.cases):
                word = "elif" if number else "if"
                self.line(depth, f"{word} {self.operand(s.selector)} == {number}:")
                self.block(case, depth + 1)
            self.line(depth, "else:")
            self.line(depth + 1, f"at({self.operand(s.selector)}, {len(s.cases)})")
        elif isinstance(s, While):
            variable = f"t{s.variable.number}"
            self.line(depth, f"{variable} = {self.operand(s.initial)}")
            self.line(depth, f"while {variable} != 0:")
            self.block(s.body, depth + 1)
            self.line(depth + 1, f"{variable} = {self.operand(s.successor)}")
        elif isinstance(s, Part):
            self.line(depth, "# part")
            for inner in s.body.statements:
                self.statement(inner, depth)

    def expression(self, e: Expr) -> str:
        if e.op == "load" or e.op == "iload":
            text = self.element(*e.args)
            return f"{text}.copy()" if e.args[0].kind == "work" else text  # not a view that changes later
        return _PATTERNS[e.op].format(*map(self.operand, e.args))

    def element(self, array: Array, index: Any) -> str:
        place = f"at(t{index.number}, {array.size})" if type(index) is Expr else str(index)
        return f"{self.names[array]}[{place}]"

    def operand(self, value: Any) -> str:
        if type(value) is Expr:
            return f"t{value.number}"
        return f"({value!r})" if isinstance(value, float) and value < 0.0 else repr(value)


__all__ = ["python_source", "run"]
