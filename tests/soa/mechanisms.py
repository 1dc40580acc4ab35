"""States of mechanisms of every shape: chains, trees, forests, floating bases, rotors, mimic joints."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt

PLAIN = ("revolute", "prismatic")
SHAPES: dict[str, dict[str, Any]] = {
    "chain": {"types": PLAIN, "chain": 1, "roots": 0, "rotors": 0, "mimics": 0, "armatures": 0},
    "tree": {"types": PLAIN, "chain": 0.3, "roots": 0, "rotors": 0, "mimics": 0, "armatures": 0},
    "forest": {"chain": 0.3, "roots": 0.4, "rotors": 0, "mimics": 0, "armatures": 0},
    "many-DoF": {"types": ("spherical", "universal", "planar", "free", "cylindrical"), "rotors": 0},
    "rotors": {"types": (*PLAIN, "universal"), "rotors": 0.9, "mimics": 0, "armatures": 0.3},
    "mimic": {"types": PLAIN, "rotors": 0, "mimics": 0.8, "armatures": 0},
    "anything": {},
}
ZOO = ("arm7", "quadruped", "cart_pole", "spacecraft")
NAMES = [*ZOO, *(f"{shape} {k}" for shape in SHAPES for k in range(4))]
UNGROUPED = [*ZOO, *(f"{shape} {k}" for shape in ("chain", "tree", "forest") for k in range(4))]


class State(NamedTuple):
    """A model, where it is and how it moves, and its operators there."""

    model: Any
    q: np.ndarray
    v: np.ndarray
    op: Any
    rng: np.random.Generator


@cache
def state(name: str) -> State:
    """The state of that name, the same at every call."""
    rng = np.random.default_rng(list(name.encode()))
    if name in ZOO:
        model = getattr(kt.zoo, name)()
        q, v = model.random_state(rng)
    else:
        shape = name.split()[0]
        mechanism = random_mechanism(rng, int(rng.integers(3, 9)), **SHAPES[shape])
        model = mechanism.build()
        q, v = mechanism.random_state(rng)
    return State(model, q, v, kt.operators(model, q, v), rng)


def run(s: State, name: str, *args: Any, **options: Any) -> Any:
    """A function of the library on the model of a state."""
    return getattr(kt, name)(s.model, *args, target="eager", **options)


def parents(s: State) -> list[int]:
    """The node that carries each node, numbered from 1; 0 for the world."""
    return [node.predecessor[0] + 1 for node in s.model.nodes]


def path(s: State, i: int) -> list[int]:
    """Node i, the node that carries it, and so on."""
    found, up = [], parents(s)
    while i:
        found.append(i)
        i = up[i - 1]
    return found
