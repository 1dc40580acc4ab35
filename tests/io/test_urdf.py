"""URDF feature by feature: what becomes of joints, inertials, mimics, drives and the base."""

from __future__ import annotations

import numpy as np
import pytest
from tests.io.peers import bias, eager, frame_pose

import kinetree as kt
from kinetree.joints import Fixed, Free, Helical, Planar, Prismatic, Revolute, Spherical, Universal
from kinetree.model import Limits

MASS = (
    '<inertial><mass value="{0}"/>'
    '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="1.1" iyz="0.3" izz="1.2"/></inertial>'
)


def link(name: str, inside: str = MASS.format(1)) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(
    name: str, parent: str, child: str, kind: str = "revolute", inside: str = '<axis xyz="0 0 1"/>'
) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'
    )


def robot(*parts: str) -> str:
    return '<robot name="r">' + "".join(parts) + "</robot>"


def chain(kind: str, inside: str = '<axis xyz="0 0 1"/>') -> kt.Model:
    return kt.load(robot(link("a"), link("b"), joint("j", "a", "b", kind, inside)))


@pytest.mark.parametrize(
    "kind, expected",
    [
        ("revolute", Revolute((0, 0, 1))),
        ("continuous", Revolute((0, 0, 1))),
        ("prismatic", Prismatic((0, 0, 1))),
        ("floating", Free()),
        ("planar", Planar()),
        ("ball", Spherical()),
        ("spherical", Spherical()),
        ("universal", Universal((1, 0, 0), (0, 1, 0))),
    ],
)
def test_joint_types(kind, expected):
    model = chain(kind)
    assert model.bodies[0].joint == expected
    assert model.nv == expected.nv


def test_screw_joints_turn_metres_per_turn_into_metres_per_radian():
    model = chain("screw", '<axis xyz="0 0 1"/><drake:screw_thread_pitch value="0.04"/>')
    assert model.bodies[0].joint == Helical((0, 0, 1), 0.04 / (2 * np.pi))


def test_the_axis_is_x_by_default_and_of_unit_length():
    assert chain("revolute", "").bodies[0].joint == Revolute((1, 0, 0))
    assert chain("revolute", '<axis xyz="0 3 4"/>').bodies[0].joint.parameters == pytest.approx((0, 0.6, 0.8))


def test_a_planar_joint_moves_in_the_plane_normal_to_its_axis():
    model = chain("planar", '<axis xyz="0 1 0"/><origin xyz="1 2 3"/>')
    q = np.array([0.3, 0.5, -0.7])
    R, p = frame_pose(model, q, "b")
    assert p[1] == pytest.approx(2.0)
    assert np.allclose(R @ [0, 1, 0], [0, 1, 0])
    assert model.nv == 3 and "b" in model.frame_names


def test_origin_is_roll_pitch_yaw_about_fixed_axes():
    model = chain("revolute", '<axis xyz="0 0 1"/><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>')
    R, p = frame_pose(model, np.zeros(1), "b")
    x, y, z = (
        np.array(kt.Rotation.from_axis_angle(axis, angle).as_matrix(), dtype=float)
        for axis, angle in (((1, 0, 0), 0.1), ((0, 1, 0), 0.2), ((0, 0, 1), 0.3))
    )
    assert np.allclose(R, z @ y @ x) and np.allclose(p, [1, 2, 3])


def test_right_angles_to_the_last_digit_are_exact():
    model = chain("revolute", '<axis xyz="0 0 1"/><origin rpy="1.5707963267948966 0 3.141592653589793"/>')
    assert {abs(x) for row in model.bodies[0].placement.R for x in row} == {0.0, 1.0}


def test_snap_makes_near_right_angles_exact_and_keeps_the_rest():
    inside = '<axis xyz="0 1e-4 1"/><origin xyz="0.0005 0.3 0" rpy="1.5708 0 0"/>'
    text = robot(
        link("a"),
        link("b"),
        link("c"),
        joint("j", "a", "b", inside=inside),
        joint("k", "b", "c", inside='<origin rpy="0.3 0 1.57"/>'),
    )
    kept, snapped = kt.load(text), kt.load(text, snap=1e-3)
    assert kept.bodies[0].placement.R[2][2] != 0.0
    body = snapped.bodies[0]
    assert body.placement.R == ((1, 0, 0), (0, 0, -1), (0, 1, 0))
    assert body.placement.p == (0.0, 0.3, 0.0) and body.joint == Revolute((0, 0, 1))
    R = np.array(snapped.bodies[1].placement.R)
    assert np.count_nonzero(R) == 5 and np.allclose(R @ R.T, np.eye(3), atol=1e-15)
    q, v = snapped.random_state(np.random.default_rng(0))
    assert np.allclose(bias(kept, q, v), bias(snapped, q, v), rtol=1e-2, atol=1e-2)


def test_inertia_is_turned_into_link_axes():
    inertial = (
        '<inertial><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="2"/>'
        '<inertia ixx="1" iyy="2" izz="2.5"/></inertial>'
    )
    model = kt.load(robot(link("a"), link("b", inertial), joint("j", "a", "b")))
    inertia = model.bodies[0].inertia
    assert inertia.mass == 2 and inertia.com == pytest.approx((1, 2, 3))
    assert inertia.about_com == pytest.approx((2, 1, 2.5, 0, 0, 0))


def test_fixed_links_become_part_of_their_parents_and_stay_as_frames(rng):
    flange = '<origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>'
    text = robot(
        *(link(x) for x in "abcde"),
        joint("j", "a", "b"),
        joint("w", "b", "c", "fixed", flange),
        joint("x", "c", "d", "fixed", flange),
        joint("k", "d", "e", inside='<axis xyz="0 1 0"/>' + flange),
    )
    merged, kept = kt.load(text), kt.load(text, merge_fixed=False)
    assert merged.body_names == ("b", "e") and kept.body_names == ("a", "b", "c", "d", "e")
    assert set(merged.frame_names) == {"a", "c", "d"}
    assert isinstance(kept.bodies[2].joint, Fixed)
    assert {f.where.element for f in merged.report.merged} == {"link 'a'", "link 'c'", "link 'd'"}
    q, v = merged.random_state(rng)
    assert np.allclose(eager(kt.mass_matrix, merged, q), eager(kt.mass_matrix, kept, q), atol=1e-12)
    assert np.allclose(bias(merged, q, v), bias(kept, q, v), atol=1e-12)
    for name in "abcde":
        for ours, theirs in zip(frame_pose(merged, q, name), frame_pose(kept, q, name)):
            assert np.allclose(ours, theirs, atol=1e-14)


def test_mimic_chains_resolve_to_one_coordinate():
    text = robot(
        *(link(x) for x in "abcd"),
        joint("j", "a", "b", inside='<axis xyz="0 0 1"/><mimic joint="k" multiplier="2" offset="0.1"/>'),
        joint("k", "b", "c", inside='<axis xyz="0 1 0"/><mimic joint="l" multiplier="-1" offset="0.2"/>'),
        joint("l", "c", "d"),
    )
    model = kt.load(text)
    assert model.nv == 1 and model.coordinate_index("l") == slice(0, 1)
    assert model.coordinate_index("j") == slice(0, 0)


def test_base_choice(rng):
    text = robot(link("a"), link("b"), joint("j", "a", "b"))
    assert kt.load(text).nv == 1 and kt.load(text, base="fixed").nv == 1
    free = kt.load(text, base="free")
    assert free.nv == 7 and isinstance(free.bodies[0].joint, Free) and free.body_names == ("a", "b")
    world = robot(
        '<link name="world"/>', link("a"), link("b"), joint("w", "world", "a", "fixed"), joint("j", "a", "b")
    )
    assert kt.load(world).nv == 1 and kt.load(world, base="free").nv == 7
    floating = world.replace('type="fixed"', 'type="floating"')
    assert kt.load(floating).nv == 7 and kt.load(floating, base="fixed").nv == 1


def test_the_world_link_may_be_implied():
    model = kt.load(robot(link("a"), joint("w", "world", "a", "fixed", '<origin xyz="0 0 1"/>')))
    assert model.nbodies == 0 and model.frame("a")[1].translation == (0.0, 0.0, 1.0)


def test_a_link_called_world_that_hangs_on_a_joint_is_renamed():
    model = kt.load(robot(link("a"), link("world"), joint("j", "a", "world")))
    assert model.body_names == ("world_2",)


def test_a_single_link_is_a_model_without_bodies():
    model = kt.load(robot(link("a")))
    assert (model.nq, model.nv, model.nbodies, model.frame_names) == (0, 0, 0, ("a",))
    assert kt.load(robot(link("a")), base="free").nv == 6


def test_several_roots_are_welded_with_a_warning():
    model = kt.load(robot(link("a"), link("b"), link("c"), joint("j", "a", "b")))
    assert model.nv == 1
    assert [f.rule for f in model.report.warnings] == ["tree-several-roots"]


def test_a_second_parent_is_left_out_with_a_warning():
    model = kt.load(robot(link("a"), link("b"), joint("j", "a", "b"), joint("k", "a", "b", "prismatic")))
    assert model.joint_names == ("j",)
    assert [f.rule for f in model.report.warnings] == ["tree-two-parents"]


def test_undeclared_prefixes_are_no_matter():
    text = robot(
        link("a"), link("b"), joint("j", "a", "b"), '<gazebo:thing foo:bar="1"><x:y/></gazebo:thing>'
    )
    assert any(f.where.element == "<gazebo:thing>" for f in kt.load(text).report.ignored)


def test_limits_damping_and_friction():
    inside = (
        '<limit lower="-1" upper="2" effort="30" velocity="4"/>'
        '<dynamics damping="0.5" friction="0.25" armature="0.1"/>'
    )
    body = chain("prismatic", inside).bodies[0]
    assert body.limits == Limits((-1.0,), (2.0,), (4.0,), (30.0,))
    assert (body.damping, body.friction, body.armature) == ((0.5,), (0.25,), (0.1,))
    unlimited = chain("continuous", inside).bodies[0].limits
    assert unlimited.lower == (-np.inf,) and unlimited.effort == (30.0,)
    assert chain("revolute", '<limit lower="-inf" upper="1e31"/>').bodies[0].limits.upper == (np.inf,)


@pytest.mark.parametrize(
    "drive",
    [
        "<actuator><mechanicalReduction>100</mechanicalReduction><rotorInertia>1e-4</rotorInertia>"
        "</actuator>",
        '<actuator><drake:gear_ratio value="-100"/><drake:rotor_inertia value="1e-4"/></actuator>',
        "<mechanicalReduction>100</mechanicalReduction><actuator><motorInertia>1e-4</motorInertia>"
        "</actuator>",
    ],
)
def test_a_rotor_inertia_with_a_reduction_is_reflected(drive):
    text = robot(
        link("a"), link("b"), joint("j", "a", "b"), f'<transmission><joint name="j"/>{drive}</transmission>'
    )
    model = kt.load(text)
    assert model.bodies[0].armature == pytest.approx((1.0,))
    assert [f.rule for f in model.report if f.rule.startswith("rotor")] == ["rotor-reflected"]


def test_a_reduction_alone_adds_nothing_and_says_so():
    text = robot(
        link("a"),
        link("b"),
        joint("j", "a", "b"),
        '<transmission><joint name="j"/><actuator><mechanicalReduction>5</mechanicalReduction>'
        "</actuator></transmission>",
    )
    model = kt.load(text)
    assert model.bodies[0].armature == (0.0,)
    assert any(f.rule == "rotor-incomplete" for f in model.report.ignored)


def test_an_exact_rotor_is_carried_by_what_carries_the_joint():
    rotor = (
        '<kinetree gravity="0 0 -1.62"><rotor joint="j" ratio="50"><origin xyz="0 0 0.1"/>'
        '<axis xyz="0 0 1"/><inertial>'
        '<mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="2e-4"/></inertial></rotor></kinetree>'
    )
    text = robot(
        *(link(x) for x in "abc"),
        joint("k", "a", "b"),
        joint("w", "b", "m", "fixed", '<origin xyz="1 0 0"/>'),
        link("m", ""),
        joint("j", "m", "c", inside='<axis xyz="0 1 0"/>'),
        rotor,
    )
    model = kt.load(text)
    assert model.gravity == (0.0, 0.0, -1.62)
    assert model.rotors[0].placement.p == (1.0, 0.0, 0.1) and model.rotors[0].ratio == (50.0,)


def test_named_frames_are_frames():
    text = robot(
        link("a"), link("b"), joint("j", "a", "b"), '<frame name="tip" link="b" xyz="1 0 0" rpy="0 0 0"/>'
    )
    assert kt.load(text).frame("tip")[1].translation == (1.0, 0.0, 0.0)


def test_joints_are_numbered_depth_first_in_file_order():
    text = robot(
        *(link(x) for x in "abcde"),
        joint("right", "a", "b"),
        joint("left", "a", "c"),
        joint("left_tip", "c", "e"),
        joint("right_tip", "b", "d"),
    )
    assert kt.load(text).joint_names == ("right", "right_tip", "left", "left_tip")


def test_every_message_names_file_line_element_rule_and_remedy(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(
        '<robot name="r">\n<link name="a"/>\n<link name="b"/>\n' + joint("j", "a", "bb") + "</robot>"
    )
    with pytest.raises(kt.errors.ModelError) as caught:
        kt.load(path)
    message = str(caught.value)
    for part in (
        f"{path}:4:",
        "joint 'j'",
        "'bb' does not exist",
        "[tree-unknown-link]",
        "Did you mean 'b'?",
    ):
        assert part in message


def test_leading_space_and_trailing_nul_bytes_are_forgiven():
    text = '\n\n<?xml version="1.0"?>\n' + robot(link("a"), link("b"), joint("j", "a", "b")) + "\0\0"
    assert kt.load(text.encode()).nv == 1


def test_repeated_links_that_say_the_same_are_one():
    model = kt.load(robot(link("a"), link("b"), link("b"), joint("j", "a", "b")))
    assert model.nbodies == 1 and [f.rule for f in model.report.warnings] == ["element-repeated"]


def test_a_part_without_its_base_stands_on_an_implied_one():
    model = kt.load(robot(link("b"), joint("j", "palm", "b")))
    assert model.nv == 1 and [f.rule for f in model.report.warnings] == ["tree-implicit-base"]


def test_numbers_separated_by_commas_are_read_with_a_warning():
    model = chain("revolute", '<origin xyz="1, 2, 3"/><axis xyz="0 0 1"/>')
    assert model.bodies[0].placement.p == (1.0, 2.0, 3.0)
    assert [f.rule for f in model.report.warnings] == ["number-comma"]
