"""What joints promise about dynamics: unfelt inertia, and joints that are made of others."""

from __future__ import annotations

import numpy as np
import pytest
from tests.joints.samples import DOWN, JOINTS, SLANTED, Gimbal

import kinetree as kt
from kinetree.joints import Cylindrical, Free, Joint, Planar, Prismatic, Revolute, Universal
from kinetree.model import Model, ModelBuilder
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose


def random_inertia(rng) -> Inertia:
    A = rng.standard_normal((3, 3))
    spread = A @ A.T
    return Inertia(1.3, tuple(rng.standard_normal(3)), (np.trace(spread) * np.eye(3) - spread).tolist())


def equations(model: Model, q, v, a) -> tuple[np.ndarray, np.ndarray]:
    return kt.mass_matrix(model, q, target="eager"), kt.inverse_dynamics(model, q, v, a, target="eager")


@pytest.mark.parametrize("joint", JOINTS.values(), ids=JOINTS.keys())
def test_unfelt_inertia_may_move_to_the_predecessor(joint: Joint, rng):
    """M and tau do not change when the unfelt part of a body is fixed to the body before it."""
    base, tip, where = random_inertia(rng), random_inertia(rng), Pose.random(rng)
    unfelt = joint.unfelt(tip)

    def model(first: Inertia, second: Inertia) -> Model:
        b = ModelBuilder("two").add_body("base", None, Free(), inertia=first)
        return b.add_body("tip", "base", joint, where, second).build(check="finite")

    plain, moved = model(base, tip), model(base + unfelt.congruence(where.transform()), tip - unfelt)
    q, v = plain.random_state(rng)
    a = rng.standard_normal(plain.nv)
    for left, right in zip(equations(plain, q, v, a), equations(moved, q, v, a)):
        assert np.allclose(left, right, atol=1e-12)


X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
CHAINS = {
    "universal": (Universal(X, Y), [Revolute(X), Revolute(Y)]),
    "universal slanted": (Universal(SLANTED, DOWN), [Revolute(SLANTED), Revolute(DOWN)]),
    "cylindrical": (Cylindrical(DOWN), [Revolute(DOWN), Prismatic(DOWN)]),
    "planar": (Planar(), [Prismatic(X), Prismatic(Y), Revolute(Z)]),
    "of the user": (Gimbal(), [Revolute(X), Revolute(Y), Revolute(Z)]),
}


@pytest.mark.parametrize("joint, parts", CHAINS.values(), ids=CHAINS.keys())
def test_joint_equals_a_chain_of_simple_joints(joint: Joint, parts: list[Joint], rng):
    """Simple joints with massless bodies between them have the same equations of motion."""
    base, tip, where = random_inertia(rng), random_inertia(rng), Pose.random(rng)
    whole = ModelBuilder("whole").add_body("base", None, Revolute(X), inertia=base)
    whole.add_body("tip", "base", joint, where, tip)
    chain = ModelBuilder("chain").add_body("base", None, Revolute(X), inertia=base)
    for k, part in enumerate(parts):
        last = k == len(parts) - 1
        parent = f"part{k - 1}" if k else "base"
        chain.add_body(f"part{k}", parent, part, None if k else where, tip if last else None)
    order = [0, 2, 3, 1] if joint == Planar() else list(range(1 + joint.nv))
    one, other = whole.build(), chain.build()
    q, v = one.random_state(rng)
    a = rng.standard_normal(one.nv)
    M, tau = equations(one, q, v, a)
    M_chain, tau_chain = equations(other, q[order], v[order], a[order])
    assert np.allclose(M[np.ix_(order, order)], M_chain, atol=1e-12)
    assert np.allclose(tau[order], tau_chain, atol=1e-12)


@pytest.mark.parametrize("joint", list(JOINTS.values())[1:], ids=list(JOINTS)[1:])
def test_armature_adds_to_the_diagonal(joint: Joint, rng):
    inertia = random_inertia(rng)
    plain, armed = (
        ModelBuilder("m").add_body("a", None, joint, inertia=inertia, armature=armature).build()
        for armature in (0.0, 0.7)
    )
    q, _ = plain.random_state(rng)
    difference = kt.mass_matrix(armed, q, target="eager") - kt.mass_matrix(plain, q, target="eager")
    assert np.allclose(difference, 0.7 * np.eye(joint.nv), atol=1e-13)


def test_hinge_map_constant_in_the_inboard_frame(rng):
    """E:S7: the slides of a planar joint are constant in the inboard frame, so S-ring v = -[0; dw x dv]."""
    q, v = Planar().random(rng), tuple(rng.standard_normal(3))
    apparent = sum((np.array((dS @ v).components) * x for dS, x in zip(Planar().subspace_partials(q), v)))
    across = Planar().subspace(q) @ v
    assert np.allclose(apparent, [0, 0, 0, *-np.cross(across.angular, across.linear)], atol=1e-14)


def test_a_joint_of_the_user_is_written_down_and_read_back():
    model = ModelBuilder("own").add_body("a", None, Gimbal()).build()
    assert kt.Model.from_dict(model.to_dict()) == model


def test_a_joint_without_a_name_of_its_own_is_not_written_down():
    class Lopsided(Revolute):
        pass

    model = ModelBuilder("own").add_body("a", None, Lopsided()).build()
    with pytest.raises(kt.errors.ModelError, match="body 'a': Lopsided"):
        model.to_dict()
