"""The contract that every joint type fulfils, and nothing that depends on a type.

A joint connects a predecessor frame, fixed in the body before it, to a successor frame, fixed in the body
after it; the two coincide at the neutral position. It has `nq` position coordinates q and `nv` velocities v.
These are the rates of q for every subclass of `CoordinateJoint`, and quasi-velocities otherwise (spherical
and free joints: the body angular velocity, the body twist).

A joint is an immutable value: its type and a tuple of numbers (`parameters`: an axis, a pitch). Parameters, q
and v are numbers of any kind that `kinetree.ops` knows, so the same code serves floats, arrays of states,
symbols and traces. No joint knows an algorithm, and no algorithm knows a joint type.

A new joint type is one class, here or in your own code. It defines

- `type_name`: its name in files and messages, by which `Joint.named` finds the class;
- `coordinates`: the kind of each coordinate, "angle", "length" or "quaternion" (four numbers of q, three
  angular velocities of v); nq and nv, the neutral position, random positions and units follow from it;
- `fields`: the arguments of its constructor, in order, and how many of the `parameters` each of them is;
- `steps`: the elementary motions it is made of, if any; converters need them;
- `axis`: the one line that it turns about and slides along, if there is one (see `AxialJoint`);
- `placement`, `subspace`, `complement`; `subspace_partials` and `subspace_second_partials` if S depends on q,
  and `unfelt` for speed;

and every algorithm, file format and converter supports it. Derive from `CoordinateJoint`, or from `Joint` if
the velocities are not the rates of the coordinates.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.joints.steps import Step, Vector
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.quaternion import quaternion_normalized
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform

Numbers = tuple[Any, ...]

# A quaternion whose length differs from 1 by more than this is not accepted as a rounded unit quaternion.
LENGTH_TOLERANCE = 1e-3

POSITIONS = {"angle": 1, "length": 1, "quaternion": 4}  # numbers of q that a coordinate takes
RATES = {"angle": ("angle",), "length": ("length",), "quaternion": ("angle",) * 3}  # its velocities

# The joint types by name: those of the library and those that users define.
JOINT_TYPES: dict[str, type[Joint]] = {}


class Joint(ABC):
    """A joint type with its parameters; two joints are equal if both are."""

    __slots__ = ("parameters",)

    type_name: ClassVar[str]
    coordinates: ClassVar[tuple[str, ...]]  # what q holds: "angle", "length", "quaternion"
    rates: ClassVar[tuple[str, ...]]  # what each velocity is the rate of: "angle" or "length"
    nq: ClassVar[int]  # position coordinates
    nv: ClassVar[int]  # velocities
    quaternions: ClassVar[tuple[int, ...]]  # where in q its quaternions start
    fields: ClassVar[tuple[tuple[str, int], ...]] = ()  # (constructor argument, its number of parameters)
    is_free: ClassVar[bool] = False  # it constrains nothing and its velocity is the body twist: S = 1
    is_internal: ClassVar[bool] = False  # for use inside the library only: not a joint of a model

    parameters: Numbers

    def __init__(self, *parameters: Any):
        object.__setattr__(self, "parameters", parameters)

    def __init_subclass__(cls, **options: Any) -> None:
        """Derive nq, nv and the like from `coordinates`, and register the class by its name."""
        super().__init_subclass__(**options)
        if "coordinates" in cls.__dict__:
            cls._count_coordinates()
        if "type_name" in cls.__dict__ and not cls.is_internal:
            if not hasattr(cls, "coordinates"):
                raise TypeError(f"{cls.__qualname__}: say what its coordinates are, as in ('angle',)")
            known = JOINT_TYPES.get(cls.type_name, cls)
            if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
                raise TypeError(
                    f"{cls.__qualname__}: there is a joint type '{cls.type_name}' already, "
                    f"{known.__module__}.{known.__qualname__}: choose another type_name"
                )
            JOINT_TYPES[cls.type_name] = cls

    @classmethod
    def _count_coordinates(cls) -> None:
        starts, total = [], 0
        for kind in cls.coordinates:
            if kind not in POSITIONS:
                known = ", ".join(map(repr, POSITIONS))
                raise TypeError(f"{cls.__qualname__}: a coordinate is one of {known}, not {kind!r}")
            starts += [total] if kind == "quaternion" else []
            total += POSITIONS[kind]
        cls.nq, cls.quaternions = total, tuple(starts)
        cls.rates = sum((RATES[kind] for kind in cls.coordinates), ())
        cls.nv = len(cls.rates)

    @staticmethod
    def named(type_name: Any, owner: str = "Joint.named") -> type[Joint]:
        """The joint type of this name, built-in or user-defined; ModelError if there is none."""
        try:
            return JOINT_TYPES[type_name]
        except (KeyError, TypeError):
            pass
        close = get_close_matches(type_name, JOINT_TYPES, n=3) if isinstance(type_name, str) else []
        remedy = "did you mean " + " or ".join(map(repr, close)) + "?" if close else (
            f"known: {', '.join(JOINT_TYPES)}; a type of your own must be imported first"
        )  # fmt: skip
        raise ModelError(f"{owner}: there is no joint type {type_name!r}; {remedy}")

    @classmethod
    def from_parameters(cls, parameters: Sequence[Any], owner: str = "") -> Self:
        """The joint with these numbers, checked as by the constructor."""
        count = sum(width for _, width in cls.fields)
        if len(parameters) != count:
            raise ModelError(
                f"{owner or cls.__name__}: a {cls.type_name} joint has {count} parameters, got "
                f"{len(parameters)}: {tuple(parameters)}"
            )
        return cls(**cls._by_name(parameters))

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the constructor, by name: a number, or a tuple of numbers."""
        return self._by_name(self.parameters)

    @classmethod
    def _by_name(cls, parameters: Sequence[Any]) -> dict[str, Any]:
        rest = iter(parameters)
        return {
            name: next(rest) if width == 1 else tuple(next(rest) for _ in range(width))
            for name, width in cls.fields
        }

    def with_parameters(self, parameters: Numbers) -> Self:
        """The same joint with other numbers, unchecked: they may be expressions."""
        return _joint(type(self), tuple(parameters))

    @property
    def axis(self) -> Vector | None:
        """The line through both origins that the joint turns about and slides along; None if it has none.

        The joint then looks the same from frames turned about this line or moved along it.
        """
        return None

    @property
    def first_axis(self) -> Vector | None:
        """The line that the predecessor side turns about or slides along; None if there is no such line."""
        return self.axis

    def straightened(self) -> tuple[Any, Self] | None:
        """Axes for both sides, as rows, with z along its first axis, and the joint expressed in them.

        None if it has no first axis.
        """
        return None

    @property
    def is_translation(self) -> bool:
        """True if it only slides along its axis: then the placement of its frames does not matter."""
        return self.axis is not None and all(kind == "length" for kind in self.coordinates)

    @property
    def steps(self) -> tuple[Step, ...] | None:
        """The elementary motions it is made of, from predecessor to successor; None if there are none."""
        return None

    @abstractmethod
    def placement(self, q: Numbers) -> Transform:
        """The transform X(q) from predecessor to successor coordinates."""

    @abstractmethod
    def subspace(self, q: Numbers) -> Subspace:
        """The motion subspace S(q) in successor coordinates: S v is the velocity across the joint."""

    def subspace_partials(self, q: Numbers) -> tuple[Subspace, ...]:
        """The derivatives dS_k of S along each velocity, S-ring = sum_k v_k dS_k; () if S is constant."""
        return ()

    def subspace_second_partials(self, q: Numbers) -> tuple[tuple[Subspace, ...], ...]:
        """The derivatives d_j d_k S as entries [j][k]; () if S is constant or changes at a constant rate."""
        if type(self).subspace_partials is not Joint.subspace_partials:
            raise ModelError(
                f"the joint type {self.type_name!r} has subspace_partials and no subspace_second_partials, "
                "which derivatives of the dynamics need: define them, too, or use "
                "kinetree.jacobian_of(kinetree.inverse_dynamics)"
            )
        return ()

    def brackets(self) -> tuple[tuple[Numbers, ...], ...]:
        """The constants c[j][k][l] of [X_j, X_k] = sum_l c[j][k][l] X_l; () if all are zero."""
        return ()

    @abstractmethod
    def integrate(self, q: Numbers, dv: Numbers) -> Numbers:
        """The position reached from `q` by moving at the constant velocity `dv` for a unit of time."""

    @abstractmethod
    def difference(self, q0: Numbers, q1: Numbers) -> Numbers:
        """The shortest `dv` that leads from `q0` to `q1`: the inverse of `integrate`."""

    @abstractmethod
    def rate(self, q: Numbers, v: Numbers) -> Numbers:
        """The rates of the position coordinates, qdot = A(q) v."""

    def soundness(self, q: Numbers) -> Numbers:
        """Numbers that are at least 1 if `q` is a position of the joint: if quaternions have unit length.

        2 - t^2 with t = (|quaternion|^2 - 1) / (2 LENGTH_TOLERANCE), which rejects overflow and zero too.
        """
        scale = 0.5 / LENGTH_TOLERANCE
        found = []
        for k in self.quaternions:
            x, y, z, w = q[k : k + 4]
            t = (x * x + y * y + z * z + w * w) * scale - scale
            found.append(2 - t * t)
        return tuple(found)

    def fault(self, q: Numbers) -> str:
        """What is wrong with an invalid position, in words."""
        found = [tuple(map(float, q[k : k + 4])) for k in self.quaternions]
        lengths = " and ".join(f"{x} has length {math.hypot(*x):.6g}" for x in found)
        return f"its quaternion [x y z w] = {lengths}, and not 1"

    def velocity(self, q: Numbers, rate: Numbers) -> Numbers:
        """The v with rate(q, v) = rate; the nearest one if no v has these rates."""
        units = [tuple(int(j == k) for j in range(self.nv)) for k in range(self.nv)]
        A = np.array([self.rate(q, unit) for unit in units], object)
        return tuple(ops.solve(A @ A.T, A @ np.array(rate, object)))

    def neutral(self) -> Numbers:
        """The position in which successor and predecessor coincide."""
        return sum(((0.0, 0.0, 0.0, 1.0) if c == "quaternion" else (0.0,) for c in self.coordinates), ())

    def random(self, rng: Any) -> Numbers:
        """A random position drawn with a NumPy generator: angles in [-pi, pi), lengths in [-1, 1) m."""
        return sum((_random(kind, rng) for kind in self.coordinates), ())

    def unfelt(self, inertia: Inertia) -> Inertia:
        """The part of a body's inertia (successor frame) that can be moved to the predecessor's body.

        A part D of the inertia with D S = 0 that is invariant under the joint's motion gives the same
        equations of motion when it is moved across the joint. Zero if no such part is known.
        """
        return Inertia.zero()

    @abstractmethod
    def complement(self, q: Numbers) -> Subspace:
        """An orthonormal basis of the directions that the joint constrains: S(q)^T complement(q) = 0."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"a joint is immutable: build another {type(self).__name__} instead of setting {name}"
        )

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.parameters == self.parameters  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self.parameters))

    def __reduce__(self) -> tuple:
        return _joint, (type(self), self.parameters)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        return f"{type(self).__name__}({arguments})"


class CoordinateJoint(Joint):
    """A joint whose velocities are the rates of its position coordinates (nq = nv, all brackets zero)."""

    __slots__ = ()

    def integrate(self, q: Numbers, dv: Numbers) -> Numbers:
        return tuple(a + b for a, b in zip(q, dv, strict=True))

    def difference(self, q0: Numbers, q1: Numbers) -> Numbers:
        return tuple(b - a for a, b in zip(q0, q1, strict=True))

    def rate(self, q: Numbers, v: Numbers) -> Numbers:
        return tuple(v)

    def velocity(self, q: Numbers, rate: Numbers) -> Numbers:
        return tuple(rate)


J = TypeVar("J", bound=Joint)


def _joint(joint_type: type[J], parameters: Numbers) -> J:
    """A joint of the given type with these parameters, unchecked."""
    joint = object.__new__(joint_type)
    object.__setattr__(joint, "parameters", parameters)
    return joint


def _random(kind: str, rng: Any) -> Numbers:
    if kind == "quaternion":
        return quaternion_normalized(tuple(float(x) for x in rng.standard_normal(4)))
    return (float(rng.uniform(-math.pi, math.pi) if kind == "angle" else rng.uniform(-1.0, 1.0)),)
