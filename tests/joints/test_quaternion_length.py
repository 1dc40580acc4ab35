"""The length of a quaternion in q does not matter; a zero quaternion is not a rotation."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt

LINK = kt.Inertia(1.5, (0.1, -0.2, 0.3), [[0.5, 0.02, 0.01], [0.02, 0.6, -0.03], [0.01, -0.03, 0.4]])


def floating_ball() -> kt.Model:
    builder = kt.ModelBuilder("floating ball")
    builder.add_body("base", None, kt.Free(), inertia=LINK)
    builder.add_body("ball", "base", kt.Spherical(), kt.Pose(p=(0.2, 0.1, -0.3)), LINK)
    return builder.build()


@pytest.mark.parametrize("target", ["eager", "cpu"])
def test_any_length_is_the_same_rotation(target):
    model, rng = floating_ball(), np.random.default_rng(3)
    q, v = model.random_state(rng)
    a = rng.normal(size=model.nv)
    longer = q.copy()
    longer[:4] *= 1.7
    longer[7:] *= 0.2
    tau = kt.inverse_dynamics(model, q, v, a, target=target)
    assert np.allclose(kt.inverse_dynamics(model, longer, v, a, target=target), tau, rtol=0, atol=1e-12)
    assert np.allclose(kt.forward_dynamics(model, longer, v, tau, target=target), a, rtol=0, atol=1e-11)
    M = kt.mass_matrix(model, longer, target=target)
    assert np.allclose(M, kt.mass_matrix(model, q), rtol=0, atol=1e-13)


@pytest.mark.parametrize("target", ["eager", "cpu"])
def test_a_zero_quaternion_gives_nan(target):
    model = floating_ball()
    q, zero = np.zeros(model.nq), np.zeros(model.nv)
    assert np.isnan(kt.inverse_dynamics(model, q, zero, zero, target=target)).any()
    assert np.isnan(kt.mass_matrix(model, q, target=target)).any()
