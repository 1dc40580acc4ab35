"""Robots and functions of a model that the bridges to other libraries are tried on."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import kinetree as kt


@kt.function("q, v, goal(3), gain -> cost, away(3)")
def reaching(model: Any, q: Any, v: Any, goal: Any, gain: Any, frame: str = "pole") -> Any:
    """How far a frame is from a goal."""
    away = goal - kt.frame_placement(model, q, frame)[:3, 3]
    return gain * kt.ops.dot(away, away) + kt.ops.dot(v, v), away


@cache
def floating() -> kt.Model:
    """A free body that carries an arm: q holds a quaternion."""
    builder = kt.ModelBuilder("floating")
    inertia = kt.Inertia(2.0, (0.1, -0.05, 0.02), np.diag((0.3, 0.4, 0.5)))
    builder.add_body("base", "world", kt.Free(), inertia=inertia)
    builder.add_body(
        "arm",
        "base",
        kt.Revolute((0, 1, 0)),
        placement=kt.Pose(p=(0.2, 0, 0.1)),
        inertia=inertia,
        damping=0.2,
    )
    return builder.build()


def inputs(function: kt.Function, model: kt.Model, rng: np.random.Generator, *batch: int) -> dict[str, Any]:
    """Arrays for all inputs that a function must be given."""
    found = {}
    for argument in function.inputs:
        if argument.optional:
            continue
        shape = batch + argument.sizes(model, {})
        if argument.shape == ("nq",):
            count = int(np.prod(batch, dtype=int))
            found[argument.name] = model.random_state(rng, count)[0].reshape(shape)
        else:
            numbers = rng.normal(size=shape)
            found[argument.name] = abs(numbers) if argument.name == "added" else numbers  # inertia
    return found


def options(function: kt.Function, model: kt.Model) -> dict[str, Any]:
    """A value for every option that must be given."""
    known = {"frame": model.body_names[-1], "frames": model.body_names[-1:], "accelerate": ()}
    return {name: known[name] for name, value in function.options.items() if name in known}
