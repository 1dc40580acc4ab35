"""Rotors: the library follows the corrected thesis, and would be caught following its misprints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.reference.lagrangian import Lagrangian
from tests.reference.measure import assert_close, condition, error
from tests.reference.mechanism import Mass, Mechanism, Rotor
from tests.reference.random_mechanism import random_body, random_mass, spinning_mass
from tests.textbook import thesis_aba

import kinetree as kt

CHAIN = (-1, 0, 1, 2, 3)
BINARY = (-1, 0, 0, 1, 1, 2, 2)


def rig(rng: np.random.Generator, parents: tuple, *, coaxial: bool = True, round: bool = True) -> Mechanism:
    """Revolute joints, each driven by a rotor: on the joint axis or anywhere; a body of revolution or not."""
    bodies = tuple(random_body(rng, p, "revolute") for p in parents)
    rotors = []
    for i, b in enumerate(bodies):
        mass = spinning_mass(rng, b.axis) if round else random_mass(rng, 0.2, 0.1)
        mass = replace(mass, inertia=mass.inertia * 20)
        shift = np.zeros(3) if coaxial else rng.normal(scale=0.3, size=3)
        rotors.append(Rotor(i, b.rotation, b.position + shift, mass, b.axis, (float(rng.uniform(3, 6)),)))
    return Mechanism(bodies, tuple(rotors))


def compare(m: Mechanism, rng: np.random.Generator, mistake: str) -> tuple[float, np.ndarray]:
    """The error of the misprint; asserts that library, corrected thesis and first principles agree."""
    q, v = m.random_state(rng)
    tau, truth = rng.normal(size=m.nv) * 5, Lagrangian(m, q)
    a = truth.forward_dynamics(v, tau)
    tolerance = 1e-13 * condition(truth.mass_matrix)
    assert_close(thesis_aba.forward_dynamics(m, q, v, tau), a, tolerance, what="corrected thesis")
    assert_close(kt.forward_dynamics(m.build(), q, v, tau, target="eager"), a, tolerance, what="kinetree")
    return error(thesis_aba.forward_dynamics(m, q, v, tau, mistake), a), a


@pytest.mark.parametrize("parents", [CHAIN, BINARY], ids=["chain", "binary"])
@pytest.mark.parametrize("mistake", ["T16", "T17"])
def test_torque_counts_once_and_cross_terms_stay(rng, parents, mistake):
    assert compare(rig(rng, parents), rng, mistake)[0] > 1e-2


def test_one_joint_needs_its_torque_once():
    """E:T16: M a / tau is 1, not 2."""
    rng = np.random.default_rng(3)
    m = replace(rig(rng, (-1,)), gravity=(0.0, 0.0, 0.0))
    q, model = np.array([0.7]), m.build()
    a = kt.forward_dynamics(model, q, np.zeros(1), np.ones(1), target="eager")
    assert_close(kt.mass_matrix(model, q, target="eager") @ a, [1.0], 1e-14)
    printed = thesis_aba.forward_dynamics(m, q, np.zeros(1), np.ones(1), "T16")
    assert_close(printed * Lagrangian(m, q).mass_matrix[0], [2.0], 1e-13)


def test_children_add_up(rng):
    """E:T19: siblings add to their parent; on a chain the misprint is harmless."""
    assert compare(rig(rng, BINARY), rng, "T19")[0] > 1e-2
    assert compare(rig(rng, CHAIN), rng, "T19")[0] < 1e-10


def test_rotors_have_their_own_transform(rng):
    """E:T22: with the transform of the link only rotors of revolution on the joint axis come out right."""
    assert compare(rig(rng, CHAIN), rng, "T22")[0] < 1e-10
    assert compare(rig(rng, CHAIN, round=False), rng, "T22")[0] > 1e-2
    assert compare(rig(rng, CHAIN, coaxial=False), rng, "T22")[0] > 1e-3


def test_inertias_are_never_inverted(rng):
    """E:T23: rotors without inertia give the plain algorithm; so does a link without inertia among others."""
    m = rig(rng, CHAIN)
    nothing = Mass(0.0, np.zeros(3), np.zeros((3, 3)))
    idle = replace(m, rotors=tuple(replace(r, mass=nothing) for r in m.rotors))
    q, v = m.random_state(rng)
    tau = rng.normal(size=m.nv)
    with pytest.raises(np.linalg.LinAlgError):
        thesis_aba.forward_dynamics(idle, q, v, tau, "T23")
    plain = replace(m, rotors=())
    a = kt.forward_dynamics(idle.build(), q, v, tau, target="eager")
    condition_ = condition(Lagrangian(plain, q).mass_matrix)
    assert_close(a, kt.forward_dynamics(plain.build(), q, v, tau, target="eager"), 1e-15 * condition_)
    light = tuple(replace(b, mass=nothing) if i == 2 else b for i, b in enumerate(m.bodies))
    compare(replace(m, bodies=light), rng, "")


@pytest.mark.parametrize("parents", [CHAIN, BINARY], ids=["chain", "binary"])
def test_round_trip_and_joint_wrench(rng, parents):
    """E:T27: what passes through a geared joint projects on tau less the share of the rotor, not on tau."""
    m = rig(rng, parents, coaxial=False, round=False)
    q, v = m.random_state(rng)
    tau, model = rng.normal(size=m.nv), m.build()
    a = kt.forward_dynamics(model, q, v, tau, target="eager")
    assert_close(kt.inverse_dynamics(model, q, v, a, target="eager"), tau, 1e-12 * np.abs(a).max())
    projected = [w[:3] @ b.axis for w, b in zip(Lagrangian(m, q).joint_wrenches(v, a), m.bodies, strict=True)]
    assert error(projected, tau) > 1e-2
