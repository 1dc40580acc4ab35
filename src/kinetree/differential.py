"""Second derivatives of inverse dynamics, and the linearised equations of motion."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree import functions as of
from kinetree.derived import bias_force_hessian, mass_matrix_partials, passive_force
from kinetree.errors import ArgumentError
from kinetree.model import Model
from kinetree.model.coupling import Own
from kinetree.motion import step
from kinetree.spanning import independent, spanned
from kinetree.stages import function
from kinetree.stages.transforms import jacobian_of, vjp_of
from kinetree.sweep import choice

Array = np.ndarray


class SecondDerivatives(NamedTuple):
    """Second derivatives of generalised forces, each (..., nv, nv, nv): the force index first.

    Position derivatives are along increments: [i, j, k] is the derivative along q_k of the derivative along
    q_j.
    """

    d2_dqdq: Any
    d2_dvdv: Any
    d2_dqdv: Any
    d2_dadq: Any


class Hessian(NamedTuple):
    """Second derivatives of a weighted sum of generalised forces, each (..., nv, nv)."""

    qq: Any
    vv: Any
    qv: Any
    aq: Any


class Linearization(NamedTuple):
    """x' = A x + B u, or x+ = A x + B u, for x = [increments of q; changes of v] and changes u of tau."""

    A: Any
    B: Any


@function(
    "q, v, a, f_ext? -> d2_dqdq(nv, nv, nv), d2_dvdv(nv, nv, nv), d2_dqdv(nv, nv, nv), d2_dadq(nv, nv, nv)",
    result=SecondDerivatives,
)
def inverse_dynamics_second_derivatives(
    model: Model, q: Array, v: Array, a: Array, f_ext: Array | None = None
) -> tuple[Array, Array, Array, Array]:
    """The non-zero second derivatives of inverse dynamics, for small robots.

        d2_dqdq[i, j, k] = d_k (dtau_i / dq_j)        d2_dvdv[i, j, k] = d2 tau_i / dv_j dv_k
        d2_dqdv[i, j, k] = d2 tau_i / dq_j dv_k       d2_dadq[i, j, k] = dM_ij / dq_k

    Along increments that turn a body they are not symmetric: with the structure constants c of the joints
    (`Joint.brackets`), d2_dqdq[i, j, k] - d2_dqdq[i, k, j] = sum_l c[k][j][l] dtau_i / dq_l. External forces
    are constant in the axes of their bodies. Cost O(N d^2) numbers; for large robots use
    `inverse_dynamics_hessian`.

    Reference: Singh, Wensing and others (2023), second-order derivatives of inverse dynamics.
    """
    slopes = jacobian_of(of.inverse_dynamics_derivatives, wrt="q", of=("dq", "dv"))
    dqdq, dvdq = slopes(model, q, v, a, f_ext=f_ext)
    dqdv = np.swapaxes(dvdq, 1, 2)
    return _mirrored(model, dqdq), bias_force_hessian(model, q), dqdv, mass_matrix_partials(model, q)


def _mirrored(model: Model, dqdq: Array) -> Array:
    """The same, with half of the entries taken from the others: increments of two joints commute.

    This does not hold if a loop couples them: they may then turn the same ball joint.
    """
    if model.loops:
        return dqdq
    owner = np.zeros(model.nv, int)
    for number, coupling in enumerate(model.layout.couplings[1:]):
        if isinstance(coupling, Own):
            owner[coupling.v_start : coupling.v_start + coupling.nv] = number
    return np.where(owner[:, None] > owner, np.swapaxes(dqdq, 1, 2), dqdq)


@function(
    "q, v, a, weights(nv), f_ext? -> qq(nv, nv), vv(nv, nv), qv(nv, nv), aq(nv, nv)", result=Hessian
)
def inverse_dynamics_hessian(
    model: Model, q: Array, v: Array, a: Array, weights: Array, f_ext: Array | None = None
) -> tuple[Array, Array, Array, Array]:
    """The second derivatives of inverse dynamics, contracted with one weight for each force.

        qq[j, k] = sum_i weights_i d_k (dtau_i / dq_j)        and in the same way vv, qv and aq

    This is what an optimal-control solver needs for a large robot: four matrices instead of the four tensors
    of `inverse_dynamics_second_derivatives`. Found from the gradient of weights . tau.
    """
    gradient = vjp_of(of.inverse_dynamics)
    slopes = jacobian_of(gradient, wrt="q", of=("b_q", "b_v", "b_a"))
    bends = jacobian_of(gradient, wrt="v", of="b_v")
    qq, vq, aq = slopes(model, q, v, a, f_ext=f_ext, b_tau=weights)
    return qq, bends(model, q, v, a, f_ext=f_ext, b_tau=weights), vq.T, aq


@function("q, v, tau, f_ext?, dt? -> A(2 nv, 2 nv), B(2 nv, nv)", result=Linearization)
def linearize(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    dt: Any = None,
    integrator: str = "rk4",
    f_ext: Array | None = None,
    *,
    passive: bool = True,
    ground: Any = True,
) -> tuple[Array, Array]:
    """The linearised equations of motion about a motion: x = [increments of q; changes of v].

        x' = A x + B u        without `dt`, from the equations of motion
        x+ = A x + B u        with `dt`, exactly for the step of the integrator

    u are changes of tau. Where velocities are not rates of coordinates, increments turn with the body:
    e' = dv - [v, e]. `passive`: include damping and springs of the joints, as in a step. External forces are
    constant in the axes of their bodies. `ground`: as in a step; only "discrete" steps have contact.
    """
    choice("integrator", integrator, "discrete", "rk4", "variational")
    if dt is not None:
        options = {"integrator": integrator, "passive": passive, "ground": ground}
        return _discrete(model, q, v, tau, dt, f_ext, options)
    if not (ground is None or isinstance(ground, bool)):
        raise ArgumentError("linearize: contact is part of discrete steps: with a ground, give dt")
    n = model.nv
    force = tau
    if passive:
        force = tau + passive_force(model, q, v)
    dq, dv, inverse = of.forward_dynamics_derivatives(model, q, v, force, f_ext)
    if passive:
        along_q, along_v = jacobian_of(passive_force)(model, q, v)
        dq, dv = dq + inverse @ along_q, dv + inverse @ along_v
    A = np.zeros((2 * n, 2 * n), dq.dtype)
    A[:n, :n], A[:n, n:] = _turning(model, q, v), np.eye(n)
    A[n:, :n], A[n:, n:] = dq, dv
    return A, np.concatenate([np.zeros((n, n)), inverse])


def _discrete(
    model: Model, q: Array, v: Array, tau: Array, dt: Any, f_ext: Any, options: dict[str, Any]
) -> tuple[Array, Array]:
    """The derivatives of a time step."""
    slopes = jacobian_of(step, wrt=("q", "v", "tau"))
    found = slopes(model, q, v, tau, f_ext=f_ext, dt=dt, **options)
    qq, qv, qu, vq, vv, vu = found
    return np.block([[qq, qv], [vq, vv]]), np.concatenate([qu, vu])


def _turning(model: Model, q: Array, v: Array) -> Array:
    """The matrix of e -> -[v, e]: how increments turn with the bodies.

    With loops the bracket is that of all joints, [G v, G e]; the rows of the independent velocities are
    taken.
    """
    if not model.loops:
        return _own_turning(model, v)
    span = spanned(model, q)
    return (_own_turning(span.tree, span.velocities(v)) @ span.G)[independent(model)]


def _own_turning(model: Model, v: Array) -> Array:
    turning = np.zeros((model.nv, model.nv), v.dtype)
    for body, coupling in zip(model.bodies, model.layout.couplings[1:], strict=True):
        if isinstance(coupling, Own):
            for j, rows in enumerate(body.joint.brackets()):
                for k, entries in enumerate(rows):
                    for row, c in enumerate(entries):
                        if c:
                            place = coupling.v_start + row, coupling.v_start + k
                            turning[place] = turning[place] - c * v[coupling.v_start + j]
    return turning
