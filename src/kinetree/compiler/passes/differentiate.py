"""Differentiation of programs: Program to Program, by the derivatives in the table of primitives.

    forward(program)             q -> y  becomes  q, d_q -> y, d_y = (dy/dq) d_q     (loops included)
    reverse(program)             q -> y  becomes  q, b_y -> y, b_q = (dy/dq)^T b_y   (straight only)
    jacobian(program, "y", "q")  the matrix dy/dq, row by row, found forward or in reverse (straight only)

All of them fold as they go, so derivatives that are zero or one cost nothing. Where a minimum, a maximum
or a choice switches, the derivative is that of the branch taken.
"""

from __future__ import annotations

from typing import Any

from kinetree.compiler.ir.graph import Array, Clear, Spoil, Store
from kinetree.compiler.ir.program import Program, walk
from kinetree.compiler.ir.rebuild import Folding
from kinetree.compiler.passes.dce import eliminate_dead_code
from kinetree.compiler.passes.simplify import simplify
from kinetree.errors import CompileError
from kinetree.ops import PRIMITIVES, Expr
from kinetree.ops import expr as ex


def forward(program: Program, wrt: tuple[str, ...] | None = None) -> Program:
    """The program with tangents: inputs and outputs, followed by their tangents `d_<name>`.

    Args:
        wrt: names of the inputs that have a tangent; the others are constant (default: all inputs).
    """
    return eliminate_dead_code(_Forward(program, _named(program.inputs, wrt, program)).run())


def reverse(program: Program) -> Program:
    """The program with adjoints: inputs, `b_<output>` -> outputs, `b_<input>`; straight programs only."""
    copy = _Copy(_straight(program))
    graph = copy.graph
    seeds = {a: graph.array(f"b_{a.name}", "input", a.size) for a in program.outputs}
    adjoints: dict[Expr, Any] = {}
    for (array, index), terms in copy.results.items():
        if array in seeds:
            for value in terms:
                _accumulate(adjoints, value, graph.load(seeds[array], index))
    loads = copy.adjoint(adjoints)
    gradients = [graph.array(f"b_{a.name}", "output", a.size) for a in program.inputs]
    for a, gradient in zip(program.inputs, gradients):
        shares = {k: loads[a, k] for k in range(a.size) if _is_active(loads.get((a, k), 0.0))}
        if len(shares) < a.size:
            graph.clear(gradient)
        for index, share in shares.items():
            graph.store(gradient, index, share)
    return eliminate_dead_code(
        copy.finish(
            inputs=(*program.inputs, *seeds.values()),
            outputs=(*program.outputs, *gradients),
        )
    )


def jacobian(program: Program, of: str, wrt: str, mode: str = "forward") -> Program:
    """The program whose one output `d_<of>_d_<wrt>` is the matrix of derivatives, row by row; straight only.

    Args:
        mode: "forward" costs in proportion to the number of columns, "reverse" to the number of rows.
    """
    if mode not in ("forward", "reverse"):
        raise CompileError(f"{program.name}: mode {mode!r} is neither 'forward' nor 'reverse'")
    (y,), (x,) = _named(program.outputs, (of,), program), _named(program.inputs, (wrt,), program)
    copy = _Columns(_straight(program), x) if mode == "forward" else _Copy(_straight(program))
    matrix = copy.graph.array(f"d_{of}_d_{wrt}", "output", y.size * x.size)
    count = 0
    for row in range(y.size):
        entries = copy.row(y, row, x)
        for column in range(x.size):
            value = entries.get(column, 0.0)
            if _is_active(value):
                copy.graph.store(matrix, row * x.size + column, value)
                count += 1
    if count < matrix.size:
        copy.graph.clear(matrix)
    return eliminate_dead_code(_Only(copy.finish(outputs=(matrix,))).run())


def _named(arrays: tuple[Array, ...], names: tuple[str, ...] | None, program: Program) -> tuple[Array, ...]:
    if names is None:
        return arrays
    known = {a.name: a for a in arrays}
    for name in names:
        if name not in known:
            raise CompileError(f"{program.name}: no array {name!r} here; there are {', '.join(known)}")
    return tuple(known[name] for name in names)


def _straight(program: Program) -> Program:
    """The simplified program, in which no number goes through a work array any more."""
    if not program.is_straight:
        raise CompileError(
            f"{program.name}: a program with loops can only be differentiated by forward(); trace it unrolled"
        )
    program = simplify(program)
    if program.work:
        raise CompileError(f"{program.name}: reads {program.work[0]!r} where nothing is known to be written")
    return program


class _Only(Folding):
    """Drops the stores to arrays that are no outputs any more."""

    def store(self, old: Store, index: Any, value: Any) -> None:
        if old.array in self.program.results:
            super().store(old, index, value)

    def clear(self, old: Clear) -> None:
        if old.array in self.program.results:
            super().clear(old)


def _terms(op: str, args: tuple, y: Any, tangents: list[Any]) -> Any:
    """The tangent of y = op(args): the sum of partial derivative times tangent."""
    row = PRIMITIVES[op]
    if row.choice is not None:
        return ex.select(row.choice(args), *tangents[-2:])
    if op == "div":
        return ex.div(ex.sub(tangents[0], ex.mul(y, tangents[1])), args[1])
    assert row.derivative is not None
    result: Any = 0.0
    for partial, tangent in zip(row.derivative(args, y), tangents):
        if partial is not None and not (type(tangent) is float and tangent == 0.0):
            result = ex.add(result, ex.mul(partial, tangent))
    return result


def _partials(op: str, args: tuple, y: Any, adjoint: Any) -> tuple:
    """What the adjoint of y = op(args) adds to the adjoints of its operands."""
    row = PRIMITIVES[op]
    if row.choice is not None:
        first = row.choice(args)
        return (*(None,) * (len(args) - 2), ex.select(first, adjoint, 0.0), ex.select(first, 0.0, adjoint))
    if op == "div":
        share = ex.div(adjoint, args[1])
        return (share, ex.neg(ex.mul(y, share)))
    assert row.derivative is not None
    return tuple(None if p is None else ex.mul(p, adjoint) for p in row.derivative(args, y))


def _is_active(tangent: Any) -> bool:
    return type(tangent) is Expr or tangent != 0.0


class _Derived(Folding):
    """A copy to which derivatives are added, before any rule about all of its inputs and outputs."""

    def spoil(self, old: Spoil) -> None:
        pass


class _Forward(_Derived):
    """One direction. Arrays whose numbers depend on the chosen inputs have twins that hold the tangents."""

    def __init__(self, program: Program, wrt: tuple[Array, ...]):
        super().__init__(program)
        self._tangents: dict[Expr, Any] = {}
        active = _active(program, set(wrt))
        arrays = (*program.inputs, *program.work, *program.outputs)
        self._twins = {
            a: self.graph.array(f"d_{a.name}", a.kind, a.size)
            for a in arrays
            if a in active or a.kind == "output"
        }
        self._active = active
        self._cleared: set[Array] = set()

    def run(self) -> Program:
        self.block(self.program.body)
        p, twins = self.program, self._twins
        for a in p.outputs:
            if a not in self._active and a not in self._cleared:
                self.graph.clear(twins[a])
        return self.finish(
            inputs=(*p.inputs, *(twins[a] for a in p.inputs if a in twins)),
            outputs=(*p.outputs, *(twins[a] for a in p.outputs)),
            work=(*p.work, *(twins[a] for a in p.work if a in twins)),
        )

    def tangent(self, value: Any) -> Any:
        return self._tangents.get(value, 0.0) if type(value) is Expr else 0.0

    def expr(self, old: Expr, args: tuple) -> Any:
        y = super().expr(old, args)
        if old.op == "load":
            if args[0] in self._active:
                self._tangents[old] = self.graph.load(self._twins[args[0]], args[1])
        elif PRIMITIVES[old.op].derivative is not None:
            tangents = [self.tangent(a) for a in old.args]
            if any(_is_active(t) for t in tangents):
                self._tangents[old] = _terms(old.op, args, y, tangents)
        return y

    def store(self, old: Store, index: Any, value: Any) -> None:
        super().store(old, index, value)
        tangent = self.tangent(old.value)
        if old.array in self._active and (_is_active(tangent) or not old.accumulate):
            self.graph.store(self._twins[old.array], index, tangent, old.accumulate)

    def clear(self, old: Clear) -> None:
        super().clear(old)
        if old.array in self._twins:
            self._cleared.add(old.array)
            self.graph.clear(self._twins[old.array])


def _active(program: Program, arrays: set[Array]) -> set[Array]:
    """The arrays whose numbers may depend on the numbers in `arrays`, and these."""
    statements = list(walk(program.body))
    values: set[Any] = set()
    while True:
        before = len(arrays)
        for s in statements:
            if isinstance(s, Expr):
                if any(a in arrays if isinstance(a, Array) else a in values for a in s.args):
                    values.add(s)
            elif isinstance(s, Store) and s.value in values and s.array is not program.guard:
                arrays.add(s.array)
        if len(arrays) == before:
            return arrays


class _Copy(_Derived):
    """A copy of a straight program that knows which values end up where, for sweeps backwards over it."""

    def __init__(self, program: Program):
        super().__init__(program)
        self.results: dict[tuple[Array, int], list[Any]] = {}  # an output element is the sum of these
        self.block(program.body)
        self._statements = [s for s in self.graph.root.statements if isinstance(s, Expr)]
        self._place = {e: k for k, e in enumerate(self._statements)}

    def store(self, old: Store, index: Any, value: Any) -> None:
        super().store(old, index, value)
        self.note(old, index, value)

    def note(self, old: Store, index: int, value: Any) -> None:
        """Remember a term of an output element."""
        terms = self.results.setdefault((old.array, index), [])
        if not old.accumulate:
            terms.clear()
        terms.append(value)

    def adjoint(self, adjoints: dict[Expr, Any]) -> dict[tuple[Array, int], Any]:
        """The adjoints of the elements of the inputs, given those of some expressions."""
        found: dict[tuple[Array, int], Any] = {}
        last = max((self._place[e] for e in adjoints), default=-1)
        for e in reversed(self._statements[: last + 1]):
            adjoint = adjoints.pop(e, None)
            if adjoint is None:
                continue
            if e.op == "load":
                found[e.args] = adjoint
            elif PRIMITIVES[e.op].derivative is not None:
                for operand, share in zip(e.args, _partials(e.op, e.args, e, adjoint)):
                    if share is not None:
                        _accumulate(adjoints, operand, share)
        return found

    def row(self, y: Array, index: int, x: Array) -> dict[int, Any]:
        """The derivatives of one output element along the elements of an input."""
        adjoints: dict[Expr, Any] = {}
        for value in self.results.get((y, index), ()):
            _accumulate(adjoints, value, 1.0)
        return {column: value for (array, column), value in self.adjoint(adjoints).items() if array is x}


def _accumulate(adjoints: dict[Expr, Any], value: Any, share: Any) -> None:
    if type(value) is Expr and _is_active(share):
        adjoints[value] = ex.add(adjoints.get(value, 0.0), share)


class _Columns(_Copy):
    """A copy of a straight program with, for each value, its derivatives along the elements of an input."""

    def __init__(self, program: Program, x: Array):
        self._x = x
        self._columns: dict[Expr, dict[int, Any]] = {}
        super().__init__(program)

    def expr(self, old: Expr, args: tuple) -> Any:
        y = super().expr(old, args)
        if old.op == "load":
            if args[0] is self._x:
                self._columns[old] = {args[1]: 1.0}
        elif PRIMITIVES[old.op].derivative is not None:
            parts = [self._columns.get(a, {}) if type(a) is Expr else {} for a in old.args]
            if any(parts):
                columns = sorted(set().union(*parts))
                values = {c: _terms(old.op, args, y, [p.get(c, 0.0) for p in parts]) for c in columns}
                self._columns[old] = {c: v for c, v in values.items() if _is_active(v)}
        return y

    def note(self, old: Store, index: int, value: Any) -> None:
        super().note(old, index, self._columns.get(old.value, {}) if type(old.value) is Expr else {})

    def row(self, y: Array, index: int, x: Array) -> dict[int, Any]:
        total: dict[int, Any] = {}
        for term in self.results.get((y, index), ()):
            for column, value in term.items():
                total[column] = ex.add(total.get(column, 0.0), value)
        return total


__all__ = ["forward", "jacobian", "reverse"]
