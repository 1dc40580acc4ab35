"""The joint that constrains nothing: a floating base."""

from __future__ import annotations

from kinetree.joints.base import Joint, Numbers
from kinetree.joints.fixed import BASIS
from kinetree.joints.spherical import coordinate_matrix, turning
from kinetree.joints.steps import BALL, Step, X, Y, Z
from kinetree.spatial.even import cotangent_defect_ratio, sine_defect_ratio, versine_ratio
from kinetree.spatial.quaternion import (
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_normalized,
    quaternion_product,
)
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import add, cross, dot, mat_t_vec, mat_vec, scale, sub


class Free(Joint):
    """q = [unit quaternion x y z w, position] of the successor in the predecessor; v = body twist."""

    __slots__ = ()
    type_name, coordinates = "free", ("quaternion", "length", "length", "length")
    is_free = True

    def __init__(self) -> None:
        super().__init__()

    @property
    def steps(self) -> tuple[Step, ...]:
        slides = tuple(Step("slide", axis, (4 + k,), (3 + k,)) for k, axis in enumerate((X, Y, Z)))
        return (*slides, BALL)

    def placement(self, q: Numbers) -> Transform:
        return Transform(coordinate_matrix(q[:4]), tuple(q[4:]))

    def subspace(self, q: Numbers) -> Subspace:
        return Subspace(BASIS)

    def brackets(self) -> tuple[tuple[Numbers, ...], ...]:
        return tuple(tuple(BASIS[j].cross(BASIS[k]).components for k in range(6)) for j in range(6))

    def integrate(self, q: Numbers, dv: Numbers) -> Numbers:
        """The pose T(q) exp(dv): a screw motion in the body frame, exact for any step length."""
        u, w = dv[:3], dv[3:]
        x = dot(u, u)
        across = cross(u, w)
        step = add(w, add(scale(across, versine_ratio(x)), scale(cross(u, across), sine_defect_ratio(x))))
        attitude = quaternion_normalized(quaternion_product(q[:4], quaternion_exp(u)))
        return (*attitude, *add(tuple(q[4:]), mat_t_vec(coordinate_matrix(q[:4]), step)))

    def difference(self, q0: Numbers, q1: Numbers) -> Numbers:
        """The twist log(T(q0)^-1 T(q1))."""
        u = quaternion_log(quaternion_product(quaternion_conjugate(q0[:4]), q1[:4]))
        step = mat_vec(coordinate_matrix(q0[:4]), sub(tuple(q1[4:]), tuple(q0[4:])))
        across = cross(u, step)
        w = sub(step, (across[0] / 2, across[1] / 2, across[2] / 2))
        return (*u, *add(w, scale(cross(u, across), cotangent_defect_ratio(dot(u, u)))))

    def rate(self, q: Numbers, v: Numbers) -> Numbers:
        half = (v[0] / 2, v[1] / 2, v[2] / 2, 0)
        return (*quaternion_product(q[:4], half), *mat_t_vec(coordinate_matrix(q[:4]), tuple(v[3:])))

    def velocity(self, q: Numbers, rate: Numbers) -> Numbers:
        return (*turning(q[:4], rate[:4]), *mat_vec(coordinate_matrix(q[:4]), tuple(rate[4:])))

    def complement(self, q: Numbers) -> Subspace:
        return Subspace(())
