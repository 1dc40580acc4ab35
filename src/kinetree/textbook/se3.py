"""The group of poses and its algebra of twists: exponential, logarithm, adjoints.

A twist is a `Motion` [omega; v] in body coordinates. exp(t V) is the pose, seen from where it started, of a
body that has moved for the time t with the constant body velocity V.
"""

from __future__ import annotations

from kinetree.spatial.even import cotangent_defect_ratio, sine_defect_ratio, versine_ratio
from kinetree.spatial.motion import Motion
from kinetree.spatial.pose import Pose
from kinetree.spatial.rotation import Rotation
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import add, cross, divide, dot, scale, sub
from kinetree.textbook.dense import Rows, crm


def se3_exp(V: Motion) -> Pose:
    """The pose exp(V): R = exp(u~), p = [1 + (1 - cos t)/t^2 u~ + (t - sin t)/t^3 u~^2] v, u = omega."""
    u, v = V.angular, V.linear
    x = dot(u, u)
    first = cross(u, v)
    second = cross(u, first)
    p = add(add(v, scale(first, versine_ratio(x))), scale(second, sine_defect_ratio(x)))
    return Pose(Rotation.from_rotation_vector(u), p)


def se3_log(T: Pose) -> Motion:
    """The twist V with exp(V) = T and t = |u| <= pi: v = [1 - u~/2 + (1 - (t/2) cot(t/2))/t^2 u~^2] p."""
    u, p = T.rotation.as_rotation_vector(), T.p
    first = cross(u, p)
    second = cross(u, first)
    v = add(sub(p, divide(first, 2)), scale(second, cotangent_defect_ratio(dot(u, u))))
    return Motion(u, v)


def Ad(T: Pose) -> Transform:
    """The adjoint [R 0; p~ R R] of ^A T_B: takes motions in B to A. Ad(T U) = Ad(T) Ad(U)."""
    return T.transform().inverse()


def ad(V: Motion) -> Rows:
    """The adjoint of a twist as a matrix: the Lie bracket ad(V) W = V x W, the derivative of Ad(exp(t V))."""
    return crm(V)
