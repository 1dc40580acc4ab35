"""The spin of a rotor seen from a frame that does not turn with it."""

from __future__ import annotations

from kinetree.joints.base import Numbers
from kinetree.joints.revolute import Revolute
from kinetree.spatial.transform import Transform


class Spin(Revolute):
    """A rotation about `axis` that is felt but not followed: S = [a; 0], yet the placement is the identity.

    For a body that looks the same from every angle about its axis (a rotor, an armature) the frame in which
    its inertia is written need not turn with it. The library uses this joint inside groups; models do not
    contain it.
    """

    __slots__ = ()
    type_name, is_internal = "spin", True

    @property
    def steps(self) -> None:  # type: ignore[override]
        return None

    def placement(self, q: Numbers) -> Transform:
        return Transform.identity()
