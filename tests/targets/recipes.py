"""What to hand to each algorithm: inputs by their name and shape, options by their name.

An algorithm with an input or an option that is not listed here fails `test_every_algorithm_has_a_recipe`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import kinetree as kt
from kinetree.sweep import Algorithm

#: Inputs that may hold any numbers, with the shape that they have.
FREE = {
    "v": ("nv",), "a": ("nv",), "tau": ("nv",), "x": ("nv",), "known": ("nv",), "f_ext": ("nb", 6),
    "point": (3,), "added": ("nu",),
}  # fmt: skip

POSITIVE = ("added",)  # inertias


def _frame(model: kt.Model, rng: np.random.Generator) -> str:
    return str(rng.choice([*model.body_names, *model.frame_names, "world"]))


def _accelerate(model: kt.Model, rng: np.random.Generator) -> tuple[str, ...]:
    """Joints of some nodes: all joints of a node that have coordinates of their own, or none."""
    found: list[str] = []
    for node in model.nodes:
        if rng.random() < 0.5:
            own = [m.body for m in node.members if m.body and m.is_independent and m.joint.nv]
            found += [model.joint_names[body - 1] for body in own]
    return tuple(found)


#: Options of algorithms: a valid value for a model.
OPTIONS: dict[str, Any] = {
    "frame": _frame,
    "base": _frame,
    "axes": _frame,
    "seen_from": _frame,
    "reference": lambda model, rng: str(rng.choice(["body", "world", "aligned"])),
    "kind": lambda model, rng: str(rng.choice(["spatial", "classical"])),
    "side": lambda model, rng: str(rng.choice(["outboard", "inboard"])),
    "accelerate": _accelerate,
    "hold": lambda model, rng: str(rng.choice(["body", "world"])),
}


def options(algorithm: Algorithm, model: kt.Model, rng: np.random.Generator) -> dict[str, Any]:
    """A valid value for every option."""
    return {name: OPTIONS[name](model, rng) for name in algorithm.options}


def inputs(
    algorithm: Algorithm, model: kt.Model, q: np.ndarray, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Arrays for a batch of configurations q; an optional input is given in every other case."""
    found = {}
    for argument in algorithm.inputs:
        if argument.name == "q":
            found["q"] = q
        elif not argument.optional or rng.random() < 0.5:
            assert FREE[argument.name] == argument.shape
            drawn = rng.normal(size=(len(q), *argument.sizes(model)))
            found[argument.name] = np.abs(drawn) if argument.name in POSITIVE else drawn
    return found


def lacks(algorithm: Algorithm) -> list[str]:
    """The inputs and options of an algorithm that have no recipe."""
    unknown = [a.name for a in algorithm.inputs if a.name != "q" and FREE.get(a.name) != a.shape]
    return unknown + [name for name in algorithm.options if name not in OPTIONS]
