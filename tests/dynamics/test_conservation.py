"""What mechanics conserves is conserved along a motion, up to the order of the integrator."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import share
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt


def motion(model, q, v, duration: float, steps: int):
    """The state after `duration`, by the midpoint rule on the configuration space (second order)."""
    h = duration / steps
    zero = np.zeros(model.nv)
    for _ in range(steps):
        a = kt.forward_dynamics(model, q, v, zero, target="eager")
        half, middle = v + h / 2 * a, model.integrate(q, h / 2 * v)
        a = kt.forward_dynamics(model, middle, half, zero, target="eager")
        q, v = model.integrate(q, h * half), v + h * a
    return q, v


def energy(model, q, v) -> float:
    kinetic = kt.kinetic_energy(model, q, v, target="eager")
    return float(kinetic + kt.potential_energy(model, q, target="eager"))


@pytest.mark.parametrize("seed", share(range(4), 2))
def test_energy(seed):
    """Without forces the energy stays; its drift falls with the square of the step."""
    rng = np.random.default_rng([seed, 80])
    m = random_mechanism(rng, 4, rotors=0.3)
    model, (q, v) = m.build(), m.random_state(rng)
    v = v / 2
    before = energy(model, q, v)
    size = float(kt.kinetic_energy(model, q, v, target="eager")) + 1
    drifts = [abs(energy(model, *motion(model, q, v, 0.1, n)) - before) / size for n in (32, 128)]
    assert drifts[1] < 1e-3
    assert drifts[1] < drifts[0] / 10 or drifts[0] < 1e-9, drifts  # a quarter of the step: 16 times less


def test_momentum_of_a_floating_robot():
    """A robot that nothing touches keeps its momentum."""
    model = kt.zoo.spacecraft().replace(gravity=(0.0, 0.0, 0.0))
    q, v = model.random_state(np.random.default_rng(81))
    before = kt.momentum(model, q, v, target="eager")
    drifts = []
    for n in (16, 64):
        later = kt.momentum(model, *motion(model, q, v, 0.1, n), target="eager")
        drifts.append(np.abs(later - before).max() / np.abs(before).max())
    assert drifts[1] < 1e-3
    assert drifts[1] < drifts[0] / 10, drifts
