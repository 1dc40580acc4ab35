"""Threads of a block that go through loops that end early together: each state has the bits of the CPU."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from tests.contact import scenes
from tests.gpu.emulator import Emulated
from tests.gpu.test_contact import RUN, dropped, hopper

import kinetree as kt
from kinetree import ops
from kinetree.compiler.emit.llvm.gpu import emit_gpu
from kinetree.compiler.runtime import cuda_kernels
from kinetree.motion.rollout import rollout
from kinetree.stages import TARGETS, Job
from kinetree.stages.compile import job_for
from kinetree.stages.targets.cuda_code import same_bits
from kinetree.stages.targets.cuda_way import TOGETHER


def compared(job: Job, together: int, *inputs: Any) -> list[np.ndarray]:
    """The results of one block of so many threads, which are what the CPU gives."""
    inputs = tuple(x.astype(job.dtype) for x in inputs)
    expected = TARGETS["cpu"].executable(job)(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    kernel = Emulated(job.program(0), job.dtype, together=together)
    found, notes = kernel(*inputs, blocks=1)
    assert notes[0] == -1 and kernel.made.threads == together
    assert "barrier.cta.red.popc" in kernel.made.text
    assert all(same_bits(a, b.reshape(a.shape)) for a, b in zip(found, expected, strict=True))
    return found


def hops(steps: int) -> Job:
    """Two records of some steps with contact."""
    function = rollout((), 2, steps, False, True)
    options = function.chosen(
        integrator="discrete", passive=True, limits=True, constraints=(), ground=kt.Ground()
    )
    return Job(function, hopper(), function.present(()), options, "float32")


@pytest.mark.parametrize("together", [32, 64, 128])
def test_steps_with_contact(together):
    """Who is done waits, threads without a state do as the last one; a block has three, two and one tiles."""
    compared(hops(3), together, *dropped(hopper(), 70), np.full(70, 0.004))


def test_what_the_assembler_is_told(tmp_path):
    """Warps meet before each record, each step, each Newton step, and those with stops, and nowhere else."""
    threads = TOGETHER
    made = emit_gpu(hops(50).program(0), "float32", "rows", large=False, together=threads)
    text = cuda_kernels.assemble(made.text, "sm_90")
    assert text.count("bar.red.popc") == text.count("vote.sync.all") == 2
    assert text.count("bar.sync") == 2 and f".maxntid {threads}" in text
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


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_loops_that_are_not_done_at_their_last_turn(dtype):
    rng = np.random.default_rng(0)
    given = np.exp(rng.normal(size=(40, 3))) * [1.0, 1.0, 0.1]
    (found,) = compared(job_for("test", halving, kt.zoo.arm7(), None, {}, dtype), 32, given)
    turns = found[:, 1]
    assert turns.min() < 100 < 150 < turns.max() == 175


@pytest.mark.parametrize(
    ("dtype", "ground", "together"),
    [("float32", True, True), ("float32", False, False), ("float64", True, True)],
)
def test_time_loops_with_contact(fake, dtype, ground, together):
    model = scenes.box().replace(name="there")
    q, v = (x.astype(dtype) for x in dropped(model, 40))
    here = kt.simulate(model, q, v, ground=ground, **RUN)
    found = kt.simulate(model, kt.cuda.array(q), kt.cuda.array(v), ground=ground, **RUN).numpy()
    assert same_bits(found.q, here.q) and same_bits(found.v, here.v)
    assert meets(fake) == together


@pytest.mark.parametrize("count", [40, 140])
def test_blocks_of_small_batches_are_small(fake, count, monkeypatch):
    """The bits do not depend on the size of blocks: every multiprocessor has one before they grow."""
    wide: list[int] = []
    launch = fake.cuLaunchKernel

    def watched(function: Any, blocks: int, *rest: Any) -> int:
        wide.append(rest[2])
        return launch(function, blocks, *rest)

    monkeypatch.setattr(fake, "cuLaunchKernel", watched)
    model = scenes.box().replace(name="wide")
    q, v = (x.astype("float32") for x in dropped(model, count))
    here = kt.simulate(model, q, v, ground=True, **RUN)
    found = kt.simulate(model, kt.cuda.array(q), kt.cuda.array(v), ground=True, **RUN).numpy()
    assert same_bits(found.q, here.q) and same_bits(found.v, here.v)
    assert wide[-1] == {40: 32, 140: 128}[count]


def test_not_in_straight_programs(fake):
    q = np.zeros((5, 7), "float32")
    kt.inverse_dynamics(kt.zoo.arm7(), *map(kt.cuda.array, (q, q, q)))
    assert not meets(fake)


def meets(fake: Any) -> bool:
    """Whether threads tell each other whether they are done, in some kernel on a device."""
    assert fake.modules
    return any("call i32 @block_count" in block.text for block in fake.modules.values())
