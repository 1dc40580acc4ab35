"""The builder: bodies, rotors and frames one by one, then an immutable model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kinetree.errors import ModelError
from kinetree.joints import Fixed, Joint
from kinetree.joints.axis import unit_axis
from kinetree.model import loops, rods, validate
from kinetree.model.closures import (
    Closure,
    JointClosure,
    RelationClosure,
    RodClosure,
    has_rows,
    refuse_useless,
)
from kinetree.model.geometry import DISSIPATION, FRICTION, Geometry, free_name, geometry
from kinetree.model.ground import Ground, Heightfield, refuse_no_ground
from kinetree.model.grouping import refuse_undrivable
from kinetree.model.model import Model
from kinetree.model.pairs import Pair, checked_pairs
from kinetree.model.parts import Body, Frame, Rotor

GRAVITY = (0.0, 0.0, -9.81)


class ModelBuilder:
    """Collects the parts of a model and checks each as it is added.

    Args:
        name: the model's name, used in messages and tables.
        gravity: acceleration of free fall in world axes, m/s^2.

    Example:
        builder = kt.ModelBuilder("pendulum")
        builder.add_body("rod", "world", kt.Revolute((0, 1, 0)), inertia=kt.Inertia(1.0, (0, 0, -0.5)))
        model = builder.build()
    """

    def __init__(self, name: str = "model", gravity: Any = GRAVITY):
        if not isinstance(name, str) or not name.strip():
            raise ModelError(
                f"ModelBuilder: the name of a model must be a non-empty string, got {validate.shown(name)}"
            )
        self.name = name
        self.gravity = validate.numbers(gravity, 3, f"model '{name}': gravity")
        self._bodies: list[Body] = []
        self._rotors: list[Rotor] = []
        self._frames: list[Frame] = []
        self._body_index: dict[str, int] = {validate.WORLD: 0}
        self._joint_index: dict[str, int] = {}
        self._frame_names: set[str] = set()
        self._geometries: dict[str, Geometry] = {}
        self._ground: Ground | Heightfield | None = None
        self._pairs: list[Pair] = []
        self.closures: list[Closure] = []
        self._independent: list[tuple[str, int]] = []
        self._start: dict[str, Any] = {}

    def add_body(
        self,
        name: str,
        parent: str | None = None,
        joint: Joint | None = None,
        placement: Any = None,
        inertia: Any = None,
        joint_name: str | None = None,
        mimic: Any = None,
        armature: Any = 0.0,
        damping: Any = 0.0,
        friction: Any = 0.0,
        limits: Any = None,
        stiffness: Any = 0.0,
        spring_reference: Any = None,
    ) -> ModelBuilder:
        """Add a body and the joint that connects it to its parent; returns the builder.

        Args:
            name: unique name of the body.
            parent: name of a body added before; None or "world" for the world.
            joint: the joint type; None for a fixed joint.
            placement: `Pose` of the joint's predecessor side in the parent body; None for the identity.
            inertia: `Inertia` in the body frame; None for a body without mass.
            joint_name: unique name of the joint; the body's name by default.
            mimic: (joint, multiplier, offset): the coordinate follows that of another joint.
            armature: inertia that the joint adds to its diagonal entries of the mass matrix, kg m^2 or kg.
            damping: viscous damping, N m s/rad or N s/m.
            friction: Coulomb friction, N m or N.
            limits: (lower, upper), or `Limits`, or a dict of its fields.
            stiffness: of a spring along each degree of freedom, N m/rad or N/m.
            spring_reference: position at which the spring is relaxed; the neutral position by default.

        Raises:
            ModelError: if an argument is invalid; the message says what, where and what to do.
        """
        validate.new_name(name, "body", self._body_index, self.name)
        if name in self._frame_names:
            raise ModelError(f"model '{self.name}' already contains a frame named '{name}': rename the body")
        owner = f"model '{self.name}': body '{name}'"
        joint = Fixed() if joint is None else joint
        if not isinstance(joint, Joint):
            hint = f"write {joint.__name__}()" if isinstance(joint, type) else "as in Revolute((0, 0, 1))"
            raise ModelError(f"{owner}: joint must be a joint, {hint}, got {validate.shown(joint)}")
        if joint.is_internal:
            raise ModelError(
                f"{owner}: {type(joint).__name__} is internal to the library: use a joint of kinetree.joints"
            )
        joint_name = name if joint_name is None else joint_name
        validate.new_name(joint_name, "joint", self._joint_index, self.name)
        what = f"model '{self.name}': joint '{joint_name}'"
        acting = {
            "armature": armature, "damping": damping, "friction": friction, "stiffness": stiffness,
            "spring_reference": spring_reference, "limits": limits,
        }  # fmt: skip
        body = Body(
            name=name,
            parent=self._known_body(parent, f"{owner}, parent"),
            joint=joint,
            joint_name=joint_name,
            placement=validate.pose(placement, f"{owner}: placement"),
            inertia=validate.inertia(inertia, f"{owner}: inertia"),
            mimic=validate.mimic(mimic, joint, what),
            **{key: validate.JOINT_FIELDS[key](x, joint, f"{what}: {key}") for key, x in acting.items()},
        )
        self._bodies.append(body)
        self._body_index[name] = len(self._bodies)
        self._joint_index[joint_name] = len(self._bodies)
        return self

    def add_rotor(
        self, joint: str, inertia: Any, placement: Any = None, axis: Any = (0, 0, 1), ratio: Any = 1.0
    ) -> ModelBuilder:
        """Add a geared rotor that a joint drives; returns the builder.

        The rotor is carried by the joint's predecessor body and turns about its own axis by the sum of the
        ratios times the joint's coordinates. Joint forces remain those at the output side.

        Args:
            joint: name of the joint that drives it.
            inertia: `Inertia` of the rotor in its own frame.
            placement: `Pose` of the rotor frame in the carrying body.
            axis: unit vector of the spin in the rotor frame.
            ratio: rotor speed over joint speed, one number for each degree of freedom.
        """
        if not isinstance(joint, str) or joint not in self._joint_index:
            raise validate.unknown(joint, "joint", self._joint_index, f"model '{self.name}': rotor")
        owner = f"model '{self.name}': rotor of joint '{joint}'"
        driven = self._bodies[self._joint_index[joint] - 1].joint
        refuse_undrivable(driven, joint, owner)
        if inertia is None:
            raise ModelError(f"{owner}: a rotor needs an Inertia, got None")
        self._rotors.append(
            Rotor(
                joint=joint,
                inertia=validate.inertia(inertia, f"{owner}: inertia"),
                placement=validate.pose(placement, f"{owner}: placement"),
                axis=unit_axis(axis, owner),
                ratio=validate.per_degree(ratio, driven.nv, f"{owner}: ratio"),
            )
        )
        return self

    def add_frame(self, name: str, body: str | None, placement: Any = None) -> ModelBuilder:
        """Add a named frame that is fixed in a body; returns the builder."""
        validate.new_frame(name, self._frame_names, self._body_index, self.name)
        owner = f"model '{self.name}': frame '{name}'"
        index = self._known_body(body, f"{owner}, body")
        self._frames.append(Frame(name, index, validate.pose(placement, f"{owner}: placement")))
        self._frame_names.add(name)
        return self

    def add_geometry(
        self,
        body: str | None,
        shape: Any,
        placement: Any = None,
        friction: float = FRICTION,
        stiffness: float | None = None,
        dissipation: float = DISSIPATION,
        name: str | None = None,
    ) -> ModelBuilder:
        """Add a contact shape to a body; returns the builder.

        Args:
            body: name of the body; None or "world" for a shape that stands still.
            shape: `Point`, `Sphere`, `Capsule`, `Box`, `Cylinder` or `Vertices`.
            placement: `Pose` of the shape in the body; None for the identity.
            friction: Coulomb's coefficient.
            stiffness: of each point of the shape, N/m; None for feet on which the robot sinks in by 1 mm (see
                `Model.contact_points`).
            dissipation: relative growth of the force per m/s of approach, s/m.
            name: of the geometry; by default that of its body, with a number if it is taken.
        """
        index = self._known_body(body, f"model '{self.name}': geometry, body")
        if name is None:
            name = free_name(body or validate.WORLD, self._geometries)
        elif name != validate.WORLD:
            validate.new_name(name, "geometry", self._geometries, self.name)
        given = (shape, placement, friction, stiffness, dissipation)
        self._geometries[name] = geometry(name, index, given, f"model '{self.name}': geometry '{name}'")
        return self

    def add_pair(
        self,
        geometry: str,
        other: str,
        friction: float | None = None,
        stiffness: float | None = None,
        dissipation: float | None = None,
    ) -> ModelBuilder:
        """Let two geometries touch each other; returns the builder.

        Args:
            geometry, other: names of geometries of two bodies, or of a body and the world.
            friction, stiffness, dissipation: of their contact; None to combine those of both (`kt.Pair`).
        """
        self._pairs.append(Pair(geometry, other, friction, stiffness, dissipation))
        return self

    def add_ground(self, ground: Ground | Heightfield) -> ModelBuilder:
        """Set the ground that the model stands on; returns the builder."""
        if self._ground is not None:
            raise ModelError(f"model '{self.name}' has a ground already: {self._ground}")
        self._ground = refuse_no_ground(ground, f"model '{self.name}'")
        return self

    def add_loop(
        self,
        body_a: str | None,
        body_b: str | None,
        joint: Joint,
        at: Any = None,
        other: Any = None,
        independent: Any = (),
        name: str | None = None,
        spin: str = "keep",
    ) -> ModelBuilder:
        """Close a loop by a joint between two bodies that are already connected; returns the builder.

        q keeps the coordinates of all joints of the tree; v has only the independent ones. The closing joint
        has no coordinates, unless its type cannot be written as constraint rows (a screw): then it becomes a
        joint of the tree, with a massless body that is welded to `body_b`.

        Args:
            body_a, body_b: names of two bodies, or of one and the world.
            joint: the joint that closes the loop; `Fixed()` welds, `Spherical()` connects two points.
            at: `Pose` of the joint's predecessor side in `body_a`.
            other: `Pose` of its successor side in `body_b`.
            independent: names of joints whose velocities must be in v; the others are chosen automatically.
            name: of the loop; made from the names of both bodies by default.
            spin: of a rod with ball joints at both ends, whose rotation about its own line moves nothing
                else: "keep" keeps it as one more degree of freedom; "lock" replaces the ball joint that
                carries the rod by a universal joint. A massless rod (`add_distance`) has no spin.
        """
        name = self._loop_name(name, body_a, body_b)
        owner = f"model '{self.name}': loop '{name}'"
        if not isinstance(joint, Joint):
            got = validate.shown(joint)
            raise ModelError(f"{owner}: joint must be a joint, as in Spherical(), got {got}")
        here, there = self._ends(body_a, body_b, owner)
        pose, pose_b = validate.pose(at, f"{owner}: at"), validate.pose(other, f"{owner}: other")
        refuse_useless(joint, owner)
        rods.refuse_unknown_spin(spin, owner)
        if spin == "lock":
            rod, end = rods.rod_of(self._bodies, ((here, pose.p), (there, pose_b.p)), joint, owner)
            self._bodies[rod - 1] = rods.without_spin(self._bodies[rod - 1], end, owner)
        if not has_rows(joint):
            self.add_body(name, body_a, joint, pose)
            here, joint, pose = len(self._bodies), Fixed(), validate.IDENTITY
        return self._close(JointClosure(name, here, there, joint, pose, pose_b), independent, owner)

    def add_distance(
        self,
        body_a: str | None,
        body_b: str | None,
        length: float,
        at: Any = (0, 0, 0),
        other: Any = (0, 0, 0),
        independent: Any = (),
        name: str | None = None,
    ) -> ModelBuilder:
        """Close a loop by a massless rod between two points; returns the builder.

        Args:
            body_a, body_b: names of two bodies, or of one and the world.
            length: the distance between the points, m.
            at, other: the points, in `body_a` and `body_b`.
            independent, name: as for `add_loop`.
        """
        name = self._loop_name(name, body_a, body_b)
        owner = f"model '{self.name}': rod '{name}'"
        here, there = self._ends(body_a, body_b, owner)
        points = (validate.numbers(x, 3, f"{owner}: {what}") for x, what in ((at, "at"), (other, "other")))
        distance = validate.number(length, f"{owner}: length")
        if not distance > 0:
            raise ModelError(
                f"{owner}: length is {distance}: it must be positive (for 0, connect by a Spherical joint)"
            )
        return self._close(RodClosure(name, here, there, distance, *points), independent, owner)

    def add_relation(
        self, joint: str, leader: str, coefficients: Any, independent: Any = (), name: str | None = None
    ) -> ModelBuilder:
        """Make the coordinate of a joint a polynomial of another joint's; returns the builder.

            q[joint] = c_0 + c_1 x + c_2 x^2 + ...,    x = q[leader]

        Both keep their coordinates in q. A linear relation is cheaper as `mimic` of `add_body`.
        """
        name = self._loop_name(name, joint, leader)
        owner = f"model '{self.name}': relation '{name}'"
        ends: list[int] = []
        for one in (joint, leader):
            if not isinstance(one, str) or one not in self._joint_index:
                raise validate.unknown(one, "joint", self._joint_index, owner)
            ends.append(self._joint_index[one])
            if self._bodies[ends[-1] - 1].joint.nq != 1:
                raise ModelError(f"{owner}: joint '{one}' does not have one coordinate")
        if joint == leader:
            raise ModelError(f"{owner}: joint '{joint}' cannot follow itself")
        given = tuple(coefficients)
        numbers = validate.numbers(given, max(len(given), 1), f"{owner}: coefficients")
        return self._close(RelationClosure(name, ends[0], ends[1], numbers), independent, owner)

    def _loop_name(self, name: Any, a: Any, b: Any) -> str:
        known = [closure.name for closure in self.closures]
        if name is None:
            name = first = f"{a or validate.WORLD}-{b or validate.WORLD}"
            while name in known:
                name = f"{first}-{known.count(first) + 1 + len(known)}"
        return validate.new_name(name, "loop", known, self.name)

    def _ends(self, body_a: Any, body_b: Any, owner: str) -> tuple[int, int]:
        ends = self._known_body(body_a, f"{owner}, body_a"), self._known_body(body_b, f"{owner}, body_b")
        if ends[0] == ends[1]:
            raise ModelError(f"{owner}: both ends are on body '{body_a}': a loop needs two bodies")
        return ends

    def _close(self, closure: Closure, independent: Any, owner: str) -> ModelBuilder:
        self.closures.append(closure)
        self.require((independent,) if isinstance(independent, str) else tuple(independent), owner)
        return self

    def require(self, independent: Iterable[Any], owner: str) -> None:
        """Require joints, or (joint, degree of freedom) pairs, to be independent in their loops."""
        for one in independent:
            joint, k = (one, None) if isinstance(one, str) else one
            if joint not in self._joint_index:
                raise validate.unknown(joint, "joint", self._joint_index, f"{owner}, independent")
            count = self._bodies[self._joint_index[joint] - 1].joint.nv
            if k is not None and k not in range(count):
                raise ModelError(
                    f"{owner}, independent: joint '{joint}' has {count} velocities, but no number {k}"
                )
            self._independent += [(joint, k)] if k is not None else [(joint, n) for n in range(count)]

    def build(self, check: str = "physical", report: Any = None) -> Model:
        """The model.

        Args:
            check: "physical" rejects inertias that no body can have; "finite" accepts any finite numbers.
            report: kept as `model.report`; what a loader found in the file.
        """
        tree = self.tree(check, report)
        return loops.closed_model(tree, self.closures, self._independent, self._start)

    def tree(self, check: str = "physical", report: Any = None) -> Model:
        """The model without its closures: the spanning tree; arguments as for `build`."""
        validate.refuse_unknown_check(check, f"model '{self.name}': build")
        if check == "physical":
            validate.refuse_unphysical(self._bodies, self._rotors, self.name)
        parts = tuple(self._bodies), tuple(self._rotors), tuple(self._frames)
        touching = tuple(self._geometries.values())
        model = Model(self.name, self.gravity, *parts, report, geometries=touching, ground=self._ground)
        if self._pairs:
            model = model.remade(pairs=checked_pairs(model, self._pairs, f"model '{self.name}'"))
        model.nodes  # noqa: B018  resolve mimic joints now, so that mistakes in them raise here
        return model

    def _known_body(self, name: Any, owner: str) -> int:
        """The index of a body that was added before."""
        if name is None:
            return 0
        try:
            return self._body_index[name]
        except (KeyError, TypeError):
            error = validate.unknown(name, "body", self._body_index, owner)
        raise error
