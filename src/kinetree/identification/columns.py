"""The unknown parameters: their order, their prior, and the forces of what is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.derived import passive_force
from kinetree.errors import ShapeError
from kinetree.identification import physical
from kinetree.identification.regressors import geared, kinds_of, regressor_columns
from kinetree.model import Model
from kinetree.model.coupling import Own
from kinetree.spatial import Inertia

Array = np.ndarray

LEAST = 1e-9  # the least value of a friction or armature in the prior
SMALL = 1e-3  # the scale of a friction or armature whose prior is smaller


class Columns:
    """The unknowns: inertias of bodies and rotors (ten numbers each), then non-negative numbers."""

    def __init__(self, model: Model, extra: Any, prior: Any):
        self.model, self.extra = model, (extra,) if isinstance(extra, str) else tuple(extra)
        self.kinds = kinds_of(extra)
        self.count = len(regressor_columns(model, self.extra))
        given = model.parameters if prior is None else np.asarray(prior, float)
        if given.shape != (model.nbodies, 10):
            raise ShapeError(f"identify: prior has shape {given.shape}, but ({model.nbodies}, 10) is needed")
        rotors = model.rotors if "rotors" in self.kinds else ()
        inertias = [*given, *(np.array(rotor.inertia.parameters, float) for rotor in rotors)]
        self.inertias = len(inertias)
        places = {"armature": [place for *_, place in geared(model)]}
        others = [kind for kind in self.kinds if kind != "rotors"]
        numbers = [getattr(model, kind)[places.get(kind, slice(None))] for kind in others]
        self.numbers = np.concatenate([np.zeros(0), *numbers])
        inside = np.maximum(self.numbers, LEAST)
        self.prior = np.concatenate([*(physical.thickened(p) for p in inertias), inside])
        self._known_model = _without(model, self.kinds)

    def known(self, q: Array, v: Array, a: Array) -> Array:
        """The forces of what is not estimated: rotors, armatures, damping, friction and springs."""
        massless = np.zeros((self.model.nbodies, 10))
        inertial = of.inverse_dynamics(self._known_model, q, v, a, parameters=massless)
        return inertial - passive_force(self._known_model, q, v)

    def metric(self) -> Array:
        """The matrix of the distance from the prior."""
        blocks = [physical.metric(p) for p in self.prior[: 10 * self.inertias].reshape(-1, 10)]
        W = np.zeros((16 * self.inertias + len(self.numbers), self.count))
        for k, block in enumerate(blocks):
            W[16 * k : 16 * k + 16, 10 * k : 10 * k + 10] = block
        sizes = np.maximum(np.abs(self.numbers), SMALL)
        W[16 * self.inertias :, 10 * self.inertias :] = np.diag(1 / sizes)
        return W

    def is_physical(self, parameters: Array) -> bool:
        """True if all inertias are physical and all other numbers are positive."""
        inertias, rest = self._parts(parameters)
        return bool((rest > 0).all()) and physical.are_positive(inertias)

    def barrier(self, parameters: Array) -> tuple[float, Array, Array]:
        """A barrier that goes to infinity where parameters cease to be physical, with two derivatives."""
        inertias, rest = self._parts(parameters)
        value, gradient, blocks = physical.barrier(inertias)
        bends = np.zeros((self.count, self.count))
        for k, block in enumerate(blocks):
            bends[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = block
        start = 10 * self.inertias
        bends[start:, start:] = np.diag(rest**-2)
        return value - float(np.log(rest).sum()), np.concatenate([gradient.ravel(), -1 / rest]), bends

    def _parts(self, numbers: Array) -> tuple[Array, Array]:
        return numbers[: 10 * self.inertias].reshape(-1, 10), numbers[10 * self.inertias :]

    def split(self, parameters: Array) -> tuple[Array, dict[str, Array]]:
        """The parameters of the bodies, and the others by kind."""
        model, further = self.model, {}
        start = 10 * model.nbodies
        widths = {"rotors": 10 * len(model.rotors), "armature": len(list(geared(model)))}
        for kind in self.kinds:
            width = widths.get(kind, model.nv)
            part = parameters[start : start + width]
            further[kind] = part.reshape(-1, 10) if kind == "rotors" else part
            start += width
        return parameters[: 10 * model.nbodies].reshape(-1, 10), further

    def model_with(self, parameters: Array, further: dict[str, Array]) -> Model:
        """The model with the parameters found."""
        model = self.model
        bodies = [b._replace(inertia=_inertia(p)) for b, p in zip(model.bodies, parameters, strict=True)]
        for kind, values in further.items():
            if kind != "rotors":
                bodies = _with_numbers_of(model, bodies, kind, values)
        rotors = model.rotors
        if "rotors" in further:
            found = zip(rotors, further["rotors"], strict=True)
            rotors = tuple(rotor._replace(inertia=_inertia(p)) for rotor, p in found)
        return model.remade(bodies=tuple(bodies), rotors=rotors, postures=())


def _inertia(parameters: Array) -> Inertia:
    return Inertia.from_parameters(tuple(map(float, parameters)))


def _with_numbers_of(model: Model, bodies: list[Any], kind: str, values: Array) -> list[Any]:
    """The bodies with new numbers of one kind; a joint that follows another has none of its own."""
    total = np.zeros(model.nv)
    places = [place for *_, place in geared(model)] if kind == "armature" else range(model.nv)
    total[list(places)] = values
    found = []
    for body, coupling in zip(bodies, model.layout.couplings[1:], strict=True):
        width = len(getattr(body, kind))
        if isinstance(coupling, Own) and not (kind == "armature" and body.joint.quaternions):
            numbers = tuple(map(float, total[coupling.v_start : coupling.v_start + width]))
        else:
            numbers = (0.0,) * width if body.mimic is not None else getattr(body, kind)
        found.append(body._replace(**{kind: numbers}))
    return found


def _without(model: Model, kinds: list[str]) -> Model:
    """The model without the unknowns other than the inertias of its bodies."""
    bodies: list[Any] = list(model.bodies)
    for kind in kinds:
        if kind != "rotors":
            bodies = [
                b if kind == "armature" and b.joint.quaternions
                else b._replace(**{kind: (0.0,) * len(getattr(b, kind))})
                for b in bodies
            ]  # fmt: skip
    rotors = () if "rotors" in kinds else model.rotors
    return model.remade(bodies=tuple(bodies), rotors=rotors, postures=())


