"""Reciprocals and roots without a branch: the bits of a division, and a sign where they cannot be had."""

from __future__ import annotations

import numpy as np
import pytest
from tests.gpu.emulator import Block

from kinetree.compiler.emit.llvm import reciprocal
from kinetree.compiler.emit.llvm.device import NVIDIA, declarations
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.runtime import cuda, cuda_kernels
from kinetree.stages.targets.cuda_code import same_bits

DTYPES = ["float64", "float32"]
ROUGH = NVIDIA.reciprocal
BITS = {"float64": (np.uint64, 52, 1023), "float32": (np.uint32, 23, 127)}


def kernel(dtype: str, op: str = "reciprocal") -> str:
    """`states(x, y, odd, n, step)`: reciprocals or roots of the numbers that a thread comes across."""
    number = Number(dtype, 1)
    v = number.scalar
    root = op == "root"
    function = reciprocal.define_root(NVIDIA.root[dtype]) if root else reciprocal.define(number, ROUGH[dtype])
    return f"""{function}
define {NVIDIA.kernel} void @states(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %odd, i64 %n,
                                    i64 %step) {{
entry:
  %tid = {NVIDIA.thread}
  %block = {NVIDIA.block}
  %first = mul i32 %block, 256
  %me = add i32 %first, %tid
  %me64 = zext i32 %me to i64
  br label %loop
loop:
  %k = phi i64 [ %me64, %entry ], [ %next, %more ]
  %inside = icmp slt i64 %k, %n
  br i1 %inside, label %more, label %done
more:
  %from = getelementptr {v}, ptr addrspace(1) %x, i64 %k
  %b = load {v}, ptr addrspace(1) %from
  %pair = call {{ {v}, i1 }} @{op}({v} %b)
  %r = extractvalue {{ {v}, i1 }} %pair, 0
  %o = extractvalue {{ {v}, i1 }} %pair, 1
  %to = getelementptr {v}, ptr addrspace(1) %y, i64 %k
  store {v} %r, ptr addrspace(1) %to
  %sign = uitofp i1 %o to {v}
  %there = getelementptr {v}, ptr addrspace(1) %odd, i64 %k
  store {v} %sign, ptr addrspace(1) %there
  %next = add i64 %k, %step
  br label %loop
done:
  ret void
}}
{NVIDIA.declarations}
{declarations()}
"""


def numbers(dtype: str, few: bool) -> tuple[np.ndarray, np.ndarray]:
    """Ordinary numbers, and others."""
    kind, mantissa, bias = BITS[dtype]
    rng = np.random.default_rng(7)
    every = np.arange(1 << 23, dtype=kind) << kind(mantissa - 23)  # all of float32
    low = rng.integers(0, 1 << mantissa, 1 << 23, kind)
    ends = (kind(1 << mantissa) - kind(1) - np.arange(1 << 12, dtype=kind)) & kind((1 << mantissa) - 1)
    bits = np.concatenate([every, low, ends])[:: 1009 if few else 1]
    exponents = rng.integers(2, 2 * bias - 3, len(bits)).astype(kind)
    exponents[::2] = bias
    signs = rng.integers(0, 2, len(bits)).astype(kind)
    ordinary = (bits | exponents << kind(mantissa) | signs << kind(8 * kind().itemsize - 1)).view(dtype)
    tiny, huge = np.finfo(dtype).tiny, np.finfo(dtype).max
    odd = np.array([0.0, -0.0, tiny / 8, -tiny / 2, huge, -huge, np.inf, -np.inf, np.nan], dtype)
    return ordinary, odd


def check(x: np.ndarray, y: np.ndarray, odd: np.ndarray, ordinary: int) -> None:
    assert not odd[:ordinary].any()
    with np.errstate(divide="ignore", over="ignore"):
        assert same_bits(np.where(odd, 1 / x, y), 1 / x)


def on_device(text: str, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a device makes of all numbers, and which of them are odd."""
    where = cuda.device()
    arrays = [cuda.array(a) for a in (x, np.zeros_like(x), np.zeros_like(x))]
    launcher = cuda_kernels.Launcher(cuda_kernels.assemble(text, where.architecture), where, 4, 256, 0)
    with where.current():
        launcher.launch([*(a.memory.pointer for a in arrays), len(x), 1024 * 256], 1024)
    cuda_kernels.wait(where)
    return arrays[1].numpy(), arrays[2].numpy()


@pytest.mark.parametrize("dtype", DTYPES)
def test_with_a_rough_reciprocal_of_the_host(dtype):
    ordinary, odd = numbers(dtype, few=True)
    x = np.concatenate([ordinary, odd])
    y, signs = np.zeros_like(x), np.zeros_like(x)
    Block(kernel(dtype)).run([x.ctypes.data, y.ctypes.data, signs.ctypes.data, len(x), 1], 1, 1)
    check(x, y, signs, len(ordinary))


def check_roots(x: np.ndarray, y: np.ndarray, odd: np.ndarray) -> None:
    wanted = np.sqrt(x, where=x >= 0, out=np.full_like(x, np.nan))
    assert same_bits(np.where(odd, wanted, y), wanted)
    assert not odd[(x == 0) | (x > 1e-30) & (x < np.inf)].any()


def test_roots_with_a_rough_one_of_the_host():
    ordinary, odd = numbers("float32", few=True)
    x = np.concatenate([np.abs(ordinary), odd, -ordinary[:9]])
    y, signs = np.zeros_like(x), np.zeros_like(x)
    Block(kernel("float32", "root")).run([x.ctypes.data, y.ctypes.data, signs.ctypes.data, len(x), 1], 1, 1)
    check_roots(x, y, signs)


@pytest.mark.skipif(not cuda.is_available(), reason="no GPU here: its rough roots cannot be asked")
def test_roots_on_a_device():
    """Every mantissa with an even and an odd exponent."""
    bits = np.arange(1 << 24, dtype=np.uint32) + np.uint32(127 << 23)
    x = np.concatenate([bits.view("float32"), *numbers("float32", few=True)])
    check_roots(x, *on_device(kernel("float32", "root"), x))


@pytest.mark.skipif(not cuda.is_available(), reason="no GPU here: its rough reciprocals cannot be asked")
@pytest.mark.parametrize("dtype", DTYPES)
def test_on_a_device(dtype):
    """Every mantissa of float32; for float64 as many, random ones, and those next to powers of two."""
    ordinary, odd = numbers(dtype, few=False)
    x = np.concatenate([ordinary, odd])
    check(x, *on_device(kernel(dtype), x), len(ordinary))
