"""The planar joint with body velocities: the same motion as `Planar`, in other velocities."""

from __future__ import annotations

from typing import Any

from kinetree import ops
from kinetree.joints.base import Joint, Numbers
from kinetree.joints.fixed import BASIS
from kinetree.joints.planar import Planar
from kinetree.spatial.even import cotangent_defect_ratio, sine_defect_ratio, versine_ratio
from kinetree.spatial.subspace import Subspace

_PLANE = (2, 3, 4)  # rotation about z, translations along x and y


class PlanarTwist(Joint):
    """q = [theta, x, y] as for `Planar`; v = [omega, v_x, v_y], the velocity of the body in its own axes.

    S = [e_z 0 0; 0 e_x e_y] is constant, and the velocities have the brackets of se(2). They suit wheels and
    skids, whose forces act along the axes of the body.
    """

    __slots__ = ()
    type_name, coordinates = "planar_twist", ("angle", "length", "length")

    def __init__(self) -> None:
        super().__init__()

    steps, placement, unfelt, complement = Planar.steps, Planar.placement, Planar.unfelt, Planar.complement

    def subspace(self, q: Numbers) -> Subspace:
        return Subspace(tuple(BASIS[k] for k in _PLANE))

    def brackets(self) -> tuple[tuple[Numbers, ...], ...]:
        def bracket(j: int, k: int) -> Numbers:
            found = BASIS[j].cross(BASIS[k]).components
            return tuple(found[l] for l in _PLANE)

        return tuple(tuple(bracket(j, k) for k in _PLANE) for j in _PLANE)

    def integrate(self, q: Numbers, dv: Numbers) -> Numbers:
        """The pose T(q) exp(dv): an arc of a circle, exact for any step length."""
        u, x, y = dv
        along, across = 1 - u * u * sine_defect_ratio(u * u), u * versine_ratio(u * u)
        dx, dy = _turned(q[0], along * x - across * y, across * x + along * y)
        return (q[0] + u, q[1] + dx, q[2] + dy)

    def difference(self, q0: Numbers, q1: Numbers) -> Numbers:
        """The twist log(T(q0)^-1 T(q1)), with a rotation of at most half a turn."""
        turn = q1[0] - q0[0]
        u = ops.atan2(ops.sin(turn), ops.cos(turn))
        x, y = _turned(-q0[0], q1[1] - q0[1], q1[2] - q0[2])
        along, across = 1 - u * u * cotangent_defect_ratio(u * u), u / 2
        return (u, along * x + across * y, along * y - across * x)

    def rate(self, q: Numbers, v: Numbers) -> Numbers:
        return (v[0], *_turned(q[0], v[1], v[2]))

    def velocity(self, q: Numbers, rate: Numbers) -> Numbers:
        return (rate[0], *_turned(-q[0], rate[1], rate[2]))


def _turned(angle: Any, x: Any, y: Any) -> Numbers:
    """A vector in the plane, turned by an angle."""
    c, s = ops.cos(angle), ops.sin(angle)
    return c * x - s * y, s * x + c * y
