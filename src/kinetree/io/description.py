"""A robot as its file describes it: links, joints, frames and rotors by name, each with its source location.

The readers fill a `Description`; checking, repair, snapping and merging work on it; `build` turns it into a
`Model`. It is mutable and lenient, while a `Model` is immutable and strict.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kinetree import joints
from kinetree.io.placement import HERE, exact
from kinetree.io.report import Where
from kinetree.io.xml import Element
from kinetree.model import Limits
from kinetree.model.geometry import DISSIPATION, FRICTION
from kinetree.model.ground import Ground, Heightfield
from kinetree.model.pairs import Pair
from kinetree.model.parts import Mimic
from kinetree.model.shapes import Shape
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Vector

WORLD = "world"
Z: Vector = (0.0, 0.0, 1.0)


@dataclass(slots=True)
class Link:
    """A rigid body; `inertia` is None if the file gives none."""

    name: str
    where: Where
    inertia: Inertia | None = None
    virtual: bool = False  # inserted between the joints of one body: massless on purpose
    source: Element | None = None
    geoms: list[tuple[Element, Pose, Any]] = field(default_factory=list)  # MJCF: geom, frame, meshes
    collisions: list[tuple[Element, Pose]] = field(default_factory=list)  # SDF

    def add(self, inertia: Inertia) -> None:
        """Add an inertia to the link."""
        self.inertia = inertia if self.inertia is None else self.inertia + inertia
        self.virtual = False


@dataclass(slots=True)
class Joint:
    """How `child` moves relative to `parent`; `placement` is the joint's fixed side in the parent's frame."""

    name: str
    where: Where
    motion: joints.Joint
    parent: str
    child: str
    placement: Pose = HERE
    normal: Vector = Z  # direction of the joint's own z axis in the link
    limits: Limits = field(default_factory=Limits)
    mimic: Mimic | None = None
    armature: float | tuple[float, ...] = 0.0  # this and the next three: one number, or one per DoF
    damping: float | tuple[float, ...] = 0.0
    friction: float | tuple[float, ...] = 0.0
    stiffness: float | tuple[float, ...] = 0.0
    spring_reference: float | tuple[float, ...] | None = None  # None: the neutral position
    home: Pose = HERE  # of a free joint, in the initial pose of the file
    reference: float = 0.0  # position in the initial pose of the file; `placement` already undoes it
    source: Element | None = None

    @property
    def is_fixed(self) -> bool:
        return self.motion.nv == 0

    def at(self, position: float) -> Pose:
        """The pose of the child in the parent with a joint of one degree of freedom at `position`."""
        moved = Pose.from_transform(self.motion.placement((position,)))
        return self.placement @ Pose(exact(moved.rotation), moved.p)


@dataclass(slots=True)
class Frame:
    """A named frame on a link."""

    name: str
    where: Where
    link: str
    placement: Pose


@dataclass(slots=True)
class Geometry:
    """A collision shape on a link."""

    name: str
    where: Where
    link: str
    shape: Shape
    placement: Pose
    friction: float = FRICTION
    stiffness: float | None = None  # of each point, N/m; None: from `sink`
    dissipation: float = DISSIPATION
    sink: float | None = None  # m: penetration of the robot standing on one such point
    groups: tuple[int, int] = (1, 1)  # bit masks: its own groups, and those it collides with
    owner: str = ""  # the robot that it belongs to
    surface: Any = None  # its method `on` gives the contact with another surface
    home: str = ""  # its link in the file


@dataclass(slots=True)
class Rotor:
    """A body carried by the fixed side of `joint` that spins `ratio` times as fast as the joint."""

    joint: str
    where: Where
    inertia: Inertia
    placement: Pose
    axis: Vector
    ratio: tuple[float, ...]  # one per degree of freedom


@dataclass(slots=True)
class Closure:
    """A loop closure: a joint between two links that are already connected, or a polynomial relation.

    A polynomial has no `motion`: the coordinate of the first joint in `ends` is a polynomial in the second's.
    """

    name: str
    where: Where
    ends: tuple[str, str]  # links, or joints for a polynomial
    motion: joints.Joint | None = None
    placement: Pose = HERE  # of the joint in the first link
    other: Pose = HERE  # in the second link
    coefficients: tuple[float, ...] = ()
    rule: str = "unsupported"  # the finding if it is left out
    problem: str = ""
    remedy: str = ""


@dataclass(slots=True)
class Keyframe:
    """A named configuration: joint positions by joint name."""

    name: str
    where: Where
    positions: dict[str, tuple[float, ...]]


@dataclass(slots=True)
class Description:
    """Everything that a file says about the dynamics of a robot."""

    name: str
    file: str
    format: str
    links: dict[str, Link] = field(default_factory=dict)
    joints: dict[str, Joint] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)
    rotors: list[Rotor] = field(default_factory=list)
    geometries: list[Geometry] = field(default_factory=list)
    ground: Ground | Heightfield | None = None
    pairs: list[Pair] = field(default_factory=list)  # pairs of geometries that the file names
    excluded: set[frozenset[str]] = field(default_factory=set)  # pairs of links that do not collide
    collide: set[str] = field(default_factory=set)  # robots with self-collision
    restored: bool = False  # geometries, ground and pairs are as `save` wrote them
    still: list[tuple[Element, Pose, Any]] = field(default_factory=list)  # MJCF: geoms of the world
    contacts: list[Element] = field(default_factory=list)  # MJCF: <pair> and <exclude>
    configurations: list[Keyframe] = field(default_factory=list)
    closures: list[Closure] = field(default_factory=list)
    independent: list[tuple[str, int]] = field(default_factory=list)  # velocities that the file marks as such
    start: dict[str, tuple[float, ...]] = field(default_factory=dict)  # a closed position, from the file
    driven: list[str] = field(default_factory=list)  # joints with motors: preferred as independent
    loops: tuple[Any, ...] = ()  # of the model, once they are solved
    left_out: list[Joint] = field(default_factory=list)  # joints that would close a loop
    gravity: Vector = (0.0, 0.0, -9.81)
    file_order: bool = False  # keep the bodies in file order, not depth first
    document: Element | None = None
    colliders: Any = None  # source of collision shapes for formats without an XML document

    def parent_joints(self) -> dict[str, Joint]:
        """The parent joint of each link."""
        return {joint.child: joint for joint in self.joints.values()}

    def child_joints(self) -> dict[str, list[Joint]]:
        """The child joints of each link, in file order; the world is a key, too."""
        children: dict[str, list[Joint]] = {name: [] for name in (WORLD, *self.links)}
        for joint in self.joints.values():
            children[joint.parent].append(joint)
        return children

    def in_order(self) -> list[Joint]:
        """All joints from the world outward, each parent before its children."""
        place = {joint.child: k for k, joint in enumerate(self.joints.values())}
        if self.file_order and all(
            place.get(joint.parent, -1) < place[joint.child] for joint in self.joints.values()
        ):
            return list(self.joints.values())
        children = self.child_joints()
        order, stack = [], list(reversed(children[WORLD]))
        while stack:
            joint = stack.pop()
            order.append(joint)
            stack.extend(reversed(children[joint.child]))
        return order


class Names:
    """Issues unique names."""

    def __init__(self, taken: Iterable[str] = (), reserved: Iterable[str] = ()) -> None:
        self.taken = set(taken)
        self.reserved = set(reserved)  # names that will be claimed later: generated names avoid them
        self._next: dict[str, int] = {}

    def claim(self, wanted: str) -> str:
        """`wanted`, or `wanted_2`, `wanted_3`, ... if it is taken."""
        return self._free(wanted, self.taken)

    def make(self, wanted: str) -> str:
        """A generated name: like `claim`, but never one that the file uses later."""
        return self._free(wanted, self.taken | self.reserved if wanted in self.reserved else self.taken)

    def _free(self, wanted: str, taken: set[str]) -> str:
        name, count = wanted, self._next.get(wanted, 2)
        while name in taken:
            name, count = f"{wanted}_{count}", count + 1
        self._next[wanted] = count
        self.taken.add(name)
        return name
