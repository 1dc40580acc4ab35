"""Targets: how a function of a model becomes something that runs.

A target is one file. It owns its printer, its runtime and its part of the cache key, and is made known by
registration:

    class Mine(Target):
        name = "mine"
        def executable(self, job): ...      # job.program() is what to run, for job.model

    register(Mine())
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.compiler.passes.split import PART_SIZE
from kinetree.compiler.runtime.on_device import is_on_device
from kinetree.errors import KinetreeError
from kinetree.ops import Expr

if TYPE_CHECKING:
    from kinetree.stages.job import Job

_preferred: ContextVar[str] = ContextVar("kinetree_target", default="cpu")


class Target(ABC):
    """A way to run functions of a model."""

    name: str
    part_size = PART_SIZE  # statements per function that a program is split into; 0: one function

    @abstractmethod
    def executable(self, job: Job) -> Callable[..., Any]:
        """The executable of the job: called as `executable(*arrays, out=None)`, batch axes lead."""


TARGETS: dict[str, Target] = {}


def register(target: Target) -> Target:
    """Register a target under its name, which must be new."""
    if target.name in TARGETS:
        raise KinetreeError(f"there is already a target named {target.name!r}: choose another name")
    TARGETS[target.name] = target
    return target


def chosen_target(arrays: Collection[np.ndarray]) -> str:
    """The target for these arrays: machine code for floats, else the interpreter or the trace."""
    if any(map(is_on_device, arrays)):
        return "cuda"
    if all(array.dtype.kind in "fiub" for array in arrays):
        return _preferred.get()
    if any(type(x) is Expr for array in arrays if array.dtype == object for x in array.flat):
        return "trace"
    return "eager"


@contextmanager
def preferring(target: str) -> Iterator[None]:
    """Within this block, floats run on another target instead of machine code."""
    token = _preferred.set(target)
    try:
        yield
    finally:
        _preferred.reset(token)
