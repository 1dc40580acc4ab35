"""The scale against which a pivot counts as zero: never too small to matter, and with the right units."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt
from kinetree.sweep.bounds import inertia_bounds


def test_one_body_on_one_joint():
    """S^T I S with all mass at its distance: an upper bound that a point mass reaches."""
    none = np.zeros((3, 3)).tolist()
    builder = kt.ModelBuilder("points")
    builder.add_body("a", "world", kt.Revolute((0, 0, 1)), inertia=kt.Inertia(2.0, (3.0, 0, 0), none))
    builder.add_body("b", "world", kt.Prismatic((0, 0, 1)), inertia=kt.Inertia(5.0, (0, 0, 0), none))
    model = builder.build(check="finite")
    assert inertia_bounds(model) == pytest.approx([18.0, 5.0])


@pytest.mark.parametrize("seed", range(20))
def test_pivots_of_sound_mechanisms_are_far_above_noise(seed):
    rng = np.random.default_rng([seed, 5])
    mechanism = random_mechanism(rng, 6)
    model = mechanism.build()
    q, _ = mechanism.random_state(rng)
    M = np.asarray(kt.mass_matrix(model, q, target="eager"))
    remaining = 1.0 / np.diag(np.linalg.inv(M))  # no pivot of any order of elimination is smaller
    assert (remaining > 1e-9 * inertia_bounds(model)).all()


def test_units():
    """Mass in grams scales them by a thousand, as it does every pivot."""
    model = kt.zoo.quadruped()
    parameters = np.asarray(model.parameters)
    heavy = model.with_parameters(1000.0 * parameters)
    assert inertia_bounds(heavy) == pytest.approx(1000.0 * inertia_bounds(model))


def test_a_massless_model_has_a_scale():
    model = kt.zoo.double_pendulum()
    nothing = model.with_parameters(np.zeros((model.nbodies, 10)), check="finite")
    assert inertia_bounds(nothing) == pytest.approx([1.0, 1.0])
