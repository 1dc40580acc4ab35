"""The planar joint: free motion in the x-y plane of the predecessor."""

from __future__ import annotations

from kinetree import ops
from kinetree.joints.axial import axisymmetric
from kinetree.joints.axis import turned_and_shifted
from kinetree.joints.base import CoordinateJoint, Numbers
from kinetree.joints.fixed import BASIS
from kinetree.joints.steps import Step, X, Y, Z, hinge, slide
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Motion
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform

_STILL = Motion((0, 0, 0), (0, 0, 0))


class Planar(CoordinateJoint):
    """q = [theta, x, y]: a rotation about z at the position (x, y, 0) in predecessor axes; v = qdot.

    S = [e_z 0 0; 0 R^T e_x R^T e_y] turns with theta.
    """

    __slots__ = ()
    type_name, coordinates = "planar", ("angle", "length", "length")

    def __init__(self) -> None:
        super().__init__()

    @property
    def steps(self) -> tuple[Step, ...]:
        return slide(X, 1), slide(Y, 2), hinge(Z, 0)

    def placement(self, q: Numbers) -> Transform:
        return turned_and_shifted((0, 0, 1), q[0], (q[1], q[2], 0))

    def subspace(self, q: Numbers) -> Subspace:
        c, s = ops.cos(q[0]), ops.sin(q[0])
        return Subspace((BASIS[2], Motion((0, 0, 0), (c, -s, 0)), Motion((0, 0, 0), (s, c, 0))))

    def subspace_partials(self, q: Numbers) -> tuple[Subspace, ...]:
        c, s = ops.cos(q[0]), ops.sin(q[0])
        turning = Subspace((_STILL, Motion((0, 0, 0), (-s, -c, 0)), Motion((0, 0, 0), (c, -s, 0))))
        constant = Subspace((_STILL, _STILL, _STILL))
        return turning, constant, constant

    def subspace_second_partials(self, q: Numbers) -> tuple[tuple[Subspace, ...], ...]:
        c, s = ops.cos(q[0]), ops.sin(q[0])
        turning = Subspace((_STILL, Motion((0, 0, 0), (-c, s, 0)), Motion((0, 0, 0), (-s, -c, 0))))
        constant = Subspace((_STILL, _STILL, _STILL))
        return (turning, constant, constant), (constant,) * 3, (constant,) * 3

    def unfelt(self, inertia: Inertia) -> Inertia:
        """diag(Jyy, Jyy, 0): the body never turns about x or y."""
        return axisymmetric(2, inertia, 0, 0)

    def complement(self, q: Numbers) -> Subspace:
        return Subspace((BASIS[0], BASIS[1], BASIS[5]))
