"""Kernels for GPUs: every function is emitted, and assembled where `ptxas` is, without one."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys

import llvmlite.binding as llvm
import numpy as np
import pytest
from tests.conftest import share
from tests.gpu.emulator import Emulated
from tests.gpu.jobs import MADE, NAMES, TREES, case_of, job
from tests.soak import devices

import kinetree as kt
from kinetree.compiler.emit.llvm.gpu import AMD, emit_gpu
from kinetree.compiler.ir.graph import Clear
from kinetree.compiler.runtime import cuda, cuda_kernels, native
from kinetree.joints.base import JOINT_TYPES
from kinetree.joints.revolute import Spin
from kinetree.stages import TARGETS
from kinetree.stages.targets.cuda_code import same_bits

EVERY = [*NAMES, *MADE]
HAS_GPU = cuda.is_available()


@pytest.mark.parametrize("name", share(EVERY, 3))
def test_every_function_becomes_ptx(name, tmp_path):
    program = job(name, None).program(0)
    number = EVERY.index(name)
    dtype, large = ("float64", "float32")[number % 2], number % 4 > 1
    architecture, layout, arriving = (
        ("sm_70", "rows", ""), ("sm_70", "any", ""), ("sm_80", "rows", "chunks"), ("sm_90", "rows", "whole"),
    )[number // 4 % 4]  # fmt: skip
    how = {"arriving": arriving, "ahead": bool(arriving) and bool(number % 2)}
    made = emit_gpu(program, dtype, layout, large=large, **how)
    text = cuda_kernels.assemble(made.text, architecture)
    assert ".entry states" in text and f".target {architecture}" in text
    if shutil.which("ptxas") and arriving:
        (tmp_path / "k.ptx").write_text(text)
        call = ["ptxas", "-O1", f"-arch={architecture}", "k.ptx", "-o", "k.cubin"]
        subprocess.run(call, cwd=tmp_path, check=True)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_loops(name):
    program = job(name, "looped").program()
    assert ".entry states" in cuda_kernels.assemble(emit_gpu(program, "float64", "rows").text, "sm_90")


@pytest.mark.parametrize("name", ["inverse_mass_matrix", "forward_dynamics_derivatives"])
def test_work_arrays_that_start_at_zero(name):
    """In the memory of the device."""
    one = job(name, "looped", 5)
    program, inputs = one.program(0), one.samples(7)
    kernel = Emulated(program, one.dtype)
    assert kernel.made.work_numbers and any(isinstance(s, Clear) for s in program.body.statements)
    found, _ = kernel(*inputs)
    expected = TARGETS["cpu"].executable(one)(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert all(same_bits(a, b.reshape(a.shape)) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("mode", [None, "looped"])
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_amd(name, mode):
    """Code for AMD's devices: LLVM verifies it, and assembles it to an object file."""
    machine = llvm.Target.from_triple(AMD.triple).create_target_machine(cpu="gfx90a", opt=2)
    head = f'target triple = "{AMD.triple}"\ntarget datalayout = "{machine.target_data}"\n'
    made = emit_gpu(job(name, mode).program(0), "float32" if mode else "float64", "rows", AMD)
    module = native.parsed(head + made.text)
    module.verify()
    assert bool(made.shared_bytes) == (mode is None)  # tiles of rows, or where numbers stand
    assert "s_endpgm" in machine.emit_assembly(module)
    assert machine.emit_object(native.parsed(head + made.text)).startswith(b"\x7fELF")


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU")
def test_without_a_gpu_there_is_a_clear_error():
    assert not kt.cuda.is_available()
    with pytest.raises(kt.errors.KinetreeError, match="target='cpu'"):
        kt.compile(kt.mass_matrix, kt.zoo.arm7(), target="cuda")
    with pytest.raises(kt.errors.KinetreeError, match="target='cpu'"):
        kt.cuda.array(np.zeros(3))


def test_the_models_of_the_matrix_have_everything():
    """Every joint type, rotors, mimic joints, several roots, no coordinates at all."""
    models = [case_of(seed).model for seed in range(TREES + 1)]
    types = {type(body.joint) for model in models for body in model.bodies}
    ours = {kind for kind in JOINT_TYPES.values() if kind.__module__.startswith("kinetree.")}
    assert types >= ours - {Spin}  # which is a rotor's
    assert sum(bool(m.rotors) for m in models) > 10 and sum(m.nv == 0 for m in models) > 1
    assert sum(any(len(n.members) > 1 for n in m.nodes) for m in models) > 20
    assert sum(sum(b.parent == 0 for b in m.bodies) > 1 for m in models) > 10
    assert len(devices.units()) == devices.COUNT == len(set(devices.units()))


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how much memory there is")
def test_assembling_leaves_nothing_behind():
    """Passes of LLVM are given back, which llvmlite forgets."""

    def resident() -> int:
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    text = "define ptx_kernel void @states() { ret void }"
    for k in range(250):
        cuda_kernels.assemble(text, "sm_90")
        if k == 50:
            before = resident()
    assert resident() - before < 1 << 18  # it was 6 million bytes, and 300 thousand then
