"""What differs from robot to robot and from episode to episode: where they start, and numbers of theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.errors import ArgumentError
from kinetree.model import Model
from kinetree.model.ground import Heightfield
from kinetree.motion.group import moved
from kinetree.scale import philox
from kinetree.scale.distributions import Choice, Lognormal, Normal, OnSphere, Source, Uniform

Array = np.ndarray

RANDOM = (Choice, Lognormal, Normal, OnSphere, Uniform)  # those that give the values of any runs
STARTS = ("q", "v")


def runs_of(index: Array, count: Array | int) -> Array:
    """Numbers that tell what is drawn for some robots: theirs, and how often it was drawn before."""
    return (np.asarray(count, np.uint64) << np.uint64(32)) | np.asarray(index, np.uint64)


class Draws:
    """Random numbers by name. What a robot gets follows from the seed, its number and that of its episode."""

    def __init__(self, model: Model, start: Any, given: Mapping[str, Any] | None, ground: Any):
        self.model, self.ground = model, ground
        self.start = _state(model, start)
        self.sources = {name: _source(name, value) for name, value in (given or {}).items()}
        if {"mass", "parameters"} <= set(self.sources):
            raise ArgumentError("VectorEnv: randomize has mass and parameters: give one of them")

    @property
    def names(self) -> list[str]:
        """The numbers that differ, besides where robots start."""
        found = [name for name in self.sources if name not in (*STARTS, "mass")]
        return found + (["parameters"] if "mass" in self.sources else [])

    def numbers(self, shapes: Mapping[str, tuple[int, ...]], seed: int, runs: Array) -> dict[str, Array]:
        """The numbers of some episodes, by name; `shapes` are those of one."""
        found = {}
        for name, shape in shapes.items():
            if name == "parameters" and "mass" in self.sources:
                factors = self._values("mass", (self.model.nbodies,), seed, runs)
                found[name] = self.model.parameters * factors[..., None]
            else:
                found[name] = self._values(name, shape, seed, runs)
        return found

    def states(self, seed: int, runs: Array) -> tuple[Array, Array]:
        """Where some episodes start."""
        shape = (self.model.nv,)
        q, v = (np.tile(x, (len(runs), 1)) for x in self.start)
        if "q" in self.sources:
            q = moved(self.model, q, self._values("q", shape, seed, runs))
        if "v" in self.sources:
            v = v + self._values("v", shape, seed, runs)
        return self._lifted(q), v

    def _values(self, name: str, shape: tuple[int, ...], seed: int, runs: Array) -> Array:
        try:
            values = np.asarray(self.sources[name].values(runs, shape, philox.key_of(seed, name)), float)
        except (TypeError, ValueError):
            values = np.empty(0)
        if values.shape != (len(runs), *shape) or not np.isfinite(values).all():
            raise ArgumentError(
                f"VectorEnv: randomize[{name!r}] must give {shape or 1} finite numbers for an episode; it is "
                f"{self.sources[name]}"
            )
        return values

    def _lifted(self, q: Array) -> Array:
        """Robots on a heightfield start as high above it as `start` is above z = 0."""
        if not isinstance(self.ground, Heightfield):
            return q
        heights = []
        poses = of.placements(self.model, q)
        for point in self.model.contact_points:
            pose = poses[:, point.body - 1]
            x, y, _ = np.moveaxis(pose[:, :3, :3] @ np.array(point.position) + pose[:, :3, 3], -1, 0)
            heights.append(self.ground.height(x, y)[0])
        up = np.zeros((len(q), self.model.nv))
        for pose, body in zip(np.moveaxis(poses, 1, 0), self.model.bodies):
            if body.joint.is_free and body.parent == 0:  # its velocity is along its own axes
                linear = self.model.coordinate_index(body.joint_name).stop - 3
                up[:, linear : linear + 3] = np.max(heights, 0)[:, None] * pose[:, 2, :3]
        return moved(self.model, q, up)


def _source(name: str, value: Any) -> Source:
    if isinstance(value, RANDOM):
        return value
    if isinstance(value, tuple) and len(value) == 2:
        return Uniform(*value)
    raise ArgumentError(
        f"VectorEnv: randomize[{name!r}] must be (low, high) or one of kt.scale.uniform, normal, lognormal, "
        f"choice and on_sphere, got {value!r}"
    )


def _state(model: Model, start: Any) -> tuple[Array, Array]:
    """(q, v), or q alone at rest; None: the neutral position."""
    pair = start if isinstance(start, tuple) and len(start) == 2 else (start, None)
    q = model.neutral() if pair[0] is None else np.array(pair[0], float)
    v = np.zeros(model.nv) if pair[1] is None else np.array(pair[1], float)
    finite = np.isfinite(q).all() and np.isfinite(v).all()
    if q.shape != (model.nq,) or v.shape != (model.nv,) or not finite:
        raise ArgumentError(
            f"VectorEnv: start must be q of {model.nq} finite numbers, or (q, v) with {model.nv} for v; got "
            f"shapes {q.shape} and {v.shape}"
        )
    return q, v
