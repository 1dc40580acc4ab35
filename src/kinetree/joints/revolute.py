"""The hinge: one rotation about an axis. Also the spin of a rotor, seen from a frame that does not turn."""

from __future__ import annotations

from kinetree.joints.axial import AxialJoint, turns_across
from kinetree.joints.axis import rotation_about
from kinetree.joints.base import Numbers
from kinetree.joints.fixed import BASIS
from kinetree.joints.steps import Step, hinge
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Motion
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform


class Revolute(AxialJoint):
    """A rotation by q about `axis`; S = [a; 0].

    Args:
        axis: unit vector a in predecessor axes (the same in successor axes).
    """

    __slots__ = ()
    type_name, coordinates = "revolute", ("angle",)

    @property
    def steps(self) -> tuple[Step, ...]:
        return (hinge(self.axis),)

    def placement(self, q: Numbers) -> Transform:
        return rotation_about(self.axis, q[0])

    def subspace(self, q: Numbers) -> Subspace:
        return Subspace((Motion(self.axis, (0, 0, 0)),))

    def unfelt(self, inertia: Inertia) -> Inertia:
        """For a coordinate axis z: the mass, the first moment along z, and diag(Jyy, Jyy, 0)."""
        return self.axisymmetric(inertia, inertia.mass, 1)

    def complement(self, q: Numbers) -> Subspace:
        return Subspace((*turns_across(self.axis), *BASIS[3:]))


class Spin(Revolute):
    """A rotation about `axis` that its frame does not follow: S = [a; 0], but the placement is the identity.

    The frame of a body that is symmetric about its axis (a rotor, an armature) need not turn with it. The
    library uses this joint inside groups; models do not contain it.
    """

    __slots__ = ()
    type_name, is_internal = "spin", True

    @property
    def steps(self) -> None:  # type: ignore[override]
        return None

    def placement(self, q: Numbers) -> Transform:
        return Transform.identity()
