"""The parts of a model, as plain records. A `Model` holds a tuple of each kind."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kinetree.joints import Joint
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose

Numbers = tuple[Any, ...]


class Limits(NamedTuple):
    """Limits of position, speed and force of a joint; each a number, or one per degree of freedom."""

    lower: Any = -math.inf  # rad or m
    upper: Any = math.inf
    velocity: Any = math.inf  # largest speed, rad/s or m/s
    effort: Any = math.inf  # largest force, N m or N


class Mimic(NamedTuple):
    """The coordinate of a joint follows another: q = multiplier * q[joint] + offset."""

    joint: str
    multiplier: Any = 1.0
    offset: Any = 0.0


class Body(NamedTuple):
    """A body and the joint to its parent. Tuples have one number for each degree of freedom."""

    name: str
    parent: int  # index of the parent body; 0 is the world
    joint: Joint
    joint_name: str
    placement: Pose  # of the joint's predecessor side, in the parent body
    inertia: Inertia  # in the body frame: the joint's successor side
    mimic: Mimic | None
    armature: Numbers  # inertia that the joint adds to its diagonal of the mass matrix, kg m^2 or kg
    damping: Numbers  # viscous, N m s/rad or N s/m
    friction: Numbers  # Coulomb, N m or N
    stiffness: Numbers  # spring, N m/rad or N/m
    spring_reference: Numbers  # position (nq numbers) at which the spring is relaxed
    limits: Limits


class Rotor(NamedTuple):
    """A geared rotor, carried by the predecessor body of the joint that it drives."""

    joint: str
    inertia: Inertia  # in the rotor frame
    placement: Pose  # of the rotor frame in the carrying body, at the neutral position
    axis: Numbers  # unit vector in the rotor frame
    ratio: Numbers  # rotor speed over joint speed, one for each degree of freedom of the joint


class Frame(NamedTuple):
    """A named frame fixed in a body."""

    name: str
    body: int
    placement: Pose


class Loop(NamedTuple):
    """Loops that share joints, given by one or several closures, and how they are solved.

    Velocities are (joint, degree of freedom). Each dependent one belongs to the row, (closure, row in it), at
    the same place; rows that are not listed are redundant.
    """

    closures: tuple[Any, ...]
    independent: tuple[tuple[str, int], ...]
    dependent: tuple[tuple[str, int], ...]
    rows: tuple[tuple[int, int], ...]
    pivots: Numbers  # usual sizes of the pivots of the dependent velocities
    reference: tuple[tuple[str, Numbers], ...]  # a closed position of its joints
    size: float  # a characteristic length of the loop, m
    axes: tuple[Any, ...] = ()  # of each closure: axes of its point rows, in the body that carries the loop
    steps: int = 1  # Newton steps that close a position
    slack: float = 0.0  # how far redundant rows opened in the sampled positions, in units of the size

    @property
    def name(self) -> str:
        """The names of its closures."""
        return " and ".join(closure.name for closure in self.closures)

    @property
    def redundant(self) -> int:
        """The number of redundant rows, which were left out."""
        return sum(closure.count for closure in self.closures) - len(self.rows)

    def __repr__(self) -> str:
        freedom = len(self.independent)
        facts = [f"{freedom} degree{'s' * (freedom != 1)} of freedom"]
        facts.append(f"{len(self.rows)} row{'s' * (len(self.rows) != 1)}")
        if self.redundant:
            facts.append(f"{self.redundant} more redundant, open by at most {self.slack * self.size:.2g} m")
        moving, following = _joints(self.independent), _joints(self.dependent)
        return f"<Loop '{self.name}': {moving} -> {following} ({', '.join(facts)})>"


def _joints(velocities: tuple[tuple[str, int], ...]) -> str:
    """The joints of these velocities, with the degrees of freedom where a joint has others too."""
    found: dict[str, list[int]] = {}
    for joint, k in velocities:
        found.setdefault(joint, []).append(k)
    return ", ".join(f"{joint}{'' if own == [0] else own}" for joint, own in found.items())


class Posture(NamedTuple):
    """A named configuration: the positions of joints, by name."""

    name: str
    positions: tuple[tuple[str, Numbers], ...]
