"""A dialect of C is a few words: many states side by side, as a graphics processor would have them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from tests.compiler.random_programs import random_inputs, random_looped, random_straight
from tests.compiler.test_c import gcc, needs_gcc

from kinetree.compiler.emit.c_function import DTYPES
from kinetree.compiler.emit.c_like import CLike
from kinetree.compiler.emit.python import run
from kinetree.compiler.ir.graph import Array
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.pipeline import optimize

STATES = 5


class Beside(CLike):
    """Element k of state s stands at k n + s, in all arrays but tables."""

    constant = "__constant const"
    local = "__device"
    restrict = "RESTRICT"
    handed = ("const int32_t n", "const int32_t s")

    def __init__(self, program: Program):
        p = program
        names = {a: f"a{k}" for k, a in enumerate((*p.inputs, *p.results, *p.work, *p.tables))}
        super().__init__(p, DTYPES["float64"], "beside", "BESIDE", names)

    def place(self, array: Array, index: str) -> str:
        return super().place(array, index if array.data is not None else f"({index}) * n + s")

    def text(self) -> str:
        self.statements(self.program.body.statements)
        arrays = [a for a in self.names if a.data is None]
        parameters = [f"double *RESTRICT {self.names[a]}" for a in arrays]
        return "\n".join(
            [
                "#include <math.h>", "#include <stdint.h>", "#define BESIDE_FMA(a, b, c) fma((a), (b), (c))",
                "#define RESTRICT restrict", "#define __device static", "#define __constant static",
                *map(self.table, self.program.tables), *self.parts,
                f"void beside({', '.join([*parameters, *self.handed])})", "{", *self.lines, "}", "",
            ]
        )  # fmt: skip


@needs_gcc
@pytest.mark.parametrize("part_size", [3000, 12])
@pytest.mark.parametrize("make", [random_straight, random_looped])
def test_states_side_by_side(make, part_size, tmp_path):
    program = optimize(make(3), part_size)
    text = Beside(program).text()
    assert ("__device void beside_part0" in text) == (part_size == 12) and "static" in text
    (tmp_path / "beside.c").write_text(text)
    gcc(tmp_path, "-O1", "-fPIC", "-shared", "beside.c", "-o", "beside.so")
    function = ctypes.CDLL(str(tmp_path / "beside.so")).beside
    inputs = random_inputs(program, 3, (STATES,))
    inputs[0][2, 0] = np.inf
    wanted, status = run(program, *inputs)
    arrays = [np.ascontiguousarray(x.T) for x in inputs]
    arrays += [np.full((a.size, STATES), 77.0) for a in (*program.results, *program.work)]
    for s in range(STATES):
        addresses = (ctypes.c_void_p(a.ctypes.data) for a in arrays)
        function(*addresses, ctypes.c_int32(STATES), ctypes.c_int32(s))
    results = arrays[len(inputs) :]
    for got, want in zip(results, wanted):
        np.testing.assert_allclose(got.T, want, rtol=1e-12, atol=1e-12)
    assert np.isnan(results[0].T[2]).all() and not status[2]
    if program.guard is not None:
        np.testing.assert_array_equal(~(results[len(wanted)][0] >= 1.0), status)
