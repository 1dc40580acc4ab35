"""The joint that a sequence of elementary motions makes up."""

from __future__ import annotations

from collections.abc import Sequence

from kinetree.errors import ModelError
from kinetree.joints.base import JOINT_TYPES, Joint
from kinetree.joints.steps import Step

_ROUNDING = 1e-15  # axes are normalised when a joint is made


def made_of(steps: Sequence[Step]) -> Joint | None:
    """The joint that is made of these steps, whatever its coordinates are called; None if there is none.

    Every known type is tried: the axes, in order, are its vector arguments, and the ratios its numbers.
    """
    axes = [step.axis for step in steps if step.axis is not None]
    ratios = [step.ratio for step in steps if step.ratio != 1]
    for kind in JOINT_TYPES.values():
        vectors, numbers = iter(axes), iter(ratios)
        arguments = [next(vectors if width == 3 else numbers, None) for _, width in kind.fields]
        if None in arguments:
            continue
        try:
            joint = kind(*arguments)
        except ModelError:
            continue
        if joint.steps is not None and _same(joint.steps, steps):
            return joint
    return None


def _same(a: Sequence[Step], b: Sequence[Step]) -> bool:
    """Whether two sequences of steps are the same motion, with the same shared coordinates."""
    return len(a) == len(b) and _ties(a) == _ties(b) and all(map(_alike, a, b))


def _alike(a: Step, b: Step) -> bool:
    if (a.kind, a.ratio, a.axis is None) != (b.kind, b.ratio, b.axis is None):
        return False
    return all(abs(x - y) <= _ROUNDING for x, y in zip(a.axis or (), b.axis or (), strict=True))


def _ties(steps: Sequence[Step]) -> list[int]:
    """For each step, the first step that has the same coordinate."""
    positions = [step.positions for step in steps]
    return [positions.index(own) for own in positions]
