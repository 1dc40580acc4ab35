"""The pieces of which Coriolis matrices and accelerations are made, each against its definition."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from tests.reference.measure import assert_close, condition
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt
from kinetree.spatial import CoriolisInertia, Force, Motion
from kinetree.textbook import crf, crm, fbar

LINK = kt.Inertia(1.5, (0.1, -0.05, 0.2), ((0.3, 0.01, -0.02), (0.01, 0.4, 0.03), (-0.02, 0.03, 0.5)))


def dense(value) -> np.ndarray:
    return np.array(value, float)


@pytest.mark.parametrize("seed", range(5))
def test_the_factor_of_a_body(seed):
    """COR-4: B = (V x* I + (I V) x-bar* - I V x) / 2; B V = V x* I V, and B + B^T is the rate of I."""
    V = Motion.from_components(np.random.default_rng(seed).normal(size=6).tolist())
    I, v = dense(LINK), dense(V)
    B = dense(CoriolisInertia.of(V, LINK))
    cross, star = dense(crm(V)), dense(crf(V))
    assert_close(B, (star @ I + dense(fbar(LINK @ V)) - I @ cross) / 2, 1e-14)
    assert_close(B @ v, star @ I @ v, 1e-14)
    assert_close(B + B.T, star @ I - I @ cross, 1e-14)


@pytest.mark.parametrize("seed", range(8))
def test_torsion_is_that_of_the_brackets(seed):
    """COR-12, E:M3: Gamma_ijk - Gamma_ikj = <X_i, [X_k, X_j]>, for joints whose velocities are no rates."""
    rng = np.random.default_rng([seed, 31])
    m = random_mechanism(rng, 1 + seed % 5, types=("spherical", "free", "revolute", "universal"), rotors=0.5)
    model = m.build()
    q, _ = m.random_state(rng)
    M, gamma = (f(model, q, target="eager") for f in (kt.mass_matrix, kt.christoffel_symbols))
    torsion = np.zeros_like(gamma)
    for name, joint in ((b.joint_name, b.joint) for b in model.bodies if b.mimic is None):
        c = np.array(joint.brackets() or np.zeros((joint.nv,) * 3), float)
        places = np.flatnonzero(model.velocities({name: np.ones(joint.nv)}))
        torsion[np.ix_(range(model.nv), places, places)] += np.einsum("il,kjl->ijk", M[:, places], c)
    assert_close(gamma - gamma.transpose(0, 2, 1), torsion, 1e-12, scale=float(np.abs(gamma).max()) + 1e-300)


@pytest.mark.parametrize("seed", range(5))
def test_a_joint_on_a_base_that_moves_as_told(seed):
    """FDY-5: S^T (I (a_b + S q'' + V x S q') + V x* I V) = Q, solved for q'' by hand."""
    rng = np.random.default_rng(seed)
    builder = kt.ModelBuilder("carried", gravity=(0, 0, 0))
    builder.add_body("base", None, kt.Free(), inertia=LINK)
    builder.add_body("arm", "base", kt.Helical((0, 0.6, 0.8), 0.3), kt.Pose.random(rng), LINK)
    model = builder.build()
    q, v = model.random_state(rng)
    told, force = rng.normal(size=6), 0.7
    known = model.velocities({"base": told, "arm": force})
    a, _ = kt.hybrid_dynamics(model, q, v, known, accelerate=["base"], target="eager")
    X = np.linalg.inv(dense(kt.textbook.Ad(relative(model, q))))
    S = kt.jacobian(model, q, "arm", target="eager")[:, 6]
    V = kt.body_velocities(model, q, v, target="eager")[1]
    I, across = dense(LINK), Motion.from_components(V.tolist())
    bias = I @ (X @ told + dense(crm(across)) @ S * v[6]) + dense(crf(across)) @ I @ V
    by_hand = (force - S @ bias) / (S @ I @ S)
    assert_close(a, [*told, by_hand], 1e-12 * condition(I), scale=1.0)


def relative(model: kt.Model, q: np.ndarray) -> kt.Pose:
    """The pose of the arm in its base."""
    base, arm = kt.placements(model, q, target="eager")
    return kt.Pose(np.linalg.inv(base) @ arm)


@pytest.mark.parametrize("seed", range(8))
def test_the_transpose_is_a_slope_of_the_energy(seed):
    """COR-13: (C^T v)_i = X_i (v^T M v) / 2 + sum c^l_ki v_k (M v)_l, along the fields X of velocities."""
    rng = np.random.default_rng([seed, 32])
    m = random_mechanism(rng, 1 + seed % 5, types=("spherical", "free", "revolute", "prismatic"))
    model = m.build()
    q, v = m.random_state(rng)
    slopes = kt.mass_matrix_partials(model, q, target="eager")
    expected = np.einsum("jki,j,k->i", slopes, v, v) / 2
    momentum = kt.mass_matrix(model, q, target="eager") @ v
    for name, joint in ((b.joint_name, b.joint) for b in model.bodies if b.mimic is None):
        c = np.array(joint.brackets() or np.zeros((joint.nv,) * 3), float)
        places = np.flatnonzero(model.velocities({name: np.ones(joint.nv)}))
        expected[places] += np.einsum("kil,k,l->i", c, v[places], momentum[places])
    found = kt.coriolis_transpose_product(model, q, v, v, target="eager")
    assert_close(found, expected, 1e-12, scale=float(np.abs(momentum).max(initial=0) * np.abs(v).max()))


@pytest.mark.parametrize("seed", range(4))
def test_index_identities_of_the_thesis(seed):
    """COR-10, E:T4 (A): on a path i, j, k outward, with B = B(S_k, I^C_k), Gamma_ijk = S_i^T B S_j and
    Gamma_kij = S_i^T ((I S_k) x-bar* - B) S_j. With the printed condition, j outward of k, it fails."""
    rng = np.random.default_rng([seed, 33])
    m = random_mechanism(
        rng, 5, types=("revolute", "prismatic"), chain=1.0, roots=0.0, rotors=0.0, mimics=0.0
    )
    model = m.build()
    q, _ = m.random_state(rng)
    gamma = kt.christoffel_symbols(model, q, target="eager")
    S = kt.jacobian(model, q, model.body_names[-1], "world", target="eager").T
    inertias = []
    for pose, I in zip(kt.placements(model, q), kt.composite_inertias(model, q), strict=True):
        X = np.linalg.inv(dense(kt.textbook.Ad(kt.Pose(pose))))  # motions of the world to the body
        inertias.append(X.T @ I @ X)

    def turned(k: int) -> np.ndarray:
        return dense(fbar(Force.from_components((inertias[k] @ S[k]).tolist())))

    def factor(k: int, c: int) -> np.ndarray:
        """B(S_k, I^C_c)."""
        V, I = Motion.from_components(S[k].tolist()), inertias[c]
        bar = dense(fbar(Force.from_components((I @ S[k]).tolist())))
        return (dense(crf(V)) @ I + bar - I @ dense(crm(V))) / 2

    size, wrong = float(np.abs(gamma).max()), 0.0
    for i, j, k in combinations_with_replacement(range(5), 3):
        B = factor(k, k)
        assert_close(gamma[i, j, k], S[i] @ B @ S[j], 1e-12, size)
        assert_close(gamma[k, i, j], S[i] @ (turned(k) - B) @ S[j], 1e-12, size)
        wrong = max(wrong, abs(gamma[i, k, j] - S[i] @ factor(j, k) @ S[k]) / size)  # as printed
    assert wrong > 1e-3
