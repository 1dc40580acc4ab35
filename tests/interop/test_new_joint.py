"""A joint type that nobody in the library has heard of goes through files and peers by its steps alone."""

from __future__ import annotations

import numpy as np
import pytest
from tests.interop.robots import eager
from tests.joints.samples import Gimbal

import kinetree as kt
from kinetree.joints.made_of import made_of
from kinetree.joints.steps import X, Y, Z, hinge, slide


class Cardan(Gimbal):
    """The sample joint, which says what it is made of."""

    type_name, coordinates = "cardan", ("angle",) * 3

    @property
    def steps(self):
        return hinge(X, 0), hinge(Y, 1), hinge(Z, 2)


@pytest.fixture
def model():
    builder = kt.ModelBuilder("m")
    inertia = kt.Inertia(2.0, (0.1, 0.2, 0.3), (0.3, 0.4, 0.5))
    builder.add_body("a", "world", Cardan(), inertia=inertia, joint_name="j", damping=(0.1, 0.2, 0.3))
    builder.add_body("b", "a", kt.Revolute((0, 0.6, 0.8)), kt.Pose(p=(0.1, 0.2, 0.3)), inertia)
    return builder.build()


@pytest.mark.parametrize("ending", [".json", ".mjcf"])
def test_files(model, ending, tmp_path):
    again = kt.load(kt.save(model, tmp_path / f"robot{ending}"))
    assert again.bodies[0].joint == Cardan() and again.bodies[0].joint_name == "j"
    assert again.bodies[0].damping == (0.1, 0.2, 0.3)
    assert again.body_names == model.body_names


def test_urdf_has_no_word_for_it(model, tmp_path):
    with pytest.raises(kt.errors.ModelError, match=r"joint 'j' .* is cardan"):
        kt.save(model, tmp_path / "robot.urdf")


@pytest.mark.parametrize("peer", ["mujoco", "pinocchio"])
def test_peers(model, peer, rng):
    pytest.importorskip(peer)
    twin, maps = getattr(kt.interop, f"to_{peer}")(model)
    again, back = getattr(kt.interop, f"from_{peer}")(twin)
    assert again.bodies[0].joint == Cardan() and again.joint_names == model.joint_names
    q, _ = model.random_state(rng)
    assert maps.nv_there == model.nv and np.allclose(back.q(q), maps.q(q))
    if peer == "pinocchio":
        import pinocchio as pin

        M = pin.crba(twin, twin.createData(), maps.q(q))
        M = np.triu(M) + np.triu(M, 1).T
        assert np.allclose(maps.mass_matrix(q, M), eager("mass_matrix", model, q), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "joint",
    [
        kt.Revolute((0.0, 0.6, 0.8)),
        kt.Prismatic((0, 0, -1)),
        kt.Helical((0.0, 0.6, 0.8), 0.3),
        kt.Cylindrical((0, 1, 0)),
        kt.Universal((1, 0, 0), (0.0, 0.6, 0.8)),
        kt.Planar(),
        kt.Spherical(),
        kt.Free(),
    ],
)
def test_steps_lead_back_to_the_joint(joint):
    assert made_of(joint.steps) == joint


def test_steps_that_no_joint_is_made_of():
    assert made_of([slide(X, 0), hinge(X, 1), slide(Y, 2)]) is None
    assert made_of([hinge(X, 0), slide(Y, 0, 0.3)]) is None  # a screw slides along its own axis
