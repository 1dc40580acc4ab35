"""Edited models have the dynamics that the edit says."""

from __future__ import annotations

import numpy as np
import pytest
from tests.model.samples import DISC, LINK, LUMP, random_pose, rich_model

import kinetree as kt
from kinetree.joints import Fixed, Free, Revolute
from kinetree.model import Limits, ModelBuilder
from kinetree.spatial.pose import Pose


def inverse_dynamics(model, q, v, a):
    return kt.inverse_dynamics(model, q, v, a, target="eager")


def mass_matrix(model, q):
    return kt.mass_matrix(model, q, target="eager")


def geared_arm():
    """An arm with rotors of both kinds and a mimic joint; every joint has one degree of freedom."""
    b = ModelBuilder("geared arm")
    for i in range(5):
        b.add_body(
            f"link{i}",
            f"link{i - 1}" if i else None,
            Revolute((0, 0, 1) if i % 2 else (0.6, 0, 0.8)),
            random_pose(i),
            LINK,
            joint_name=f"joint{i}",
            mimic=("joint2", -0.5, 0.3) if i == 3 else None,
        )
    b.add_rotor("joint0", DISC, random_pose(10), ratio=20.0)
    b.add_rotor("joint2", LUMP, random_pose(11), (0.6, 0.8, 0), -8.0)
    b.add_rotor("joint3", DISC, random_pose(12), ratio=5.0)
    b.add_rotor("joint4", LUMP, random_pose(13), ratio=12.0)
    b.add_frame("tool", "link4", random_pose(14))
    return b.build()


# --- replace ------------------------------------------------------------------------------------------------
def test_replace_numbers():
    model = geared_arm().replace(
        name="other",
        gravity=(1, 2, 3),
        inertia={"link1": DISC},
        placement={"link2": random_pose(3)},
        armature={"joint0": 0.5},
        damping={"joint1": 0.1},
        friction={"joint1": 0.2},
        stiffness={"joint4": 3.0},
        spring_reference={"joint4": 0.4},
        limits={"joint4": (-1, 1)},
    )
    assert (model.name, model.gravity) == ("other", (1, 2, 3))
    link1, link2, link4 = model.bodies[1], model.bodies[2], model.bodies[4]
    assert link1.inertia == DISC and link2.placement == random_pose(3)
    assert (model.bodies[0].armature, link1.damping, link1.friction) == ((0.5,), (0.1,), (0.2,))
    assert (link4.stiffness, link4.spring_reference, link4.limits.upper) == ((3.0,), (0.4,), (1,))
    assert geared_arm() == geared_arm().replace()


def test_rotors_can_be_dropped_or_reflected(rng):
    model = geared_arm()
    q, _ = model.random_state(rng)
    bare, reflected = model.replace(rotors="none"), model.replace(rotors="reflected")
    assert bare.rotors == () and reflected.rotors == ()
    assert model.replace(rotors="exact") == model
    assert np.isclose(bare.total_mass, 5 * 1.5)
    assert np.isclose(reflected.total_mass, model.total_mass - 0.3)  # the first rotor rides on the world
    axial = DISC.second[2]
    assert np.isclose(reflected.armature[0], 400.0 * axial)
    exact = mass_matrix(model, q)
    approximate = mass_matrix(reflected, q)
    # the thesis' CRBA with reflected inertia: what is missing is of the order of ratio times inertia
    assert np.abs(exact - approximate).max() < 12.0 * 4 * 0.004
    assert np.abs(exact - mass_matrix(bare, q)).max() > np.abs(exact - approximate).max()


def test_without_gearing_the_reflected_rotor_is_a_lump(rng):
    """A rotor of ratio 0 stands still on its carrier."""
    b = ModelBuilder("still").add_body("a", None, Revolute(), inertia=LINK)
    b.add_body("b", "a", Revolute((0, 1, 0)), random_pose(1), LINK)
    b.add_rotor("b", LUMP, random_pose(2), ratio=0.0)
    model = b.build()
    q, v = model.random_state(rng)
    a = rng.standard_normal(2)
    assert np.allclose(
        inverse_dynamics(model, q, v, a),
        inverse_dynamics(model.replace(rotors="reflected"), q, v, a),
        atol=1e-12,
    )


def test_lumped_rotors_are_reflected_ones_without_armature(rng):
    """ROT-9: the mass rides on the carrier, and nothing spins."""
    model = geared_arm()
    q, v = model.random_state(rng)
    a = rng.standard_normal(model.nv)
    lumped, reflected = model.replace(rotors="lumped"), model.replace(rotors="reflected")
    assert lumped.rotors == () and np.isclose(lumped.total_mass, reflected.total_mass)
    assert np.any(reflected.armature) and not np.any(lumped.armature)
    difference = mass_matrix(reflected, q) - mass_matrix(lumped, q)
    assert np.allclose(difference, np.diag(reflected.armature), atol=1e-12)
    # rotors that stand still in their carriers, as those of locked joints do, are what is left
    still = tuple(rotor._replace(ratio=(0.0,)) for rotor in model.rotors)
    slow = kt.Model(model.name, model.gravity, model.bodies, still)
    assert np.allclose(inverse_dynamics(slow, q, v, a), inverse_dynamics(lumped, q, v, a), atol=1e-12)


# --- lock ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "locked", [("joint0",), ("joint1",), ("joint2",), ("joint4",), ("joint0", "joint2", "joint4")]
)
def test_locked_joints_do_not_move(locked, rng):
    """tau of the free joints is that of the whole model with the locked joints at rest."""
    model = geared_arm()
    q, v = model.random_state(rng)
    a = rng.standard_normal(model.nv)
    fixed = [model.coordinate_index(name).start for name in locked]
    moving = [i for i in range(model.nv) if i not in fixed]
    v[fixed] = a[fixed] = 0.0
    shorter = model.lock({name: q[model.position_index(name)] for name in locked})
    assert shorter.nv == model.nv - len(locked)
    assert shorter.body_names == model.body_names and shorter.frame_names == model.frame_names
    expected = inverse_dynamics(model, q, v, a)[moving]
    assert np.allclose(inverse_dynamics(shorter, q[moving], v[moving], a[moving]), expected, atol=1e-12)
    assert np.allclose(
        mass_matrix(shorter, q[moving]), mass_matrix(model, q)[np.ix_(moving, moving)], atol=1e-12
    )


@pytest.mark.parametrize("locked", ["joint0", "joint1", "joint2", "joint4"])
def test_locking_keeps_the_mass_of_rotors(locked, rng):
    """Also of a rotor on the world, here that of joint0."""
    model = geared_arm()
    q, _ = model.random_state(rng)
    held = model.lock({locked: q[model.position_index(locked)]})
    left = np.delete(q, model.position_index(locked))
    assert np.isclose(held.total_mass, model.total_mass)
    for function in (kt.center_of_mass, kt.potential_energy):
        expected = function(model, q, target="eager")
        assert np.allclose(function(held, left, target="eager"), expected, atol=1e-12)


def test_locking_a_leader_locks_its_followers():
    model = geared_arm().lock({"joint2": 0.7})
    assert isinstance(model.bodies[2].joint, Fixed) and isinstance(model.bodies[3].joint, Fixed)
    assert model.nv == 3


def test_locking_joints_of_every_type(rng):
    model = rich_model()
    q, _ = model.random_state(rng)
    everything = {
        body.joint_name: q[model.position_index(body.joint_name)]
        for body in model.bodies
        if body.mimic is None
    }
    assert model.lock(everything).nv == 0
    held = model.lock({"root": q[model.position_index("root")]})
    assert held.nv == model.nv - 6


# --- attach -------------------------------------------------------------------------------------------------
def test_attached_model_moves_like_one_built_at_once(rng):
    arm, base = geared_arm(), ModelBuilder("cart").add_body("cart", None, Free(), inertia=LINK).build()
    where = random_pose(20)
    model = base.attach(arm, "cart", where, prefix="arm_")
    assert model.nbodies == 6 and model.nv == 10
    assert model.parents == (0, 1, 2, 3, 4, 5)
    assert model.body_names[1] == "arm_link0" and model.frame_names == ("arm_tool",)
    assert [rotor.joint for rotor in model.rotors] == ["arm_joint0", "arm_joint2", "arm_joint3", "arm_joint4"]
    # held at the origin, the arm on the cart is the arm placed on the world
    held = model.lock({"cart": (0, 0, 0, 1, 0, 0, 0)})
    world = ModelBuilder("nothing").build().attach(arm, None, where)
    q, v = world.random_state(rng)
    a = rng.standard_normal(world.nv)
    assert np.allclose(inverse_dynamics(held, q, v, a), inverse_dynamics(world, q, v, a), atol=1e-12)
    assert np.allclose(mass_matrix(world, q), mass_matrix(arm, q), atol=1e-12)


def test_attach_at_a_frame(rng):
    """A tool on the flange stands where the frame is, moved by the placement in the frame's axes."""
    arm = geared_arm()
    tool = ModelBuilder("tool").add_body("finger", None, Revolute((0, 1, 0)), random_pose(21), LINK)
    tool = tool.add_frame("mount", None, random_pose(22)).build()
    where, (_, seat) = random_pose(23), arm.frame("tool")
    on_frame = arm.attach(tool, "tool", where)
    on_body = arm.attach(tool, "link4", Pose.from_transform(seat) @ where)
    q, _ = on_frame.random_state(rng)
    assert on_frame.parents == on_body.parents
    assert np.allclose(mass_matrix(on_frame, q), mass_matrix(on_body, q), atol=1e-13)
    pose = kt.frame_placement(arm, q[: arm.nq], "tool", target="eager") @ np.asarray(where)
    found = kt.frame_placement(on_frame, q, "mount", target="eager")
    assert np.allclose(found, pose @ np.asarray(random_pose(22)), atol=1e-13)


# --- add_frame ----------------------------------------------------------------------------------------------
def test_frames_can_be_added_to_a_model(rng):
    """On the world, on a body, and on another frame; nothing else changes."""
    arm = geared_arm().replace(configurations={"bent": np.full(4, 0.3)})
    camera = arm.add_frame("camera", "tool", random_pose(24)).add_frame("mast", None, random_pose(25))
    assert arm.frame_names == ("tool",) and camera.frame_names == ("tool", "camera", "mast")
    assert (camera.bodies, camera.rotors) == (arm.bodies, arm.rotors)
    assert np.array_equal(camera.configurations["bent"], arm.configurations["bent"])
    q, _ = arm.random_state(rng)
    pose = kt.frame_placement(arm, q, "tool", target="eager") @ np.asarray(random_pose(24))
    assert np.allclose(kt.frame_placement(camera, q, "camera", target="eager"), pose, atol=1e-14)
    assert np.allclose(kt.frame_placement(camera, q, "mast", target="eager"), random_pose(25), atol=1e-15)
    assert kt.Model.from_dict(camera.to_dict()) == camera


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("tool", "link1", "already contains a frame named 'tool'"),
        ("link2", "link1", "already contains a body named 'link2'"),
        ("world", "link1", "cannot be called 'world'"),
        ("lens", "link9", "link9"),
        ("", "link1", "non-empty"),
    ],
)
def test_a_frame_that_cannot_be(name, body, message):
    with pytest.raises(kt.errors.ModelError, match=message):
        geared_arm().add_frame(name, body)


def test_attach_to_itself_needs_a_prefix():
    model = geared_arm()
    with pytest.raises(kt.errors.ModelError, match="prefix"):
        model.attach(model, "link4")
    assert model.attach(model, "link4", Pose(p=(0, 0, 1)), prefix="second_").nbodies == 10


# --- subtree ------------------------------------------------------------------------------------------------
def test_subtree_moves_like_the_branch_on_a_body_that_is_held(rng):
    model = geared_arm()
    part = model.subtree("link2")
    assert part.body_names == ("link2", "link3", "link4") and part.nv == 2
    assert part.parents == (0, 1, 2) and part.frame_names == ("tool",)
    assert [rotor.joint for rotor in part.rotors] == ["joint2", "joint3", "joint4"]
    q, _ = model.random_state(rng)
    assert np.allclose(mass_matrix(part, q[2:]), mass_matrix(model, q)[2:, 2:], atol=1e-12)


def test_subtree_of_the_world_is_the_model():
    assert geared_arm().subtree("world") == geared_arm()


def test_limits_survive_editing():
    model = geared_arm().replace(limits={"joint1": Limits(-1, 1, 2, 3)})
    assert model.subtree("link1").limits.effort[0] == 3
    assert model.lock({"joint0": 0.0}).limits.effort[0] == 3
