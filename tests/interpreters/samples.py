"""Models and ways to run an algorithm, for the tests of the interpreters."""

from __future__ import annotations

from typing import Any

import numpy as np

import kinetree as kt
from kinetree.compiler.emit.python import run
from kinetree.interpreters import eager, looped, unrolled
from kinetree.sweep import Algorithm, Argument

LINK = kt.Inertia(2.0, (0.1, -0.2, 0.3), ((0.5, 0.02, 0.01), (0.02, 0.4, -0.03), (0.01, -0.03, 0.6)))
HEAVY = kt.Inertia(3.0, (0.2, 0.1, -0.1), ((0.7, 0.0, 0.1), (0.0, 0.6, 0.0), (0.1, 0.0, 0.5)))
TURN = kt.Rotation.from_rotation_vector((0.3, -0.5, 0.4)).as_matrix()


def arm(*inertias: kt.Inertia, last: Any = None, gravity: tuple = (0.0, 0.0, -9.81)) -> kt.Model:
    """A chain of links on revolute joints, and perhaps one more on another joint."""
    builder = kt.ModelBuilder("arm", gravity=gravity)
    above = "world"
    for k, inertia in enumerate(inertias):
        builder.add_body(f"b{k}", above, kt.Revolute((0, 0, 1)), kt.Pose(TURN, (0.1, 0.2, 0.3)), inertia)
        above = f"b{k}"
    if last is not None:
        builder.add_body("last", above, last, kt.Pose(TURN, (0.3, 0.0, 0.1)), LINK)
    return builder.build()


def of(text: Any) -> Algorithm:
    """A body (tree, q, v) -> one number for each velocity, as an algorithm that is not in the registry."""
    inputs = (Argument("q", ("nq",)), Argument("v", ("nv",)))
    return Algorithm("text", text, inputs, (Argument("tau", ("nv",)),))


def run_eager(text: Any, model: kt.Model) -> Any:
    q, v = model.random_state(np.random.default_rng(0))
    _, (output,) = eager.run(of(text), model, {"q": q.tolist(), "v": v.tolist()}, {})
    return eager.assembled(output)


def run_unrolled(text: Any, model: kt.Model) -> Any:
    return _printed(unrolled.trace(of(text), model, ("q", "v"), {}), model)


def run_looped(text: Any, model: kt.Model) -> Any:
    return _printed(looped.trace(of(text), model, ("q", "v"), {}), model)


def _printed(program: Any, model: kt.Model) -> Any:
    q, v = model.random_state(np.random.default_rng(0))
    return run(program, q, v)[0][0]


WAYS = {"eager": run_eager, "unrolled": run_unrolled, "looped": run_looped}
