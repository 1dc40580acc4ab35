"""The internal joint of rotors: its frame stands still while it spins."""

from __future__ import annotations

import numpy as np
import pytest
from tests.joints.samples import SLANTED

from kinetree.joints import Spin
from kinetree.spatial.inertia import Inertia


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, -1, 0), (0, 0, 1), SLANTED])
def test_spin_is_a_revolute_joint_that_does_not_turn(axis):
    spin = Spin(axis)
    assert spin.subspace((0.3,)).columns[0].components == (*axis, 0, 0, 0)
    assert np.array_equal(np.array(spin.placement((0.3,)).matrix(), dtype=float), np.eye(6))
    assert len(spin.complement((0.3,))) == 5
    assert repr(spin) == f"Spin(axis={axis})"


def test_all_but_the_spin_inertia_is_unfelt():
    rotor = Inertia(2.0, (0, 0, 0.1), ((0.3, 0, 0), (0, 0.3, 0), (0, 0, 0.5)))
    rest = rotor - Spin((0, 0, 1)).unfelt(rotor)
    assert rest.parameters == (0, 0, 0, 0, 0, 0, 0.5, 0, 0, 0)
    assert Spin(SLANTED).unfelt(rotor) == Inertia.zero()
