"""The reference of a joint controller: a posture, a state, or a motion in time."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from kinetree.errors import ArgumentError
from kinetree.model import Model
from kinetree.stages.function import Function
from kinetree.stages.own import OwnFunction
from kinetree.stages.transforms import jvp_of
from kinetree.sweep.signature import read as signature

Array = np.ndarray


def read(kind: str, reference: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(numbers, options) of a law that follows `reference`.

    A position (..., nq) to hold; a tuple (q, v) or (q, v, a) of arrays; or a function of a model "t -> q",
    "t -> q, v" or "t -> q, v, a"; derivatives that it does not return are found by differentiation.
    """
    if isinstance(reference, Function):
        taken, gives = [a.name for a in reference.own_inputs], [a.name for a in reference.outputs]
        if taken != ["t"] or gives not in (["q"], ["q", "v"], ["q", "v", "a"]):
            raise ArgumentError(
                f"{kind}: the reference {reference.name} is {', '.join(taken)} -> {', '.join(gives)}, but "
                "t -> q, v, a is needed (v and a may be left out)"
            )
        return {}, {"reference": reference}
    if callable(reference):
        raise ArgumentError(
            f'{kind}: the reference is a Python function: declare it with @kt.function("t -> q") over '
            "def reference(model, t)"
        )
    parts = reference if isinstance(reference, tuple) and np.ndim(reference[0]) else (reference,)
    if len(parts) > 3:
        raise ArgumentError(f"{kind}: the reference has {len(parts)} parts; (q, v, a) are at most three")
    return dict(zip(("goal_q", "goal_v", "goal_a"), parts, strict=False)), {}


def desired(
    model: Model, t: Any, q: Any, v: Any, a: Any, reference: Function | None
) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration to follow: those given, or those of the reference at a time."""
    if reference is not None:
        if t is None:
            raise ArgumentError(f"the reference {reference.name} needs the time: give t=...")
        return _completed(reference)(model, t)
    if q is None:
        raise ArgumentError(
            "there is nothing to follow: give goal_q=..., or make the controller with a reference"
        )
    still = np.zeros(model.nv)
    return q, still if v is None else v, still if a is None else a


@lru_cache(maxsize=256)
def _completed(reference: Function) -> Callable[..., Any]:
    """The reference with velocity and acceleration; missing ones by differentiation."""
    if len(reference.outputs) == 3:
        return reference
    moving = reference if len(reference.outputs) == 2 else _with_rate(reference)
    change = jvp_of(moving)

    def completed(model: Model, t: Any) -> tuple[Array, Array, Array]:
        q, v, _, a = change(model, t=t, d_t=1.0)
        return q, v, a

    return completed


def _with_rate(reference: Function) -> Function:
    """The reference and its velocity, as a function that belongs to the module of the reference."""
    change = jvp_of(reference)

    def moving(model: Model, t: Any) -> Any:
        return tuple(change(model, t=t, d_t=1.0))

    moving.__name__, moving.__module__ = f"{reference.name}_moving", reference.__module__
    return OwnFunction(moving, *signature("t -> q, v"), {})
