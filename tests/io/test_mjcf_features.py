"""MJCF feature by feature, beside MuJoCo: mass matrix, bias force, poses of bodies and sites."""

from __future__ import annotations

import numpy as np
import pytest
from tests.io.peers import MuJoCo, disagreement, frame_pose

import kinetree as kt

mujoco = pytest.importorskip("mujoco")

INERTIAL = '<inertial pos="0.1 0.2 0.3" mass="2" diaginertia="0.3 0.2 0.25"/>'
ROD = '<geom type="capsule" fromto="0 0 0 0.1 0.2 -0.6" size="0.05"/>'


def world(inside: str, head: str = "", tail: str = "") -> str:
    return f"<mujoco>{head}<worldbody>{inside}</worldbody>{tail}</mujoco>"


def two(first: str, second: str, head: str = "", between: str = 'pos="0.1 0 -0.5"') -> str:
    """Two bodies in a row, each with the given joints and geoms."""
    inner = f'<body name="b" {between}>{second}</body>'
    return world(f'<body name="a" pos="0 0 1">{first}{inner}</body>', head)


def geoms(head: str, *shapes: str) -> str:
    return two('<joint axis="0 1 0"/>' + ROD, '<joint axis="1 0 0"/>' + "".join(shapes), head)


FEATURES = {
    "hinge and slide": two(
        '<joint axis="0 1 0"/>' + INERTIAL, '<joint type="slide" axis="1 0 0"/>' + INERTIAL
    ),
    "ball": two('<joint type="ball"/>' + INERTIAL, '<joint type="ball" pos="0.1 0 0.2"/>' + INERTIAL),
    "free": two("<freejoint/>" + INERTIAL, '<joint axis="1 1 0"/>' + INERTIAL),
    "free by type": two('<joint type="free"/>' + INERTIAL, '<joint type="ball"/>' + INERTIAL),
    "three hinges": two(
        '<joint axis="1 0 0"/><joint axis="0 1 0"/><joint axis="0 0 1"/>' + INERTIAL,
        '<joint axis="1 0 0" pos="0.1 0 0"/><joint axis="0 1 0" pos="0 0.2 0"/>' + INERTIAL,
    ),
    "slides and hinge": two(
        '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0" pos="1 2 3"/>'
        '<joint pos="0.1 0 0"/>' + INERTIAL,
        '<joint axis="0 1 0"/>' + INERTIAL,
    ),
    "joint with an offset": two(
        '<joint axis="0 1 0" pos="0.1 0.2 0.3"/>' + INERTIAL, '<joint pos="0 0 1"/>' + INERTIAL
    ),
    "axis not of unit length": two('<joint axis="0 3 4"/>' + INERTIAL, '<joint axis="2 0 0"/>' + INERTIAL),
    "reference positions": two(
        '<joint axis="0 1 0" ref="30"/>' + INERTIAL,
        '<joint type="slide" axis="1 0 0" ref="0.2"/><joint axis="0 0 1" pos="0 1 0" ref="-20"/>' + INERTIAL,
    ),
    "radians": two('<joint ref="0.5"/>' + INERTIAL, "<joint/>" + INERTIAL, '<compiler angle="radian"/>'),
    "quaternion": two("<joint/>" + INERTIAL, "<joint/>" + INERTIAL, between='quat="1 2 3 4"'),
    "axis and angle": two("<joint/>" + INERTIAL, "<joint/>" + INERTIAL, between='axisangle="1 2 3 40"'),
    "two axes": two("<joint/>" + INERTIAL, "<joint/>" + INERTIAL, between='xyaxes="1 2 3 0 1 -1"'),
    "z axis": two("<joint/>" + INERTIAL, "<joint/>" + INERTIAL, between='zaxis="1 -2 0.5"'),
    "z axis down": two("<joint/>" + INERTIAL, "<joint/>" + INERTIAL, between='zaxis="0 0 -1"'),
    "euler": two("<joint/>" + INERTIAL, "<joint/>" + INERTIAL, between='euler="10 20 30"'),
    "euler zyx": two(
        "<joint/>" + INERTIAL, "<joint/>" + INERTIAL, '<compiler eulerseq="zyx"/>', 'euler="10 20 30"'
    ),
    "euler fixed axes": two(
        "<joint/>" + INERTIAL, "<joint/>" + INERTIAL, '<compiler eulerseq="XYZ"/>', 'euler="10 20 30"'
    ),
    "euler mixed": two(
        "<joint/>" + INERTIAL, "<joint/>" + INERTIAL, '<compiler eulerseq="xYz"/>', 'euler="10 20 30"'
    ),
    "full inertia": two(
        "<joint/>" + INERTIAL,
        '<joint axis="1 1 1"/><inertial pos="0 0 1" mass="1" fullinertia="1 1.2 0.9 0.1 0.2 0.3"/>',
    ),
    "turned inertia": two(
        "<joint/>" + INERTIAL,
        '<joint axis="1 1 1"/><inertial pos="0 0 1" euler="10 20 30" mass="1" diaginertia="1 1.2 0.9"/>',
    ),
    "sphere": geoms("", '<geom size="0.2" pos="1 0 0"/>'),
    "box": geoms("", '<geom type="box" size="0.1 0.2 0.3" euler="10 20 30"/>'),
    "capsule": geoms("", '<geom type="capsule" size="0.1 0.3" pos="0 1 0" zaxis="1 1 1"/>'),
    "cylinder": geoms("", '<geom type="cylinder" size="0.1 0.3" quat="1 1 0 0"/>'),
    "ellipsoid": geoms("", '<geom type="ellipsoid" size="0.1 0.2 0.3" mass="3"/>'),
    "geoms between points": geoms(
        "",
        '<geom type="cylinder" fromto="0 0 0 1 0 0" size="0.1"/>',
        '<geom type="box" fromto="0 0 0 0 1 0" size="0.1"/>',
        '<geom type="ellipsoid" fromto="0 0 0 0.3 1 0.2" size="0.1"/>',
    ),
    "several geoms": geoms("", '<geom size="0.2" pos="1 0 0"/>', '<geom size="0.1" mass="2" pos="0 1 0"/>'),
    "density": geoms(
        '<default><geom density="200"/></default>', '<geom size="0.2"/>', '<geom size="0.1" density="50"/>'
    ),
    "massless geoms": geoms(
        "", '<geom size="0.2"/>', '<geom size="9" mass="0"/>', '<geom size="9" density="0"/>'
    ),
    "inertia from geoms only": geoms('<compiler inertiafromgeom="true"/>', INERTIAL, '<geom size="0.2"/>'),
    "inertia never from geoms": two(
        "<joint/>" + INERTIAL + ROD, "<joint/>" + INERTIAL + ROD, '<compiler inertiafromgeom="false"/>'
    ),
    "geom groups": geoms(
        '<compiler inertiagrouprange="0 2"/>', '<geom size="0.2"/>', '<geom size="0.5" group="3"/>'
    ),
    "bound mass": two("<joint/>" + INERTIAL, '<joint/><geom size="0.01"/>', '<compiler boundmass="0.5"/>'),
    "bound inertia": two(
        "<joint/>" + INERTIAL,
        '<joint/><inertial pos="0 0 1" euler="5 6 7" mass="1" diaginertia="0.01 0.02 0.025"/>',
        '<compiler boundinertia="0.02"/>',
    ),
    "balance inertia": two(
        "<joint/>" + INERTIAL,
        '<joint axis="1 1 0"/><inertial pos="0 0 1" mass="1" diaginertia="0.01 0.02 0.1"/>',
        '<compiler balanceinertia="true"/>',
    ),
    "total mass": two("<joint/>" + INERTIAL, "<joint/>" + ROD, '<compiler settotalmass="7"/>'),
    "armature": two('<joint armature="0.3"/>' + INERTIAL, '<joint type="ball" armature="0.1"/>' + INERTIAL),
    "armature of a free joint": two('<joint type="free" armature="0.3"/>' + INERTIAL, "<joint/>" + INERTIAL),
    "gravity": two("<joint axis='1 0 0'/>" + INERTIAL, "<joint/>" + INERTIAL, '<option gravity="1 2 3"/>'),
    "no gravity": two(
        "<joint/>" + INERTIAL,
        "<joint/>" + INERTIAL,
        '<option gravity="1 2 3"><flag gravity="disable"/></option>',
    ),
    "default classes": two(
        '<joint class="y"/>' + INERTIAL,
        "<joint/><joint class='z'/>" + INERTIAL,
        '<default><joint axis="1 0 0" armature="0.2"/><default class="y"><joint axis="0 1 0"/>'
        '<default class="z"><joint armature="0.7" type="slide"/></default></default></default>',
        'childclass="y"',
    ),
    "childclass of an ancestor": world(
        '<body childclass="y"><joint/>' + INERTIAL + "<body><joint/>" + INERTIAL + "</body></body>",
        '<default><default class="y"><joint axis="0 1 0"/></default></default>',
    ),
    "frames": world(
        '<frame pos="0 0 1" euler="10 20 30"><body name="a"><joint axis="1 0 0"/>'
        '<frame pos="1 0 0" quat="1 1 0 0"><geom size="0.1"/><site name="s" pos="0 1 0"/>'
        '<body name="b" pos="0 1 0"><joint axis="0 1 0"/><geom size="0.2" pos="0.5 0 0"/></body>'
        "</frame></body></frame>"
    ),
    "joints in frames": world(
        '<body name="a"><frame pos="0.1 0.2 0.3" euler="10 20 30"><joint axis="1 0 0" pos="0 0 0.4"/></frame>'
        + INERTIAL
        + "</body>"
    ),
    "replicas": world(
        '<replicate count="3" offset="0.5 0 0" euler="0 0 30"><body name="a" pos="1 0 0">'
        '<joint axis="1 0 0"/>'
        '<site name="s" pos="0 0 1"/>' + INERTIAL + "</body></replicate>"
    ),
    "replicas about several axes": world(
        '<replicate count="4" offset="0.5 0.2 0.1" euler="10 20 30" childclass="c"><body name="a">'
        '<joint axis="1 0 0"/><geom size="0.2" pos="0.1 0.2 0.3"/></body></replicate>',
        "<default><default class='c'><geom density='300'/></default></default>",
    ),
    "fixed bodies": world(
        '<body name="stand" pos="1 0 0"><geom size="1"/><body name="a" pos="0 0 1"><joint axis="1 0 0"/>'
        + INERTIAL
        + '<body name="tool" pos="0 0 1" euler="0 40 0">'
        + INERTIAL
        + '<site name="tip" pos="0 0 1"/></body></body></body>'
    ),
    "two trees": world(
        f'<body name="a"><freejoint/>{INERTIAL}</body><body name="b"><joint/>{INERTIAL}</body>'
    ),
}


@pytest.mark.parametrize("name", FEATURES)
def test_the_feature_means_what_it_means_in_mujoco(name, rng):
    text = FEATURES[name]
    model = kt.load(text)
    peer = MuJoCo(text, model)
    for _ in range(3):
        assert disagreement(model, peer, rng) < 1e-10


@pytest.mark.parametrize("name", FEATURES)
def test_bodies_and_sites_are_where_they_are_in_mujoco(name, rng):
    text = FEATURES[name]
    model = kt.load(text)
    peer = MuJoCo(text, model)
    q, v = model.random_state(rng)
    peer.dynamics(q, v)
    for k in range(1, peer.peer.nbody):
        body = peer.peer.body(k).name
        if body:
            R, p = frame_pose(model, q, body)
            assert np.allclose(p, peer.data.xpos[k], atol=1e-12) and np.allclose(
                R, peer.data.xmat[k].reshape(3, 3), atol=1e-12
            )
    for k in range(peer.peer.nsite):
        R, p = frame_pose(model, q, peer.peer.site(k).name)
        assert np.allclose(p, peer.data.site_xpos[k], atol=1e-12)


def test_limits_and_passive_forces():
    text = two(
        '<joint name="h" range="-30 60" damping="0.1" frictionloss="0.2" stiffness="3" springref="10" '
        'actuatorfrcrange="-5 5"/>' + INERTIAL,
        '<joint name="s" type="slide" range="-1 2" limited="false"/>' + INERTIAL,
    )
    model = kt.load(text)
    peer = mujoco.MjModel.from_xml_string(text)
    hinge, slide = model.bodies
    assert hinge.limits.lower[0] == pytest.approx(peer.jnt_range[0, 0])
    assert hinge.limits.upper[0] == pytest.approx(peer.jnt_range[0, 1])
    assert hinge.limits.effort == (5.0,)
    assert (hinge.damping, hinge.friction, hinge.stiffness) == ((0.1,), (0.2,), (3.0,))
    assert hinge.spring_reference[0] == pytest.approx(np.radians(10))
    assert slide.limits.lower == (-np.inf,) and not peer.jnt_limited[1]
    limited = kt.load(text.replace(' limited="false"', "")).bodies[1]
    assert limited.limits.lower == (-1.0,) and limited.limits.upper == (2.0,)


def test_joint_equality_is_a_mimic_joint(rng):
    tail = '<equality><joint joint1="j" joint2="k" polycoef="0.1 2 0 0 0"/></equality>'
    inside = (
        f'<body name="a"><joint name="k" ref="10"/>{INERTIAL}<body name="b">'
        f'<joint name="j" axis="0 1 0"/>{INERTIAL}</body></body>'
    )
    model = kt.load(world(inside, tail=tail))
    assert model.nv == 1 and model.nq == 1
    mimic = model.bodies[1].mimic
    assert (mimic.joint, mimic.multiplier) == ("k", 2.0)
    assert mimic.offset == pytest.approx(0.1 - 2 * np.radians(10))
    assert disagreement(model, MuJoCo(world(inside), model), rng) < 1e-10


@pytest.mark.parametrize(
    "constraint, word",
    [
        ('<joint joint1="j" joint2="k" polycoef="0 1 1 0 0"/>', "linear"),
        ('<joint joint1="j" polycoef="0 1 0 0 0"/>', "position"),
        ('<connect body1="a" body2="b" anchor="0 0 0"/>', "loop"),
        ('<weld body1="a" body2="b"/>', "loop"),
        ('<joint joint1="j" joint2="k"/><joint joint1="k" joint2="j"/>', "cycle"),
    ],
)
def test_other_constraints_are_reported(constraint, word):
    """Without loops; tests/io/test_loops_mjcf.py has those that are closed."""
    inside = (
        f'<body name="a"><joint name="k"/>{INERTIAL}<body name="b"><joint name="j"/>{INERTIAL}</body></body>'
    )
    model = kt.load(world(inside, tail=f"<equality>{constraint}</equality>"), loops="ignore")
    assert any(word in f.problem and f.severity == "warning" for f in model.report.ignored)


def test_an_inactive_constraint_constrains_nothing():
    inside = (
        f'<body name="a"><joint name="k"/>{INERTIAL}<body name="b"><joint name="j"/>{INERTIAL}</body></body>'
    )
    tail = '<equality><joint joint1="j" joint2="k" active="false"/></equality>'
    assert kt.load(world(inside, tail=tail)).nv == 2


def test_what_is_not_modelled_is_listed():
    tail = (
        '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon><actuator>'
        '<motor joint="j"/></actuator>'
        '<contact><exclude body1="a" body2="a"/></contact><sensor><jointpos joint="j"/></sensor>'
        '<keyframe><key ctrl="1"/></keyframe>'
    )
    model = kt.load(
        world(f'<body name="a"><joint name="j"/>{INERTIAL}<geom size="1"/><camera/></body>', tail=tail)
    )
    listed = {f.where.element for f in model.report.ignored}
    assert {"<tendon>", "<actuator>", "<sensor>", "key", "<camera>"} <= listed
    assert "<contact>" not in listed  # it is read
    assert [part.shape.kind for part in model.geometries] == ["sphere"]


def test_a_mesh_without_inertial_is_a_warning():
    text = world(
        '<body name="a"><joint/><geom type="mesh" mesh="m"/></body>',
        tail='<asset><mesh name="m" file="m.stl"/></asset>',
    )
    report = kt.load(text).report
    assert {"inertia-mesh", "motion-massless"} <= {f.rule for f in report.warnings}


def test_includes_and_attachments(tmp_path, rng):
    leg = (
        '<mujoco><compiler angle="radian"/><worldbody><body name="leg" euler="0 0.5 0">'
        f'<joint name="hip"/>{INERTIAL}</body></worldbody></mujoco>'
    )
    (tmp_path / "leg.xml").write_text(leg)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "bodies.xml").write_text('<mujoco><include file="more.xml"/></mujoco>')
    (tmp_path / "parts" / "more.xml").write_text(f'<mujoco><body name="c"><joint/>{INERTIAL}</body></mujoco>')
    main = tmp_path / "main.xml"
    main.write_text(
        '<mujoco><asset><model name="leg" file="leg.xml"/></asset><worldbody>'
        f'<body name="a"><joint/>{INERTIAL}<attach model="leg" body="leg" prefix="l_"/>'
        '<attach model="leg" body="leg" prefix="r_"/><include file="parts/bodies.xml"/></body>'
        "</worldbody></mujoco>"
    )
    model = kt.load(main)
    assert model.body_names == ("a", "l_leg", "r_leg", "c")
    assert model.joint_names[1:3] == ("l_hip", "r_hip")
    assert np.allclose(model.bodies[1].placement.R[0], (np.cos(0.5), 0, np.sin(0.5)))
    assert disagreement(model, MuJoCo(str(main), model), rng) < 1e-10


def test_a_whole_world_can_be_attached(tmp_path, rng):
    part = f'<body name="x" pos="1 0 0"><joint/>{INERTIAL}</body>'
    part += f'<body name="y"><joint axis="1 0 0"/>{INERTIAL}</body>'
    (tmp_path / "part.xml").write_text(world(part))
    main = tmp_path / "main.xml"
    attach = '<frame pos="0 0 1" euler="30 0 0"><attach model="part" prefix="p_"/></frame>'
    main.write_text(world(attach, '<asset><model name="part" file="part.xml"/></asset>'))
    model = kt.load(main)
    assert model.body_names == ("p_x", "p_y")
    assert disagreement(model, MuJoCo(str(main), model), rng) < 1e-10


def test_base_choice():
    text = world(f'<body name="a" pos="0 0 2"><freejoint/>{INERTIAL}</body>')
    assert kt.load(text).nv == 6
    fixed = kt.load(text, base="fixed")
    assert fixed.nv == 0
    assert fixed.frame("a")[1].translation == (0.0, 0.0, 2.0)
    assert kt.load(text.replace("<freejoint/>", ""), base="free").nv == 6
    with pytest.raises(kt.errors.ModelError, match="has a revolute joint"):
        kt.load(text.replace("<freejoint/>", "<joint/>"), base="free")


def test_made_up_names_leave_the_names_of_the_file_alone():
    inside = f'<body><joint/>{INERTIAL}<body name="body2"><joint name="body1_joint"/>{INERTIAL}</body></body>'
    inside += (
        f'<body name="body1">{INERTIAL}<body name="c"><joint name="body1_fixed"/>{INERTIAL}</body></body>'
    )
    model = kt.load(world(inside))
    assert model.body_names[1:] == ("body2", "c") and model.joint_names[1:] == ("body1_joint", "body1_fixed")
    assert len({*model.body_names, *model.frame_names}) == 4


def test_mocap_bodies_stand_still():
    model = kt.load(
        world(f'<body name="m" mocap="true" pos="0 0 1"/><body name="a"><joint/>{INERTIAL}</body>')
    )
    assert model.body_names == ("a",) and any("mocap" in f.problem for f in model.report.warnings)
