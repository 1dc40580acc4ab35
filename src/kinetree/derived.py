"""Functions of a model that are composed of others and need no sweep of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from kinetree import functions as of
from kinetree import ops
from kinetree.errors import ModelError
from kinetree.model import Model
from kinetree.spanning import spanned
from kinetree.spatial import Factored, Matrix
from kinetree.stages import function
from kinetree.stages.own import FUNCTIONS, OwnFunction
from kinetree.sweep import choice
from kinetree.sweep.bounds import NEGLIGIBLE

Array = np.ndarray


class Admissibility(NamedTuple):
    """How far a matrix is from being a Coriolis matrix, relative to the sizes of the terms."""

    bias_error: Any  # of C v compared with the velocity-dependent part of the bias
    skew_error: Any  # of the symmetric part of M' - 2 C, zero for a matrix that conserves energy
    christoffel_error: Any  # of C compared with the one matrix made of Christoffel symbols


class RotorError(NamedTuple):
    """The errors of an approximate treatment of rotors, relative to the exact one."""

    mass_matrix: Any  # largest entry of the difference, over the largest entry
    bias: Any
    acceleration: Any


@function("q -> Gamma(nv, nv, nv)")
def christoffel_symbols_second_kind(model: Model, q: Array) -> Array:
    """Christoffel symbols of the second kind: a = -Gamma[:, j, k] v_j v_k without forces.

        Gamma^i_jk = sum_l (M^-1)_il Gamma_ljk

    They give the covariant derivative of geometric control. Cost O(N^2 d^2).
    """
    first = of.christoffel_symbols(model, q)
    n = model.nv
    return (of.inverse_mass_matrix(model, q) @ first.reshape(n, n * n)).reshape(n, n, n)


@function("q -> dM(nv, nv, nv)")
def mass_matrix_partials(model: Model, q: Array) -> Array:
    """The derivatives of the mass matrix: [i, j, k] is that of M_ij along velocity k.

        X_k M_ij = Gamma_ijk + Gamma_jik        for coordinates and for quasi-velocities

    Cost O(N d^2).
    """
    gamma = of.christoffel_symbols(model, q)
    return gamma + np.swapaxes(gamma, 0, 1)


@function("q -> hessian(nv, nv, nv)")
def bias_force_hessian(model: Model, q: Array) -> Array:
    """Second derivatives of the bias force along v.

        d2 b_i / dv_j dv_k = Gamma_ijk + Gamma_ikj

    Cost O(N d^2).
    """
    gamma = of.christoffel_symbols(model, q)
    return gamma + np.swapaxes(gamma, 1, 2)


@function("q, v, C(nv, nv) -> bias_error, skew_error, christoffel_error", result=Admissibility)
def admissibility(model: Model, q: Array, v: Array, C: Array) -> tuple:
    """Whether a matrix can serve as the Coriolis matrix, and whether it is that of the Christoffel symbols.

        |C v - b|,  |M' - C - C^T|,  |C_ij - sum_k Gamma_ijk v_k|        relative to the size of C

    Many matrices give the right C v; passivity needs M' - 2 C skew; only one matrix has the entries
    C_ij = sum Gamma_ijk v_k. The result is errors, not a verdict: compare them with a tolerance.

    Reference: Echeandia (2020) eq. 2.13, with the correction that admissible matrices are not unique.
    """
    own = of.coriolis_matrix(model, q, v)
    size = _or_one(ops.largest(own))
    skew = of.mass_matrix_rate(model, q, v) - C - C.T
    return (
        ops.largest(C @ v - own @ v) / (size * _or_one(ops.largest(v))),
        ops.largest(skew) / size,
        ops.largest(C - own) / size,
    )


def _or_one(x: Any) -> Any:
    return ops.where(ops.less(0.0, x), x, 1.0)


@function("q, v, momentum?(6) -> v(nv)")
def nullify_momentum(model: Model, q: Array, v: Array, momentum: Array | None) -> Array:
    """The velocity with the motion of the floating base changed so that the whole system has no momentum.

        V_base <- V_base - I_S^-1 (h_S - h)

    with the inertia I_S and the momentum h_S of the whole system, seen at the base. Joint velocities do not
    change. `momentum` sets another value h, in world axes about the world origin. Integrators drift; this
    restores a conserved momentum. A model without exactly one free joint at its root raises a ModelError.

    Reference: Jain (2024) part 4 (nullifying the momentum).
    """
    roots = [body for body in model.bodies if body.parent == 0]
    moving = model.coordinate_index(roots[0].joint_name) if len(roots) == 1 else slice(0, 0)
    if len(roots) != 1 or not roots[0].joint.is_free or moving.stop - moving.start < 6:
        raise ModelError(
            f"nullify_momentum: model {model.name!r} does not float: it needs one root body on a free joint "
            "that no loop ties to the world, "
            f"but has {', '.join(f'{b.name!r} on a {b.joint.type_name} joint' for b in roots) or 'no body'}"
        )
    base = roots[0].name
    excess = of.momentum(model, q, v, frame=base)
    if momentum is not None:
        excess = excess - wrench_at(of.frame_placement(model, q, frame=base), momentum)
    inertia = of.composite_inertias(model, q)[model.body_index(base) - 1]
    whole = Factored(Matrix(inertia.tolist()))
    for k, pivot in enumerate(whole.pivots):
        ops.require(
            pivot / (inertia[k, k] * NEGLIGIBLE),
            f"nullify_momentum: model {model.name!r} as a whole has no inertia about some axis: "
            "give its bodies inertia or size",
        )
    result = np.array(v, object) if excess.dtype == object else np.array(v)
    result[moving] = v[moving] - np.array(whole.solve(excess.tolist()), excess.dtype)
    return result


def wrench_at(pose: Array, wrench: Array) -> Array:
    """A wrench or momentum about the world origin in world axes, moved to the frame with this world pose."""
    R, p = pose[:3, :3], pose[:3, 3]
    moment = wrench[:3] - ops.cross(p, wrench[3:])
    return np.concatenate([R.T @ moment, R.T @ wrench[3:]])


@function("q, v -> V(6)")
def system_velocity(model: Model, q: Array, v: Array) -> Array:
    """The spatial velocity that the whole system would have as one rigid body with the same momentum.

        V_C = I_S^-1 h_S        about the centre of mass: [J^-1 (angular momentum); velocity of the centre
        of mass]

    In world axes at the centre of mass; J is the inertia of the whole system about it in its present posture.
    About an axis without inertia the angular velocity is zero.

    Reference: Jain (2024) part 4 (velocity of the centre of mass).
    """
    J = of.system_inertia(model, q)
    return ops.pseudo_inverse(J, 1e-13) @ of.centroidal_momentum(model, q, v)


class _WrenchesOnFrames(OwnFunction):
    """A function that also accepts {frame: wrench} for its frames and their wrenches."""

    def prepare(self, given: dict[str, Any]) -> dict[str, Any]:
        forces = given.get("forces")
        if not isinstance(forces, Mapping):
            return given
        shape = np.broadcast_shapes(*(np.shape(wrench) for wrench in forces.values()), (6,))
        wrenches = [np.broadcast_to(wrench, shape) for wrench in forces.values()]
        stacked = np.stack(wrenches, -2) if wrenches else np.zeros((0, 6))
        return given | {"forces": stacked, "frames": tuple(forces)}


def _external_wrenches(
    model: Model, q: Array, forces: Array, *, frames: tuple[str, ...] = (), reference: str = "aligned"
) -> Array:
    """Wrenches on frames, {frame: [moment; force]} about the frames' origins, as `f_ext`.

        f_body = X^T f_frame

    `reference`: the axes of the wrenches; "aligned" for those of the world, "body" for the frame's own,
    "world" for the world's axes and moments about the world origin. Wrenches on one body add up; those on the
    world have no effect.

    Reference: external forces at nodes, Jain (2024) part 4; impact points of Concurrent Dynamics (2017).
    """
    choice("reference", reference, "body", "world", "aligned")
    result = np.zeros((model.nbodies, 6), forces.dtype)
    for name, wrench in zip(frames, forces, strict=True):
        body, placement = model.frame(name)
        if body == 0:
            continue
        if reference != "body":
            pose = of.frame_placement(model, q, frame=name)
            if reference == "aligned":
                pose = pose.copy()
                pose[:3, 3] = 0.0
            wrench = wrench_at(pose, wrench)
        result[body - 1] = result[body - 1] + np.array(placement.matrix(), float).T @ wrench
    return result


_external_wrenches.__name__ = "external_wrenches"
external_wrenches = function("q, forces(frames, 6) -> f_ext", kind=_WrenchesOnFrames)(_external_wrenches)


@function("q -> Lambda(6 frames, 6 frames), inverse(6 frames, 6 frames)")
def operational_space_inertia(
    model: Model, q: Array, frames: tuple[str, ...], *, reference: str = "body"
) -> tuple[Array, Array]:
    """The operational-space inertia Lambda of one frame or several, felt by forces on them, and its inverse.

        Lambda^-1 = J M^-1 J^T        with J the stacked Jacobians of the frames

    A motion that the frames cannot make has no inertia: Lambda is the pseudo-inverse if Lambda^-1 is
    singular. Cost O(N) for each row of J.

    Reference: Khatib (1987); Jain (2024) part 4 (Lambda^-1 = B* Omega B).
    """
    J = np.concatenate([of.jacobian(model, q, name, reference) for name in frames])
    moved = np.stack([of.mass_matrix_solve(model, q, row) for row in J])
    inverse = J @ moved.T
    inverse = (inverse + inverse.T) / 2
    return ops.pseudo_inverse(inverse, 1e-11), inverse


@function("q, impulse(6) -> v(nv)")
def impulse_response(
    model: Model, q: Array, frame: str, impulse: Array, *, reference: str = "aligned"
) -> Array:
    """The change of velocity due to an impulse p = [angular; linear] on a frame.

        v+ - v = M^-1 J^T p

    Cost O(N).
    """
    return of.mass_matrix_solve(model, q, of.jacobian(model, q, frame, reference).T @ impulse)


@function("q, v -> tau")
def passive_force(model: Model, q: Array, v: Array, *, smoothing: float = 0.0) -> Array:
    """The passive generalised force of the joints: damping, Coulomb friction, springs.

        tau = -d v - f sign(v) - k (q - q_0)

    Inverse and forward dynamics take the total force of a joint:

        a = forward_dynamics(model, q, v, tau_motor + passive_force(model, q, v))

    With `smoothing` (a velocity) the sign becomes tanh(v / smoothing), which is easier on integrators. Joints
    that depend on others through loops act as G^T tau (`loop_matrix`). Cost O(N).
    """
    span = spanned(model, q)
    tree, u = span.tree, span.velocities(v)
    signs = [ops.tanh(x / smoothing) if smoothing else ops.sign(x) for x in u]
    slide = np.array(signs, u.dtype) * tree.friction
    return span.force(-tree.damping * u - slide - tree.stiffness * _stretch(tree, span.q))


@function("q -> energy")
def spring_energy(model: Model, q: Array) -> Any:
    """The energy of the springs of all joints, J.

        U = sum_i k_i (q_i - q_0,i)^2 / 2

    Cost O(N).
    """
    tree, q, _ = spanned(model, q)
    stretch = _stretch(tree, q)
    return ops.dot(tree.stiffness * stretch, stretch) / 2


def _stretch(model: Model, q: Array) -> Array:
    if not np.any(model.stiffness):
        return np.zeros(model.nv)
    return model.difference(model.spring_reference, q)


@function("q, v, tau -> mass_matrix, bias, acceleration", result=RotorError)
def rotor_error(model: Model, q: Array, v: Array, tau: Array, rotors: str = "reflected") -> tuple:
    """The error of treating rotors approximately: `rotors` is "reflected" (n^2 J on the diagonal) or "none".

        max |M_approx - M| / max |M|        likewise for the bias and the acceleration

    Each number is the largest entry of the difference over the largest entry of the exact quantity.

    Reference: Echeandia (2020) section 4.4, with the exact algorithm for comparison.
    """
    other = model.replace(rotors=rotors)

    def differ(f: Any, *args: Any) -> Any:
        exact = f(model, *args)
        return ops.largest(f(other, *args) - exact) / _or_one(ops.largest(exact))

    return differ(of.mass_matrix, q), differ(of.bias_force, q, v), differ(of.forward_dynamics, q, v, tau)


__all__ = sorted(FUNCTIONS)
