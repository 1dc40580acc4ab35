"""Angles of any size: what is compiled agrees to rounding with what is run eagerly, however large q is."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.measure import error
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt
from kinetree import zoo

SIZES = [1.0, 1e3, 1e6, 1e9, 1e12]


def slanted_arm() -> kt.Model:
    """Six joints with general placements and axes, so that canonical frames are turned against the given."""
    rng = np.random.default_rng(5)
    builder, parent = kt.ModelBuilder("slanted"), "world"
    axes = [(0.6, 0, 0.8), (0, 0, 1), (2 / 7, -3 / 7, 6 / 7), (0.48, 0.6, -0.64), (1, 0, 0), (0, -0.8, 0.6)]
    for k, axis in enumerate(axes):
        joint = kt.Cylindrical(axis) if k == 2 else kt.Helical(axis, 0.01) if k == 4 else kt.Revolute(axis)
        pose = kt.Pose(kt.Rotation.from_quaternion(_unit(rng.normal(size=4))), rng.normal(size=3))
        inertia = kt.Inertia(1.0 + k, rng.normal(size=3), np.diag([0.3, 0.4, 0.5]))
        builder.add_body(f"b{k}", parent, joint, pose, inertia)
        parent = f"b{k}"
    return builder.build()


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x)


def turned(model: kt.Model, rng: np.random.Generator, size: float) -> np.ndarray:
    """A position with angles up to `size`, but for screws: they would slide as far."""
    q, _ = model.random_state(rng)
    for body in model.bodies:
        if body.joint.type_name in ("revolute", "cylindrical"):
            q[model.position_index(body.joint_name).start] = rng.uniform(-size, size)
    return q


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mode", ["unrolled", "looped"])
@pytest.mark.parametrize("make", [slanted_arm, zoo.arm7, zoo.puma560], ids=lambda make: make.__name__)
def test_compiled_agrees_with_eager(make, mode, size):
    model = make()
    rng = np.random.default_rng(int(np.log10(size)))
    for _ in range(3):
        q = turned(model, rng, size)
        v, a = rng.normal(size=(2, model.nv))
        for function, inputs in ((kt.inverse_dynamics, (q, v, a)), (kt.mass_matrix, (q,))):
            expected = function(model, *inputs, target="eager")
            found = kt.compile(function, model, mode=mode)(*inputs)
            assert error(found, expected, np.abs(expected).max()) <= 4e-14


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_at_a_million_turns(seed):
    rng = np.random.default_rng([seed, 71])
    model = random_mechanism(rng, 1 + seed % 8, rotors=0.0, mimics=0.0).build()
    q = turned(model, np.random.default_rng(seed), 6e6)
    expected = kt.mass_matrix(model, q, target="eager")
    found = kt.mass_matrix(model, q)
    assert error(found, expected, np.abs(expected).max(initial=1.0)) <= 1e-13
