"""A function of a model and its derivatives as a C library that CasADi loads.

CasADi finds the derivatives of an external function f by name, each with its own inputs and outputs:

    f          inputs                                            ->  outputs
    jac_f      inputs, out_<output> (unused)                     ->  jac_<output>_<input>
    adj1_f     inputs, out_<output> (unused), adj_<output>       ->  adj_<input>
    jac_adj1_f the same, out_adj_<input> (unused)                ->  jac_adj_<input>_<any of its inputs>

CasADi stores matrices by columns and without their zeros; kinetree stores arrays by rows. The C code converts
between the two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

from kinetree.bridges.slopes import slopes_of
from kinetree.compiler.emit import c
from kinetree.compiler.emit.c_function import Function as CFunction
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.pipeline import optimize
from kinetree.stages.derivative import output_name
from kinetree.stages.function import Function
from kinetree.stages.job import Job
from kinetree.stages.splice import lowered
from kinetree.stages.targets.c import shared_library
from kinetree.stages.transforms import jacobian_of, vjp_of

PREFIX = "kinetree"  # of the functions inside the library
PART = 500  # statements per C function: compilers are slow on long ones
PER_LINE = 20


class Matrix(NamedTuple):
    """An array as CasADi sees it: (column, row) of each of its numbers, which kinetree stores by rows."""

    rows: int
    columns: int
    positions: list[tuple[int, int]]

    def place(self, k: int) -> int:
        """The index of a number in the dense matrix, by columns."""
        column, row = self.positions[k]
        return column * self.rows + row

    def pattern(self, places: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
        """The numbers in CasADi's order, where each column begins among them, and the row of each."""
        order = sorted(places, key=self.positions.__getitem__)
        starts = [0] * (self.columns + 1)
        for k in order:
            starts[self.positions[k][0] + 1] += 1
        for column in range(self.columns):
            starts[column + 1] += starts[column]
        return order, starts, [self.positions[k][1] for k in order]


def matrix(shape: tuple[int, ...]) -> Matrix:
    """The matrix of an array: a vector is a column; for more than two axes, matrices one below the other."""
    columns = shape[-1] if len(shape) > 1 else 1
    size = math.prod(shape)
    rows = math.prod(shape[:-1]) if len(shape) > 1 else size
    return Matrix(rows, columns, [(k % columns, k // columns) for k in range(size)])


def jacobian_matrix(of: Matrix, wrt: Matrix) -> Matrix:
    """The matrix of derivatives of the numbers of one matrix with respect to those of another."""
    m, n = len(of.positions), len(wrt.positions)
    return Matrix(m, n, [(wrt.place(k), of.place(i)) for i in range(m) for k in range(n)])


Inputs = dict[str, tuple[Matrix, str | None]]
Outputs = dict[str, tuple[Matrix, int | None]]


class Face(NamedTuple):
    """A function of the library as CasADi knows it.

    By name, each input has its matrix and its input of the program, None if unused; each output has its
    matrix and its index among the program's outputs, None if it is zero.
    """

    name: str
    program: Program
    inputs: Inputs
    outputs: Outputs


def faces(job: Job, order: int) -> list[Face]:
    """The function of a job, and its derivatives up to an order."""
    f, names = job.function, list(job.present)
    inputs: Inputs = {n: (matrix(s), n) for n, s in zip(names, job.shapes[0], strict=True)}
    results = {output_name(f, a): matrix(s) for a, s in zip(f.outputs, job.shapes[1], strict=True)}
    outputs: Outputs = {o: (m, k) for k, (o, m) in enumerate(results.items())}
    found = [Face(f.name, lowered(job), inputs, outputs)]
    if order > 0:
        found.append(_jacobian(found[0], _program(job, slopes_of(f, job.present))))
    if order > 1:
        gradient = vjp_of(f, wrt=names, coordinates="ambient")
        weights = [f"b_{o}" for o in results]
        unused: Inputs = {f"out_{o}": (m, None) for o, m in results.items()}
        seeds: Inputs = {f"adj_{o}": (m, b) for (o, m), b in zip(results.items(), weights, strict=True)}
        sums: Outputs = {f"adj_{n}": (m, k) for k, (n, (m, _)) in enumerate(inputs.items(), len(results))}
        program = _program(job, gradient, *weights)
        found.append(Face(f"adj1_{f.name}", program, {**inputs, **unused, **seeds}, sums))
        along, of = [*names, *weights], [f"b_{n}" for n in names]
        bends = jacobian_of(gradient, wrt=along, of=of, coordinates="ambient")
        found.append(_jacobian(found[-1], _program(job, bends, *weights)))
    return found


def _jacobian(face: Face, program: Program) -> Face:
    """The Jacobian of a function with respect to all inputs: its program has the blocks of the used ones."""
    unused: Inputs = {f"out_{o}": (m, None) for o, (m, _) in face.outputs.items()}
    places = count()
    blocks: Outputs = {
        f"jac_{o}_{x}": (jacobian_matrix(of, along), None if source is None else next(places))
        for o, (of, _) in face.outputs.items()
        for x, (along, source) in face.inputs.items()
    }
    return Face(f"jac_{face.name}", program, {**face.inputs, **unused}, blocks)


def _program(job: Job, derivative: Function, *weights: str) -> Program:
    """The program of a derivative of a job's function, with weights as further inputs."""
    return lowered(Job(derivative, job.model, derivative.present([*job.present, *weights]), job.options))


def library(every: Sequence[Face], folder: Path) -> Path:
    """Compile the library of some faces in a folder."""
    entries = [(face.name, optimize(face.program, PART), (), ()) for face in every]
    functions = c.c_functions(entries, PREFIX)
    texts = [c.source(PREFIX, functions), _HELPERS, *map(_text, every, functions)]
    (folder / f"{PREFIX}.h").write_text(c.header(PREFIX, [PREFIX], functions, entries), encoding="ascii")
    file = folder / f"{PREFIX}.c"
    file.write_text("\n".join(texts), encoding="ascii")
    return shared_library(file, every[0].name, "kt.casadi.external")


_HELPERS = """\
typedef long long int integer;

static void take(const double *from, const integer *places, integer n, double *to)
{
    for (integer k = 0; k < n; ++k) to[k] = from ? from[places[k]] : 0.0;
}

static void give(const double *from, const integer *places, integer n, double *to)
{
    if (to)
        for (integer k = 0; k < n; ++k) to[k] = from[places[k]];
}
"""


def _text(face: Face, function: CFunction) -> str:
    """The C functions that CasADi looks for, wrapped around one function of the library."""
    p, name = function.program, face.name
    starts, length = {}, 0  # of each array in the memory that CasADi provides
    for array in (*p.inputs, *p.outputs):
        starts[array] = length
        length += array.size
    arguments = [f"w + {starts[a]}" for a in (*p.inputs, *p.outputs)]
    if function.needs_work:
        arguments.append(f"w + {length}")
        length += function.work_length
    named = {a.name: a for a in p.inputs}
    tables, before, after = [], [], []
    for k, (m, source) in enumerate(face.inputs.values()):
        places = range(len(m.positions)) if source else ()
        tables.append(_table(f"{name}_in{k}", _sparsity(m, places)))
        if source:
            tables.append(_table(f"{name}_from{k}", [m.place(i) for i in places]))
            where = f"{name}_from{k}, {len(places)}, w + {starts[named[source]]}"
            before.append(f"    take(arg[{k}], {where});")
    for k, (m, place) in enumerate(face.outputs.values()):
        order = [] if place is None else m.pattern(_places(face, place))[0]
        tables.append(_table(f"{name}_out{k}", _sparsity(m, order)))
        if place is not None and order:
            tables.append(_table(f"{name}_to{k}", order))
            where = f"{name}_to{k}, {len(order)}, res[{k}]"
            after.append(f"    give(w + {starts[p.outputs[place]]}, {where});")
    return "\n".join(
        [
            *tables,
            f"int {name}(const double **arg, double **res, integer *iw, double *w, int mem)",
            "{",
            "    int refused;",
            "    (void)arg; (void)res; (void)iw; (void)w; (void)mem;",
            *before,
            f"    refused = {function.symbol}({', '.join(arguments)});",
            *after,
            "    return refused;",
            "}",
            "",
            *_names(name, "in", list(face.inputs)),
            *_names(name, "out", list(face.outputs)),
            f"int {name}_work(integer *sz_arg, integer *sz_res, integer *sz_iw, integer *sz_w)",
            "{",
            f"    *sz_arg = {len(face.inputs)}; *sz_res = {len(face.outputs)}; *sz_iw = 0; *sz_w = {length};",
            "    return 0;",
            "}",
            "",
        ]
    )


def _places(face: Face, place: int) -> Sequence[int]:
    """The non-zero numbers of an output. Only Jacobians are sparse; otherwise seeds would be sparse too."""
    array = face.program.outputs[place]
    return face.program.places(array) if face.name.startswith("jac_") else range(array.size)


def _names(name: str, side: str, names: list[str]) -> list[str]:
    """The C functions for the number, the names and the sparsity of inputs or outputs."""
    count = len(names)
    words = ", ".join(f'"{n}"' for n in names)
    patterns = ", ".join(f"{name}_{side}{k}" for k in range(count))
    return [
        f"integer {name}_n_{side}(void) {{ return {count}; }}",
        "",
        f"const char *{name}_name_{side}(integer i)",
        "{",
        f"    static const char *const names[] = {{{words or 0}}};",
        f"    return i < {count} ? names[i] : 0;",
        "}",
        "",
        f"const integer *{name}_sparsity_{side}(integer i)",
        "{",
        f"    static const integer *const patterns[] = {{{patterns or 0}}};",
        f"    return i < {count} ? patterns[i] : 0;",
        "}",
        "",
    ]


def _sparsity(m: Matrix, places: Sequence[int]) -> list[int]:
    """The sparsity of a matrix in CasADi's form: its size, then 1 if it is dense, else all places."""
    if len(places) == len(m.positions):
        return [m.rows, m.columns, 1]
    _, starts, rows = m.pattern(places)
    return [m.rows, m.columns, *starts, *rows]


def _table(name: str, numbers: Sequence[int]) -> str:
    items = [str(n) for n in numbers] or ["0"]
    lines = [", ".join(items[k : k + PER_LINE]) for k in range(0, len(items), PER_LINE)]
    inner = ",\n    ".join(lines)
    return f"static const integer {name}[] = {{\n    {inner}\n}};\n"


__all__ = ["Face", "Matrix", "faces", "jacobian_matrix", "library", "matrix"]
