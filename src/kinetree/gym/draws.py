"""What is random per robot and episode: start states and randomised numbers.

Random numbers are made in two steps. Uniform ones follow from the seed, a name, the number of the robot and
the number of its episode. A kernel then transforms them, so the results have the same bits wherever it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from kinetree import functions as of
from kinetree import ops
from kinetree.errors import ArgumentError
from kinetree.model import Model
from kinetree.model.configuration import require_sound
from kinetree.model.ground import Heightfield
from kinetree.model.validate import shown
from kinetree.motion.group import moved
from kinetree.scale import philox
from kinetree.scale.distributions import Random, Uniform

Array = np.ndarray

STARTS = ("q", "v")
POSITIVE = ("mass", "contact_stiffness", "creep", "contact_accuracy")
NOT_NEGATIVE = ("contact_friction", "contact_dissipation")
BLOCK = 4  # numbers that the generator makes at a time


class Part(NamedTuple):
    """Where the uniform numbers of one name are in a row."""

    name: str
    start: int
    size: int

    @property
    def blocks(self) -> int:
        return -(-self.size // BLOCK)


class Draws:
    """Random numbers by name; those of a robot follow from the seed, its number and that of its episode."""

    def __init__(self, model: Model, start: Any, given: Mapping[str, Any] | None, ground: Any):
        self.model, self.ground = model, ground
        self.start = _state(model, start)
        if given is not None and not isinstance(given, Mapping):
            raise ArgumentError(f"VectorEnv: randomize must be a dictionary by name, got {given!r}")
        self.sources = {name: _source(name, value) for name, value in (given or {}).items()}
        if {"mass", "parameters"} <= set(self.sources):
            raise ArgumentError("VectorEnv: randomize has mass and parameters: give one of them")
        self.shapes: dict[str, tuple[int, ...]] = {}  # shapes of the numbers of an episode, by name

    @property
    def names(self) -> list[str]:
        """The names of the randomised numbers, besides those of the start state."""
        found = [name for name in self.sources if name not in (*STARTS, "mass")]
        return found + (["parameters"] if "mass" in self.sources else [])

    def fitted(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Set the shapes of the numbers; sources that do not fit are refused."""
        self.shapes = dict(shapes)
        for part in self.parts:
            source, shape = self.sources[part.name], self._shape(part.name)
            rows = [np.full((1, part.size), u) for u in source.probes]
            try:
                values = np.concatenate([np.asarray(source.formed(u, shape), float) for u in rows])
            except (TypeError, ValueError):
                values = np.empty(0)
            said = f"VectorEnv: randomize[{part.name!r}] must give"
            if values.shape != (len(rows), *shape) or not np.isfinite(values).all():
                raise ArgumentError(f"{said} {shape or 1} finite numbers for an episode; it is {source}")
            if part.name in POSITIVE and (values <= 0).any():
                raise ArgumentError(f"{said} positive numbers; it is {source}")
            if part.name in NOT_NEGATIVE and (values < 0).any():
                raise ArgumentError(f"{said} numbers that are not negative; it is {source}")
            if part.name == "contact_accuracy" and (values > 1).any():
                raise ArgumentError(f"{said} numbers up to 1; it is {source}")

    # -- uniform numbers

    @property
    def parts(self) -> list[Part]:
        """Where the uniform numbers of each name are."""
        found, start = [], 0
        for name, source in self.sources.items():
            found.append(Part(name, start, source.needed(self._shape(name))))
            start += BLOCK * found[-1].blocks
        return found

    @property
    def width(self) -> int:
        """How many uniform numbers an episode needs."""
        return BLOCK * sum(part.blocks for part in self.parts)

    def slots(self, seed: int) -> Array:
        """(width / 4, 3): how each block of four uniform numbers is made."""
        return philox.slots([(part.name, part.blocks) for part in self.parts], seed)

    # -- their transformation, for one robot

    def begun(self, model: Model, u: Array) -> dict[str, Any]:
        """q, v and the numbers of an episode, by name."""
        found: dict[str, Any] = {}
        q, v = self.start
        for part in self.parts:
            numbers = u[part.start : part.start + part.size]
            value = np.asarray(self.sources[part.name].formed(numbers, self._shape(part.name)))
            value = value if value.ndim else value[()]
            if part.name == "mass":
                found["parameters"] = self.model.parameters * value[:, None]
            elif part.name == "q":
                q = moved(model, q.astype(value.dtype), value)
            elif part.name == "v":
                v = v + value
            else:
                found[part.name] = value
        return found | {"q": self._lifted(model, q), "v": v}

    def _shape(self, name: str) -> tuple[int, ...]:
        own = {"q": (self.model.nv,), "v": (self.model.nv,), "mass": (self.model.nbodies,)}
        return own[name] if name in own else self.shapes.get(name, ())

    def _lifted(self, model: Model, q: Array) -> Array:
        """Raise robots on a heightfield so that they start as high above it as `start` is above z = 0."""
        if not isinstance(self.ground, Heightfield):
            return q
        poses, highest = of.placements(model, q), -np.inf
        for point in self.model.contact_points:
            pose = poses[point.body - 1]
            x, y, _ = pose[:3, :3] @ np.array(point.position) + pose[:3, 3]
            highest = ops.max(highest, self.ground.height(x, y)[0])
        up = np.zeros(model.nv, poses.dtype)
        for pose, body in zip(poses, self.model.bodies):
            if body.joint.is_free and body.parent == 0:  # its velocity is in its own axes
                linear = self.model.coordinate_index(body.joint_name).stop - 3
                up[linear : linear + 3] = highest * pose[2, :3]
        return moved(model, q, up)


def runs_of(index: Array, count: Array | int) -> Array:
    """Numbers that identify the draws of some robots: the robot, and how often it was drawn before."""
    return (np.asarray(count, np.uint64) << np.uint64(32)) | np.asarray(index, np.uint64)


def _source(name: str, value: Any) -> Random:
    if isinstance(value, Random):
        return value
    if isinstance(value, tuple) and len(value) == 2:
        return Uniform(*value)
    raise ArgumentError(
        f"VectorEnv: randomize[{name!r}] must be (low, high) or one of kt.scale.uniform, normal, lognormal, "
        f"choice and on_sphere, got {value!r}"
    )


def position(model: Model, given: Any) -> Array:
    """The position (nq,) given as `pose`."""
    try:
        q = np.array(given, float)
    except (TypeError, ValueError):
        q = np.empty(0)
    if q.shape != (model.nq,) or not np.isfinite(q).all():
        raise ArgumentError(f"VectorEnv: pose must be q of {model.nq} finite numbers, got {shown(given)}")
    return q


def _state(model: Model, start: Any) -> tuple[Array, Array]:
    """(q, v), or q alone at rest; None means the neutral position."""
    pair = start if isinstance(start, tuple) and len(start) == 2 else (start, None)
    said = f"VectorEnv: start must be q of {model.nq} finite numbers, or (q, v) with {model.nv} for v; got"
    try:
        q = model.neutral() if pair[0] is None else np.array(pair[0], float)
        v = np.zeros(model.nv) if pair[1] is None else np.array(pair[1], float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{said} {shown(start)}") from None
    finite = np.isfinite(q).all() and np.isfinite(v).all()
    if q.shape != (model.nq,) or v.shape != (model.nv,) or not finite:
        raise ArgumentError(f"{said} shapes {q.shape} and {v.shape}")
    require_sound(model, "VectorEnv: start", q)
    return q, v
