"""Robots of an environment on a device, against those on the CPU: bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from tests.gym.robots import actions, environment

pytest.importorskip("gymnasium")


def test_robots_move_as_on_the_cpu(fake):
    options = {"randomize": {"q": (-0.05, 0.05), "contact_friction": (0.3, 1.0)}, "time_limit": 0.04}
    here, there = (environment(5, target=target, **options) for target in ("cpu", "cuda"))
    np.testing.assert_array_equal(here.reset(seed=0)[0], there.reset(seed=0)[0])
    for action in actions(5, 4):
        for ours, theirs in zip(here.step(action)[:4], there.step(action)[:4], strict=True):
            np.testing.assert_array_equal(ours, theirs)
