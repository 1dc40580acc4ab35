"""The ways to run an algorithm, each as a function of a setting: its outputs for all states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.targets.cases import STATES, Setting

import kinetree as kt
from kinetree.compiler.emit.python import run
from kinetree.compiler.ir.check import check
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.pipeline import optimize
from kinetree.interpreters import eager, looped, unrolled
from kinetree.stages import sweeps

Runner = Callable[[Setting], tuple[Any, ...]]


def printed(program: Program, setting: Setting) -> tuple[Any, ...]:
    """A program as Python code."""
    outputs, status = run(check(program), *setting.flat)
    assert not status.any(), f"{setting}: not trusted"
    return outputs


def traced(interpreter: Any, frames: str) -> Runner:
    """The bare trace, in the frames of the model's own nodes."""

    def runner(s: Setting) -> tuple[Any, ...]:
        return printed(interpreter.trace(s.algorithm, s.model, s.present, s.options, frames), s)

    return runner


def chosen(mode: str) -> Runner:
    """What `compile` makes of it: canonical nodes, the cheaper frames, all passes."""

    def runner(s: Setting) -> tuple[Any, ...]:
        return printed(optimize(sweeps.lower(s.algorithm, s.model, s.present, s.options, mode), 300), s)

    return runner


def compiled(mode: str) -> Runner:
    """Machine code: the batch, which must equal the states one by one to the last bit."""

    def runner(s: Setting) -> tuple[Any, ...]:
        kernel = kt.compile(getattr(kt, s.algorithm.name), s.model, inputs=s.present, mode=mode, **s.options)
        batch = kernel(*s.inputs.values())
        batch = batch if isinstance(batch, tuple) else (batch,)
        for k in range(STATES):
            single = kernel(*(x[k] for x in s.inputs.values()))
            for one, all_of_them in zip(single if isinstance(single, tuple) else (single,), batch):
                np.testing.assert_array_equal(one, all_of_them[k], err_msg=str(s))
        return batch

    return runner


def single_precision(s: Setting) -> tuple[Any, ...]:
    """Machine code for float32."""
    kernel = kt.compile(
        getattr(kt, s.algorithm.name),
        s.model,
        inputs=s.present,
        dtype="float32",
        mode="unrolled",
        **s.options,
    )
    found = kernel(*(x.astype(np.float32) for x in s.inputs.values()))
    found = found if isinstance(found, tuple) else (found,)
    assert all(np.asarray(x).dtype == np.float32 for x in found)
    return found


def eager_batch(s: Setting) -> tuple[Any, ...]:
    """Plain Python on arrays: a batch is a number."""
    values = {name: _split(array) for name, array in s.inputs.items()}
    _, outputs = eager.run(s.algorithm, s.model, values, s.options)
    return tuple(eager.assembled(output, (STATES,)) for output in outputs)


def _split(array: np.ndarray) -> Any:
    return array if array.ndim == 1 else [_split(array[:, k]) for k in range(array.shape[1])]


#: Ways that need no compiler: many trees.
PRINTED: dict[str, Runner] = {
    "eager batch": eager_batch,
    "unrolled": traced(unrolled, "body"),
    "unrolled, common frame": traced(unrolled, "common"),
    "unrolled, all passes": chosen("unrolled"),
    "looped": traced(looped, "body"),
    "looped, common frame": traced(looped, "common"),
    "looped, all passes": chosen("looped"),
}
#: Machine code: few trees.
COMPILED: dict[str, Runner] = {
    "compiled unrolled": compiled("unrolled"),
    "compiled looped": compiled("looped"),
    "compiled float32": single_precision,
}
