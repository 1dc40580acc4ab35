"""Named configurations as MJCF's `<keyframe>`: q in MuJoCo's order and with its quaternions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from kinetree.io.attributes import is_name
from kinetree.io.notes import Notes, floats
from kinetree.io.text import attributes, numbers
from kinetree.joints import Step
from kinetree.model import Model
from kinetree.spatial.pose import Pose
from kinetree.spatial.rotation import Rotation


def keyframe(
    model: Model, order: Sequence[int], steps: Callable[[int], Sequence[Step]], notes: Notes
) -> list[str]:
    """The lines of a `<keyframe>` section; none if the model has no configurations.

    Args:
        order: the indices of the bodies in file order.
        steps: the MJCF joints that make up the joint of a body, by its index.
    """
    lines = []
    for name, q in model.configurations.items():
        if not is_name(name):
            notes.cannot(f"the configuration {name!r}", "it is left out", "give it a plain name")
            continue
        values = [x for i in order for x in _positions(model, i, steps(i), floats(q, name))]
        lines.append(f"<key{attributes(name=name, qpos=numbers(values))}/>")
    return ["<keyframe>", *lines, "</keyframe>"] if lines else []


def _positions(model: Model, i: int, steps: Sequence[Step], q: np.ndarray) -> Iterator[float]:
    """The part of `qpos` that belongs to body i."""
    body, rule = model.bodies[i - 1], model.layout.follows.get(i)
    led = model.bodies[(rule.leader if rule else i) - 1]
    row = q[model.position_index(led.joint_name)]
    if rule is not None:
        row = float(rule.multiplier) * row + float(rule.offset)
    for step in steps:
        part = [float(row[k]) for k in step.positions]
        if step.axis is not None:
            yield float(step.ratio) * part[0]
        elif len(part) == 4:
            yield from _scalar_first(part)
        else:  # MuJoCo measures a floating base from the world origin
            pose = body.placement @ Pose(Rotation.from_quaternion(tuple(part[:4])), tuple(part[4:]))  # type: ignore[arg-type]
            yield from floats(pose.p, body.name)
            yield from _scalar_first(pose.rotation.as_quaternion())


def _scalar_first(quaternion: Sequence[float]) -> tuple[float, ...]:
    x, y, z, w = (float(part) for part in quaternion)
    return (w, x, y, z)
