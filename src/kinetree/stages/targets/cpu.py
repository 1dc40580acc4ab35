"""Machine code for this processor: scalar code for one state, SIMD code and threads for a batch."""

from __future__ import annotations

from typing import Any

from kinetree.compiler.runtime.kernel import Kernel
from kinetree.stages.job import Job
from kinetree.stages.target import Target


class Cpu(Target):
    """Compiles the program of a job with LLVM; kernels are cached on the model."""

    name = "cpu"

    def executable(self, job: Job) -> ModelKernel:
        return job.model.memo((self, job), lambda: ModelKernel(job))


class ModelKernel(Kernel):
    """The kernel of a function for one model: its messages speak of joints and bodies."""

    def __init__(self, job: Job):
        self.job = job
        inputs, outputs = job.shapes
        super().__init__(
            job.program,
            inputs,
            outputs,
            job.dtype,
            input_names=job.present,
            output_names=[a.name for a in job.function.outputs],
            name=job.function.name,
            describe=job.wrong_shape,
            on_singular=job.explain,
            key=job.key,
        )

    def __reduce__(self) -> Any:
        return _kernel, (self.job,)


def _kernel(job: Job) -> ModelKernel:
    return Cpu().executable(job)
