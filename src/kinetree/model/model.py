"""The model: an immutable tree of bodies, and everything that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.errors import ModelError, ShapeError
from kinetree.model import layout as layouts
from kinetree.model.grouping import Grouping, Location
from kinetree.model.layout import Layout
from kinetree.model.node import Node
from kinetree.model.parts import Body, Frame, Numbers, Rotor
from kinetree.model.topology import Topology
from kinetree.model.validate import WORLD, unknown
from kinetree.spatial.transform import Transform


class Model:
    """A mechanism: bodies joined to a tree (or several trees) that stands on the world.

    Models are values: they never change, compare by content, and pickle. Build one with `ModelBuilder` or
    `kinetree.load`. Bodies are numbered 1 ... nbodies with parents first; the world is body 0.
    """

    def __init__(
        self,
        name: str,
        gravity: Numbers,
        bodies: tuple[Body, ...],
        rotors: tuple[Rotor, ...] = (),
        frames: tuple[Frame, ...] = (),
        report: Any = None,
    ):
        self.__dict__.update(
            name=name, gravity=gravity, bodies=bodies, rotors=rotors, frames=frames, report=report
        )

    name: str
    gravity: Numbers  # acceleration of free fall, world axes
    bodies: tuple[Body, ...]
    rotors: tuple[Rotor, ...]
    frames: tuple[Frame, ...]
    report: Any  # what the loader of a file found; None for models built otherwise

    # --- names -------------------------------------------------------------------------------------------------------
    @property
    def nbodies(self) -> int:
        return len(self.bodies)

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        return tuple(body.name for body in self.bodies)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """The joint of each body, in the order of the bodies; fixed and mimic joints included."""
        return tuple(body.joint_name for body in self.bodies)

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """The frames that were added by name; every body is a frame too."""
        return tuple(frame.name for frame in self.frames)

    @cached_property
    def _body_index(self) -> dict[str, int]:
        return {WORLD: 0} | {name: i for i, name in enumerate(self.body_names, 1)}

    @cached_property
    def _joint_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.joint_names, 1)}

    @cached_property
    def _frame_index(self) -> dict[str, Frame]:
        return {frame.name: frame for frame in self.frames}

    def body_index(self, body: str | int | None) -> int:
        """The number of a body given by name or number; the world is 0."""
        if body is None:
            return 0
        if isinstance(body, (int, np.integer)) and not isinstance(body, bool):
            if 0 <= body <= self.nbodies:
                return int(body)
            raise ModelError(f"model '{self.name}' has bodies 0 ... {self.nbodies}, but no body {body}")
        if not isinstance(body, str) or body not in self._body_index:
            raise unknown(body, "body", self._body_index, f"model '{self.name}'")
        return self._body_index[body]

    def joint_index(self, joint: str) -> int:
        """The number of the body that a joint moves."""
        if not isinstance(joint, str) or joint not in self._joint_index:
            raise unknown(joint, "joint", self._joint_index, f"model '{self.name}'")
        return self._joint_index[joint]

    def frame(self, name: str | int | None) -> tuple[int, Transform]:
        """(body, transform from the body's to the frame's coordinates) of a frame or a body given by name."""
        if isinstance(name, str) and name in self._frame_index:
            found = self._frame_index[name]
            return found.body, found.placement.transform()
        if isinstance(name, str) and name not in self._body_index:
            raise unknown(name, "frame", (*self._frame_index, *self._body_index), f"model '{self.name}'")
        return self.body_index(name), Transform.identity()

    # --- coordinates -------------------------------------------------------------------------------------------------
    @cached_property
    def layout(self) -> Layout:
        return layouts.layout_of(self.bodies, self._joint_index, self.name)

    @property
    def nq(self) -> int:
        return self.layout.nq

    @property
    def nv(self) -> int:
        return self.layout.nv

    def position_index(self, joint: str) -> slice:
        """Where in q the coordinates of a joint stand; empty for fixed and mimic joints."""
        i = self.joint_index(joint)
        start, width = self.layout.q_start[i], self.bodies[i - 1].joint.nq
        return slice(start, start if i in self.layout.follows else start + width)

    def coordinate_index(self, joint: str) -> slice:
        """Where in v the velocities of a joint stand; empty for fixed and mimic joints."""
        i = self.joint_index(joint)
        start, width = self.layout.v_start[i], self.bodies[i - 1].joint.nv
        return slice(start, start if i in self.layout.follows else start + width)

    # --- tree --------------------------------------------------------------------------------------------------------
    @cached_property
    def parents(self) -> tuple[int, ...]:
        """The parent of each body: entry k belongs to body k + 1; 0 is the world."""
        return tuple(body.parent for body in self.bodies)

    @cached_property
    def topology(self) -> Topology:
        return Topology(self.parents)

    @cached_property
    def _grouping(self) -> Grouping:
        rotors = [(self.joint_index(rotor.joint), rotor) for rotor in self.rotors]
        return Grouping(self.bodies, rotors, self.topology, self.layout)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """What a sweep visits: groups of bodies with one set of coordinates each, predecessors first."""
        return self._grouping.nodes

    def location(self, body: str | int | None) -> Location:
        """(node, member) where a body is found; (-1, 0) for the world."""
        return self._grouping.locations[self.body_index(body)]

    # --- values ------------------------------------------------------------------------------------------------------
    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a model does not change: use replace({name}=...) to make another one")

    @property
    def _content(self) -> tuple:
        return (self.name, self.gravity, self.bodies, self.rotors, self.frames)

    def __eq__(self, other: object) -> bool:
        return other is self or (isinstance(other, Model) and self._content == other._content)

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.body_names, self.parents))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple:
        return Model, (*self._content, self.report)
