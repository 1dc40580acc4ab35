"""One model in one state, and what the library says about it: computed once, whoever asks."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np
from tests.reference.measure import condition, error
from tests.reference.mechanism import Mechanism

import kinetree as kt

Array = np.ndarray


class Case:
    """A model with a state, an acceleration, a vector and wrenches, all of order one."""

    def __init__(
        self,
        label: str,
        model: Any,
        rng: np.random.Generator,
        mechanism: Mechanism | None = None,
        target: str = "eager",
        state: tuple[Array, Array] | None = None,
    ) -> None:
        self.label, self.model, self.mechanism, self.target = label, model, mechanism, target
        self.n, self.nb = model.nv, model.nbodies
        self.q, self.v = state or (mechanism or model).random_state(rng)
        self.q, self.v = np.asarray(self.q, float), np.asarray(self.v, float)
        self.a, self.x = rng.normal(size=self.n), rng.normal(size=self.n)
        self.f_ext = rng.normal(size=(self.nb, 6))
        self.body = int(rng.integers(self.nb))
        self._known: dict[tuple, Any] = {}

    def run(self, name: str, *args: Any, **options: Any) -> Any:
        """A function of the library on this model; remembered, since several laws ask for the same."""
        given = (name, *(_key(x) for x in args), *((k, _key(x)) for k, x in options.items()))
        if given not in self._known:
            self._known[given] = self.run_on(self.model, name, self.target)(*args, **options)
        return self._known[given]

    @staticmethod
    def run_on(model: Any, name: str, target: str) -> Any:
        """A function of the library, bound to a model and a target."""
        return partial(getattr(kt, name), model, target=target)

    def of(self, name: str) -> Any:
        """A function of (q) or (q, v) at this state, remembered."""
        return self.run(name, *((self.q, self.v) if name in OF_STATE else (self.q,)))

    @cached_property
    def M(self) -> Array:
        return self.of("mass_matrix")

    @cached_property
    def condition(self) -> float:
        return condition(self.M)

    @cached_property
    def tau(self) -> Array:
        """What accelerates by `a` under the wrenches."""
        return self.run("inverse_dynamics", self.q, self.v, self.a, self.f_ext)

    @cached_property
    def force_size(self) -> float:
        """The size of the terms that add up to a generalised force."""
        terms = (self.M @ self.a, self.of("bias_force"), self.of("gravity_force"), self.tau)
        return max((float(np.abs(t).max()) for t in terms if np.size(t)), default=1.0) or 1.0

    @cached_property
    def wrench_size(self) -> float:
        """The size of the wrenches in the joints, which project to smaller generalised forces."""
        wrenches = self.run("joint_wrenches", self.q, self.v, self.a, self.f_ext)
        return max(self.force_size, float(np.abs(wrenches).max(initial=0)))

    @cached_property
    def acceleration_size(self) -> float:
        """The size of the accelerations that forces of that size give."""
        return self.force_size / float(np.abs(self.M).max()) if self.n else 1.0

    @cached_property
    def rate_size(self) -> float:
        """The size of the terms that add up to an entry of C: inertias times speeds."""
        inertia = max(np.abs(self.M).max(initial=0), np.abs(self.of("composite_inertias")).max(initial=0))
        speed = max(1.0, np.abs(self.v).max(initial=0), np.abs(self.of("body_velocities")).max(initial=0))
        return float(inertia * speed) or 1.0

    def moved(self, step: float) -> Array:
        """The configuration a little later at constant velocity."""
        return np.asarray(self.model.integrate(self.q, step * self.v))

    def rate(self, function: Any) -> Array:
        """Time derivative of function(q) along v, by differences of sixth order."""
        return self.rate_of_state(lambda q, v: function(q))

    def rate_of_state(self, function: Any, step: float = 1e-3) -> Array:
        """Time derivative of function(q, v) along v and a, by differences of sixth order."""

        def at(h: float) -> Array:
            return np.asarray(function(self.moved(h), self.v + h * self.a))

        weights = ((1, 45.0), (2, -9.0), (3, 1.0))
        return sum(w * (at(k * step) - at(-k * step)) for k, w in weights) / (60 * step)

    def expect(self, value: Any, truth: Any, tolerance: float, scale: float = 0.0, what: str = "") -> None:
        """Fail if the two differ, with the name of the model in the message."""
        e = error(value, truth, scale)
        assert e <= tolerance, f"{self.label}: {what} relative error {e:.2e} exceeds {tolerance:.1e}"


def _key(value: Any) -> Any:
    return value.tobytes() if isinstance(value, np.ndarray) else repr(value)


OF_STATE = {
    "bias_force",
    "body_velocities",
    "centroidal_momentum",
    "coriolis_matrix",
    "kinetic_energy",
    "mass_matrix_rate",
    "momentum",
    "nullify_momentum",
}
