"""Floating bases over a step: the body turns about its centre of mass, which moves in fixed axes.

The velocity of a free joint is given in axes that turn with the body, about a point other than its centre of
mass. Integrated directly, its accelerations feed energy into a tumbling body. So its inertial forces are
taken at the end of the step, and its velocity and position are advanced in fixed axes: a free body then never
gains energy, and its centre of mass moves in a straight line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.model import Model
from kinetree.model.parts import Body
from kinetree.spatial import Inertia
from kinetree.spatial import vector as vec
from kinetree.spatial.even import sine_ratio, versine_ratio
from kinetree.spatial.quaternion import (
    quaternion_exp,
    quaternion_matrix,
    quaternion_normalized,
    quaternion_product,
)

Array = np.ndarray


def floating(model: Model) -> Iterator[tuple[int, Body]]:
    """The bodies on free joints that are not part of a loop, with their numbers."""
    for i, body in enumerate(model.bodies, 1):
        if body.joint.is_free and model.nodes[model.location(i)[0]].closing is None:
            yield i, body


def gyroscopic_difference(model: Model, v: Array, h: Any) -> Any:
    """The generalised force (nv,) that turns the explicit inertial forces of floating bases into implicit
    ones.

    For each body on a free joint to the world, together with everything fixed to it. 0 if there is none.
    """
    total: Any = 0.0
    for i, body in floating(model):
        if body.parent == 0:
            place = model.coordinate_index(body.joint_name)
            w = tuple(v[place][:3])
            inertia = _rigid(model, i)
            force = np.zeros(model.nv, np.result_type(v, float))
            force[place] = _difference(_explicit(inertia, w), _implicit(inertia, w, h))
            total = total + force
    return total


def advanced(model: Model, q: Array, v: Array, a: Array, h: Any) -> tuple[Array, Array]:
    """The state after a step with acceleration a: v+ = v + h a, q+ = q (+) h v+; free joints: `flown`."""
    v_next = v + h * a
    q_next = model.integrate(q, h * v_next)
    for i, body in floating(model):
        at, moving = model.position_index(body.joint_name), model.coordinate_index(body.joint_name)
        state = tuple(q[at]), tuple(v[moving]), tuple(a[moving])
        q_next[at], v_next[moving] = flown(model, i, *state, h)
    return q_next, v_next


def steady(model: Model, v: Array) -> Array:
    """The accelerations (nv,) for which the origins of floating bases keep their velocities in fixed axes."""
    a = np.zeros(model.nv, np.result_type(v, float))
    for _, body in floating(model):
        place = model.coordinate_index(body.joint_name)
        w, u = v[place][:3], v[place][3:]
        a[place.start + 3 : place.stop] = vec.neg(vec.cross(tuple(w), tuple(u)))  # type: ignore[arg-type]
    return a


def flown(
    model: Model, i: int, q: tuple, v: tuple, a: tuple, h: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """(q, v) of body i on a free joint after a step with the acceleration `a`.

    With c the new velocity of the origin in the old axes, E = exp(h w+), r from the origin to the centre of
    mass:

        c = u + h (u' + w x u)        R+ = R E        u+ = E^T c
        p+ + R+ r = p + R r + h R (c + E (w+ x r))
    """
    w, u = tuple(v[:3]), tuple(v[3:])
    turning = vec.add(w, vec.scale(tuple(a[:3]), h))  # type: ignore[arg-type]
    c = vec.add(u, vec.scale(vec.add(tuple(a[3:]), vec.cross(w, u)), h))  # type: ignore[arg-type]
    turn = quaternion_exp(vec.scale(turning, h))
    E = quaternion_matrix(turn)
    r = center(_rigid(model, i))
    along = vec.scale(vec.add(c, vec.mat_vec(E, vec.cross(turning, r))), h)
    shift = vec.sub(along, vec.sub(vec.mat_vec(E, r), r))
    place = vec.add(tuple(q[4:]), vec.mat_vec(quaternion_matrix(q[:4]), shift))  # type: ignore[arg-type]
    attitude = quaternion_normalized(quaternion_product(q[:4], turn))
    return (*attitude, *place), (*turning, *vec.mat_t_vec(E, c))


def center(inertia: Inertia) -> tuple:
    """The centre of mass; the origin if there is no mass."""
    return vec.scale(inertia.first_moment, 1 / ops.where(ops.less(0.0, inertia.mass), inertia.mass, 1.0))


def _difference(a: tuple, b: tuple) -> list[Any]:
    """The difference of two wrenches [moment; force], by components."""
    return [x - y for p, q in zip(a, b, strict=True) for x, y in zip(p, q, strict=True)]


def _rigid(model: Model, i: int) -> Inertia:
    """The inertia of a body and everything fixed to it."""
    total = model.bodies[i - 1].inertia
    for child in model.children(i):
        body = model.bodies[child - 1]
        if body.joint.nv == 0:
            way = body.joint.placement(()) @ body.placement.transform()
            total = total + _rigid(model, child).congruence(way)
    return total


def _explicit(inertia: Inertia, w: tuple) -> tuple:
    """The moment and force that hold w constant for an instant: w x J w and w x (w x h), about the origin."""
    moment = vec.cross(w, vec.sym_vec(inertia.second, w))
    return moment, vec.cross(w, vec.cross(w, inertia.first_moment))


def _implicit(inertia: Inertia, w: tuple, h: Any) -> tuple:
    """The moment and force that, when left out, let the body move freely over a step.

        I x = moment about the centre of mass,  (I + h (w~ I - (I w)~)) x = w x I w,  w' = w - h x

    This is one Newton step on I (w' - w) + h w' x I w' = 0. The force m w' x (exp(h w') - 1) r / h, with r to
    the centre of mass, keeps the velocity of the centre of mass constant.
    """
    r = center(inertia)
    I = vec.sym_matrix(_about_center(inertia, r))
    Iw = vec.mat_vec(I, w)
    torque = vec.cross(w, Iw)
    change = vec.mat_add(vec.mat_mul(vec.skew(w), I), vec.skew(vec.scale(Iw, -1)))
    A = tuple(tuple(a + h * b for a, b in zip(x, y, strict=True)) for x, y in zip(I, change, strict=True))
    x = _solved(A, torque)
    turning = vec.sub(w, vec.scale(x, h))
    angle = vec.dot(turning, turning) * (h * h)
    arm = vec.cross(turning, r)
    chord = vec.add(
        vec.scale(arm, sine_ratio(angle)), vec.scale(vec.cross(turning, arm), h * versine_ratio(angle))
    )
    force = vec.scale(vec.cross(turning, chord), inertia.mass)
    return vec.add(vec.mat_vec(I, x), vec.cross(r, force)), force


def _about_center(inertia: Inertia, r: tuple) -> Any:
    """The rotational inertia about the centre of mass, six numbers."""
    (x, y, z), (a, b, c) = inertia.first_moment, r
    shift = (y * b + z * c, x * a + z * c, x * a + y * b, -(x * b), -(x * c), -(y * c))
    return tuple(s - t for s, t in zip(inertia.second, shift, strict=True))


def _solved(A: Any, b: tuple) -> tuple:
    """A^-1 b by cofactors; 0 for a zero matrix, a body without extent."""
    rows = (vec.cross(A[1], A[2]), vec.cross(A[2], A[0]), vec.cross(A[0], A[1]))
    determinant = vec.dot(A[0], rows[0])
    size = ops.abs(A[0][0]) + ops.abs(A[1][1]) + ops.abs(A[2][2])
    fine = ops.less(1e-12 * (size * size * size), determinant)
    scale = ops.where(fine, 1 / ops.where(fine, determinant, 1.0), 0.0)
    return tuple((rows[0][k] * b[0] + rows[1][k] * b[1] + rows[2][k] * b[2]) * scale for k in range(3))
