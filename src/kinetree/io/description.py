"""A robot as its file describes it: links, joints, frames and rotors by name, each with its place there.

The readers fill a `Description`; checking, repair, snapping and merging work on it; `build` turns it into a
`Model`. It is mutable and forgiving where a `Model` is immutable and strict.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf

from kinetree.io.placement import ORIGIN, Placement, from_axis_angle
from kinetree.io.report import Where
from kinetree.io.xml import Element
from kinetree.spatial.vector import Matrix, Vector, add, dot, mat_add, mat_mul, scale, sub, transpose

WORLD = "world"
NO_INERTIA: Matrix = ((0.0, 0.0, 0.0),) * 3

# how many velocity coordinates each kind of joint has
FREEDOM = {
    "fixed": 0,
    "revolute": 1,
    "prismatic": 1,
    "helical": 1,
    "universal": 2,
    "planar": 3,
    "spherical": 3,
    "free": 6,
}


@dataclass(slots=True)
class Mass:
    """Mass, centre of mass and inertia about it, all in link axes."""

    mass: float = 0.0
    com: Vector = ORIGIN
    inertia: Matrix = NO_INERTIA

    def moved(self, placement: Placement) -> Mass:
        """The same mass seen from the frame in which `placement` is given."""
        R = placement.R
        com = (placement @ Placement(p=self.com)).p
        return Mass(self.mass, com, mat_mul(mat_mul(R, self.inertia), transpose(R)))

    def __add__(self, other: Mass) -> Mass:
        """Two masses rigidly joined (parallel axes)."""
        if self.is_zero or other.is_zero:
            return other if self.is_zero else self
        mass = self.mass + other.mass
        if mass == 0.0:
            return Mass(0.0, ORIGIN, mat_add(self.inertia, other.inertia))
        com = scale(add(scale(self.com, self.mass), scale(other.com, other.mass)), 1 / mass)
        return Mass(mass, com, mat_add(self.about(com), other.about(com)))

    def about(self, point: Vector) -> Matrix:
        """The inertia about `point`: I + m (d.d 1 - d d^T)."""
        d = sub(self.com, point)
        m, dd = self.mass, dot(d, d)
        rows = [[m * ((dd if i == j else 0.0) - d[i] * d[j]) for j in range(3)] for i in range(3)]
        moved: Matrix = (tuple(rows[0]), tuple(rows[1]), tuple(rows[2]))  # type: ignore[assignment]
        return mat_add(self.inertia, moved)

    @property
    def is_zero(self) -> bool:
        return self.mass == 0.0 and self.inertia == NO_INERTIA


@dataclass(slots=True)
class Limits:
    """Bounds of a joint, infinite where there are none; `velocity` and `effort` bound both directions."""

    lower: float = -inf
    upper: float = inf
    velocity: float = inf
    effort: float = inf

    @property
    def none(self) -> bool:
        return self == Limits()


@dataclass(slots=True)
class Mimic:
    """This joint's coordinate is multiplier * (coordinate of `joint`) + offset."""

    joint: str
    multiplier: float
    offset: float
    where: Where


@dataclass(slots=True)
class Link:
    """A rigid body; `mass` is None where the file has no inertial."""

    name: str
    where: Where
    mass: Mass | None = None
    virtual: bool = False  # made up between the joints of one body: meant to be massless
    source: Element | None = None


@dataclass(slots=True)
class Joint:
    """How `child` moves against `parent`; `placement` is the joint's fixed side in the parent's frame."""

    name: str
    where: Where
    kind: str
    parent: str
    child: str
    placement: Placement = field(default_factory=Placement)
    axis: Vector = (1.0, 0.0, 0.0)
    axis2: Vector = (0.0, 0.0, 1.0)  # of a universal joint
    pitch: float = 0.0  # of a helical joint, m/rad
    limits: Limits = field(default_factory=Limits)
    mimic: Mimic | None = None
    armature: float | tuple[float, ...] = 0.0  # these three: one number, or one for each degree of freedom
    damping: float | tuple[float, ...] = 0.0
    friction: float | tuple[float, ...] = 0.0
    stiffness: float = 0.0
    spring_reference: float = 0.0
    home: Placement = field(default_factory=Placement)  # of a free joint, in the pose that the file draws
    reference: float = 0.0  # position in the pose that the file draws; `placement` already undoes it
    source: Element | None = None

    def at(self, position: float) -> Placement:
        """The pose of the child in the parent when a joint with one freedom is at `position`."""
        if self.kind == "prismatic":
            return self.placement @ Placement(p=scale(self.axis, position))
        turned = Placement(from_axis_angle(self.axis, position), scale(self.axis, self.pitch * position))
        return self.placement @ turned


@dataclass(slots=True)
class Frame:
    """A named place on a link."""

    name: str
    where: Where
    link: str
    placement: Placement


@dataclass(slots=True)
class Rotor:
    """A body that the fixed side of `joint` carries and that spins `ratio` times as fast as the joint."""

    joint: str
    where: Where
    mass: Mass
    placement: Placement
    axis: Vector
    ratio: float


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
    left_out: list[Joint] = field(default_factory=list)  # joints that would close a loop
    gravity: Vector = (0.0, 0.0, -9.81)
    document: Element | None = None

    def parent_joints(self) -> dict[str, Joint]:
        """The joint that carries each link."""
        return {joint.child: joint for joint in self.joints.values()}

    def child_joints(self) -> dict[str, list[Joint]]:
        """The joints on each link, in file order; the world is a key as well."""
        children: dict[str, list[Joint]] = {name: [] for name in (WORLD, *self.links)}
        for joint in self.joints.values():
            children[joint.parent].append(joint)
        return children

    def in_order(self) -> list[Joint]:
        """All joints from the world outward, depth first, each parent before its children."""
        children = self.child_joints()
        order, stack = [], list(reversed(children[WORLD]))
        while stack:
            joint = stack.pop()
            order.append(joint)
            stack.extend(reversed(children[joint.child]))
        return order


class Names:
    """Hands out names that nobody has yet."""

    def __init__(self, taken: Iterable[str] = (), reserved: Iterable[str] = ()) -> None:
        self.taken = set(taken)
        self.reserved = set(reserved)  # names that will be claimed: nothing made up may take them
        self._next: dict[str, int] = {}

    def claim(self, wanted: str) -> str:
        """`wanted`, or `wanted_2`, `wanted_3`, ... if it is taken."""
        return self._free(wanted, self.taken)

    def make(self, wanted: str) -> str:
        """A made-up name: like `claim`, but never one that the file uses later."""
        return self._free(wanted, self.taken | self.reserved if wanted in self.reserved else self.taken)

    def _free(self, wanted: str, taken: set[str]) -> str:
        name, count = wanted, self._next.get(wanted, 2)
        while name in taken:
            name, count = f"{wanted}_{count}", count + 1
        self._next[wanted] = count
        self.taken.add(name)
        return name
