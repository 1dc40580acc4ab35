"""`kt.compile`: the executable of a function for one model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.errors import CompileError
from kinetree.model import Model
from kinetree.stages import targets  # noqa: F401  the targets register themselves
from kinetree.stages.arguments import chosen
from kinetree.stages.function import Function
from kinetree.stages.job import Job
from kinetree.stages.sweeps import MODES
from kinetree.stages.target import TARGETS


def compile(
    function: Any,
    model: Model,
    *,
    dtype: str = "float64",
    target: str = "cpu",
    inputs: Sequence[str] | None = None,
    mode: str | None = None,
    **options: Any,
) -> Any:
    """The kernel of a function for one model, called as `kernel(*arrays, out=None)` with the least overhead.

    Args:
        function: a function of a model, such as `kinetree.inverse_dynamics`, or one of your own.
        model: the robot.
        dtype: "float64" or "float32".
        target: "cpu", "cuda", "cuda_fast" (approximate float32), "c", "eager", or a registered one.
        inputs: names of the inputs that calls will give; by default all that are not optional.
        mode: "unrolled", "looped", or None to choose by size.
        options: static options of the function (`frame="tool"`, ...).

    Returns:
        A kernel with `.ops`, `.source`, `.report()` and `.compile_seconds`.
    """
    if target not in TARGETS:
        raise CompileError(f"compile: unknown target {target!r}; choose from {', '.join(TARGETS)}")
    try:
        precision = str(np.dtype(dtype))
    except TypeError:
        precision = ""
    if precision not in ("float64", "float32"):
        raise CompileError(f"compile: dtype must be 'float64' or 'float32', not {dtype!r}")
    if mode not in MODES:
        raise CompileError(f"compile: mode must be 'unrolled', 'looped' or None, not {mode!r}")
    job = job_for("compile", function, model, inputs, options, precision, mode)
    return TARGETS[target].executable(job)


def job_for(
    caller: str,
    function: Any,
    model: Any,
    inputs: Sequence[str] | None,
    options: Mapping[str, Any],
    dtype: str = "float64",
    mode: str | None = None,
) -> Job:
    """The job for the named inputs and options; CompileError if there is none."""
    if not isinstance(function, Function):
        raise CompileError(
            f"{caller}: {function!r} is not a model function; give one such as kinetree.inverse_dynamics"
        )
    if not isinstance(model, Model):
        raise CompileError(f"{caller}: the model must be a kinetree Model, not a {type(model).__name__}")
    known = [a.name for a in function.inputs]
    for name in inputs or ():
        if name not in known:
            raise CompileError(
                f"{caller}: {function.name} has no input {name!r}; it takes {', '.join(known)}"
            )
    return Job(function, model, function.present(inputs), chosen(function, options, caller), dtype, mode)
