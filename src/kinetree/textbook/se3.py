"""The group of poses and its algebra of twists: exponential, logarithm, adjoints.

A twist is a `Motion` [omega; v] in body coordinates. exp(t V) is the pose, relative to its initial pose, of a
body that has moved for time t at the constant body velocity V.
"""

from __future__ import annotations

from typing import Any

from kinetree.errors import ModelError
from kinetree.spatial.even import cotangent_defect_ratio, sine_defect_ratio, versine_ratio
from kinetree.spatial.motion import Motion
from kinetree.spatial.pose import Pose
from kinetree.spatial.reading import read_matrix
from kinetree.spatial.rotation import Rotation
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import (
    add,
    cross,
    divide,
    dot,
    mat_mul,
    mat_t_vec,
    mat_vec,
    scale,
    skew,
    sub,
    transpose,
)
from kinetree.textbook.dense import Rows, crm, unskew


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


def pose_velocity(T: Pose, Tdot: Any, side: str = "left") -> Motion:
    """The twist of a pose with the rate Tdot (4x4): the left trivialisation T^-1 Tdot, in body axes.

    The right trivialisation, Tdot T^-1 = Ad(T) (T^-1 Tdot), is in the axes of the frame in which T is given,
    with the velocity of the point at that frame's origin. The velocity of the body's origin in those axes is
    neither.
    """
    rates = read_matrix(Tdot, 4, 4, "rate of a pose")
    left = _left(T, rates)
    return left if _is_left(side) else Ad(T) @ left


def pose_acceleration(T: Pose, Tdot: Any, Tddot: Any, side: str = "left") -> Motion:
    """The derivative of the components of `pose_velocity`; Ad(T) also takes the left one to the right one."""
    V = _left(T, read_matrix(Tdot, 4, 4, "rate of a pose"))
    W = _left(T, read_matrix(Tddot, 4, 4, "second derivative of a pose"))
    left = Motion(W.angular, sub(W.linear, cross(V.angular, V.linear)))
    return left if _is_left(side) else Ad(T) @ left


def pose_rate(T: Pose, V: Motion, side: str = "left") -> Rows:
    """The rate Tdot (4x4) of a pose with a twist: T V^ (left) or V^ T (right); inverse to `pose_velocity`."""
    w, v = skew(V.angular), V.linear
    if _is_left(side):
        turning, moving = mat_mul(T.R, w), mat_vec(T.R, v)
    else:
        turning, moving = mat_mul(w, T.R), add(mat_vec(w, T.p), v)
    return (*((*row, x) for row, x in zip(turning, moving, strict=True)), (0, 0, 0, 0))


def _left(T: Pose, rates: Rows) -> Motion:
    """The skew part of R^T (3x3 block) and R^T (last column)."""
    turning: Any = tuple(row[:3] for row in rates[:3])
    moving = (rates[0][3], rates[1][3], rates[2][3])
    return Motion(unskew(mat_mul(transpose(T.R), turning)), mat_t_vec(T.R, moving))


def _is_left(side: str) -> bool:
    if side not in ("left", "right"):
        raise ModelError(f"side {side!r}: expected 'left' or 'right'")
    return side == "left"
