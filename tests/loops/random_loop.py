"""Random mechanisms with loops: a random tree in a random position, closed where its bodies are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from tests.identities.facts import motion_matrix
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
    "fixed", "revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "planar_twist",
    "spherical",
)  # fmt: skip


class RandomLoop:
    """A mechanism with loops: the builder that made it, a position in which it is closed, and what it has.

    meeting: coordinates of the closing joints there, by the names of the closures.
    features: words for what the mechanism has, to be counted.
    """

    def __init__(self, seed: int):
        self.seed, rng = seed, np.random.default_rng([seed, 1914])
        self.rng = rng
        self.is_planar = bool(rng.random() < 0.4)
        self.mechanism = _planar(rng) if self.is_planar else _spatial(rng)
        self.q, _ = self.mechanism.random_state(rng)
        self._place()
        self.builder, self.K, self.ways = self.mechanism.builder(), np.zeros((0, self.mechanism.nv)), []
        self.meeting: dict[str, Array] = {}
        self.features = {"planar" if self.is_planar else "spatial"}
        for k in range(int(rng.integers(1, 4))):
            kind = str(rng.choice(["joint"] * 7 + ["rod", "relation"]))
            type_name = str(rng.choice(CLOSING))
            any(self._close(f"loop{k}", kind, type_name) for _ in range(25))
        self.count = len(self.ways)
        self.features |= {f"{self.count} closures"} | {f"{b.type} joint" for b in self.mechanism.bodies}
        rules = {"rotor": self.mechanism.rotors, "mimic": [b for b in self.mechanism.bodies if b.mimic]}
        rules["armature"] = [b for b in self.mechanism.bodies if b.armature]
        self.features |= {word for word, found in rules.items() if found}
        for i, b in enumerate(self.mechanism.bodies):
            if not b.mimic and SIZES[b.type][0]:
                x = self.q[self.mechanism.positions(i)]
                self.builder._start[f"j{i}"] = float(x[0]) if len(x) == 1 else x

    def build(self) -> kt.Model:
        return self.builder.build()

    def _place(self) -> None:
        """Where the bodies are, the world first, and their Jacobians at the origin of the world."""
        tree = self.mechanism.build()
        placed = kt.placements(tree, self.q, target="eager")
        moved = kt.partial_velocities(tree, self.q, target="eager")
        self.T = np.concatenate([np.eye(4)[None], placed])
        self.J = [np.zeros((6, tree.nv)), *(motion_matrix(T) @ J for T, J in zip(placed, moved, strict=True))]

    def _close(self, name: str, kind: str, type_name: str) -> bool:
        """One closure more, if that leaves all loops some freedom, and far from a dead point."""
        rng = self.rng
        one_dof = [i + 1 for i, b in enumerate(self.mechanism.bodies) if b.type in ONE_DOF]
        if kind == "relation" and len(one_dof) < 2:
            return False
        among = one_dof if kind == "relation" else range(len(self.T))
        a, b = (int(x) for x in rng.choice(among, 2, replace=False))
        way = self._moving(self.mechanism.bodies[a - 1].parent + 1 if kind == "relation" else a)
        way ^= self._moving(self.mechanism.bodies[b - 1].parent + 1 if kind == "relation" else b)
        if kind == "relation":
            way |= {self._place_of(a), self._place_of(b)}
        rows, close = getattr(self, f"_{kind}")(name, a, b, type_name)
        if not self._is_movable(np.concatenate([self.K, rows]), [*self.ways, sorted(way)]):
            return False
        self.K, self.ways = np.concatenate([self.K, rows]), [*self.ways, sorted(way)]
        close()
        return True

    @staticmethod
    def _is_movable(K: Array, ways: list[list[int]]) -> bool:
        _, size, Vt = np.linalg.svd(K)
        if not size.size or size[0] == 0:
            return False
        part = size / size[0]
        free = Vt[int((part > 1e-9).sum()) :]
        held = any(np.abs(free[:, way]).max(initial=0.0) < 1e-6 for way in ways)
        return not held and not np.any((part > 1e-9) & (part < 0.02))

    def _place_of(self, body: int) -> int:
        """Where the velocity of a joint with one stands, or that of the joint that it follows."""
        return self.mechanism.velocities(self.mechanism.leader(body - 1)[0]).start

    def _moving(self, body: int) -> set[int]:
        """The velocities that move a body."""
        return {int(j) for j in np.flatnonzero(np.abs(self.J[body]).max(axis=0, initial=0.0) > 1e-12)}

    def _names(self, a: int, b: int) -> tuple[str, str]:
        return tuple("world" if i == 0 else f"b{i - 1}" for i in (a, b))  # type: ignore[return-value]

    def _joint(self, name: str, a: int, b: int, type_name: str) -> tuple[Array, Any]:
        rng = self.rng
        body = random_body(rng, -1, type_name)
        A = np.eye(4)
        A[:3, :3], A[:3, 3] = random_rotation(rng), rng.normal(scale=0.4, size=3)
        if self.is_planar:
            body = _in_plane(rng, body, (self.T[a][:3, :3] @ A[:3, :3]).T @ self._normal)
        joint = body.joint()
        x = joint.random(rng)
        meeting = self.T[a] @ A @ np.array(joint.placement(x).pose(), float)
        B = np.linalg.inv(self.T[b]) @ meeting
        own = [[*map(float, (*S.angular, *S.linear))] for S in joint.subspace(x).columns]
        S = motion_matrix(meeting) @ np.array(own).reshape(-1, 6).T
        rows = np.linalg.svd(S)[0][:, joint.nv :].T @ (self.J[b] - self.J[a])
        poses = kt.Pose.from_matrix(A.tolist()), kt.Pose.from_matrix(B.tolist())

        def close() -> None:
            self.builder.add_loop(*self._names(a, b), joint, *poses, name=name)
            if type_name == "helical":  # it becomes a joint of the tree
                self.builder._start[name] = float(x[0])
            else:
                self.meeting[name] = np.array(x, float)
            self.features.add(f"closed by {type_name}")

        return rows, close

    @property
    def _normal(self) -> Array:
        return self.mechanism.bodies[0].rotation @ np.array([0.0, 0.0, 1.0])

    def _rod(self, name: str, a: int, b: int, _: str) -> tuple[Array, Any]:
        points = self.rng.normal(scale=0.5, size=(2, 3))
        ends = [self.T[i][:3, :3] @ p + self.T[i][:3, 3] for i, p in zip((a, b), points, strict=True)]
        way = ends[1] - ends[0]
        length = float(np.linalg.norm(way))
        moved = [self.J[i][3:] - np.cross(p, self.J[i][:3].T).T for i, p in zip((a, b), ends, strict=True)]

        def close() -> None:
            self.builder.add_distance(*self._names(a, b), length, *points.tolist(), name=name)
            self.features.add("closed by rod")

        return (way @ (moved[1] - moved[0]))[None] / length, close

    def _relation(self, name: str, a: int, b: int, _: str) -> tuple[Array, Any]:
        (x, dx), (y, dy) = (self._coordinate(i - 1) for i in (a, b))
        slope, *bends = self.rng.normal(size=int(self.rng.integers(1, 4)))
        given = [0.0, slope, *(0.3 * np.array(bends))]
        given[0] = x - float(np.polyval(given[::-1], y))
        row = np.zeros((1, self.mechanism.nv))
        row[0, self._place_of(a)] += dx
        row[0, self._place_of(b)] -= dy * float(np.polyval(np.polyder(given[::-1]), y))

        def close() -> None:
            self.builder.add_relation(f"j{a - 1}", f"j{b - 1}", tuple(map(float, given)), name=name)
            self.features.add("closed by relation")

        return row, close

    def _coordinate(self, i: int) -> tuple[float, float]:
        leader, multiplier, offset = self.mechanism.leader(i)
        return multiplier * float(self.q[self.mechanism.positions(leader)][0]) + offset, multiplier


def _spatial(rng: np.random.Generator) -> Mechanism:
    """A tree of any joints; a third of them floats."""
    count, floats = int(rng.integers(3, 10)), rng.random() < 0.3
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
    other = np.cross(normal, unit_vector(rng, 0.0))
    other /= np.linalg.norm(other)
    return replace(body, axis=other if body.type == "prismatic" else normal, axis2=other)
