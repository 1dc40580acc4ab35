"""Every function of a model as jobs on random trees, for tests of kernels."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from tests.targets import recipes
from tests.targets.cases import Case, tree

import kinetree as kt
from kinetree import functions
from kinetree.stages import Function, Job
from kinetree.stages.compile import job_for
from kinetree.sweep import REGISTRY

NAMES = sorted(functions.SWEEPS)  # the algorithms
MADE = sorted(  # what is made of them
    name
    for name in dir(kt)
    if isinstance(getattr(kt, name), Function) and name not in functions.SWEEPS and name != "nullify_momentum"
)
NUMBERS = ("parameters", "gravity")  # of the model, which every function takes as inputs


TREES = 60


def case_of(seed: int) -> Case:
    """A random tree; behind them the one whose joint they do not have."""
    return tree(seed) if seed != TREES else rolling()


@cache
def rolling() -> Case:
    """Planar joints in body velocities: on the world, and behind a hinge with a rotor."""
    builder = kt.ModelBuilder("rolling")
    inertia = kt.Inertia(1.3, (0.1, -0.2, 0.3), np.diag([0.3, 0.4, 0.5]).tolist())
    parent = "world"
    for k, joint in enumerate((kt.PlanarTwist(), kt.Revolute((0, 0.6, 0.8)), kt.PlanarTwist())):
        builder.add_body(f"b{k}", parent, joint, kt.Pose(p=(0.1, 0.2, 0.3)), inertia, armature=0.1 * (k == 1))
        parent = f"b{k}"
    return Case("rolling", TREES, builder.build())


def job(name: str, mode: str | None, seed: int = 1, dtype: str = "float64", numbers: bool = False) -> Job:
    """A function on a random tree, with options and optional inputs by chance; `numbers`: and the model's."""
    case = case_of(seed)
    if name in REGISTRY:
        setting = case.setting(name)
        present, options = setting.present, setting.options
    else:
        rng = np.random.default_rng([seed, len(name)])
        function = getattr(kt, name)
        present = tuple(a.name for a in function.inputs if not a.optional)
        options = {key: _option(key, case.model, rng) for key in function.options if key in OPTIONS}
    given = (*present, *(NUMBERS if numbers else ()))
    return job_for("test", getattr(kt, name), case.model, given, options, dtype, mode)


def _option(name: str, model: kt.Model, rng: np.random.Generator) -> Any:
    return OPTIONS[name](model, rng)


def _constraints(model: kt.Model, rng: np.random.Generator) -> tuple[Any, ...]:
    return (kt.PointConstraint(str(rng.choice(model.body_names)), point=(0.1, 0.2, 0.3)),)


def _frames(model: kt.Model, rng: np.random.Generator) -> tuple[str, ...]:
    return (str(rng.choice(model.body_names)),)


OPTIONS = {**recipes.OPTIONS, "constraints": _constraints, "frames": _frames}
