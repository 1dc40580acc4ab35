"""Heights over a grid on a GPU: the bits of the processor, in both kinds of kernels."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree import ops
from kinetree.compiler.emit.llvm.gpu import emit_gpu
from kinetree.compiler.runtime import cuda_kernels
from kinetree.stages.compile import job_for

FIELD = kt.Heightfield(np.random.default_rng(3).normal(size=(9, 13)), (0.3, 0.2), (-1.0, -1.2, 0.1))


@kt.function("place(3) -> gap, normal(3)")
def standing(model, place):
    gap, normal = FIELD.at(tuple(place))
    return gap, np.array(normal)


@kt.function("place(3) -> along, across")
def wandering(model, place):
    def downhill(x, y):
        h, slopes = FIELD.height(x, y)
        return x - 0.1 * slopes[0], y - 0.1 * slopes[1] + 0.01 * h

    return ops.repeat(5, downhill, place[0], place[1])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", [standing, wandering], ids=lambda f: f.name)
def test_the_same_bits(fake, function, dtype):
    places = np.random.default_rng(1).uniform(-2.0, 2.5, (200, 3)).astype(dtype)
    model = kt.zoo.pendulum()
    wanted = kt.compile(function, model, dtype=dtype)(places)
    got = kt.compile(function, model, dtype=dtype, target="cuda")(places)
    for a, b in zip(wanted, got, strict=True):
        assert np.array_equal(a, b) and np.ptp(a) > 0


def test_it_becomes_ptx():
    program = job_for("test", standing, kt.zoo.pendulum(), ("place",), {}, "float32", None).program(0)
    for layout in ("rows", "any"):
        text = cuda_kernels.assemble(emit_gpu(program, "float32", layout).text, "sm_80")
        assert "cvt.rzi.s64.f32" in text and "ld.global.nc" in text
