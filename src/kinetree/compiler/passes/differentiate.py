"""Differentiation of programs: Program to Program, by the derivatives in the table of primitives.

    jvp(program)                 q -> y  becomes  q, d_q -> y, d_y = (dy/dq) d_q     (loops included)
    vjp(program)                 q -> y  becomes  q, b_y -> y, b_q = (dy/dq)^T b_y   (straight only)
    jacobian(program, "y", "q")  the matrix dy/dq, row by row, found forward or in reverse (straight only)

All of them fold as they go, so derivatives that are zero or one cost nothing. Where a minimum, a maximum
or a choice switches, the derivative is that of the branch taken.

The numbers of an input need not be independent: a quaternion moves on a sphere. `Increments` says how such an
input changes with independent coordinates, and derivatives are then along these.

Differentiate what a trace recorded, before `optimize` prepares it for a printer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kinetree.compiler.ir.graph import Array, Clear, Graph, Spoil, Store
from kinetree.compiler.ir.program import Program, walk
from kinetree.compiler.ir.rebuild import Folding
from kinetree.compiler.passes.dce import drop_dead_code
from kinetree.compiler.passes.simplify import simplify
from kinetree.errors import CompileError
from kinetree.ops import PRIMITIVES, Expr
from kinetree.ops import expr as ex


class Increments(NamedTuple):
    """Independent coordinates of the changes of an input: x + E(x) e, where e has `size` elements.

    `rows(x)` gives the rows of the matrix E for the elements x of the input (expressions): for each of them
    the non-zero entries, by column.
    """

    size: int
    rows: Callable[[list[Any]], Sequence[Mapping[int, Any]]]


Names = str | Sequence[str]
Changes = Mapping[str, Increments]


def jvp(program: Program, wrt: Names | None = None, increments: Changes | None = None) -> Program:
    """The program with tangents: inputs and outputs, each followed by their tangents `d_<name>`.

    Args:
        wrt: names of the inputs that have a tangent; the others are constant (default: all inputs).
        increments: for inputs by name, the coordinates of their changes (default: the elements themselves).
    """
    return drop_dead_code(
        _Forward(program, _named(program, program.inputs, wrt), increments or {}).run()
    )


def vjp(program: Program, wrt: Names | None = None, increments: Changes | None = None) -> Program:
    """The program with adjoints: inputs, `b_<output>` -> outputs, `b_<input>`; straight programs only.

    Args:
        wrt: names of the inputs that have an adjoint (default: all).
        increments: as for `jvp`.
    """
    copy = _Copy(_straight(program), _named(program, program.inputs, wrt), increments or {})
    graph = copy.graph
    seeds = {a: graph.array(f"b_{a.name}", "input", a.size) for a in program.outputs}
    adjoints: dict[Expr, Any] = {}
    for (array, index), terms in copy.results.items():
        if array in seeds:
            for value in terms:
                _accumulate(adjoints, value, graph.load(seeds[array], index))
    found = copy.adjoint(adjoints)
    gradients = [graph.array(f"b_{x.name}", "output", copy.sizes[x]) for x in copy.rows]
    for x, gradient in zip(copy.rows, gradients):
        _store_all(graph, gradient, {c: value for (a, c), value in found.items() if a is x})
    return drop_dead_code(
        copy.finish(
            inputs=(*program.inputs, *seeds.values()),
            outputs=(*program.outputs, *gradients),
        )
    )


def jacobian(
    program: Program,
    of: Names,
    wrt: Names,
    mode: str = "forward",
    increments: Changes | None = None,
    keep: bool = False,
) -> Program:
    """The program whose outputs `d_<of>_d_<wrt>` are derivative matrices, by rows; straight only.

    Args:
        of: name or names of outputs; the matrices of the first one come first.
        wrt: name or names of inputs.
        mode: "forward" costs in proportion to the number of columns, "reverse" to the number of rows.
        increments: as for `jvp`; a matrix has as many columns as there are coordinates.
        keep: True if the program's own outputs come before the matrices.
    """
    if mode not in ("forward", "reverse"):
        raise CompileError(f"{program.name}: mode {mode!r} is neither 'forward' nor 'reverse'")
    outputs, inputs = _named(program, program.outputs, of), _named(program, program.inputs, wrt)
    kind = _Columns if mode == "forward" else _Copy
    copy = kind(_straight(program), inputs, increments or {})
    matrices = []
    for y in outputs:
        rows = [copy.row(y, index) for index in range(y.size)]
        for x in inputs:
            width = copy.sizes[x]
            matrix = copy.graph.array(f"d_{y.name}_d_{x.name}", "output", y.size * width)
            entries = {
                k * width + c: value for k, row in enumerate(rows) for (a, c), value in row.items() if a is x
            }
            _store_all(copy.graph, matrix, entries)
            matrices.append(matrix)
    kept = program.outputs if keep else ()
    return drop_dead_code(_Only(copy.finish(outputs=(*kept, *matrices))).run())


def _named(program: Program, arrays: tuple[Array, ...], names: Names | None) -> tuple[Array, ...]:
    if names is None:
        return arrays
    known = {a.name: a for a in arrays}
    names = (names,) if isinstance(names, str) else tuple(names)
    for name in names:
        if name not in known:
            raise CompileError(f"{program.name}: no array {name!r} here; there are {', '.join(known)}")
    return tuple(known[name] for name in names)


def _straight(program: Program) -> Program:
    """The simplified program, in which no number goes through a work array."""
    if not program.is_straight:
        raise CompileError(
            f"{program.name}: a program with loops can only be differentiated by jvp(); trace it unrolled"
        )
    program = simplify(program)
    if program.work:
        raise CompileError(f"{program.name}: reads {program.work[0]!r} where nothing is known to be written")
    return program


def _store_all(graph: Graph, array: Array, values: dict[int, Any]) -> None:
    """Store the elements of an array; the others are zero."""
    values = {index: value for index, value in values.items() if _is_active(value)}
    if len(values) < array.size:
        graph.clear(array)
    for index, value in sorted(values.items()):
        graph.store(array, index, value)


class _Only(Folding):
    """Drops the stores to arrays that are no longer outputs."""

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
    """A copy with added derivatives along some inputs."""

    def __init__(self, program: Program, wrt: tuple[Array, ...], increments: Changes):
        super().__init__(program)
        for name in increments:
            _named(program, program.inputs, name)
        self.sizes = {x: increments[x.name].size if x.name in increments else x.size for x in wrt}
        self.rows: dict[Array, list[Mapping[int, Any]]] = {}
        for x in wrt:
            if x.name not in increments:
                self.rows[x] = [{k: 1.0} for k in range(x.size)]
                continue
            rows = list(increments[x.name].rows([self.graph.load(x, k) for k in range(x.size)]))
            if len(rows) != x.size:
                raise CompileError(
                    f"{program.name}: the increments of {x.name!r} have {len(rows)} rows, "
                    f"but it has {x.size} elements"
                )
            self.rows[x] = rows

    def spoil(self, old: Spoil) -> None:
        """Omitted: the rule covers all inputs and outputs, which change here."""


class _Forward(_Derived):
    """One direction. Arrays that depend on the chosen inputs have twins that hold the tangents."""

    def __init__(self, program: Program, wrt: tuple[Array, ...], increments: Changes):
        super().__init__(program, wrt, increments)
        graph = self.graph
        self._tangents: dict[Expr, Any] = {}
        self._active = _active(program, set(wrt))
        self._cleared: set[Array] = set()
        self._given = {x: graph.array(f"d_{x.name}", "input", self.sizes[x]) for x in wrt}
        self._twins = dict(self._given)
        for a in (*program.work, *program.outputs):
            if a in self._active or a.kind == "output":
                self._twins[a] = graph.array(f"d_{a.name}", a.kind, a.size)
        for x in wrt:
            if x.name in increments:
                self._twins[x] = graph.array(f"e_{x.name}", "work", x.size)

    def run(self) -> Program:
        graph, p, twins = self.graph, self.program, self._twins
        for x, given in self._given.items():
            if twins[x] is not given:  # the tangent of the elements, from that of the independent coordinates
                for k, row in enumerate(self.rows[x]):
                    total: Any = 0.0
                    for column, value in row.items():
                        total = ex.add(total, ex.mul(value, graph.load(given, column)))
                    graph.store(twins[x], k, total)
        self.block(p.body)
        for a in p.outputs:
            if a not in self._active and a not in self._cleared:
                graph.clear(twins[a])
        return self.finish(
            inputs=(*p.inputs, *self._given.values()),
            outputs=(*p.outputs, *(twins[a] for a in p.outputs)),
            work=(*p.work, *(twin for twin in twins.values() if twin.kind == "work")),
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
    """The arrays whose numbers may depend on those in `arrays`, including these."""
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


Place = tuple[Array, int]  # an element of an array, or a coordinate of its changes


class _Copy(_Derived):
    """A copy of a straight program that records which values end up where, for reverse sweeps over it."""

    def __init__(self, program: Program, wrt: tuple[Array, ...], increments: Changes):
        super().__init__(program, wrt, increments)
        self.results: dict[Place, list[Any]] = {}  # an output element is the sum of these
        self.block(program.body)
        self._statements = [s for s in self.graph.root.statements if isinstance(s, Expr)]
        self._place = {e: k for k, e in enumerate(self._statements)}

    def store(self, old: Store, index: Any, value: Any) -> None:
        super().store(old, index, value)
        self.note(old, index, value)

    def note(self, old: Store, index: int, value: Any) -> None:
        """Record a term of an output element."""
        terms = self.results.setdefault((old.array, index), [])
        if not old.accumulate:
            terms.clear()
        terms.append(value)

    def adjoint(self, adjoints: dict[Expr, Any]) -> dict[Place, Any]:
        """The adjoints of the coordinates of the inputs, given those of some expressions."""
        found: dict[Place, Any] = {}
        last = max((self._place[e] for e in adjoints), default=-1)
        for e in reversed(self._statements[: last + 1]):
            adjoint = adjoints.pop(e, None)
            if adjoint is None:
                continue
            if e.op == "load":
                x, index = e.args
                for column, value in self.rows[x][index].items() if x in self.rows else ():
                    found[x, column] = ex.add(found.get((x, column), 0.0), ex.mul(value, adjoint))
            elif PRIMITIVES[e.op].derivative is not None:
                for operand, share in zip(e.args, _partials(e.op, e.args, e, adjoint)):
                    if share is not None:
                        _accumulate(adjoints, operand, share)
        return found

    def row(self, y: Array, index: int) -> dict[Place, Any]:
        """The derivatives of one output element along the coordinates of the inputs."""
        adjoints: dict[Expr, Any] = {}
        for value in self.results.get((y, index), ()):
            _accumulate(adjoints, value, 1.0)
        return self.adjoint(adjoints)


def _accumulate(adjoints: dict[Expr, Any], value: Any, share: Any) -> None:
    if type(value) is Expr and _is_active(share):
        adjoints[value] = ex.add(adjoints.get(value, 0.0), share)


class _Columns(_Copy):
    """A copy with, for each value, its derivatives along the coordinates of the inputs."""

    def __init__(self, program: Program, wrt: tuple[Array, ...], increments: Changes):
        self._columns: dict[Expr, dict[Place, Any]] = {}
        super().__init__(program, wrt, increments)

    def expr(self, old: Expr, args: tuple) -> Any:
        y = super().expr(old, args)
        if old.op == "load":
            x, index = args
            if x in self.rows:
                self._columns[old] = {(x, column): value for column, value in self.rows[x][index].items()}
        elif PRIMITIVES[old.op].derivative is not None:
            parts = [self._columns.get(a, {}) if type(a) is Expr else {} for a in old.args]
            if any(parts):
                columns = dict.fromkeys(place for part in parts for place in part)
                values = {c: _terms(old.op, args, y, [p.get(c, 0.0) for p in parts]) for c in columns}
                self._columns[old] = {c: v for c, v in values.items() if _is_active(v)}
        return y

    def note(self, old: Store, index: int, value: Any) -> None:
        super().note(old, index, self._columns.get(old.value, {}) if type(old.value) is Expr else {})

    def row(self, y: Array, index: int) -> dict[Place, Any]:
        total: dict[Place, Any] = {}
        for term in self.results.get((y, index), ()):
            for place, value in term.items():
                total[place] = ex.add(total.get(place, 0.0), value)
        return total
