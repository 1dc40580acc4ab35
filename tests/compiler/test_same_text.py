"""The text of a kernel depends neither on the hashes of strings nor on those of nodes: their addresses.

So every process makes the same kernels of a robot.
"""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import hashlib, random, sys
from types import SimpleNamespace
import kinetree as kt
from kinetree.compiler.emit.llvm.gpu import emit_gpu
from kinetree.compiler.emit.llvm.module import emit
from kinetree.compiler.ir.graph import Array, Store
from kinetree.compiler.runtime.machine import host
from kinetree.ops import Expr
from kinetree.stages.compile import job_for
from kinetree.stages.targets.cpu import Cpu
from kinetree.stages.targets.cuda_way import way_of

odd = random.Random(sys.argv[1]).getrandbits(60) | 1
for kind in (Expr, Array, Store):  # sets of few nodes have another order, too
    kind.__hash__ = lambda node: id(node) * odd >> 17 & (1 << 60) - 1
gpu = SimpleNamespace(capability=(8, 0), shared=160 << 10)
for robot in (kt.zoo.quadruped(), kt.zoo.humanoid()):
    job = job_for("test", kt.forward_dynamics, robot, None, {}, "float64")
    program = job.program(0)
    way = way_of(job, program, gpu)
    assert any(way["strands"].aside)
    for text in (
        emit_gpu(program, "float64", "rows", shared=gpu.shared, **way).text,
        emit(job.program(Cpu.part_size), "float64", 4, host()).text,
    ):
        print(hashlib.sha256(text.encode()).hexdigest())
"""


def digests(seed: str) -> list[str]:
    """Of the texts that a process makes."""
    command, environment = [sys.executable, "-c", PROGRAM, seed], {**os.environ, "PYTHONHASHSEED": seed}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return run.stdout.split()


def test_every_process_makes_the_same_text():
    found = digests("1")
    assert len(set(found)) == 4 and found == digests("2")
