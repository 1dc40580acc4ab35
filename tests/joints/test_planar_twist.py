"""JNT-7: the planar joint in body velocities is the planar joint, in every function of a model."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import share
from tests.identities.case import Case
from tests.identities.test_laws import broken_laws
from tests.reference.advance import advance
from tests.reference.lagrangian import Lagrangian
from tests.reference.measure import assert_close
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt

TYPES = ("planar_twist", "planar_twist", "revolute", "spherical", "universal", "planar")
EAGER = {"target": "eager"}


def mechanism(seed: int):
    rng = np.random.default_rng([seed, 70])
    m = random_mechanism(rng, 4, types=TYPES, armatures=0.5)
    if all(b.type != "planar_twist" for b in m.bodies):
        m = random_mechanism(rng, 4, types=("planar_twist",))
    return m, rng


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(k, marks=pytest.mark.long) for k in range(2, 10))])
def test_laws(seed):
    m, rng = mechanism(seed)
    broken = broken_laws(Case(f"planar {seed}", m.build(), rng, m), seed == 0)
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("seed", range(6))
def test_first_principles(seed):
    """M, C, Gamma with the brackets of se(2), bias and accelerations, against poses alone."""
    m, rng = mechanism(seed)
    model, (q, v) = m.build(), m.random_state(rng)
    truth, a = Lagrangian(m, q), rng.normal(size=m.nv)
    size = float(np.abs(truth.mass_matrix).max())
    assert_close(kt.mass_matrix(model, q, **EAGER), truth.mass_matrix, 1e-12)
    assert_close(kt.christoffel_symbols(model, q, **EAGER), truth.christoffel, 1e-12, size)
    assert_close(kt.inverse_dynamics(model, q, v, a, **EAGER), truth.inverse_dynamics(v, a), 1e-12, 1.0)
    assert_close(model.integrate(q, v), advance(m, q, v), 1e-12, 1.0)


def pucks(joint: kt.joints.Joint) -> kt.Model:
    b = kt.ModelBuilder("pucks")
    link = kt.Inertia(1.3, (0.1, -0.2, 0.05), ((0.4, 0.01, 0.02), (0.01, 0.3, 0.03), (0.02, 0.03, 0.5)))
    b.add_body("puck", None, joint, kt.Pose.random(1), link)
    b.add_body("arm", "puck", kt.Revolute((0.6, 0, 0.8)), kt.Pose.random(2), link)
    b.add_body("second", "arm", joint, kt.Pose.random(3), link)
    return b.build()


def test_it_is_the_planar_joint_in_other_velocities(rng):
    """v_planar = A(q) v with A = diag(1, R): M, bias and forces change with it, wrenches do not."""
    body, rates = pucks(kt.PlanarTwist()), pucks(kt.Planar())
    q, v = body.random_state(rng)
    a, h = rng.normal(size=body.nv), 1e-6
    A = np.array([body.rate(q, e) for e in np.eye(body.nv)]).T

    def moved(t: float) -> np.ndarray:
        return body.rate(body.integrate(q, t * v), v + t * a)

    change = (moved(h) - moved(-h)) / (2 * h)
    assert_close(kt.mass_matrix(body, q), A.T @ kt.mass_matrix(rates, q) @ A, 1e-13)
    tau = kt.inverse_dynamics(rates, q, A @ v, change)
    assert_close(kt.inverse_dynamics(body, q, v, a), A.T @ tau, 1e-8, 1.0)
    assert_close(kt.body_velocities(body, q, v), kt.body_velocities(rates, q, A @ v), 1e-13)
    wrenches = kt.joint_wrenches(rates, q, A @ v, change)
    assert_close(kt.joint_wrenches(body, q, v, a), wrenches, 1e-8, 1.0)


@pytest.mark.parametrize("integrator", share(["discrete", "rk4", "variational"], 3))
def test_both_move_alike(integrator):
    body, rates = pucks(kt.PlanarTwist()), pucks(kt.Planar())
    q, v = body.random_state(5)
    runs = [kt.simulate(model, q, w, duration=0.1, dt=5e-4, integrator=integrator)
            for model, w in ((body, v), (rates, body.rate(q, v)))]  # fmt: skip
    distance = np.abs(runs[0].q[-1] - runs[1].q[-1]).max()
    assert distance < {"discrete": 2e-3, "rk4": 1e-9, "variational": 1e-5}[integrator]
    assert np.abs(runs[0].q[-1] - q).max() > 0.05


def test_turns_are_counted_and_differences_are_short():
    joint = kt.PlanarTwist()
    q = (0.3, 1.0, 2.0)
    far = joint.integrate(q, (7.0, 1.0, -2.0))
    assert far[0] == pytest.approx(7.3)
    short = joint.difference(q, far)
    assert short[0] == pytest.approx(7.0 - 2 * np.pi)
    assert np.allclose(joint.placement(joint.integrate(q, short)).matrix(), joint.placement(far).matrix())


def test_pinocchio_agrees(rng):
    pin = pytest.importorskip("pinocchio")
    model = pucks(kt.PlanarTwist())
    twin, maps = kt.interop.to_pinocchio(model)
    q, v = model.random_state(rng)
    a = rng.normal(size=model.nv)
    tau = pin.rnea(twin, twin.createData(), maps.q(q), maps.v(q, v), maps.a(q, v, a))
    assert_close(maps.tau_back(maps.q(q), tau), kt.inverse_dynamics(model, q, v, a), 1e-12, 1.0)


def test_files(tmp_path):
    model = pucks(kt.PlanarTwist())
    kt.save(model, tmp_path / "pucks.json")
    assert kt.load(tmp_path / "pucks.json") == model
    for suffix in ("urdf", "xml"):
        with pytest.raises(kt.errors.KinetreeError, match="planar_twist"):
            kt.save(model, tmp_path / f"pucks.{suffix}")
