"""Derivative matrices: unrolled if the program is short, else column by column in a loop."""

from __future__ import annotations

from typing import Any

from kinetree.compiler.ir.graph import Array
from kinetree.compiler.passes import differentiate
from kinetree.stages import increments as inc
from kinetree.stages.derivative import Derivative, Trace, as_number, split_up
from kinetree.stages.splice import lowered, spliced
from kinetree.stages.sweeps import SweepFunction
from kinetree.sweep.signature import Argument

DENSE_COLUMNS = 8  # how many coordinates a number in a sweep typically depends on
LONGEST = 40_000  # operations; longer matrices are computed column by column, in a loop


class Jacobian(Derivative):
    suffix = "jacobian"

    def signature_of(self) -> tuple[list[Argument], list[Argument]]:
        matrices = []
        for of in self.of or self.results:
            rows = self.tangent(of, self.results[of])
            for n in self.wrt:
                columns = self.tangent(n, self.arguments[n])
                matrices.append(Argument(f"d_{of}_d_{n}", (*rows.shape, *columns.shape)))
        return [], matrices

    def derived(self, t: Trace) -> list[Any]:
        own = lowered(self.backward_job(t))
        arrays = dict(zip(self.results, own.outputs, strict=True))
        chosen = [arrays[of] for of in self.of or self.results]
        columns = sum(self.widths(t).values())
        way = "forward" if columns <= 2 * sum(a.size for a in chosen) else "reverse"
        is_sweep = isinstance(self.base, SweepFunction)
        size = own.ops["flops"] * (min(columns, DENSE_COLUMNS) if is_sweep else columns)
        if not own.is_straight or (way == "forward" and size > LONGEST):
            return self._by_columns(t)
        names = [a.name for a in chosen]
        increments = {n: inc.of_positions(t.model) for n in self.wrt if self.is_position(self.arguments[n])}
        program = differentiate.jacobian(own, names, self.wrt, way, increments, keep=True)
        found = spliced(t.graph, program, [t.values[a.name] for a in own.inputs])
        results = dict(zip(self.results, found, strict=False))
        matrices = found[len(own.outputs) :]
        places = [(of, n) for of in self.of or self.results for n in self.wrt]
        for k, (of, name) in enumerate(places):
            if self.is_position(self.results[of]):
                width = self.tangent(name, self.arguments[name]).length(t.model, t.options)
                rows = inc.velocity_rows(t.model, results[of])
                split = [matrices[k][c::width] for c in range(width)]
                turned = [inc.product(rows, column) for column in split]
                matrices[k] = [column[r] for r in range(len(rows)) for column in turned]
        return matrices

    def _by_columns(self, t: Trace) -> list[list[Any]]:
        """The matrices of a long program, or of one with loops."""
        widths = self.widths(t)
        total, chosen = sum(widths.values()), self.of or tuple(self.results)
        places: dict[str, Array] = {}
        for k, slopes in self.columns(t):
            for of, slope in zip(self.results, slopes, strict=True):
                if of in chosen:
                    name = f"matrix_{len(t.graph.arrays)}"
                    places[of] = t.graph.array(name, "work", total * len(slope))
                    for row, x in enumerate(slope):
                        t.graph.store(places[of], t.graph.iadd(k, row * total), as_number(x))
        found = []
        for of in chosen:
            array = places[of]
            rows = [
                split_up([t.graph.load(array, start + n) for n in range(total)], widths)
                for start in range(0, array.size, total)
            ]
            found += [[x for row in rows for x in row[name]] for name in self.wrt]
        return found
