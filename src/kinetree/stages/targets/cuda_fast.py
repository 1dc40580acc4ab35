"""NVIDIA GPUs, faster and less exact: float32 division and square root are approximate.

    kt.simulate(robot, q, v, duration=1.0, dt=0.002, target="cuda_fast")        arrays of a GPU, float32

Results differ from those of the CPU in their last bits, from the first step on.
"""

from __future__ import annotations

from kinetree.errors import ShapeError
from kinetree.stages.job import Job
from kinetree.stages.targets.cuda import Cuda, CudaKernel


class CudaFast(Cuda):
    """The same kernels with approximate division and square root."""

    name = "cuda_fast"
    exact = False

    def executable(self, job: Job) -> CudaKernel:
        if str(job.dtype) != "float32":
            raise ShapeError(
                f"{job.function.name}: target 'cuda_fast' computes in float32, but these are {job.dtype}: "
                "give float32, or use target='cuda'"
            )
        return super().executable(job)
