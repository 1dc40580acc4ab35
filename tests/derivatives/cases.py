"""Random mechanisms in a state, and derivatives of functions of them by other means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt

Array = np.ndarray
STEP = 1e-30  # of complex differences, which do not cancel


class Case:
    """A model with a state, an acceleration, a force and wrenches, all of order one."""

    def __init__(self, model: kt.Model, rng: np.random.Generator):
        self.model, self.n = model, model.nv
        self.q, self.v = model.random_state(rng)
        self.a, self.tau = rng.normal(size=(2, self.n))
        self.f_ext = rng.normal(size=(model.nbodies, 6))

    def run(self, name: str, *args: Any, **options: Any) -> Any:
        """A function of the library, interpreted."""
        return getattr(kt, name)(self.model, *args, target="eager", **options)

    def along_q(self, function: Callable[[Array], Any]) -> Array:
        """The derivatives of function(q) along increments of q, last axis, by complex steps."""
        rates = [self.model.rate(self.q, e) for e in np.eye(self.n)]
        return _stacked([function(self.q + 1j * STEP * rate) for rate in rates])

    def along(self, function: Callable[[Array], Any], x: Array) -> Array:
        """The derivatives of function(x) along each element of x, last axes, by complex steps."""
        units = np.eye(x.size).reshape(x.size, *x.shape)
        found = _stacked([function(x + 1j * STEP * e) for e in units])
        return found.reshape(*found.shape[:-1], *x.shape)


def _stacked(values: list[Any]) -> Array:
    return np.stack([np.imag(value) / STEP for value in values], axis=-1)


def tree(seed: int, most: int = 8, **options: Any) -> Case:
    """A random tree or forest of every joint type, with rotors, mimic joints and armatures."""
    rng = np.random.default_rng([seed, 2710])
    mechanism = random_mechanism(rng, 1 + int(rng.integers(1, most)), **{"roots": 0.1, **options})
    return Case(mechanism.build(), rng)


def robot(name: str, *args: Any) -> Case:
    """A robot of the zoo, "flying" or "turning"."""
    if name in ("flying", "turning"):
        return flying() if name == "flying" else turning()
    return Case(getattr(kt.zoo, name)(*args), np.random.default_rng([*name.encode()]))


def flying() -> Case:
    """A free body with another on a ball joint: small, and all increments turn."""
    return tree(1, 2, types=("free", "spherical"))


def turning() -> Case:
    """One free body: what a long function takes instead of two."""
    inertia = kt.Inertia(2.0, (0.1, -0.2, 0.3), ((0.5, 0.1, 0.0), (0.1, 0.6, 0.05), (0.0, 0.05, 0.7)))
    model = kt.ModelBuilder("turning").add_body("body", None, kt.Free(), inertia=inertia).build()
    return Case(model, np.random.default_rng(8))


def size_of(*arrays: Any) -> float:
    """The largest entry of some arrays, at least 1."""
    return max([1.0, *(float(np.abs(a).max(initial=0.0)) for a in arrays)])


def error(found: Any, truth: Any, *others: Any) -> float:
    """The largest difference, relative to the largest entry of the truth and of others, at least 1."""
    found, truth = np.asarray(found, float), np.asarray(truth, float)
    assert found.shape == truth.shape, f"shapes differ: {found.shape} and {truth.shape}"
    assert np.isfinite(found).all(), "not finite"
    return float(np.abs(found - truth).max(initial=0.0)) / size_of(truth, *others)
