"""Functions of a model that are made of others: what needs no text of its own over the tree.

They take the same arguments as the functions of `kinetree.functions`, batches included; `target` is passed
on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinetree import functions as of
from kinetree.errors import ModelError, SingularError
from kinetree.model import Model
from kinetree.sweep import choice

Array = np.ndarray


class Admissibility(NamedTuple):
    """How far a matrix is from being a Coriolis matrix, relative to the sizes of the terms."""

    bias_error: float  # of C v against the velocity-dependent part of the bias
    skew_error: float  # of the symmetric part of M' - 2 C, zero for a matrix that keeps energy
    christoffel_error: float  # of C against the one matrix made of Christoffel symbols


class RotorError(NamedTuple):
    """What an approximate treatment of rotors gets wrong, relative to the exact one."""

    mass_matrix: Any  # largest entry of the difference, over the largest entry
    bias: Any
    acceleration: Any


def christoffel_symbols_second_kind(model: Model, q: Any, *, target: str | None = None) -> Array:
    """Christoffel symbols of the second kind, (..., nv, nv, nv): a = -Gamma[:, j, k] v_j v_k without forces.

        Gamma^i_jk = sum_l (M^-1)_il Gamma_ljk

    The covariant derivative of geometric control. Cost O(N^2 d^2).
    """
    first = of.christoffel_symbols(model, q, target=target)
    inverse = of.inverse_mass_matrix(model, q, target=target)
    return np.einsum("...il,...ljk->...ijk", inverse, first)


def mass_matrix_partials(model: Model, q: Any, *, target: str | None = None) -> Array:
    """The derivatives of the mass matrix, (..., nv, nv, nv): [i, j, k] is that of M_ij along velocity k.

        X_k M_ij = Gamma_ijk + Gamma_jik        in coordinates as in quasi-velocities

    Cost O(N d^2).
    """
    gamma = of.christoffel_symbols(model, q, target=target)
    return gamma + np.swapaxes(gamma, -3, -2)


def bias_force_hessian(model: Model, q: Any, *, target: str | None = None) -> Array:
    """Second derivatives of the bias force along v, (..., nv, nv, nv): [i, j, k] = Gamma_ijk + Gamma_ikj."""
    gamma = of.christoffel_symbols(model, q, target=target)
    return gamma + np.swapaxes(gamma, -2, -1)


def admissibility(model: Model, q: Any, v: Any, C: Any, *, target: str | None = None) -> Admissibility:
    """Whether a matrix may serve as the Coriolis matrix, and whether it is the one of the Christoffel
    symbols.

    Many matrices give the right C v; passivity needs M' - 2 C skew; only one has the entries C_ij = sum
    Gamma_ijk v_k. Measured, not judged: compare the errors with a tolerance.

    Reference: thesis eq. 2.13, with the correction that admissible matrices are not unique.
    """
    C, v = np.asarray(C, float), np.asarray(v, float)
    own = of.coriolis_matrix(model, q, v, target=target)
    rate = of.mass_matrix_rate(model, q, v, target=target)
    size = float(np.abs(own).max(initial=0)) or 1.0
    pull = np.einsum("...ij,...j->...i", own, v)
    skew = rate - C - np.swapaxes(C, -2, -1)
    found = np.einsum("...ij,...j->...i", C, v)
    return Admissibility(
        float(np.abs(found - pull).max(initial=0)) / (size * (float(np.abs(v).max(initial=0)) or 1.0)),
        float(np.abs(skew).max(initial=0)) / size,
        float(np.abs(C - own).max(initial=0)) / size,
    )


def nullify_momentum(
    model: Model, q: Any, v: Any, momentum: Any = None, *, target: str | None = None
) -> Array:
    """The velocity (..., nv) with another motion of the floating base, so that the whole has no momentum.

        V_base <- V_base - I_S^-1 (h_S - h)

    with the inertia I_S and the momentum h_S of the whole, seen at the base. The joints move on as before.
    `momentum` (..., 6) sets another value h, in world axes about the world origin. Integrators drift; this
    puts a conserved momentum back.

    Raises:
        ModelError: if the model does not stand on exactly one free joint.
        SingularError: if the whole has no inertia about some axis.

    Reference: Jain, spatial operator algebra part 4 (nullifying the momentum).
    """
    roots = [body for body in model.bodies if body.parent == 0]
    if len(roots) != 1 or not roots[0].joint.is_free:
        raise ModelError(
            f"nullify_momentum: model {model.name!r} does not float: it needs one root body on a free joint, "
            f"but has {', '.join(f'{b.name!r} on a {b.joint.type_name} joint' for b in roots) or 'no body'}"
        )
    base = roots[0].name
    excess = of.momentum(model, q, v, frame=base, target=target)
    if momentum is not None:
        wanted = np.asarray(momentum, float)
        excess = excess - wrench_at(of.frame_placement(model, q, frame=base, target=target), wanted)
    inertia = of.composite_inertias(model, q, target=target)[..., model.body_index(base) - 1, :, :]
    try:
        change = np.linalg.solve(inertia, excess[..., None])[..., 0]
    except np.linalg.LinAlgError:
        raise SingularError(
            f"nullify_momentum: model {model.name!r} as a whole has no inertia about some axis: "
            "give its bodies inertia or size"
        ) from None
    result = np.array(np.broadcast_to(v, change.shape[:-1] + (model.nv,)), np.result_type(v, change))
    result[..., model.coordinate_index(roots[0].joint_name)] -= change
    return result


def wrench_at(pose: Array, wrench: Array) -> Array:
    """A wrench or momentum about the world origin in world axes, in the frame with the given world pose."""
    R, p = pose[..., :3, :3], pose[..., :3, 3]
    force = wrench[..., 3:]
    moment = wrench[..., :3] - np.cross(p, force)
    parts = [np.einsum("...ji,...j->...i", R, part) for part in (moment, force)]
    return np.concatenate(np.broadcast_arrays(*parts), -1)


def system_velocity(model: Model, q: Any, v: Any, *, target: str | None = None) -> Array:
    """The spatial velocity (..., 6) that the whole would have as one rigid body with its momentum.

        V_C = I_S^-1 h_S        about the centre of mass: [J^-1 (angular momentum); velocity of the centre
        of mass]

    In world axes at the centre of mass; J is the inertia of the whole about it, in its present posture. About
    an axis without inertia it does not turn.

    Reference: Jain, spatial operator algebra part 4 (velocity of the centre of mass).
    """
    h = of.centroidal_momentum(model, q, v, target=target)
    J = of.system_inertia(model, q, target=target)
    return np.einsum("...ij,...j->...i", np.linalg.pinv(J, rcond=1e-13, hermitian=True), h)


def external_wrenches(
    model: Model,
    q: Any,
    forces: Mapping[str, Any],
    *,
    reference: str = "aligned",
    target: str | None = None,
) -> Array:
    """`f_ext` (..., nb, 6) for wrenches on frames: {frame: [moment; force]}, each about the frame's origin.

        f_body = X^T f_frame

    `reference`: the axes of the wrenches; "aligned" for those of the world, "body" for the frame's own,
    "world" for the world's axes and moments about the world origin. Wrenches on one body add up; those on the
    world have no effect.

    Reference: external forces at nodes, Jain, spatial operator algebra part 4; impact points of concurrent
    dynamics.
    """
    choice("reference", reference, "body", "world", "aligned")
    q = np.asarray(q, float)
    parts = []
    for name, wrench in forces.items():
        body, placement = model.frame(name)
        if body == 0:
            continue
        wrench = np.asarray(wrench, float)
        if reference != "body":
            pose = of.frame_placement(model, q, frame=name, target=target)
            if reference == "aligned":
                pose = pose.copy()
                pose[..., :3, 3] = 0.0
            wrench = wrench_at(pose, wrench)
        X = np.array(placement.matrix(), float)
        parts.append((body - 1, np.einsum("ji,...j->...i", X, wrench)))
    batch = np.broadcast_shapes(q.shape[:-1], *(wrench.shape[:-1] for _, wrench in parts))
    result = np.zeros((*batch, model.nbodies, 6))
    for body, wrench in parts:
        result[..., body, :] += wrench
    return result


def operational_space_inertia(
    model: Model, q: Any, frames: Sequence[str] | str, *, reference: str = "body", target: str | None = None
) -> tuple[Array, Array]:
    """The inertia Lambda that forces on frames feel, and its inverse, (..., 6m, 6m) for m frames.

        Lambda^-1 = J M^-1 J^T        with J the Jacobians of the frames, one above the other

    A motion that the frames cannot make has no inertia: Lambda is the pseudo-inverse where Lambda^-1 is
    singular. Cost O(N) for each row of J.

    Reference: Khatib (1987); Jain, spatial operator algebra (Lambda^-1 = B* Omega B).
    """
    names = [frames] if isinstance(frames, str) else list(frames)
    parts = [of.jacobian(model, q, name, reference, target=target) for name in names]
    J = np.concatenate(parts, axis=-2)
    moved = of.mass_matrix_solve(model, np.asarray(q)[..., None, :], J, target=target)
    inverse = np.einsum("...ij,...kj->...ik", J, moved)
    inverse = (inverse + np.swapaxes(inverse, -1, -2)) / 2
    return np.linalg.pinv(inverse, rcond=1e-11, hermitian=True), inverse


def impulse_response(
    model: Model, q: Any, frame: str, impulse: Any, *, reference: str = "aligned", target: str | None = None
) -> Array:
    """The change of velocity (..., nv) by an impulse [angular; linear] on a frame: M^-1 J^T impulse. Cost
    O(N).
    """
    J = of.jacobian(model, q, frame, reference, target=target)
    force = np.einsum("...ij,...i->...j", J, np.asarray(impulse, float))
    return of.mass_matrix_solve(model, q, force, target=target)


def passive_force(model: Model, q: Any, v: Any, *, smoothing: float = 0.0) -> Array:
    """The generalised force (..., nv) of what the joints do by themselves: damping, Coulomb friction,
    springs.

        tau = -d v - f sign(v) - k (q - q_0)

    Inverse and forward dynamics take the total force of a joint: tau_total = tau_motor + passive_force. With
    `smoothing` (a velocity) the sign is tanh(v / smoothing), which integrators like better.
    """
    q, v = np.asarray(q, float), np.asarray(v, float)
    sign = np.tanh(v / smoothing) if smoothing else np.sign(v)
    return -model.damping * v - model.friction * sign - model.stiffness * _stretch(model, q)


def spring_energy(model: Model, q: Any) -> Array:
    """The energy of the springs of all joints, sum k (q - q_0)^2 / 2."""
    return np.sum(model.stiffness * _stretch(model, np.asarray(q, float)) ** 2, axis=-1) / 2


def _stretch(model: Model, q: Array) -> Array:
    if not np.any(model.stiffness):
        return np.zeros(q.shape[:-1] + (model.nv,))
    rest = np.broadcast_to(model.spring_reference, q.shape)
    return model.difference(rest, q)


def rotor_error(
    model: Model, q: Any, v: Any, tau: Any, rotors: str = "reflected", *, target: str | None = None
) -> RotorError:
    """What it costs to treat rotors approximately: `rotors` is "reflected" (n^2 J on the diagonal) or "none".

    Each number is the largest entry of the difference over the largest entry of the exact quantity, for each
    state.

    Reference: thesis section 4.4, with the exact algorithm for comparison.
    """
    other = model.replace(rotors=rotors)

    def differ(function: Any, *args: Any, axes: tuple[int, ...] = (-1,)) -> Any:
        exact = function(model, *args, target=target)
        change = np.abs(function(other, *args, target=target) - exact).max(axis=axes, initial=0)
        size = np.abs(exact).max(axis=axes, initial=0)
        return change / np.where(size > 0, size, 1)

    return RotorError(
        differ(of.mass_matrix, q, axes=(-2, -1)),
        differ(of.bias_force, q, v),
        differ(of.forward_dynamics, q, v, tau),
    )
