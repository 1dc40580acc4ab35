"""Charts and maps alone, without a peer: derivatives, power, batches, mistakes."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.interop.charts import BALL, FREE_TWIST, Chart, Circle, FreeWorld, PlanarBody, PlanarOrder
from kinetree.interop.maps import Maps, Piece, angular_first

CHARTS = {
    "revolute": (kt.Revolute((0, 0.6, 0.8)), Chart(), 1),
    "unbounded": (kt.Revolute((0, 0.6, 0.8)), Circle(), 2),
    "exchanged": (kt.Universal((1, 0, 0), (0, 1, 0)), Chart((1, 0), (1, 0)), 2),
    "planar": (kt.Planar(), PlanarBody(), 4),
    "planar in body velocities": (kt.PlanarTwist(), PlanarOrder(), 4),
    "ball": (kt.Spherical(), BALL, 4),
    "free in Pinocchio": (kt.Free(), FREE_TWIST, 7),
    "free in MuJoCo": (kt.Free(), FreeWorld(kt.Pose.random(np.random.default_rng(3))), 7),
}


def single(joint: kt.joints.Joint, chart: Chart, nq: int) -> tuple[kt.Model, Maps]:
    builder = kt.ModelBuilder("one")
    builder.add_body("body", None, joint, inertia=kt.Inertia(1.0, (0, 0, 0), np.eye(3).tolist()))
    nv = joint.nv
    piece = Piece(chart, slice(0, joint.nq), slice(0, nv), tuple(range(nq)), tuple(range(nv)))
    return builder.build(), Maps((joint.nq, nv), (nq, nv), [piece], np.zeros(nq), {})


@pytest.mark.parametrize("name", CHARTS)
class TestChart:
    def test_there_and_back(self, name, rng):
        model, maps = single(*CHARTS[name])
        q, v = model.random_state(rng, batch=(2, 3))
        a, tau = rng.normal(size=v.shape), rng.normal(size=v.shape)
        Q, V, A = maps.q(q), maps.v(q, v), maps.a(q, v, a)
        np.testing.assert_allclose(maps.q_back(Q), q, atol=1e-14)
        np.testing.assert_allclose(maps.v_back(Q, V), v, atol=1e-14)
        np.testing.assert_allclose(maps.a_back(Q, V, A), a, atol=1e-13)
        np.testing.assert_allclose(maps.tau_back(Q, maps.tau(q, tau)), tau, atol=1e-14)

    def test_power_is_the_same(self, name, rng):
        model, maps = single(*CHARTS[name])
        q, v = model.random_state(rng)
        tau = rng.normal(size=model.nv)
        assert maps.v(q, v) @ maps.tau(q, tau) == pytest.approx(v @ tau, abs=1e-13)

    def test_accelerations_are_rates_of_velocities(self, name, rng):
        """d(T v)/dt along the motion q (+) t v with v growing by a t, by central differences."""
        model, maps = single(*CHARTS[name])
        q, v = model.random_state(rng)
        a, h = rng.normal(size=model.nv), 1e-5

        def at(t: float) -> np.ndarray:
            return maps.v(model.integrate(q, t * v), v + t * a)

        np.testing.assert_allclose(maps.a(q, v, a), (at(h) - at(-h)) / (2 * h), atol=1e-8)

    def test_batches_are_states_one_by_one(self, name, rng):
        model, maps = single(*CHARTS[name])
        q, v = model.random_state(rng, batch=4)
        a = rng.normal(size=v.shape)
        for k in range(4):
            np.testing.assert_allclose(maps.q(q)[k], maps.q(q[k]), atol=1e-15)
            np.testing.assert_allclose(maps.a(q, v, a)[k], maps.a(q[k], v[k], a[k]), atol=1e-15)


def test_world_velocity_is_the_rate_of_the_position(rng):
    """MuJoCo's free joint: the linear velocity is the rate of its own position."""
    model, maps = single(*CHARTS["free in MuJoCo"])
    q, v = model.random_state(rng)
    h = 1e-6
    rate = (maps.q(model.integrate(q, h * v)) - maps.q(model.integrate(q, -h * v))) / (2 * h)
    np.testing.assert_allclose(maps.v(q, v)[:3], rate[:3], atol=1e-8)


def test_a_follower_moves_with_its_leader():
    own = Piece(Chart(), slice(0, 1), slice(0, 1), (0,), (0,))
    tail = Piece(Chart(), slice(0, 1), slice(0, 1), (1,), (1,), -2.0, 0.5, False)
    maps = Maps((1, 1), (2, 2), [own, tail], np.zeros(2), {})
    np.testing.assert_array_equal(maps.q([0.25]), [0.25, 0.0])
    np.testing.assert_array_equal(maps.v([0.25], [3.0]), [3.0, -6.0])
    np.testing.assert_array_equal(maps.tau([0.25], [3.0]), [3.0, 0.0])
    np.testing.assert_array_equal(maps.tau_back([0.25, 0.0], [1.0, 1.0]), [-1.0])
    np.testing.assert_array_equal(maps.mass_matrix([0.25], np.eye(2)), [[5.0]])


def test_halves_are_exchanged():
    np.testing.assert_array_equal(angular_first(np.arange(6)), [3, 4, 5, 0, 1, 2])
    assert angular_first(np.zeros((6, 4))).shape == (6, 4)


@pytest.mark.parametrize("bad", [np.zeros(3), 1.0, np.array(["a"]), np.zeros(2, dtype=complex)])
def test_a_wrong_shape_is_named(bad):
    _, maps = single(*CHARTS["revolute"])
    with pytest.raises(kt.errors.ShapeError, match=r"q has shape .* expected numbers \(\.\.\., 1\)"):
        maps.q(bad)
