"""The model: an immutable tree of bodies, and everything that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from kinetree.errors import ModelError
from kinetree.model import closed_positions, configuration, drive, edit, geometry, postures
from kinetree.model.geometry import Geometry
from kinetree.model.ground import Ground, Heightfield
from kinetree.model.grouping import Grouping, Location
from kinetree.model.layout import Layout, coordinate_places, described, layout_of
from kinetree.model.node import Node
from kinetree.model.pairs import Pair, pair_points, possible_pairs
from kinetree.model.parts import Body, Frame, Loop, Numbers, Posture, Rotor
from kinetree.model.sparsity import mass_sparsity, paths_of
from kinetree.model.table import html_table, table
from kinetree.model.topology import Topology
from kinetree.model.validate import WORLD, unknown
from kinetree.spatial.transform import Transform

T = TypeVar("T")
PARTS = tuple("name gravity bodies rotors frames report postures loops geometries ground pairs".split())


class Model:
    """A mechanism: bodies connected by joints into one or several trees rooted in the world.

    Models are immutable, compare by content and can be pickled; `ModelBuilder` and `kinetree.load` make them.
    Bodies are numbered 1 ... nbodies with parents first; the world is body 0.

    Attributes:
        name, gravity: of the robot; the acceleration of free fall, world axes, m/s^2.
        bodies, rotors, frames, postures: the parts, as they were added.
        loops: the closed loops between bodies, and how each is solved.
        geometries, pairs: contact shapes on bodies; the pairs of them that can touch each other.
        ground: the ground given by its file or builder; None if they give none.
        report: what the loader of a file found; None for models built otherwise.
    """

    def __init__(
        self,
        name: str,
        gravity: Numbers,
        bodies: tuple[Body, ...],
        rotors: tuple[Rotor, ...] = (),
        frames: tuple[Frame, ...] = (),
        report: Any = None,
        postures: tuple[Posture, ...] = (),
        loops: tuple[Loop, ...] = (),
        geometries: tuple[Geometry, ...] = (),
        ground: Ground | Heightfield | None = None,
        pairs: tuple[Pair, ...] = (),
    ):
        own = (name, gravity, bodies, rotors, frames, report, postures, loops, geometries, ground, pairs)
        self.__dict__.update(zip(PARTS, own, strict=True), _memo={})

    name: str
    gravity: Numbers
    bodies: tuple[Body, ...]
    rotors: tuple[Rotor, ...]
    frames: tuple[Frame, ...]
    postures: tuple[Posture, ...]
    loops: tuple[Loop, ...]
    geometries: tuple[Geometry, ...]
    ground: Ground | Heightfield | None
    pairs: tuple[Pair, ...]
    report: Any
    _memo: dict[Hashable, Any]

    # --- names -------------------------------------------------------------------------------------
    @property
    def nbodies(self) -> int:
        """The number of bodies, not counting the world."""
        return len(self.bodies)

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """The names of the bodies, parents first."""
        return tuple(body.name for body in self.bodies)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """The joint of each body, in the order of the bodies, including fixed and mimic joints."""
        return tuple(body.joint_name for body in self.bodies)

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """The names of the frames that were added; every body is a frame too."""
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
        """The number of a body, given by name or number; the world is 0."""
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
        """(body, transform from body to frame coordinates) of a frame or a body, given by name."""
        if isinstance(name, str) and name in self._frame_index:
            found = self._frame_index[name]
            return found.body, found.placement.transform()
        if isinstance(name, str) and name not in self._body_index:
            raise unknown(name, "frame", (*self._frame_index, *self._body_index), f"model '{self.name}'")
        return self.body_index(name), Transform.identity()

    # --- coordinates -------------------------------------------------------------------------------
    @cached_property
    def layout(self) -> Layout:
        """The places of each joint's coordinates in q and v, and which joints follow others."""
        return self._grouping.layout

    @property
    def nq(self) -> int:
        """The number of positions."""
        return self.layout.nq

    @property
    def nv(self) -> int:
        """The number of velocities: degrees of freedom."""
        return self.layout.nv

    @property
    def nu(self) -> int:
        """The number of velocities of all joints: more than nv if loops make some of them dependent."""
        return self.spanning_tree.nv

    @cached_property
    def spanning_tree(self) -> Model:
        """The same bodies and joints with all loops cut; the model itself if there are none."""
        return self.remade(loops=()) if self.loops else self

    def position_index(self, joint: str) -> slice:
        """The slice of q with the coordinates of a joint; empty for fixed and mimic joints."""
        i = self.joint_index(joint)
        start = self.layout.q_start[i]
        return slice(start, start if i in self.layout.follows else start + self.bodies[i - 1].joint.nq)

    def coordinate_index(self, joint: str) -> slice:
        """The slice of v with the velocities of a joint; empty for fixed and mimic joints."""
        i = self.joint_index(joint)
        start = self.layout.v_start[i]
        return slice(start, start + self.layout.widths[i])

    @cached_property
    def coordinate_places(self) -> tuple[dict[str, np.ndarray], list]:
        """Places in q and v that correspond one to one, and the places of all other joints."""
        return coordinate_places(self.bodies, self.layout)

    def describe_coordinates(self, velocities: bool = False) -> str:
        """Which joints take how many numbers of q or v, for messages about shapes."""
        return described(self.bodies, self.layout, velocities)

    @cached_property
    def configurations(self) -> Mapping[str, np.ndarray]:
        """Positions q (nq,) by name, such as the keyframes of the file: `model.configurations["home"]`."""
        return postures.arrays(self)

    def neutral(self) -> np.ndarray:
        """The position (nq,) with every joint at its origin; for joints of loops, a closed position."""
        return configuration.neutral(self)

    def random_state(
        self, rng: np.random.Generator | int | None = None, batch: int | tuple[int, ...] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """A random position (batch, nq) within the limits, and a normally distributed v (batch, nv)."""
        return configuration.random_state(self, rng, batch)

    def normalize(self, q: Any) -> np.ndarray:
        """The position (..., nq) with every quaternion normalised.

        Raises:
            StateError: a quaternion is zero.
        """
        return configuration.normalize(self, q)

    def integrate(self, q: Any, dv: Any) -> np.ndarray:
        """q (+) dv: the position (..., nq) reached with the velocity `dv` (..., nv) in a unit of time."""
        return configuration.integrate(self, q, dv)

    def difference(self, q0: Any, q1: Any) -> np.ndarray:
        """The velocity (..., nv) from `q0` to `q1` in a unit of time: the inverse of `integrate`."""
        return configuration.difference(self, q0, q1)

    def positions(self, values: Mapping[str, Any]) -> np.ndarray:
        """q (..., nq) from a dict of joint names to coordinates; other joints are neutral, or close loops."""
        return configuration.stacked(self, "q", values)

    def velocities(self, values: Mapping[str, Any]) -> np.ndarray:
        """v (..., nv) from a dict of joint names to velocities; other joints are at rest."""
        return configuration.stacked(self, "v", values)

    def split_positions(self, q: Any) -> dict[str, np.ndarray]:
        """The coordinates (..., width) in q of each joint that has some, by name."""
        return configuration.split(self, "q", q)

    def split_velocities(self, v: Any) -> dict[str, np.ndarray]:
        """The velocities (..., width) in v of each joint that has some, by name."""
        return configuration.split(self, "v", v)

    def rate(self, q: Any, v: Any) -> np.ndarray:
        """The rates qdot = A(q) v of the positions (..., nq)."""
        return configuration.rate(self, q, v)

    assemble, spanning = closed_positions.assemble, closed_positions.spanning
    closure_names = property(closed_positions.closure_names)
    geometry_names, contact_points = property(geometry.names), property(geometry.contact_points)
    contact_pairs, pair_points = property(possible_pairs), property(pair_points)

    # --- tree --------------------------------------------------------------------------------------
    @cached_property
    def parents(self) -> tuple[int, ...]:
        """The parent of each body: entry k belongs to body k + 1; 0 is the world."""
        return tuple(body.parent for body in self.bodies)

    @cached_property
    def topology(self) -> Topology:
        """The tree as numbers: depths, branches, common ancestors."""
        return Topology(self.parents)

    @cached_property
    def _grouping(self) -> Grouping:
        rotors = [(self.joint_index(rotor.joint), rotor) for rotor in self.rotors]
        layout = layout_of(self.bodies, self._joint_index, self.name)
        return Grouping(self.bodies, rotors, self.topology, layout, self.loops)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that a sweep visits, predecessors first: groups of bodies with one set of coordinates."""
        return self._grouping.nodes

    def location(self, body: str | int | None) -> Location:
        """(node, member) of a body; (-1, 0) for the world."""
        return self._grouping.locations[self.body_index(body)]

    def is_ancestor(self, j: str | int, i: str | int) -> bool:
        """True if body `j` is body `i` or carries it; in constant time."""
        return self.topology.is_ancestor(self.body_index(j), self.body_index(i))

    def related(self, i: str | int, j: str | int) -> bool:
        """True if one of two bodies carries the other; in constant time."""
        return self.topology.related(self.body_index(i), self.body_index(j))

    def outermost(self, *bodies: str | int) -> int | None:
        """The outermost of several bodies on one path, carried by all others; None if not on one path."""
        return self.topology.outermost(*map(self.body_index, bodies))

    def common_ancestor(self, i: str | int, j: str | int) -> int:
        """The outermost body that carries both (or is one of them); 0 if only the world does."""
        return self.topology.common_ancestor(self.body_index(i), self.body_index(j))

    def path(self, i: str | int) -> tuple[int, ...]:
        """Body `i`, its parent, and so on to the body next to the world."""
        return self.topology.path(self.body_index(i))

    def branch(self, i: str | int) -> tuple[int, ...]:
        """Body `i` and everything it carries, in increasing order; `subtree` makes a model of them."""
        return self.topology.branch(self.body_index(i))

    def children(self, i: str | int) -> tuple[int, ...]:
        """The bodies that body `i` carries directly."""
        return self.topology.children[self.body_index(i)]

    @property
    def depth(self) -> int:
        """The number of bodies on the longest path from the world."""
        return max(self.topology.depths)

    def soa_order(self) -> tuple[int, ...]:
        """The bodies from tip to base: entry k - 1 is body k of the spatial operator algebra."""
        return tuple(range(self.nbodies, 0, -1))

    def mass_sparsity(self) -> np.ndarray:
        """(nv, nv), True where the mass matrix can be nonzero: for the velocities of related nodes."""
        return mass_sparsity(self.nodes, self.nv)

    def christoffel_sparsity(self) -> np.ndarray:
        """(triples, 3): the Christoffel symbols [i, j, k] that can be nonzero: velocities on one path.

        In the order of `kinetree.christoffel_values`.
        """
        return paths_of(self).triples()

    @property
    def total_mass(self) -> Any:
        """The mass of all bodies and rotors, kg."""
        return drive.total_mass(self)

    @property
    def parameters(self) -> np.ndarray:
        """(nb, 10): mass, m c (3) and inertia about the body origin (xx, yy, zz, xy, xz, yz) of each body.

        In the order of `Inertia.parameters`; functions of a model take such an array as `parameters=`.
        """
        return drive.parameters(self)

    # --- joints as vectors over v ------------------------------------------------------------------
    @property
    def armature(self) -> np.ndarray:
        """(nv,) inertia that joints add to the diagonal of the mass matrix; rotors are not included."""
        return drive.summed(self, "armature")

    @property
    def damping(self) -> np.ndarray:
        """(nv,) viscous damping, N m s/rad or N s/m."""
        return drive.summed(self, "damping")

    @property
    def friction(self) -> np.ndarray:
        """(nv,) Coulomb friction, N m or N."""
        return drive.summed(self, "friction")

    @property
    def stiffness(self) -> np.ndarray:
        """(nv,) stiffness of joint springs, N m/rad or N/m."""
        return drive.summed(self, "stiffness")

    spring_reference, limits = property(drive.spring_reference), property(drive.limits)

    # --- other models ------------------------------------------------------------------------------
    replace, with_parameters, lock = edit.replace, edit.with_parameters, edit.lock
    attach, subtree, add_frame = edit.attach, edit.subtree, edit.add_frame
    add_geometry, add_pair = edit.add_geometry, edit.add_pair

    def to_dict(self) -> dict[str, Any]:
        """The whole content as strings, numbers and lists, ready for JSON; lossless."""
        return postures.to_dict(self)

    @staticmethod
    def from_dict(data: Any, check: str | None = None) -> Model:
        """The model of a dictionary from `to_dict`; bodies may be in any order.

        Args:
            check: as for `ModelBuilder.build`; None for the entry "check" of the dictionary, or "physical".
        """
        return postures.from_dict(data, check)

    def memo(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result of `make`, computed once for this model and cached under `key`; not pickled or copied.

        Two threads that ask at once may both compute it; both get the same object.
        """
        kept = self._memo
        return kept[key] if key in kept else kept.setdefault(key, make())

    # --- values ------------------------------------------------------------------------------------
    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a model does not change: use replace({name}=...) to make another one")

    @property
    def _content(self) -> tuple:
        return tuple(getattr(self, name) for name in PARTS if name != "report")

    def remade(self, **parts: Any) -> Model:
        """The model with some of its parts replaced, unchecked."""
        own = {name: getattr(self, name) for name in PARTS}
        return Model(**own | parts)

    def __eq__(self, other: object) -> bool:
        return other is self or (isinstance(other, Model) and self._content == other._content)

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.body_names, self.parents))

    def __hash__(self) -> int:
        return self._hash

    __repr__, _repr_html_ = table, html_table

    def __reduce__(self) -> tuple:
        return Model, tuple(getattr(self, name) for name in PARTS)
