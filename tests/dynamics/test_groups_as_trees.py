"""A rotor is a leaf, and a mimic joint a joint of its own, whose velocities follow: v_full = G v.

G is constant, so M, C and the Christoffel symbols of the group are congruences of those of the full tree.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.reference.measure import assert_close
from tests.reference.mechanism import SIZES, Body, Mechanism
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt


def unfolded(m: Mechanism, q: np.ndarray) -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """The tree in which everything moves on its own, where it stands at q, and G."""
    bodies = [replace(b, mimic=None) for b in m.bodies]
    parts, rows = [], []
    for i, b in enumerate(m.bodies):
        leader, multiplier, offset = m.leader(i)
        here = q[m.positions(leader)]
        parts.append(here * multiplier + offset if b.mimic else here)
        block = np.zeros((SIZES[b.type][1], m.nv))
        block[:, m.velocities(leader)] = np.eye(SIZES[b.type][1]) * (multiplier if b.mimic else 1.0)
        rows.append(block)
    for r in m.rotors:
        ratios = np.array(r.ratios)
        parent = m.bodies[r.body].parent
        bodies.append(Body(parent, "revolute", r.rotation, r.position, r.mass, r.axis, r.axis))
        parts.append(np.array([ratios @ parts[r.body]]))
        rows.append((ratios @ rows[r.body])[None])
    full = Mechanism(tuple(bodies), (), m.gravity)
    return full, np.concatenate(parts), np.concatenate(rows)


@pytest.mark.parametrize("seed", range(25))
def test_group_is_a_congruence_of_the_tree(seed):
    rng = np.random.default_rng([seed, 60])
    m = random_mechanism(rng, 2 + seed % 5, rotors=0.6, mimics=0.5)
    q, v = m.random_state(rng)
    full, Q, G = unfolded(m, q)
    V, a = G @ v, rng.normal(size=m.nv)
    one, two = m.build(), full.build()

    def run(model, name, *args):
        return getattr(kt, name)(model, *args, target="eager")

    M = run(two, "mass_matrix", Q)
    size = float(np.abs(G.T @ M @ G).max(initial=1) * max(1.0, np.abs(V).max(initial=0)))
    assert_close(run(one, "mass_matrix", q), G.T @ M @ G, 1e-13, size)
    C = run(two, "coriolis_matrix", Q, V)
    assert_close(run(one, "coriolis_matrix", q, v), G.T @ C @ G, 1e-12, size)
    gamma = np.einsum("abc,ai,bj,ck->ijk", run(two, "christoffel_symbols", Q), G, G, G)
    assert_close(run(one, "christoffel_symbols", q), gamma, 1e-12, size)
    tau = G.T @ run(two, "inverse_dynamics", Q, V, G @ a)
    assert_close(run(one, "inverse_dynamics", q, v, a), tau, 1e-12, size)
    nb = len(m.bodies)
    assert_close(run(one, "body_velocities", q, v), run(two, "body_velocities", Q, V)[:nb], 1e-13, 1.0)
    assert_close(run(one, "kinetic_energy", q, v), run(two, "kinetic_energy", Q, V), 1e-13)
    assert_close(run(one, "potential_energy", q), run(two, "potential_energy", Q), 1e-13, size)
    assert_close(run(one, "momentum", q, v), run(two, "momentum", Q, V), 1e-13, size)


@pytest.mark.parametrize("seed", range(8))
def test_rotors_without_inertia_change_nothing(seed):
    rng = np.random.default_rng([seed, 61])
    m = random_mechanism(rng, 4, rotors=0.8, mimics=0)
    zero = [replace(r.mass, mass=0.0, com=0 * r.mass.com, inertia=0 * r.mass.inertia) for r in m.rotors]
    idle = replace(m, rotors=tuple(replace(r, mass=z) for r, z in zip(m.rotors, zero, strict=True)))
    plain = replace(m, rotors=())
    q, v = m.random_state(rng)
    for name, args in {
        "mass_matrix": (q,),
        "coriolis_matrix": (q, v),
        "christoffel_symbols": (q,),
        "bias_force": (q, v),
        "inverse_mass_matrix": (q,),
        "composite_inertias": (q,),
    }.items():
        found = getattr(kt, name)(idle.build(), *args, target="eager")
        assert_close(found, getattr(kt, name)(plain.build(), *args, target="eager"), 1e-13, 1.0, name)
