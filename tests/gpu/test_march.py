"""Threads of a block that go through loops together, or in periods: each state has the bits of the CPU."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import astuple
from typing import Any

import numpy as np
import pytest
from tests.contact import scenes
from tests.gpu.emulator import Emulated
from tests.gpu.test_contact import RUN, dropped, hopper

import kinetree as kt
from kinetree import ops
from kinetree.compiler.emit.llvm.gpu import March, emit_gpu
from kinetree.compiler.runtime import cuda_kernels
from kinetree.motion.rollout import rollout
from kinetree.stages import TARGETS, Job
from kinetree.stages.compile import job_for
from kinetree.stages.targets import cuda_way
from kinetree.stages.targets.cuda_code import same_bits

MARCHES = [
    March("steps"),
    March("turns", threads=32),
    March("turns", pace=200),
    March("idle"),
    March("idle", pace=200),
    March("searches", pace=200, threads=32),
    March(period=1),
    March("steps", period=4),
    March("turns", period=3, pace=200),
    March("turns", period=4, pace=200),
    March("idle", period=4, pace=200),
    March("searches", period=7, threads=32),
]
each_march = pytest.mark.parametrize("march", MARCHES, ids=lambda m: "-".join(map(str, astuple(m)[:4])))


def compared(job: Job, march: March, *inputs: Any) -> str:
    """The text of a kernel, which has given what the CPU gives."""
    inputs = tuple(x.astype(job.dtype) for x in inputs)
    expected = TARGETS["cpu"].executable(job)(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    kernel = Emulated(job.program(0), job.dtype, march=march)
    found, notes = kernel(*inputs, blocks=1)
    assert notes[0] == -1 and kernel.made.threads == march.threads
    assert all(same_bits(a, b.reshape(a.shape)) for a, b in zip(found, expected, strict=True))
    return kernel.made.text


def hops(steps: int) -> Job:
    """Two records of some steps with contact."""
    function = rollout((), 2, steps, False, True)
    options = function.chosen(
        integrator="discrete", passive=True, limits=True, constraints=(), ground=kt.Ground()
    )
    return Job(function, hopper(), function.present(()), options, "float32")


@each_march
def test_steps_with_contact(march, monkeypatch):
    """Who is done runs along or waits, threads without a state too."""
    monkeypatch.setattr("kinetree.compiler.emit.llvm.gpu_march.LONG", 2)
    job = hops(3)
    text = compared(job, march, *dropped(hopper(), 70), np.full(70, 0.004))
    assert ("period" in text) == bool(march.period)
    assert text.count("call void @llvm.nvvm.barrier") >= 6 * bool(march.pace)


@pytest.mark.parametrize("march", [March("turns", 4, 500, 256), March("idle", 4, 500, 512, 16)])
def test_what_the_assembler_is_told(march, tmp_path):
    """Barriers that count, threads that rejoin after each period, and registers for so many warps."""
    made = emit_gpu(hops(50).program(0), "float32", "rows", large=False, march=march)
    text = cuda_kernels.assemble(made.text, "sm_90")
    assert text.count("bar.red.popc") == 3 and text.count("bar.warp.sync") == 1
    assert f".maxntid {march.threads}" in text and (".minnctapersm 1" in text) == bool(march.warps)
    assert ("bar.sync \t1, %r" in text) == (march.together == "idle")
    if shutil.which("ptxas"):
        (tmp_path / "k.ptx").write_text(text)
        subprocess.run(["ptxas", "-arch=sm_90", "k.ptx", "-o", "k.cubin"], cwd=tmp_path, check=True)


@kt.function("given(3) -> found(3)")
def halving(model, given):
    """Numbers that are halved until they are small, seven times at most, again and again."""
    x, y, size = given

    def halved(a, k):
        return 0.5 * a, k + 1.0

    def is_small(a, k):
        return ops.less(ops.abs(a), size)

    def moved(a, turns, far):
        b, k = ops.repeat(7, halved, 3.0 * a * a + y, 0.0, until=is_small)
        return ops.sin(a + y) + b, turns + k, ops.max(far, b)

    return np.array(ops.repeat(25, moved, x, 0.0, 0.0))


@pytest.mark.parametrize("period", [0, 2, 3, 7, 9])
@pytest.mark.parametrize(("together", "dtype"), [("", "float32"), ("turns", "float64"), ("idle", "float32")])
def test_loops_that_are_not_done_at_their_last_turn(together, period, dtype):
    rng = np.random.default_rng(0)
    given = np.exp(rng.normal(size=(40, 3))) * [1.0, 1.0, 0.1]
    job = job_for("test", halving, kt.zoo.arm7(), None, {}, dtype)
    text = compared(job, March(together, period, threads=32), given)
    assert ("period" in text) == bool(period)
    turns = TARGETS["cpu"].executable(job)(given.astype(dtype))[:, 1]
    assert turns.min() < 100 < 150 < turns.max() == 175


@kt.function("given(2) -> found(2)")
def twice(model, given):
    """Two loops that end early, one after the other."""
    x, y = given

    def moved(a, turns):
        for _ in range(2):
            a, turns = ops.repeat(7, lambda b, k: (0.5 * b, k + 1.0), 3.0 * a * a + y, turns, until=is_small)
        return a + y, turns

    def is_small(a, k):
        return ops.less(ops.abs(a), 0.3)

    return np.array(ops.repeat(25, moved, x, 0.0))


def test_two_loops_have_no_periods():
    rng = np.random.default_rng(0)
    job = job_for("test", twice, kt.zoo.arm7(), None, {}, "float64")
    march = March("turns", period=3, threads=32)
    assert "period" not in compared(job, march, np.exp(rng.normal(size=(40, 2))))


def test_the_rules_say_how(fake, monkeypatch):
    monkeypatch.setitem(cuda_way.MARCHES, "float32", March("turns", threads=32))
    model = scenes.box().replace(name="there")
    q, v = (x.astype("float32") for x in dropped(model, 40))
    here = kt.simulate(model, q, v, **RUN)
    found = kt.simulate(model, kt.cuda.array(q), kt.cuda.array(v), **RUN).numpy()
    assert same_bits(found.q, here.q) and same_bits(found.v, here.v)
    assert any("call i32 @block_count" in block.text for block in fake.modules.values())
