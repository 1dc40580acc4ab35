"""Functions of a model in CasADi: as graphs of scalars (SX), or as compiled code with its derivatives.

    f = kt.casadi.wrap(kt.forward_dynamics, robot)          # called with SX, MX or numbers
    a = f(q, v, tau)

q is a column of nq numbers, and derivatives are those by its numbers. An array of more than two axes is a
matrix here: its rows are those of all its matrices, one below the other.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kinetree.bridges.casadi_library import Face, Matrix, faces, library
from kinetree.compiler.emit.printer import Walk
from kinetree.compiler.ir.graph import Array, Clear, Loop, Part, Spoil, Store, Switch, While
from kinetree.compiler.ir.program import Program
from kinetree.errors import ArgumentError
from kinetree.extras import needed
from kinetree.model import Model
from kinetree.ops import PRIMITIVES, Expr
from kinetree.stages.compile import job_for
from kinetree.stages.function import Function
from kinetree.stages.splice import lowered


def wrap(function: Function, model: Model, *, inputs: Sequence[str] | None = None, **options: Any) -> Any:
    """The `casadi.Function` of a function of a model: its operations as a graph of SX.

    The graph is that of the simplified program, without what is zero for this robot. CasADi calls it with SX,
    MX or numbers, differentiates it, and generates code from it. It cannot refuse a state: where inertia is
    singular, its results are what the divisions give.

    Args:
        function: a function of a model, such as `kinetree.inverse_dynamics`, or one of your own.
        model: the robot.
        inputs: names of optional inputs to take ("f_ext", "parameters", "gravity"); by default none.
        options: static options of the function (`frame="tool"`, ...).
    """
    ca = _casadi()
    job = job_for("casadi.wrap", function, model, inputs, options)

    def make() -> Any:
        program, face = lowered(job), faces(job, order=0)[0]
        symbols = [ca.SX.sym(name, m.rows, m.columns) for name, (m, _) in face.inputs.items()]
        run = _Run(program)
        for array, symbol, (m, _) in zip(program.inputs, symbols, face.inputs.values(), strict=True):
            run.memory[array] = [symbol[row, column] for column, row in m.positions]
        run.statements(program.body.statements)
        results = [
            _assembled(run.memory[array], m)
            for array, (m, _) in zip(program.outputs, face.outputs.values(), strict=True)
        ]
        return ca.Function(face.name, symbols, results, list(face.inputs), list(face.outputs))

    return model.memo(("casadi.wrap", job), make)


def external(
    function: Function,
    model: Model,
    *,
    inputs: Sequence[str] | None = None,
    order: int = 2,
    **options: Any,
) -> Any:
    """The `casadi.Function` of a function of a model: exported C, compiled here, with its derivatives.

    CasADi calls it with MX or numbers; in SX it cannot be used. Jacobians are sparse where the robot makes
    them so. A state that the function refuses (a singular inertia, a quaternion far from unit length) is a
    failed evaluation, which solvers such as Ipopt take as a step that was too long. The C compiler of the
    system is needed (cc, gcc or clang).

    Args:
        function, model, inputs, options: as for `wrap`.
        order: of the derivatives: 0 for none, 1 for the Jacobian, 2 for second derivatives as well, which an
            exact Hessian needs. More take longer to compile.
    """
    ca = _casadi()
    if order not in (0, 1, 2):
        raise ArgumentError(f"casadi.external: order must be 0, 1 or 2, not {order!r}")
    job = job_for("casadi.external", function, model, inputs, options)

    def make() -> Any:
        every: list[Face] = faces(job, order)
        with tempfile.TemporaryDirectory() as folder:
            return ca.external(every[0].name, str(library(every, Path(folder))))

    return model.memo(("casadi.external", job, order), make)


class _Run(Walk):
    """Runs a program on numbers of CasADi: loops turn as they do on a machine, and leave no trace."""

    def __init__(self, program: Program):
        self.values: dict[Expr, Any] = {}
        self.memory: dict[Array, list[Any]] = {a: [0.0] * a.size for a in (*program.results, *program.work)}
        for table in program.tables:
            assert table.data is not None
            self.memory[table] = table.data.tolist()

    def operand(self, x: Any) -> Any:
        return self.values[x] if type(x) is Expr else x

    def expression(self, e: Expr) -> None:
        if e.op in ("load", "iload"):
            array, index = e.args
            self.values[e] = self.memory[array][self.operand(index)]
        else:
            self.values[e] = _operations()[e.op](*map(self.operand, e.args))

    def store(self, s: Store) -> None:
        place, index, value = self.memory[s.array], self.operand(s.index), self.operand(s.value)
        place[index] = place[index] + value if s.accumulate else value

    def clear(self, s: Clear) -> None:
        self.memory[s.array] = [0.0] * s.array.size

    def loop(self, s: Loop) -> None:
        for k in range(s.start, s.start + s.count * s.step, s.step):
            self.values[s.counter] = k
            self.statements(s.body.statements)

    def switch(self, s: Switch) -> None:
        self.statements(s.cases[self.operand(s.selector)].statements)

    def repeat(self, s: While) -> None:
        self.values[s.variable] = self.operand(s.initial)
        while self.values[s.variable]:
            self.statements(s.body.statements)
            self.values[s.variable] = self.operand(s.successor)

    def part(self, s: Part) -> None:
        self.statements(s.body.statements)

    def spoil(self, s: Spoil) -> None:
        """Arithmetic decides what becomes of numbers that are not finite."""


@cache
def _operations() -> dict[str, Any]:
    """Each operation of a program on numbers of CasADi, from how Python writes it."""
    ca = _casadi()
    own = {
        "less": ca.lt, "less_equal": ca.le, "equal": ca.eq, "where": ca.if_else, "min": ca.fmin,
        "max": ca.fmax, "abs": ca.fabs, "logical_and": ca.logic_and, "logical_or": ca.logic_or,
        "logical_not": ca.logic_not,
    }  # fmt: skip
    names = SimpleNamespace(**{**vars(ca), **own})
    operands = ["x", "y", "z"]
    return {
        name: eval(
            f"lambda {', '.join(operands[: row.arity])}: {row.python.format(*operands[: row.arity])}",
            {"ops": names, "np": names},
        )
        for name, row in PRIMITIVES.items()
        if row.python
    }


def _assembled(numbers: list[Any], m: Matrix) -> Any:
    """The matrix that holds some numbers, without those that are zero."""
    ca = _casadi()
    places = [k for k, x in enumerate(numbers) if not ca.SX(x).is_zero()]
    order, starts, rows = m.pattern(places)
    values = ca.vertcat(*(numbers[k] for k in order)) if order else ca.SX(0, 1)
    return ca.SX(ca.Sparsity(m.rows, m.columns, starts, rows), values)


def _casadi() -> Any:
    return needed("casadi", "kt.casadi")


__all__ = ["external", "wrap"]
