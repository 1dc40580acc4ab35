"""What a conversion returns, and what every conversion needs from a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import KinetreeError, ModelError
from kinetree.interop.charts import Array
from kinetree.interop.maps import Maps
from kinetree.model import Model
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose


class Twin(NamedTuple):
    """A model in the library that was asked for, and the maps between the coordinates of both."""

    model: Any  # pinocchio.Model, mujoco.MjModel or kinetree.Model
    maps: Maps  # from the kinetree model to the other one


def imported(name: str, library: str) -> Any:
    """The module of a peer, or an error that says how to install it."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise KinetreeError(
            f"{library} is not installed ({error}): install it with `pip install 'kinetree[peers]'`"
        ) from None


def depth_first(model: Model) -> list[int]:
    """The bodies in an order in which every branch stands together, and joints that mimic others come later.

    The second is not always possible: a joint may follow one that it carries.
    """
    before: dict[int, set[int]] = {}  # body -> its siblings that should come first
    for follower, rule in model.layout.follows.items():
        meeting = model.common_ancestor(follower, rule.leader)
        if meeting not in (follower, rule.leader):
            last, first = (
                next(i for i in model.path(k) if model.parents[i - 1] == meeting)
                for k in (follower, rule.leader)
            )
            before.setdefault(last, set()).add(first)
    order: list[int] = []
    waiting = _arranged(model.children(0), before)[::-1]
    while waiting:
        order.append(waiting.pop())
        waiting += _arranged(model.children(order[-1]), before)[::-1]
    return order


def _arranged(siblings: Iterable[int], before: dict[int, set[int]]) -> list[int]:
    """The siblings, each behind those that should come first, unless they go round in a circle."""
    left: list[int] = list(siblings)
    if not before.keys() & set(left):
        return left
    out: list[int] = []
    while left:
        ready = (i for i in left if not before.get(i, set()) & set(left))
        out.append(next(ready, left[0]))
        left.remove(out[-1])
    return out


def floats(values: Any, owner: str) -> Array:
    """Plain floating-point numbers; ModelError for symbols and expressions."""
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(
            f"{owner}: {values!r} is not made of plain numbers: substitute values first"
        ) from None


def central(inertia: Inertia, owner: str) -> tuple[float, Array, Array]:
    """Mass, centre of mass, and moments of inertia about it."""
    m, hx, hy, hz, xx, yy, zz, xy, xz, yz = floats(inertia.parameters, owner)
    com = np.array([hx, hy, hz]) / m if m else np.zeros(3)
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return float(m), com, about_origin - m * (com @ com * np.eye(3) - np.outer(com, com))


def pose(R: Any, p: Any) -> Pose:
    """A pose from arrays; exact zeros and ones stay exact."""
    return Pose(tuple(map(tuple, np.asarray(R, dtype=float).tolist())), tuple(np.asarray(p, float).tolist()))


class Notes(list):
    """What a peer cannot hold: an error if `strict`, else a sentence for the notes."""

    def __init__(self, model: str, peer: str, strict: bool) -> None:
        super().__init__()
        self.model, self.peer, self.strict = model, peer, strict

    def cannot(self, what: str, instead: str, remedy: str) -> None:
        """The dynamics of the twin would differ."""
        if self.strict:
            raise ModelError(
                f"model '{self.model}': {self.peer} cannot hold {what}: {remedy}, or give strict=False: "
                f"then {instead}"
            )
        self.append(f"{what}: {instead}")


def without_rotors(model: Model, notes: Notes) -> Model:
    """The model with its rotors reflected, if it has any: no peer has them."""
    if not model.rotors:
        return model
    notes.cannot(
        f"the rotors of {', '.join(sorted({repr(rotor.joint) for rotor in model.rotors}))}",
        "they are reflected: armature on the joint, their mass on the body that carries them",
        "take model.replace(rotors='reflected')",
    )
    return model.replace(rotors="reflected")


class Names:
    """Gives out names that nobody has yet."""

    def __init__(self, *taken: str) -> None:
        self.taken = set(taken)

    def claim(self, name: str) -> str:
        """The name, or the name with a number if somebody has it."""
        chosen, k = name, 1
        while chosen in self.taken:
            k += 1
            chosen = f"{name}_{k}"
        self.taken.add(chosen)
        return chosen


def parts_of(name: str, count: int) -> list[str]:
    """The names of several joints there that make one here, or the other way round."""
    return [f"{name}/{k}" for k in range(1, count + 1)]
