"""The visual geometry of robot files: shapes, colours, meshes inside of the allowed folders only."""

from __future__ import annotations

import numpy as np

import kinetree as kt
from kinetree.io.visuals import read_looks

URDF = """<robot name="r">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"><visual><geometry><box size="1 2 3"/></geometry></visual></link>
  <link name="tip">
    <visual><origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/>
      <geometry><cylinder radius="0.1" length="2"/></geometry><material name="red"/></visual>
    <visual><geometry><sphere radius="-1"/></geometry></visual>
    <visual><geometry><mesh filename="{mesh}"/></geometry></visual>
  </link>
  <joint name="j" type="fixed"><parent link="base"/><child link="tip"/></joint>
</robot>"""


def test_urdf_shapes():
    looks = read_looks(URDF.format(mesh="nowhere.stl"))
    box, rod = looks.visuals
    assert (box.link, box.shape, box.size, box.color) == ("base", "box", (0.5, 1.0, 1.5), None)
    assert (rod.link, rod.shape, rod.size, rod.color) == ("tip", "cylinder", (0.1, 1.0), (1.0, 0.0, 0.0, 1.0))
    assert np.allclose(rod.placement.p, (0, 0, 1)) and np.allclose(rod.placement.R[1][0], 1)
    assert looks.missing == ["tip: a <sphere> without valid sizes", "tip: mesh 'nowhere.stl' was not found"]


def test_meshes_are_found_inside_of_the_folders_only(tmp_path):
    robot, package = tmp_path / "robot", tmp_path / "arm"
    for folder in (robot, package):
        folder.mkdir()
        (folder / "m.stl").write_bytes(b"")
    (tmp_path / "out.stl").write_bytes(b"")
    (robot / "link.stl").symlink_to(tmp_path / "out.stl")

    def found(uri, **options):
        (robot / "r.urdf").write_text(URDF.format(mesh=uri))
        return [visual.file for visual in read_looks(robot / "r.urdf", **options).visuals if visual.file]

    assert found("m.stl") == [(robot / "m.stl").resolve()]
    assert found("package://arm/m.stl", package_dirs=[package]) == [(package / "m.stl").resolve()]
    assert found("package://arm/m.stl", package_dirs=[tmp_path]) == [(package / "m.stl").resolve()]
    for uri in ("../out.stl", str(tmp_path / "out.stl"), "link.stl", "package://arm/m.stl", "file:///etc/passwd"):
        assert found(uri) == [], uri


MJCF = """<mujoco model="m">
  <compiler angle="radian" meshdir="meshes"/>
  <asset><mesh name="cup" file="cup.stl" scale="2 2 2"/><material name="blue" rgba="0 0 1 0.5"/></asset>
  <default><geom rgba="0 1 0 1"/><default class="collision"><geom group="3"/></default></default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="arm" pos="0 0 1">
      <joint name="hinge" axis="0 1 0" pos="0 0 0.5"/>
      <geom type="capsule" fromto="0 0 0 0 0 2" size="0.1"/>
      <geom type="box" size="1 2 3" class="collision"/>
      <frame pos="1 0 0"><geom type="ellipsoid" size="1 2 3" pos="0 1 0"/></frame>
      <geom type="mesh" mesh="cup" pos="0 0 3" mass="0"/>
    </body>
  </worldbody>
</mujoco>"""


def test_mjcf_shapes(tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "cup.stl").write_bytes(b"")
    (tmp_path / "m.xml").write_text(MJCF)
    looks = read_looks(tmp_path / "m.xml")
    capsule, ball, cup = looks.visuals
    assert {v.link for v in looks.visuals} == {"arm"} and looks.missing == []
    assert (capsule.shape, capsule.size, capsule.color) == ("capsule", (0.1, 1.0), (0.0, 1.0, 0.0, 1.0))
    assert np.allclose(capsule.placement.p, (0, 0, 1))
    assert (ball.shape, ball.size) == ("ellipsoid", (1.0, 2.0, 3.0))
    assert np.allclose(ball.placement.p, (1, 1, 0))
    assert (cup.shape, cup.size) == ("mesh", (2.0, 2.0, 2.0))
    assert cup.file == (tmp_path / "meshes" / "cup.stl").resolve()
    model = kt.load(tmp_path / "m.xml")
    assert np.allclose(kt.frame_placement(model, model.neutral(), "arm")[:3, 3], (0, 0, 1))


def test_a_json_model_has_no_looks(tmp_path):
    kt.save(kt.zoo.pendulum(), tmp_path / "p.json")
    assert read_looks(tmp_path / "p.json").visuals == []


def test_the_arm_in_the_library_is_the_one_of_the_zoo():
    model = kt.load(kt.robots.path("arm7.urdf"))
    assert model == kt.zoo.arm7()
    links = {visual.link for visual in read_looks(kt.robots.path("arm7.urdf")).visuals}
    assert links == {"world", *model.body_names}


def test_shapes_of_sdf(tmp_path):
    (tmp_path / "part.stl").write_bytes(b"solid x")
    shapes = (
        '<visual name="v"><pose>0 0 1 0 0 0</pose><geometry><box><size>1 2 3</size></box></geometry>'
        "<material><diffuse>1 0 0 1</diffuse></material></visual>"
        '<visual name="w"><geometry><mesh><uri>part.stl</uri><scale>2 2 2</scale></mesh></geometry></visual>'
        '<visual name="x"><geometry><mesh><uri>../gone.stl</uri></mesh></geometry></visual>'
    )
    path = tmp_path / "robot.sdf"
    path.write_text(f'<sdf version="1.9"><model name="m"><link name="a">{shapes}</link></model></sdf>')
    looks = read_looks(path)
    box, mesh = looks.visuals
    assert (box.shape, box.size, box.color) == ("box", (0.5, 1.0, 1.5), (1.0, 0.0, 0.0, 1.0))
    assert box.placement.p == (0, 0, 1) and mesh.size == (2.0, 2.0, 2.0) and mesh.file is not None
    assert len(looks.missing) == 1
