"""The stages of a call: a function of a model, the program it lowers to, and the target that runs it."""

from kinetree.stages.compile import compile
from kinetree.stages.function import Function
from kinetree.stages.job import Job
from kinetree.stages.own import function
from kinetree.stages.sweeps import SweepFunction
from kinetree.stages.target import TARGETS, Target, register

__all__ = ["TARGETS", "Function", "Job", "SweepFunction", "Target", "compile", "function", "register"]
