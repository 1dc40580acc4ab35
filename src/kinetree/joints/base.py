"""What a joint is: the contract that every joint type keeps, and nothing that depends on a type.

A joint connects a predecessor frame, fixed in the body before it, to a successor frame, fixed in the body
after it; the two coincide at the neutral position. It has `nq` position coordinates q and `nv` velocities
v, which are the rates of q for every joint of class `CoordinateJoint` and quasi-velocities otherwise
(spherical and free joints: the body angular velocity, the body twist).

A joint is an immutable value: its type and a tuple of numbers (`parameters`: an axis, a pitch). Numbers are
of any kind that `kinetree.ops` knows, in the parameters as in q and v, so the same text serves floats,
arrays of states, symbols and traces. No joint knows an algorithm, and no algorithm knows a joint type.

A general hinge map is a class of your own: derive it from `CoordinateJoint`, write its placement, its
subspace and the derivatives of its subspace, and every algorithm takes it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self, TypeVar

from kinetree.spatial.inertia import Inertia
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform

Numbers = tuple[Any, ...]


class Joint(ABC):
    """A joint type with its parameters; two joints are equal if both are."""

    __slots__ = ("parameters",)

    type_name: ClassVar[str]
    nq: ClassVar[int]  # position coordinates
    nv: ClassVar[int]  # velocities
    has_constant_subspace: ClassVar[bool] = True  # S does not depend on q

    parameters: Numbers

    def __init__(self, *parameters: Any):
        object.__setattr__(self, "parameters", parameters)

    def with_parameters(self, parameters: Numbers) -> Self:
        """The same joint with other numbers, unchecked: they may be expressions."""
        return _joint(type(self), tuple(parameters))

    @abstractmethod
    def placement(self, q: Numbers) -> Transform:
        """The transform X(q) from predecessor to successor coordinates."""

    @abstractmethod
    def subspace(self, q: Numbers) -> Subspace:
        """The motion subspace S(q) in successor coordinates: S v is the velocity across the joint."""

    def subspace_partials(self, q: Numbers) -> tuple[Subspace, ...]:
        """The derivatives dS_k of S along each velocity, () if S is constant: S-ring = sum_k v_k dS_k."""
        return ()

    def brackets(self) -> tuple[tuple[Numbers, ...], ...]:
        """The constants c[j][k][l] of [X_j, X_k] = sum_l c[j][k][l] X_l; () if all are zero."""
        return ()

    @abstractmethod
    def integrate(self, q: Numbers, dv: Numbers) -> Numbers:
        """The position reached from `q` by moving with the constant velocity `dv` for a unit of time."""

    @abstractmethod
    def difference(self, q0: Numbers, q1: Numbers) -> Numbers:
        """The shortest `dv` that leads from `q0` to `q1`: the inverse of `integrate`."""

    @abstractmethod
    def rate(self, q: Numbers, v: Numbers) -> Numbers:
        """The rates of the position coordinates, qdot = A(q) v."""

    @abstractmethod
    def neutral(self) -> Numbers:
        """The position in which successor and predecessor coincide."""

    @abstractmethod
    def random(self, rng: Any) -> Numbers:
        """A random position drawn with a NumPy generator: angles in [-pi, pi), lengths in [-1, 1) m."""

    def unfelt(self, inertia: Inertia) -> Inertia:
        """The part of a body's inertia (successor frame) that may as well be fixed to the predecessor.

        A part D of the inertia with D S = 0 that is invariant under the joint's motion gives the same
        equations of motion when it is moved across the joint: the joint does not feel it. Zero if nothing
        is known.
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
        return f"{type(self).__name__}()"


class CoordinateJoint(Joint):
    """A joint whose velocities are the rates of its position coordinates (nq = nv, all brackets zero)."""

    __slots__ = ()

    def integrate(self, q: Numbers, dv: Numbers) -> Numbers:
        return tuple(a + b for a, b in zip(q, dv, strict=True))

    def difference(self, q0: Numbers, q1: Numbers) -> Numbers:
        return tuple(b - a for a, b in zip(q0, q1, strict=True))

    def rate(self, q: Numbers, v: Numbers) -> Numbers:
        return tuple(v)

    def neutral(self) -> Numbers:
        return (0.0,) * self.nq


J = TypeVar("J", bound=Joint)


def _joint(joint_type: type[J], parameters: Numbers) -> J:
    """A joint of the given type with these parameters as they are."""
    joint = object.__new__(joint_type)
    object.__setattr__(joint, "parameters", parameters)
    return joint
