"""Keyframes are configurations, named geoms can be frames, unnamed bodies of MuJoCo are paired by order."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt

# a free body without a name, a reference position, a body with two joints, and a ball on one without a name
TEXT = """
<mujoco>
  <worldbody>
    <body pos="0 0 1" euler="0 0 30">
      <freejoint/>
      <geom size=".1"/>
      <body pos=".2 0 0">
        <joint axis="0 1 0" ref="20"/>
        <geom size=".05"/>
        <body name="tip" pos=".1 0 0">
          <joint name="wrist" axis="1 0 0" pos="0 .1 0"/>
          <joint type="slide" axis="0 0 1"/>
          <geom size=".04"/>
          <geom name="mark" type="capsule" fromto="0 0 0 0 0.3 0" size=".01"/>
          <geom name="tip" pos=".2 0 0" size=".01"/>
        </body>
        <body pos="0 .1 0">
          <joint type="ball"/>
          <geom pos="0 0 .1" size=".03"/>
        </body>
      </body>
    </body>
  </worldbody>
  <keyframe>
    <key name="home" qpos="0 0 2 .5 .5 .5 .5 .1 .2 .3 0 0 1 0"/>
    <key/>
  </keyframe>
</mujoco>
"""


def test_keyframes_are_configurations():
    robot = kt.load(TEXT)
    assert list(robot.configurations) == ["home", "key1"]
    home = robot.split_positions(robot.configurations["home"])
    assert np.array_equal(home["wrist"], [0.2])
    assert np.array_equal(home[robot.joint_names[0]], [0.5, 0.5, 0.5, 0.5, 0, 0, 2])
    assert np.array_equal(home[robot.joint_names[-1]], [0, 1, 0, 0])


def test_a_key_that_does_not_fit_is_reported():
    robot = kt.load(TEXT.replace(' .3 0 0 1 0"', '"'))
    assert list(robot.configurations) == ["key1"]
    assert any("qpos has 9 numbers, but the joints take 14" in f.problem for f in robot.report.findings)


def test_a_fixed_base_keeps_the_other_joints():
    robot = kt.load(TEXT, base="fixed")
    assert np.array_equal(robot.split_positions(robot.configurations["home"])["wrist"], [0.2])


def test_named_geoms_can_be_frames():
    assert "mark" not in kt.load(TEXT).frame_names
    robot = kt.load(TEXT, geom_frames=True)
    assert {"mark", "tip_geom"} <= set(robot.frame_names)
    q = robot.configurations["home"]
    body, marked = (kt.frame_placement(robot, q, name) for name in ("tip", "mark"))
    offset = body[:3, :3].T @ (marked[:3, 3] - body[:3, 3])
    assert np.allclose(offset, [0, 0.15, 0], rtol=0, atol=1e-12)


class TestBesideMuJoCo:
    def setup_method(self):
        self.mujoco = pytest.importorskip("mujoco")
        self.twin = self.mujoco.MjModel.from_xml_string(TEXT)
        self.data = self.mujoco.MjData(self.twin)

    def test_the_same_places(self):
        robot = kt.load(TEXT, geom_frames=True)
        for k, q in enumerate(robot.configurations.values()):
            self.mujoco.mj_resetDataKeyframe(self.twin, self.data, k)
            self.mujoco.mj_forward(self.twin, self.data)
            for name, there in (("mark", self.data.geom("mark").xpos), ("tip", self.data.body("tip").xpos)):
                here = kt.frame_placement(robot, q, name)[:3, 3]
                assert np.allclose(here, there, rtol=0, atol=1e-12)

    def test_unnamed_joints_are_paired_by_order(self):
        robot = kt.load(TEXT)
        maps = kt.interop.mujoco_maps(robot, self.twin)
        assert np.allclose(maps.q(robot.configurations["home"]), self.twin.key_qpos[0], rtol=0, atol=1e-12)

    def test_wrenches_on_unnamed_bodies(self):
        robot = kt.load(TEXT)
        q = robot.configurations["home"]
        f_ext = np.zeros((robot.nbodies, 6))
        f_ext[-1] = [0.1, 0.2, 0.3, 1.0, 2.0, 3.0]
        applied = kt.interop.mujoco_wrenches(robot, self.twin, q, f_ext)
        assert list(np.flatnonzero(applied.any(axis=1))) == [4]
        turn = kt.placements(robot, q)[-1, :3, :3]
        assert np.allclose(applied[4, :3], turn @ [1.0, 2.0, 3.0], rtol=0, atol=1e-12)

    def test_from_mujoco(self):
        model, maps = kt.interop.from_mujoco(self.twin)
        for q, there in zip(model.configurations.values(), self.twin.key_qpos):
            assert np.allclose(maps.q(q), there, rtol=0, atol=1e-12)


def test_configurations_are_written_as_keys(tmp_path, recwarn):
    robot = kt.load(TEXT)
    again = kt.load(kt.save(robot, tmp_path / "m.xml"))
    assert not recwarn.list
    for name, q in robot.configurations.items():
        assert np.allclose(again.configurations[name], q, atol=1e-15)


def test_keys_of_joints_in_parts_and_of_joints_that_follow(tmp_path, rng):
    """Every joint that MJCF can say, in a tree whose bodies are not depth first, with followers."""
    mujoco = pytest.importorskip("mujoco")
    builder = kt.ModelBuilder("all")
    joints, ball = kt.joints, kt.Inertia(1.0, (0, 0, 0), np.diag([0.1, 0.1, 0.1]).tolist())
    kinds = [joints.Universal(), joints.Helical((0, 0, 1), 0.1), joints.Planar(), joints.Spherical()]
    kinds += [joints.Cylindrical(), joints.Revolute((1, 0, 0)), joints.Prismatic((0, 1, 0))]
    builder.add_body("base", "world", joints.Free(), kt.Pose(p=(0.1, 0.2, 0.3)), ball)
    for k, kind in enumerate(kinds):
        parent, at = "base" if k < 3 else f"b{k - 3}", kt.Pose(p=(0.1 * k, 0.2, 0.0))
        builder.add_body(f"b{k}", parent, kind, at, ball, f"j{k}")
    follow = {"mimic": ("j5", 2.0, 0.3)}
    builder.add_body("last", "base", joints.Revolute((0, 0, 1)), kt.Pose(), ball, "jlast", **follow)
    model = builder.build()
    home = model.random_state(rng)[0]
    model = model.replace(configurations={"home": home})
    again = kt.load(kt.save(model, tmp_path / "m.xml"))
    assert again.joint_names == model.joint_names
    assert np.allclose(again.configurations["home"], home, atol=1e-14)
    twin = kt.interop.to_mujoco(model)
    key = np.array(twin.model.key("home").qpos)
    back = twin.maps.q_back(key)  # quaternions may have the other sign
    placed = [kt.placements(model, q, target="eager") for q in (back, home)]
    assert np.allclose(*placed, atol=1e-13)
    assert mujoco.mj_id2name(twin.model, mujoco.mjtObj.mjOBJ_KEY, 0) == "home"
