"""Models to compare on: robots of the zoo and random trees of every joint."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.reference.mechanism import Mechanism
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt

ZOO = ("pendulum", "cart_pole", "puma560", "arm7", "quadruped", "biped", "humanoid", "spacecraft")
SEEDS = range(30)


def zoo(name: str) -> kt.Model:
    return getattr(kt.zoo, name)()


def mechanism(seed: int, **options: Any) -> Mechanism:
    """A random tree or forest of 1 to 9 bodies with every joint type; no rotors, no mimic joints."""
    rng = np.random.default_rng([seed, 77])
    return random_mechanism(rng, 1 + seed % 9, **{"rotors": 0, "mimics": 0, "armatures": 0, **options})


def eager(name: str, model: kt.Model, *args: Any, **options: Any) -> Any:
    """A function of the library, interpreted: no compiling."""
    return getattr(kt, name)(model, *args, target="eager", **options)


def accelerated(model: kt.Model, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random state and acceleration."""
    q, v = model.random_state(rng)
    return q, v, rng.normal(size=model.nv)


def models(**options: Any) -> list[Any]:
    """Parameters for pytest: zoo robots by name, random trees by seed."""
    import pytest

    named = [pytest.param(zoo(name), id=name) for name in ZOO]
    return named + [pytest.param(mechanism(seed, **options).build(), id=f"tree{seed}") for seed in SEEDS]
