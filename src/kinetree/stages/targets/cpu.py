"""Machine code for the CPU: scalar code for one state, SIMD code and threads for a batch."""

from __future__ import annotations

import time
from typing import Any, NoReturn

import numpy as np

from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.pipeline import without_garbage_collection
from kinetree.compiler.runtime.artifact import Artifact
from kinetree.compiler.runtime.description import Core, Description
from kinetree.compiler.runtime.kernel import Kernel
from kinetree.stages.job import Job
from kinetree.stages.target import Target


class Cpu(Target):
    """Compiles the program of a job with LLVM; kernels are cached on the model."""

    name = "cpu"

    def executable(self, job: Job) -> ModelKernel:
        return job.model.memo((Cpu, job), lambda: ModelKernel(job))


class ModelKernel(Kernel):
    """The kernel of a function for one model; its error messages name joints and bodies."""

    def __init__(self, job: Job):
        self.job = job
        key = job.key
        artifact = Artifact.find(key, job.dtype) if key is not None else None
        super().__init__(artifact or _made(job, key))

    def program(self) -> Program:
        return self.job.program(Cpu.part_size)

    def wrong_shape(self, core: Core, shape: tuple[int, ...]) -> str:
        return self.job.wrong_shape(core.name, shape)

    def singular(self, index: tuple[int, ...], state: list[np.ndarray]) -> NoReturn:
        self.job.explain(index, state)

    def __reduce__(self) -> Any:
        return _kernel, (self.job,)


def _made(job: Job, key: str | None) -> Artifact:
    started = time.perf_counter()
    with without_garbage_collection():
        program = job.program(Cpu.part_size)
        traced = time.perf_counter() - started
        made = Artifact.of(program, Description.of(program, *job.shapes, job.dtype), key, again=True)
    made.seconds += traced
    return made


def _kernel(job: Job) -> ModelKernel:
    """The kernel of a job, for unpickling."""
    return Cpu().executable(job)
