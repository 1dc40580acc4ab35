"""Jacobians with respect to the numbers of the inputs, as other libraries expect; analytic if available."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.model import Model
from kinetree.stages import Function, function
from kinetree.stages.increments import velocity_rows
from kinetree.stages.transforms import jacobian_of

Array = np.ndarray


@function("q, v, a, f_ext? -> dq(nv, nq), dv(nv, nv), da(nv, nv)")
def inverse_dynamics_slopes(model: Model, q: Array, v: Array, a: Array, f_ext: Any = None) -> tuple:
    """The derivatives of inverse dynamics with respect to the numbers of q, v and a."""
    dq, dv, M = of.inverse_dynamics_derivatives(model, q, v, a, f_ext)
    return dq @ _increments(model, q), dv, M


@function("q, v, tau, f_ext? -> dq(nv, nq), dv(nv, nv), dtau(nv, nv)")
def forward_dynamics_slopes(model: Model, q: Array, v: Array, tau: Array, f_ext: Any = None) -> tuple:
    """The derivatives of forward dynamics with respect to the numbers of q, v and tau."""
    dq, dv, inverse = of.forward_dynamics_derivatives(model, q, v, tau, f_ext)
    return dq @ _increments(model, q), dv, inverse


def _increments(model: Model, q: Array) -> Array:
    """(nv, nq): increments from changes of the numbers of q; scaling a quaternion gives no increment."""
    matrix = np.zeros((model.nv, model.nq), object)
    for row, entries in enumerate(velocity_rows(model, list(q))):
        for column, value in entries.items():
            matrix[row, column] = value
    return matrix


_ANALYTIC = {of.inverse_dynamics: inverse_dynamics_slopes, of.forward_dynamics: forward_dynamics_slopes}


def slopes_of(base: Function, wrt: tuple[str, ...]) -> Function:
    """The function that returns the derivatives of all results with respect to the numbers of `wrt`."""
    analytic = _ANALYTIC.get(base)
    if analytic is not None and wrt == tuple(a.name for a in analytic.own_inputs if not a.optional):
        return analytic
    return jacobian_of(base, wrt=wrt, coordinates="ambient")


__all__ = ["slopes_of"]
