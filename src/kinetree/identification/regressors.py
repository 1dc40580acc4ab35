"""Regressors: matrices of quantities that are linear in the inertial parameters.

tau = Y(q, v, a) pi, and likewise energies and momentum. The columns are those of `model.parameters`, body by
body (m, m c, inertia about the body origin: xx, yy, zz, xy, xz, yz). Further columns follow on request: the
same ten for each rotor, and for each velocity an armature, a damping and a Coulomb friction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from kinetree import functions as of
from kinetree import ops
from kinetree.errors import ArgumentError
from kinetree.model import Model
from kinetree.model.coupling import Own
from kinetree.spatial import Inertia
from kinetree.stages import function
from kinetree.stages.own import OwnFunction
from kinetree.stages.transforms import jacobian_of
from kinetree.sweep.numbers import origin, with_numbers
from kinetree.sweep.signature import Argument

Array = np.ndarray

NAMES = ("m", "mx", "my", "mz", "xx", "yy", "zz", "xy", "xz", "yz")  # the ten parameters of a body
KINDS = ("rotors", "armature", "damping", "friction")  # further columns, in this order


class EnergyRegressor(NamedTuple):
    """Rows (..., 10 nb) whose products with the parameters are the energies."""

    kinetic: Any
    potential: Any


def regressor_columns(model: Model, extra: tuple[str, ...] = ()) -> list[str]:
    """What each column of a regressor belongs to: "link1.m", "link1.mx", ..., "joint1.damping"."""
    names = [f"{body}.{name}" for body in model.body_names for name in NAMES]
    for kind in kinds_of(extra):
        if kind == "rotors":
            names += [f"rotor {k} of {r.joint}.{name}" for k, r in enumerate(model.rotors) for name in NAMES]
        else:
            known = _velocity_names(model)
            places = [v for *_, v in geared(model)] if kind == "armature" else range(model.nv)
            names += [f"{known[k]}.{kind}" for k in places]
    return names


def geared(model: Model) -> Iterator[tuple[int, int, int]]:
    """(body, velocity of its joint, index in v) of velocities that are rates: only these have armatures."""
    for n, (body, coupling) in enumerate(zip(model.bodies, model.layout.couplings[1:], strict=True)):
        if isinstance(coupling, Own) and not body.joint.quaternions:
            for k in range(coupling.nv):
                yield n, k, coupling.v_start + k


def kinds_of(extra: Any) -> list[str]:
    """The kinds of further columns, in their order."""
    given = (extra,) if isinstance(extra, str) else tuple(extra)
    for kind in given:
        if kind not in KINDS:
            raise ArgumentError(f"extra holds {kind!r}: there are {', '.join(map(repr, KINDS))}")
    return [kind for kind in KINDS if kind in given]


def _velocity_names(model: Model) -> list[str]:
    names = [""] * model.nv
    for body, coupling in zip(model.bodies, model.layout.couplings[1:], strict=True):
        if isinstance(coupling, Own):
            for k in range(coupling.nv):
                name = body.joint_name if coupling.nv == 1 else f"{body.joint_name}[{k}]"
                names[coupling.v_start + k] = name
    return names


class _Columns(Argument):
    """A result with a row for each velocity and a column for each parameter, including the extra ones."""

    def sizes(self, model: Any, options: Mapping[str, Any] | None = None) -> tuple[int, ...]:
        return model.nv, len(regressor_columns(model, (options or {}).get("extra", ())))


class _WithColumns(OwnFunction):
    """A function with such a result."""

    def __init__(self, body: Any, inputs: Any, outputs: Any, *rest: Any):
        super().__init__(body, inputs, [_Columns(a.name, a.shape) for a in outputs], *rest)


def _torque_regressor(
    model: Model, q: Array, v: Array, a: Array, *, extra: tuple[str, ...] = ()
) -> Array:
    """The matrix Y of tau = Y pi: generalised forces are linear in the inertial parameters.

        tau = Y(q, v, a) pi

    with pi = model.parameters.reshape(-1), for a model without rotors and armatures. `extra` adds columns,
    any of "rotors" (ten for each, of its inertia), "armature" (one for each velocity that is a rate),
    "damping" and "friction" (one for each velocity): the product with all parameters (see
    `regressor_columns`) is then the force of the motors. Cost O(N d).

    Reference: Atkeson, An and Hollerbach (1986); Khalil and Dombre (2002) ch. 12.
    """
    bodies = model.nbodies
    model, gravity = _own_numbers(model)
    Y = jacobian_of(of.inverse_dynamics, wrt="parameters")(
        without_drives(model), q, v, a, parameters=np.zeros((bodies, 10)), **gravity
    )
    columns = [Y.reshape(model.nv, 10 * bodies)]
    for kind in kinds_of(extra):
        if kind == "damping":
            columns.append(np.diag(v))
        elif kind == "friction":
            columns.append(np.diag(np.array([ops.sign(x) for x in v], v.dtype)))
        else:
            parts = _rotor_models(model) if kind == "rotors" else _armature_models(model)
            found = [of.inverse_dynamics(part, q, v, a, **gravity) for part in parts]
            columns.append(np.stack(found, axis=1) if found else np.zeros((model.nv, 0)))
    return np.concatenate(columns, axis=1)


def _own_numbers(model: Model) -> tuple[Model, dict[str, Any]]:
    """The model with its own inertias, on which no regressor depends, and the given gravity."""
    base, given = origin(model)
    return base, {"gravity": given["gravity"]} if "gravity" in given else {}


def without_drives(model: Model) -> Model:
    """The model without rotors and armatures."""
    bodies = tuple(body._replace(armature=(0.0,) * len(body.armature)) for body in model.bodies)
    return _bare(model, bodies, ())


def _bare(model: Model, bodies: tuple, rotors: tuple) -> Model:
    return model.remade(bodies=bodies, rotors=rotors, postures=())


def _massless(model: Model) -> Model:
    return with_numbers(without_drives(model), np.zeros((model.nbodies, 10)).tolist())


def _rotor_models(model: Model) -> Iterator[Model]:
    """Models with one number of one rotor's inertia set to 1 and all other inertias 0."""
    bodies = _massless(model).bodies
    for rotor in model.rotors:
        for k in range(10):
            unit = Inertia.from_parameters(tuple(float(j == k) for j in range(10)))
            yield _bare(model, bodies, (rotor._replace(inertia=unit),))


def _armature_models(model: Model) -> Iterator[Model]:
    """Models with the armature of one velocity set to 1 and all other inertias 0."""
    bodies = _massless(model).bodies
    for n, k, _ in geared(model):
        unit = tuple(float(j == k) for j in range(len(bodies[n].armature)))
        yield _bare(model, (*bodies[:n], bodies[n]._replace(armature=unit), *bodies[n + 1 :]), ())


_torque_regressor.__name__ = "torque_regressor"
torque_regressor = function("q, v, a -> Y(nv, 10 nb)", kind=_WithColumns)(_torque_regressor)


@function("q, v -> kinetic(10 nb), potential(10 nb)", result=EnergyRegressor)
def energy_regressor(model: Model, q: Array, v: Array) -> tuple[Array, Array]:
    """The rows that give the energies of a model from its inertial parameters pi.

        T = y_T pi        U = y_U pi

    pi = model.parameters.reshape(-1), for a model without rotors and armatures. Cost O(N).
    """
    base, gravity = _own_numbers(model)
    bare, zeros = without_drives(base), np.zeros((model.nbodies, 10))
    kinetic = jacobian_of(of.kinetic_energy, wrt="parameters")(bare, q, v, parameters=zeros)
    potential = jacobian_of(of.potential_energy, wrt="parameters")(bare, q, parameters=zeros, **gravity)
    return kinetic.reshape(-1), potential.reshape(-1)


@function("q, v -> h(6, 10 nb)")
def momentum_regressor(model: Model, q: Array, v: Array) -> Array:
    """The matrix of the momentum [angular; linear] about the world origin, world axes.

        h = Y_h pi

    pi = model.parameters.reshape(-1), for a model without rotors and armatures. Cost O(N).
    """
    zeros = np.zeros((model.nbodies, 10))
    bare = without_drives(_own_numbers(model)[0])
    h = jacobian_of(of.momentum, wrt="parameters")(bare, q, v, parameters=zeros)
    return h.reshape(6, -1)


__all__ = ["energy_regressor", "momentum_regressor", "regressor_columns", "torque_regressor"]
