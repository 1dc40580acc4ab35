"""The Python printer: a program as a Python function, slow and plain, the oracle for all other printers.

The text uses the functions of `kinetree.ops`, so it runs on every kind of number they support: batches of
float64 or float32, complex numbers (for complex-step derivatives) and, with arrays of objects, mpmath.
Uninitialised memory holds NaN and every index is checked, so invalid reads and writes are detected here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import ops
from kinetree.compiler.emit.printer import Printer
from kinetree.compiler.ir.graph import Array, Clear, Part, Spoil, Switch
from kinetree.compiler.ir.program import Program
from kinetree.errors import CompileError
from kinetree.ops import Expr, Primitive


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
    memory = {a: np.full((a.size, count), np.nan, dtype) for a in (*program.results, *program.work)}
    namespace: dict[str, Any] = {"ops": ops, "np": np, "inf": np.inf, "nan": np.nan, "at": _at}
    namespace["spoil"] = _spoil
    exec(compile(python_source(program), "<program>", "exec"), namespace)
    tables = [_table(a, dtype) for a in program.tables]
    with np.errstate(all="ignore"):
        namespace["program"](*rows, *memory.values(), *tables)
    results = [memory[array].T.reshape(*batch, array.size) for array in program.outputs]
    status = np.zeros(count, bool)
    if program.guard is not None:
        status = ~(memory[program.guard][0].real >= 1.0)
    return tuple(results), status.reshape(batch)


def _table(array: Array, dtype: np.dtype) -> Any:
    assert array.data is not None
    if array.kind == "itable":
        return [int(x) for x in array.data]
    if array.data.ndim == 2:
        return array.data if dtype.kind == "O" else array.data.astype(dtype)
    return [float(x) for x in array.data] if dtype.kind == "O" else array.data.astype(dtype)


def _at(index: int, size: int) -> int:
    if not 0 <= index < size:
        raise CompileError(f"index {index} is outside an array of size {size}")
    return index


def _spoil(inputs: tuple, outputs: tuple, guards: tuple) -> None:
    """Write NaN to the outputs of non-finite states, and 1 to their guards; objects count as finite."""
    if inputs[0].dtype == object:
        return
    bad = np.any([~np.isfinite(x).all(axis=0) for x in inputs], axis=0)
    for array in outputs:
        array[:, bad] = np.nan
    for array in guards:
        array[:, bad] = 1.0


class _Printer(Printer):
    empty = "pass"
    truths = ("False", "True")

    def __init__(self, program: Program):
        p = self.program = program
        groups = {"input": p.inputs, "output": p.outputs, "work": p.work, "table": p.tables}
        names = {a: f"{word}{k}" for word, arrays in groups.items() for k, a in enumerate(arrays)}
        if program.guard is not None:
            names[program.guard] = "guard"
        super().__init__(names)

    def text(self) -> str:
        p = self.program
        order = (*p.inputs, *p.results, *p.work, *p.tables)
        self.lines = [f"def program({', '.join(self.names[a] for a in order)}):"]
        self.depth = 0
        self.body(p.body)
        return "\n".join(self.lines) + "\n"

    def pattern(self, row: Primitive) -> str:
        return row.python

    def number(self, value: float) -> str:
        return repr(value)

    def loop_head(self, t: str, start: int, stop: int, step: int) -> str:
        return f"for {t} in range({start}, {stop}, {step}):"

    def while_head(self, t: str, initial: str) -> str:
        return f"{t} = {initial}\nwhile {t} != 0:"

    def leaving(self, flag: str) -> str:
        return f"if np.all({flag}.real >= 1):\n    break"

    def switch(self, s: Switch) -> None:
        selector = self.operand(s.selector)
        for number, case in enumerate(s.cases):
            self.line(f"{'elif' if number else 'if'} {selector} == {number}:")
            self.body(case)
        self.line(f"else:\n    at({selector}, {len(s.cases)})")

    def part(self, s: Part) -> None:
        self.line("# part")
        self.statements(s.body.statements)

    def clear(self, s: Clear) -> None:
        self.line(f"{self.names[s.array]}[...] = 0.0")

    def spoil(self, s: Spoil) -> None:
        guards = () if s.guard is None else (s.guard,)
        self.line(f"spoil({', '.join(map(self._tuple, (s.inputs, s.outputs, guards)))})")

    def _tuple(self, arrays: tuple[Array, ...]) -> str:
        return "(" + "".join(f"{self.names[a]}, " for a in arrays) + ")"

    def fetched(self, array: Array, index: Any) -> str:
        text = self.element(array, index)
        return f"{text}.copy()" if array.kind == "work" else text  # not a view that changes later

    def looked_up(self, matrix: Array, row: Any, column: Any) -> str:
        return f"ops.lookup({self.names[matrix]}, {self.operand(row)}, {self.operand(column)})"

    def element(self, array: Array, index: Any) -> str:
        place = self.operand(index)
        return self.place(array, f"at({place}, {array.size})" if type(index) is Expr else place)
