"""SDF: poses, joints, models and what is said about the rest."""

from __future__ import annotations

import numpy as np
import pytest
from tests.io.peers import eager
from tests.io.sdf_robots import random_robot

import kinetree as kt


def assert_same_dynamics(a: kt.Model, b: kt.Model, seed: int = 0, tolerance: float = 1e-12) -> None:
    """Mass matrices, forces and places of frames agree, joint by joint, whatever their order."""
    assert a.nv == b.nv and a.nq == b.nq
    rng = np.random.default_rng(seed)
    q, v = a.random_state(rng)
    acceleration = rng.standard_normal(a.nv)

    def moved(x: np.ndarray) -> np.ndarray:
        return b.velocities({name: row for name, row in a.split_velocities(x).items() if len(row)})

    p = b.positions({name: row for name, row in a.split_positions(q).items() if len(row)})
    u, other = moved(v), moved(acceleration)
    M = np.array([moved(row) for row in eager(kt.mass_matrix, a, q)])
    M = np.array([moved(row) for row in M.T])
    size = np.abs(M).max()
    assert np.abs(eager(kt.mass_matrix, b, p) - M).max() <= tolerance * size
    for f, g in (
        (eager(kt.inverse_dynamics, a, q, v, acceleration), eager(kt.inverse_dynamics, b, p, u, other)),
        (eager(kt.passive_force, a, q, v), eager(kt.passive_force, b, p, u)),
    ):
        assert np.abs(moved(f) - g).max() <= tolerance * max(np.abs(f).max(), size, 1.0)
    for name in set(a.frame_names) & set(b.frame_names):
        gap = eager(kt.frame_placement, a, q, name) - eager(kt.frame_placement, b, p, name)
        assert np.abs(gap).max() <= tolerance * 100


@pytest.mark.parametrize("seed", range(25))
def test_random_robots_are_read_as_they_were_drawn(seed):
    robot = random_robot(seed, floating=seed % 3 == 0)
    loaded = kt.load(robot.text)
    assert [joint for joint in robot.model.joint_names if "@" not in joint]
    assert_same_dynamics(robot.model, loaded, seed)
