"""Attitude rates: the rate of each representation for an angular velocity, and the reverse.

R = ^world R_body is the attitude of a body. `frame` gives the axes of the angular velocity: "body" (default)
or "world". Vectors are 3-tuples of numbers of any kind. Euler angles: see `euler.py`.
"""

from __future__ import annotations

from typing import Any

from kinetree.spatial.even import cotangent_defect_ratio, sine_defect_ratio, versine_ratio
from kinetree.spatial.quaternion import Quaternion, quaternion_conjugate, quaternion_product
from kinetree.spatial.reading import in_body_axes, read_matrix
from kinetree.spatial.rotation import Rotation
from kinetree.spatial.vector import ZERO, Vector, add, cross, divide, dot, mat_mul, scale, sub, transpose
from kinetree.textbook.dense import unskew


def _sided(u: Vector, x: Vector, frame: str) -> Vector:
    """u x x in body axes; in world axes the sign of the product changes."""
    return cross(u, x) if in_body_axes(frame) else cross(x, u)


def quaternion_rate(q: Any, omega: Vector, frame: str = "body") -> Quaternion:
    """The rate of a quaternion: q (omega, 0) / 2 for omega in body axes, (omega, 0) q / 2 in world axes."""
    half = (omega[0] / 2, omega[1] / 2, omega[2] / 2, 0)
    return quaternion_product(q, half) if in_body_axes(frame) else quaternion_product(half, q)


def quaternion_omega(q: Any, qdot: Any, frame: str = "body") -> Vector:
    """The angular velocity of a unit quaternion `q` that changes at `qdot`."""
    back = quaternion_conjugate(q)
    x, y, z, _ = quaternion_product(back, qdot) if in_body_axes(frame) else quaternion_product(qdot, back)
    return (2 * x, 2 * y, 2 * z)


def rotvec_rate(u: Vector, omega: Vector, frame: str = "body") -> Vector:
    """The rate of a rotation vector: [1 + u~/2 + (1 - (t/2) cot(t/2))/t^2 u~^2] omega with t = |u| < 2 pi."""
    first = _sided(u, omega, frame)
    second = _sided(u, first, frame)
    return add(add(omega, divide(first, 2)), scale(second, cotangent_defect_ratio(dot(u, u))))


def rotvec_omega(u: Vector, udot: Vector, frame: str = "body") -> Vector:
    """The angular velocity of a rotation vector `u` that changes at `udot`: the inverse of `rotvec_rate`."""
    x = dot(u, u)
    first = _sided(u, udot, frame)
    second = _sided(u, first, frame)
    return add(sub(udot, scale(first, versine_ratio(x))), scale(second, sine_defect_ratio(x)))


def rodrigues_rate(rho: Vector, omega: Vector, frame: str = "body") -> Vector:
    """The rate of the Rodrigues parameters n tan(t/2): (omega + rho x omega + rho (rho . omega)) / 2."""
    return divide(add(add(omega, _sided(rho, omega, frame)), scale(rho, dot(rho, omega))), 2)


def rodrigues_omega(rho: Vector, rhodot: Vector, frame: str = "body") -> Vector:
    """The angular velocity of Rodrigues parameters: 2 (rhodot - rho x rhodot) / (1 + rho^2)."""
    return scale(sub(rhodot, _sided(rho, rhodot, frame)), 2 / (1 + dot(rho, rho)))


def mrp_rate(sigma: Vector, omega: Vector, frame: str = "body") -> Vector:
    """The rate of n tan(t/4): ((1 - sigma^2) omega + 2 sigma x omega + 2 sigma (sigma . omega)) / 4."""
    straight = add(scale(omega, 1 - dot(sigma, sigma)), scale(sigma, 2 * dot(sigma, omega)))
    return divide(add(straight, scale(_sided(sigma, omega, frame), 2)), 4)


def mrp_omega(sigma: Vector, sigmadot: Vector, frame: str = "body") -> Vector:
    """The angular velocity of modified Rodrigues parameters `sigma` that change at `sigmadot`."""
    square = dot(sigma, sigma)
    straight = add(scale(sigmadot, 1 - square), scale(sigma, 2 * dot(sigma, sigmadot)))
    twice = scale(_sided(sigma, sigmadot, frame), 2)
    return scale(sub(straight, twice), 4 / ((1 + square) * (1 + square)))


def mrp_shadow(sigma: Vector) -> Vector:
    """-sigma / sigma^2: the alternative parameters of the same attitude, to switch to when |sigma| > 1."""
    return scale(sigma, -1 / dot(sigma, sigma))


def recentre(reference: Rotation, u: Vector) -> tuple[Rotation, Vector]:
    """(R exp(u~), 0): the same attitude as (R, u), with the rotation vector back at zero, far from 2 pi.

    Integrate u from zero with `rotvec_rate` and recentre after each step; then no attitude is singular.
    """
    return reference @ Rotation.from_rotation_vector(u), ZERO


def angular_velocity(R: Any, Rdot: Any, frame: str = "body") -> Vector:
    """omega from a rotation matrix and its rate: Rdot = R omega~ (body axes) = omega~ R (world axes)."""
    rows, rates = Rotation.from_matrix(R).rows, read_matrix(Rdot, 3, 3, "rate of a rotation matrix")
    back = transpose(rows)
    return unskew(mat_mul(back, rates) if in_body_axes(frame) else mat_mul(rates, back))


def change_derivative_frame(x: Vector, xdot: Vector, omega: Vector) -> Vector:
    """The rate of `x` seen from F, from its rate `xdot` seen from G, which turns at `omega` relative to F.

    d_F x = d_G x + omega(F, G) x x, all in the same axes.
    """
    return add(xdot, cross(omega, x))
