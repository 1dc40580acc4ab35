"""Where approximations of rotors hold: their error as a function of gear ratio and rotor inertia."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree import functions as of
from kinetree.errors import ArgumentError, ModelError
from kinetree.model import Model
from kinetree.model.edit import with_rotors
from kinetree.model.parts import Rotor
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.vector import dot, sym_vec

Array = np.ndarray


class RotorErrorMap(NamedTuple):
    """The errors of an approximate treatment of rotors, relative to the exact one, at the worst state."""

    ratios: Array  # (R,)
    inertias: Array  # (J,) kg m^2
    mass_matrix: Array  # (R, J): largest entry of the difference, over the largest entry
    bias: Array
    acceleration: Array


def rotor_error_map(
    model: Model, ratios: Any, inertias: Any, rotors: str = "reflected", states: Any = 20
) -> RotorErrorMap:
    """The `rotor_error` of a robot over ratios and inertias of its rotors: where the approximation holds.

    All rotors get the same ratio (with their own sign) and the same moment of inertia about their axes; the
    rest of each inertia, and its mass, scale along.

    Args:
        model: a robot with rotors.
        ratios, inertias: the values to try, (R,) and (J,) in kg m^2.
        rotors: the approximation: "reflected", "lumped" or "none".
        states: the number of random states with random forces, or a tuple (q, v, tau) of arrays.
    """
    n, J = (_positive(x, name) for x, name in ((ratios, "ratios"), (inertias, "inertias")))
    if not model.rotors:
        raise ModelError(f"rotor_error_map: model '{model.name}' has no rotors")
    grid = np.meshgrid(n, J, indexing="ij")
    exact = model.remade(rotors=tuple(_scaled(r, *grid) for r in model.rotors))
    other = with_rotors(exact, rotors)
    everywhere = np.zeros((len(n), len(J), 1))
    q, v, tau = (np.asarray(x)[..., None, None, :] + everywhere for x in _states(model, states))

    def worst(name: str, *given: Array) -> Array:
        right, wrong = (getattr(of, name)(m, *given, target="eager") for m in (exact, other))
        axes = (-2, -1) if name == "mass_matrix" else -1
        size = np.abs(right).max(axis=axes)
        error = np.abs(wrong - right).max(axis=axes) / np.where(size > 0, size, 1.0)
        return error.reshape(-1, len(n), len(J)).max(axis=0)

    parts = worst("mass_matrix", q), worst("bias_force", q, v), worst("forward_dynamics", q, v, tau)
    return RotorErrorMap(n, J, *parts)


def axial_inertia(rotor: Rotor) -> Any:
    """The moment of inertia of a rotor about its axis, kg m^2."""
    return dot(rotor.axis, sym_vec(rotor.inertia.second, rotor.axis))  # type: ignore[arg-type]


def _scaled(rotor: Rotor, ratio: Array, axial: Array) -> Rotor:
    """The rotor with other gears and another size; its numbers are arrays over the points of a grid."""
    own = axial_inertia(rotor)
    if not own > 0:
        raise ModelError(f"rotor_error_map: a rotor of joint '{rotor.joint}' has no inertia about its axis")
    parts = tuple(x * axial / own for x in rotor.inertia.parameters)
    largest = max(abs(x) for x in rotor.ratio) or 1.0
    return rotor._replace(inertia=Inertia.from_parameters(parts),
                          ratio=tuple(ratio * (x / largest) for x in rotor.ratio))  # fmt: skip


def _states(model: Model, given: Any) -> tuple:
    """States and forces to try."""
    if isinstance(given, tuple):
        return given
    rng = np.random.default_rng(0)
    q, v = model.random_state(rng, int(given))
    return q, v, rng.standard_normal(v.shape)


def _positive(values: Any, name: str) -> Array:
    found = np.atleast_1d(np.asarray(values, dtype=float))
    if found.ndim != 1 or not found.size or not np.all(found > 0) or not np.all(np.isfinite(found)):
        raise ArgumentError(f"rotor_error_map: {name} must be positive numbers, got {values!r}")
    return found
