"""The frames of an SDF document: links, joints, models and `<frame>`s, each placed relative to another.

The key of a frame consists of the names of its enclosing models and its own: "arm::gripper::finger". A scope
is where names are looked up: the world, or a model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kinetree.io.attributes import shorten
from kinetree.io.description import WORLD
from kinetree.io.graph import between
from kinetree.io.placement import HERE
from kinetree.io.report import Log, refuse
from kinetree.io.xml import Element
from kinetree.spatial.pose import Pose

MODEL, ROOT = "__model__", "__root__"
SEPARATOR = "::"
_STEPS = 5_000_000  # most steps from frame to frame, over all queries


@dataclass(frozen=True, slots=True)
class Scope:
    """Where names are looked up, and what `__model__` means there."""

    prefix: str = ""  # of the keys in this scope
    frames: tuple[str, ...] = (WORLD,)  # the frame of the model, and of the one it is merged into
    version: float = 1.12
    static: bool = False
    files: tuple[Path, ...] = ()  # the chain of including files

    @property
    def frame(self) -> str:
        return self.frames[0]


@dataclass(slots=True)
class Node:
    """One frame: its element in the file, the frame it is placed in, and the frame it moves with."""

    element: Element
    scope: Scope
    pose: Pose
    relative_to: str  # names in the scope; "" is the scope's own frame
    fixed_to: str | None = None  # None: a link
    placement_frame: str = ""  # of a model: the frame inside that `pose` places
    inside: Scope | None = None  # of a model
    static: bool = False


class Frames:
    """All frames by key, and the poses between them."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.nodes: dict[str, Node] = {}
        self.first: dict[str, str] = {}  # the first link of each model, by the key of its frame
        self.first_model: dict[str, str] = {}
        self._anchors: dict[str, str] = {WORLD: WORLD}
        self._depths: dict[str, int] = {WORLD: 0}
        self._steps = 0

    def add(self, key: str, node: Node) -> str:
        """Add a frame; return its key, which differs from `key` if the name is taken."""
        twin = self.nodes.get(key)
        while key in self.nodes:
            key += f"_{node.element.tag}"
        self.nodes[key] = node
        if twin is not None and twin.element.tag == node.element.tag:
            problem = f"a second {node.element.tag} is called {shorten(node.element.get('name') or '')!r}"
            self.log.repairable("name-duplicate", node.element.where, problem, f"renamed to {key!r}")
        return key

    def find(self, scope: Scope, name: str) -> str | None:
        """The key of the frame that a name refers to in a scope; None if there is none."""
        if name in (WORLD, ROOT):
            return WORLD
        if name in ("", MODEL):
            return scope.frame
        key = scope.prefix + name.removesuffix(SEPARATOR + MODEL)
        return key if key in self.nodes else None

    def named(self, scope: Scope, name: str, element: Element, what: str) -> str | None:
        """Like `find`, but records an error if there is none."""
        key = self.find(scope, name)
        if key is None:
            start = len(scope.prefix)
            names = [key[start:] for key in self.nodes if key.startswith(scope.prefix)]
            problem = f"{what}={shorten(name)!r} names no frame"
            self.log.add("value", element.where, problem, self.log.suggest(name, names))
        return key

    def body(self, key: str) -> str | None:
        """The key of the link, or the world, that a frame moves with; None if there is none."""
        seen: set[str] = set()
        while key != WORLD:
            node = self.nodes[key]
            if node.fixed_to is None and node.inside is None:
                return key
            found = self._carrier(key, node)
            if found is None or key in seen:
                if key in seen:
                    self.log.add("value", node.element.where, "frames are attached to each other in a cycle")
                return None
            seen.add(key)
            key = found
        return WORLD

    def _carrier(self, key: str, node: Node) -> str | None:
        """The frame that a joint, a model or a frame is fixed to."""
        if node.inside is None:
            return self.named(node.scope, node.fixed_to or "", node.element, "attached_to")
        if node.static or node.inside.static:
            return WORLD
        if node.fixed_to:
            return self.named(node.inside, node.fixed_to, node.element, "canonical_link")
        return self.first.get(key) or self.first_model.get(key)

    def settle(self, models: Iterable[str]) -> None:
        """Resolve the reference frame of every frame, and the placement frames of models, inner first."""
        for key, node in self.nodes.items():
            if node.element.tag == "joint" and not node.relative_to:
                found = self.find(node.scope, node.fixed_to or "")  # unknown ones: see the joint
            else:
                found = self.named(node.scope, node.relative_to, node.element, "relative_to")
            self._anchors[key] = node.scope.frame if found is None else found
        for key in self.nodes:
            self._depth(key)
        for key in models:
            node = self.nodes[key]
            if not node.placement_frame or node.inside is None:
                continue
            inner = self.named(node.inside, node.placement_frame, node.element, "placement_frame")
            if inner is not None:
                node.pose = node.pose @ self.relative(key, inner).inverse()

    def _depth(self, key: str) -> None:
        """Compute the number of frames between a frame and the world."""
        path: list[str] = []
        while key not in self._depths:
            self._depths[key] = -1
            path.append(key)
            key = self._anchors[key]
        if self._depths[key] < 0:
            element = self.nodes[key].element
            refuse("value", element.where, "frames are placed relative to each other in a cycle")
        depth = self._depths[key]
        for step in reversed(path):
            depth += 1
            self._depths[step] = depth

    def relative(self, a: str, b: str) -> Pose:
        """The pose of frame b in frame a, along the shortest path between them."""
        to_a, to_b = HERE, HERE  # poses of the given frames in the current a and b
        while a != b:
            self._steps += 1
            if self._steps > _STEPS:
                refuse(
                    "xml-limit", self.nodes[b if b != WORLD else a].element.where, "too many frames in a row"
                )
            if self._depths[a] > self._depths[b]:
                to_a, a = self._pose(a) @ to_a, self._anchors[a]
            else:
                to_b, b = self._pose(b) @ to_b, self._anchors[b]
        return to_b if to_a == HERE else between(to_a, to_b)

    def _pose(self, key: str) -> Pose:
        return self.nodes[key].pose
