"""Random mechanisms with loops: a random tree in a random position, closed where its bodies are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from tests.reference.mechanism import ALL_TYPES, ONE_DOF, SIZES, Mechanism
from tests.reference.random_mechanism import (
    random_body,
    random_mechanism,
    random_rotation,
    unit_vector,
)

import kinetree as kt

Array = np.ndarray
CLOSING = (
    "fixed", "revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "planar_twist", "spherical",
)  # fmt: skip


class RandomLoop:
    """A mechanism with loops: the builder that made it, a position in which it is closed, and what it has.

    features: words for what the mechanism has, to be counted.
    """

    def __init__(self, seed: int):
        rng = self.rng = np.random.default_rng([seed, 1914])
        self.is_planar = bool(rng.random() < 0.4)
        self.mechanism = _planar(rng) if self.is_planar else _spatial(rng)
        tree = self.tree = self.mechanism.build()
        self.q, _ = self.mechanism.random_state(rng)
        placed = kt.placements(tree, self.q, target="eager")
        self.T = np.concatenate([np.eye(4)[None], placed])
        self.features = {"planar" if self.is_planar else "spatial"}
        self.builder, self.rows = self.mechanism.builder(), 0
        for k in range(int(rng.integers(1, 4))):
            self._close(f"loop{k}")
        self.features.add(f"{len(self.builder._closures)} closures")
        self.features |= {f"{b.type} joint" for b in self.mechanism.bodies}
        rules = {"rotor": self.mechanism.rotors, "mimic": [b for b in self.mechanism.bodies if b.mimic]}
        rules["armature"] = [b for b in self.mechanism.bodies if b.armature]
        self.features |= {word for word, found in rules.items() if found}
        starts = {}
        for i, b in enumerate(self.mechanism.bodies):
            if not b.mimic and SIZES[b.type][0]:
                x = self.q[self.mechanism.positions(i)]
                starts[f"j{i}"] = float(x[0]) if len(x) == 1 else x
        self.builder._start.update(starts)

    def build(self) -> kt.Model:
        return self.builder.build()

    def _close(self, name: str) -> None:
        """One closure more, between bodies that have freedom left between them."""
        rng, count = self.rng, len(self.mechanism.bodies)
        kind = str(rng.choice(["joint"] * 6 + ["rod"] * 2 + ["relation"]))
        leaders = [i for i, b in enumerate(self.mechanism.bodies) if b.type in ONE_DOF]
        if kind == "relation" and len(leaders) > 1:
            self._relate(name, *(int(i) for i in rng.choice(leaders, 2, replace=False)))
            return
        for _ in range(30):
            a, b = (int(x) for x in rng.choice(count + 1, 2, replace=False))
            freedom = self._freedom(a, b)
            type_name = "rod" if kind == "rod" else str(rng.choice(CLOSING))
            rows = 1 if kind == "rod" else 6 - SIZES[type_name][1]
            if self.is_planar:
                rows = {"fixed": 3, "helical": 3, "rod": 1, "planar": 0, "planar_twist": 0}.get(type_name, 2)
            if not 0 < rows < freedom:
                continue
            if kind == "rod":
                self._rod(name, a, b)
            else:
                self._joint(name, a, b, type_name)
            return

    def _freedom(self, a: int, b: int) -> int:
        """How many velocities the way between two bodies has, at most; bodies from 1, the world is 0."""
        parts = [set(), set()]
        for part, i in zip(parts, (a, b), strict=True):
            while i > 0:
                leader, *_ = self.mechanism.leader(i - 1)
                part.add((leader, SIZES[self.mechanism.bodies[i - 1].type][1]))
                i = self.mechanism.bodies[i - 1].parent + 1
        return sum(width for _, width in parts[0] ^ parts[1])

    def _names(self, a: int, b: int) -> tuple[str, str]:
        return tuple("world" if i == 0 else f"b{i - 1}" for i in (a, b))  # type: ignore[return-value]

    def _joint(self, name: str, a: int, b: int, type_name: str) -> None:
        rng = self.rng
        body = random_body(rng, -1, type_name)
        A = np.eye(4)
        A[:3, :3], A[:3, 3] = random_rotation(rng), rng.normal(scale=0.4, size=3)
        if self.is_planar:
            normal = self.T[a][:3, :3].T @ self.normal
            body = _in_plane(rng, body, A[:3, :3].T @ normal)
        joint = body.joint()
        moved = np.array(joint.placement(joint.random(rng)).pose(), float)
        B = np.linalg.inv(self.T[b]) @ self.T[a] @ A @ moved
        poses = kt.Pose.from_matrix(A.tolist()), kt.Pose.from_matrix(B.tolist())
        self.builder.add_loop(*self._names(a, b), joint, *poses, name=name)
        self.features.add(f"closed by {type_name}")

    @property
    def normal(self) -> Array:
        return self.mechanism.bodies[0].rotation @ np.array([0.0, 0.0, 1.0])

    def _rod(self, name: str, a: int, b: int) -> None:
        points = self.rng.normal(scale=0.5, size=(2, 3))
        ends = [self.T[i][:3, :3] @ p + self.T[i][:3, 3] for i, p in zip((a, b), points, strict=True)]
        length = float(np.linalg.norm(ends[1] - ends[0]))
        self.builder.add_distance(*self._names(a, b), length, *points.tolist(), name=name)
        self.features.add("closed by rod")

    def _relate(self, name: str, one: int, other: int) -> None:
        x, y = (self._coordinate(i) for i in (one, other))
        slope, *bends = self.rng.normal(size=int(self.rng.integers(1, 4)))
        given = [0.0, slope, *(0.3 * np.array(bends))]
        given[0] = x - float(np.polyval(given[::-1], y))
        self.builder.add_relation(f"j{one}", f"j{other}", tuple(map(float, given)), name=name)
        self.features.add("relation")

    def _coordinate(self, i: int) -> float:
        leader, multiplier, offset = self.mechanism.leader(i)
        return multiplier * float(self.q[self.mechanism.positions(leader)][0]) + offset


def _spatial(rng: np.random.Generator) -> Mechanism:
    """A tree of any joints; a third of them floats."""
    count, floats = int(rng.integers(3, 9)), rng.random() < 0.3
    options: dict[str, Any] = {"chain": 0.6, "roots": 0.0 if floats else 0.25, "rotors": 0.25, "mimics": 0.2}
    mechanism = random_mechanism(rng, count, types=tuple(t for t in ALL_TYPES if t != "free"), **options)
    if not floats or mechanism.bodies[0].mimic or any(b.mimic and b.mimic[0] == 0 for b in mechanism.bodies):
        return mechanism
    base = replace(mechanism.bodies[0], type="free")
    rotors = tuple(r for r in mechanism.rotors if r.body != 0)
    return replace(mechanism, bodies=(base, *mechanism.bodies[1:]), rotors=rotors)


def _planar(rng: np.random.Generator) -> Mechanism:
    """A tree that moves in one plane, at right angles to the third axis of its first body's joint."""
    count = int(rng.integers(3, 7))
    options: dict[str, Any] = {"chain": 0.5, "roots": 0.4, "rotors": 0.25, "mimics": 0.1}
    mechanism = random_mechanism(rng, count, types=("revolute", "revolute", "prismatic"), **options)
    plane, bodies = random_rotation(rng), []
    for b in mechanism.bodies:
        turn = rng.uniform(-np.pi, np.pi)
        turned = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1.0]])
        b = replace(b, rotation=plane @ turned if b.parent < 0 else turned)
        bodies.append(_in_plane(rng, b, np.array([0.0, 0.0, 1.0])))
    return replace(mechanism, bodies=tuple(bodies))


def _in_plane(rng: np.random.Generator, body: Any, normal: Array) -> Any:
    """The same with a joint that moves in a plane, if its type can."""
    if body.type == "prismatic":
        other = np.cross(normal, unit_vector(rng, 0.0))
        return replace(body, axis=other / np.linalg.norm(other))
    return replace(body, axis=normal)
