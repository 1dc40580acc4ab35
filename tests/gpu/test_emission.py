"""Kernels for GPUs: every function is emitted and assembled without one, and compared with one."""

from __future__ import annotations

import os
import shutil
import subprocess

import llvmlite.binding as llvm
import numpy as np
import pytest
from tests.targets.cases import tree

import kinetree as kt
from kinetree import functions
from kinetree.compiler.emit.llvm.gpu import AMD, emit_gpu
from kinetree.compiler.runtime import cuda
from kinetree.stages import TARGETS, Job, SweepFunction
from kinetree.sweep import REGISTRY

NAMES = sorted(functions.SWEEPS)
HAS_GPU = cuda.is_available()


def job(name: str, mode: str | None, seed: int = 1, dtype: str = "float64") -> Job:
    setting = tree(seed).setting(name)
    return Job(SweepFunction(REGISTRY[name]), setting.model, setting.present, setting.options, dtype, mode)


@pytest.mark.parametrize("name", NAMES)
def test_every_function_becomes_ptx(name):
    program = job(name, None).program()
    if name == "mass_matrix_logdet":
        with pytest.raises(kt.errors.CompileError, match="log cannot run on a GPU"):
            emit_gpu(program, "float64", "rows")
        return
    for dtype, layout, large in (("float64", "rows", False), ("float32", "any", True)):
        text = cuda.assemble(emit_gpu(program, dtype, layout, large=large).text, "sm_70")
        assert ".entry states" in text and ".target sm_70" in text


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_loops_and_amd(name):
    program = job(name, "looped").program()
    assert ".entry states" in cuda.assemble(emit_gpu(program, "float64", "rows").text, "sm_90")
    target = llvm.Target.from_triple(AMD.triple)
    machine = target.create_target_machine(cpu="gfx90a", opt=2)
    head = f'target triple = "{AMD.triple}"\ntarget datalayout = "{machine.target_data}"\n'
    module = llvm.parse_assembly(head + emit_gpu(program, "float32", "rows", AMD).text)
    module.verify()
    assert "s_endpgm" in machine.emit_assembly(module)


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not installed")
def test_ptxas_takes_it(tmp_path):
    text = cuda.assemble(emit_gpu(job("forward_dynamics", None).program(), "float64", "rows").text, "sm_80")
    (tmp_path / "k.ptx").write_text(text)
    subprocess.run(["ptxas", "-arch=sm_80", "k.ptx", "-o", "k.cubin"], cwd=tmp_path, check=True)


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU")
def test_without_a_gpu_there_is_a_clear_error():
    assert not kt.cuda.is_available()
    with pytest.raises(kt.errors.KinetreeError, match="target='cpu'"):
        kt.compile(kt.mass_matrix, kt.zoo.arm7(), target="cuda")
    with pytest.raises(kt.errors.KinetreeError, match="target='cpu'"):
        kt.cuda.array(np.zeros(3))


@pytest.mark.skipif(not HAS_GPU, reason="no GPU here: these comparisons run where there is one")
class TestOnTheDevice:
    @pytest.mark.parametrize("seed", range(int(os.environ.get("KINETREE_GPU_TREES", "4"))))
    @pytest.mark.parametrize("name", NAMES)
    def test_the_bits_of_the_cpu(self, name, seed):
        if name == "mass_matrix_logdet":
            pytest.skip("log")
        for mode in (None, "looped"):
            j = job(name, mode, seed)
            gpu = TARGETS["cuda"].executable(j)
            cpu = TARGETS["cpu"].executable(j)
            for count in (1, 31, 1000):
                states = j.samples(count)
                pairs = zip(_tuple(gpu(*states)), _tuple(cpu(*states)), strict=True)
                assert all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)

    def test_nan_singular_and_large_angles(self):
        arm = kt.zoo.arm7()
        kernel = kt.compile(kt.mass_matrix, arm, target="cuda")
        q = np.full((3, 7), 1e9)
        np.testing.assert_array_equal(kernel(q), kt.mass_matrix(arm, q))
        q[1, 2] = np.nan
        assert np.isnan(kernel(q)[1]).all() and np.isfinite(kernel(q)[[0, 2]]).all()
        with pytest.raises(kt.errors.SingularError, match="no inertia"):
            kt.compile(kt.forward_dynamics, arm, target="cuda", inputs=("parameters",))(
                np.zeros(7), np.zeros(7), np.zeros(7), np.zeros((7, 10))
            )

    def test_arrays_of_the_device(self):
        arm = kt.zoo.arm7()
        q, v = arm.random_state(1, 300)
        there = [kt.cuda.array(x) for x in (q, v, v)]
        found = kt.inverse_dynamics(arm, *there)
        np.testing.assert_array_equal(found.numpy(), kt.inverse_dynamics(arm, q, v, v))
        with pytest.raises(kt.errors.ShapeError, match="host and of the device are mixed"):
            kt.inverse_dynamics(arm, there[0], v, there[2])


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)
