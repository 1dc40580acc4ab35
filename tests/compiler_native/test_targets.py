"""Code for narrower vectors than this machine's runs here too, and gives the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.compiler.random_programs import random_inputs, random_looped, random_straight
from tests.compiler_native.programs import bare_kernel, mixed_kernel

from kinetree.compiler.emit.llvm import emit
from kinetree.compiler.passes.pipeline import optimize
from kinetree.compiler.runtime import artifact
from kinetree.compiler.runtime.machine import describe, host


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize(
    "source", [lambda: random_straight(4), lambda: random_looped(1)], ids=["straight", "looped"]
)
def test_every_vector_width(monkeypatch, width, dtype, source) -> None:
    program = optimize(source())
    inputs = [x.astype(dtype) for x in random_inputs(program, 0, (43,))]
    expected = bare_kernel(program, dtype=dtype)(*inputs)
    monkeypatch.setattr(artifact, "host", lambda: replace(host(), vector_bytes=width))
    kernel = bare_kernel(program, dtype=dtype)
    for ours, theirs in zip(kernel(*inputs), expected):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(kernel(*[x[42] for x in inputs]), expected):
        np.testing.assert_array_equal(ours, theirs[42])


def test_without_fused_multiply_add(monkeypatch) -> None:
    """The baseline: every product and sum is rounded, sines come from the C library."""
    program = optimize(random_straight(6))
    inputs = random_inputs(program, 0, (20,))
    expected = bare_kernel(program, [(3,), (2,)], [(4,), (1,)])(*inputs)
    monkeypatch.setattr(artifact, "host", lambda: replace(host(), vector_bytes=16, has_fma=False))
    kernel = bare_kernel(program, [(3,), (2,)], [(4,), (1,)])
    assert "llvm.fma.v2f64(<2 x double> %" not in kernel.source
    for ours, theirs in zip(kernel(*inputs), expected):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(kernel(*[x[3] for x in inputs])[0], kernel(*inputs)[0][3])


@pytest.mark.parametrize(("triple", "features", "width", "fused"), [
    ("x86_64-unknown-linux-gnu", dict.fromkeys(("avx512f", "avx512dq", "avx512vl"), True), 64, True),
    ("x86_64-pc-windows-msvc", {"avx2": True, "fma": True, "avx512f": False}, 32, True),
    ("x86_64-apple-darwin", {"avx2": False, "fma": False}, 16, False),
    ("arm64-apple-darwin23", {"neon": True}, 16, True),
    ("aarch64-unknown-linux-gnu", {}, 16, True),
    ("riscv64-unknown-linux-gnu", {}, 16, False),
])  # fmt: skip
def test_processors(triple, features, width, fused) -> None:
    target = describe(triple, "some", features)
    assert (target.vector_bytes, target.has_fma) == (width, fused)
    assert (target.lanes("float64"), target.lanes("float32")) == (width // 8, width // 4)
    assert emit(optimize(random_straight(0)), "float64", target.lanes("float64"), target).text


def test_what_a_kernel_says_of_itself() -> None:
    kernel = mixed_kernel()
    kernel(np.ones((3, 3)), np.ones(2))
    assert kernel.compile_seconds >= 0.0 and kernel.ops["sincos"] == 3 and kernel.ops["sqrt"] == 1
    assert "define i64 @run" in kernel.source and "run:" in kernel.assembly
    report = kernel.report()
    assert "x (3,)" in report and host().cpu in report and "sincos 3" in report
    assert repr(kernel) == "Kernel(sample: x[3], y[2] -> m[7], t[], float64)"
