"""The result of a conversion, and helpers that every conversion needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import KinetreeError
from kinetree.interop.maps import Maps
from kinetree.joints import Joint
from kinetree.model import Model
from kinetree.spatial.pose import Pose


class Twin(NamedTuple):
    """The converted model, and the maps between the coordinates of both."""

    model: Any  # pinocchio.Model, mujoco.MjModel or kinetree.Model
    maps: Maps  # from the kinetree model to the other one


def imported(name: str, library: str) -> Any:
    """The module of a peer, or an error with installation instructions."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise KinetreeError(
            f"{library} is not installed ({error}): install it with `pip install 'kinetree[peers]'`"
        ) from None


def depth_first(model: Model) -> list[int]:
    """The bodies depth first, so that every branch is contiguous, with mimic joints after those they follow.

    The latter is not always possible: a joint may follow one that it carries.
    """
    before: dict[int, set[int]] = {}  # body -> siblings that should come first
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
    """The siblings, each after those that should come first, unless these form a cycle."""
    left: list[int] = list(siblings)
    if not before.keys() & set(left):
        return left
    out: list[int] = []
    while left:
        ready = (i for i in left if not before.get(i, set()) & set(left))
        out.append(next(ready, left[0]))
        left.remove(out[-1])
    return out


def pose(R: Any, p: Any) -> Pose:
    """A pose from arrays; exact zeros and ones stay exact."""
    return Pose(tuple(map(tuple, np.asarray(R, dtype=float).tolist())), tuple(np.asarray(p, float).tolist()))


def from_there(joint: Joint) -> list[int]:
    """The index of each velocity of a joint among those of its steps, the order of peers."""
    there = list(dict.fromkeys(k for step in joint.steps or () for k in step.velocities))
    return [there.index(k) for k in range(joint.nv)]
