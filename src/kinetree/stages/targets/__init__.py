"""The targets that come with the library, one file each."""

from kinetree.stages.target import register
from kinetree.stages.targets.c import C
from kinetree.stages.targets.cpu import Cpu
from kinetree.stages.targets.cuda import Cuda
from kinetree.stages.targets.cuda_fast import CudaFast
from kinetree.stages.targets.eager import Eager

for target in (Cpu(), Eager(), C(), Cuda(), CudaFast()):
    register(target)
