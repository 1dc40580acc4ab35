"""The viewer: what the page holds, and what a person sees in a browser."""

from __future__ import annotations

import socket
import time

import numpy as np
import pytest
from tests.pictures import browser

import kinetree as kt
from kinetree.io.visuals import Looks
from kinetree.stages.target import preferring

pytest.importorskip("viser")
pytest.importorskip("trimesh")
from kinetree.pictures import Viewer, show
from kinetree.pictures.shapes import MeshError, capsule, ellipsoid_of, read_mesh, wxyz

ARM = kt.robots.path("arm7.urdf")


def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def opened():
    made: list[Viewer] = []

    def make(shown, **options) -> Viewer:
        made.append(show(shown, port=port(), browser=False, block=False, **options))
        return made[-1]

    yield make
    for viewer in made:
        viewer.close()


def test_sliders_move_the_bodies(opened):
    robot = kt.load(ARM)
    viewer = opened(robot)
    assert [slider.label for slider in viewer.sliders] == list(robot.joint_names)
    viewer.sliders[1].value = 0.7
    viewer.update()
    T = kt.placements(robot, robot.positions({"joint2": 0.7}))
    for node, pose in zip(viewer.scene.bodies[1:], T):
        assert np.allclose(node.position, pose[:3, 3])
        assert np.isclose(abs(node.wxyz @ wxyz(pose[:3, :3])), 1)
    assert viewer.scene.visible["shapes"] and not viewer.scene.visible["sticks"]
    assert len(viewer.scene.layers["shapes"]) == 22 and viewer.scene.missing == []


def test_sticks_stand_in_for_shapes(opened):
    viewer = opened(kt.zoo.quadruped())
    assert viewer.scene.visible["sticks"] and not viewer.scene.layers["shapes"]
    assert len(viewer.sliders) == 18
    for name in viewer.boxes:
        viewer.reveal(name)
    with pytest.raises(kt.errors.ArgumentError, match="no 'shades' here"):
        viewer.reveal("shades")


def test_a_motion_is_scrubbed(opened):
    robot = kt.zoo.double_pendulum()
    run = kt.simulate(robot, np.array([[1.0, 0.5], [0.2, 0.1]]), np.zeros(2), duration=0.5, dt=0.01)
    viewer = opened(run)
    viewer.time.value, viewer.state.value = 0.2, 1
    viewer.reveal("joint wrenches")
    assert np.array_equal(viewer.q, run.q[1, 20])
    tip = kt.placements(robot, run.q[1, 20])[1]
    assert np.allclose(viewer.scene.bodies[2].position, tip[:3, 3])
    arrows = viewer.scene.arrows[0].points
    force = tip[:3, :3] @ run.joint_wrenches[1, 20, 1, 3:]
    drawn = arrows[1, 1] - arrows[1, 0]
    assert np.allclose(np.cross(drawn, force), 0, atol=1e-5) and drawn @ force > 0


def test_a_motion_is_played(opened):
    run = kt.simulate(kt.zoo.pendulum(), [1.0], [0.0], duration=0.5, dt=0.01)
    viewer = opened(run)
    viewer.play_or_pause()
    seen = {viewer.time.value for _ in range(10) if not time.sleep(0.1)}
    viewer.play_or_pause()
    assert len(seen) > 3 and all(0 <= t <= 0.5 for t in seen)


def test_every_robot_of_the_zoo_can_be_seen(opened):
    for name in kt.zoo.__all__:
        robot = getattr(kt.zoo, name)()
        viewer = opened(robot)
        assert len(viewer.sliders) == robot.nv and viewer.scene.size > 0
        with preferring("eager"):  # one state of each: compiled code would take longer to make
            viewer.reveal("joint wrenches")
        viewer.close()


def test_the_page_is_for_this_computer_only(opened):
    assert opened(kt.zoo.pendulum()).server.get_host() == "127.0.0.1"


def test_what_cannot_be_shown():
    with pytest.raises(kt.errors.ArgumentError, match="a model or a trajectory, not an int"):
        show(3)


def test_an_ellipsoid_has_the_inertia_of_its_body():
    inertia = kt.zoo.arm7().bodies[1].inertia
    center, R, (a, b, c) = ellipsoid_of(inertia)
    moments = inertia.mass / 5 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
    again = kt.Inertia(inertia.mass, center, R @ moments @ R.T)
    assert np.allclose(again.parameters, inertia.parameters) and np.isclose(np.linalg.det(R), 1)
    assert ellipsoid_of(kt.Inertia(0.0)) is None


def test_a_capsule_is_closed_and_of_its_size():
    import trimesh

    mesh = trimesh.Trimesh(*capsule(0.2, 0.5), process=True)
    assert np.allclose(mesh.bounds, [[-0.2, -0.2, -0.7], [0.2, 0.2, 0.7]], atol=1e-6)
    assert mesh.volume > 0.95 * np.pi * (0.2**2 * 1.0 + 4 / 3 * 0.2**3)  # outward faces


def test_meshes_that_cannot_be_read(tmp_path):
    for name, content in {"a.stl": b"solid", "b.exe": b"", "c.obj": b"mtllib ../secret\nv 0 0 0\n"}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(MeshError, match=name):
            read_mesh(tmp_path / name)


def test_a_mesh_is_drawn_and_a_missing_one_is_named(opened, tmp_path):
    import trimesh

    trimesh.creation.box((0.1, 0.1, 0.4)).export(tmp_path / "rod.stl")
    shape = '<visual><geometry><mesh filename="{}" scale="1 1 2"/></geometry></visual>'
    moments = 'ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"'
    inertia = f'<inertial><mass value="1"/><inertia {moments}/></inertial>'
    (tmp_path / "robot.urdf").write_text(
        f'<robot name="r"><link name="base"/><link name="rod">{inertia}{shape.format("rod.stl")}'
        f'{shape.format("lost.stl")}</link><joint name="j" type="continuous"><parent link="base"/>'
        '<child link="rod"/><axis xyz="0 1 0"/></joint></robot>'
    )
    viewer = opened(kt.load(tmp_path / "robot.urdf"))
    (node,) = viewer.scene.layers["shapes"]
    assert np.allclose(np.ptp(node.vertices, axis=0), [0.1, 0.1, 0.8])
    assert viewer.scene.missing == ["rod: mesh 'lost.stl' was not found"]


def test_names_from_files_cannot_write_markup(opened):
    builder = kt.ModelBuilder("<b>[x](javascript:1)</b>")
    builder.add_body("a/b", None, kt.Revolute((0, 1, 0)), inertia=kt.Inertia(1, (0, 0, -1), np.eye(3)))
    viewer = opened(builder.build(), looks=Looks(missing=["<script>alert(1)</script>"]))
    assert not set("<>[]") & set(viewer.texts[0] + viewer.texts[1]) and len(viewer.texts) == 2


@pytest.mark.skipif(browser.CHROMIUM is None, reason="needs Chromium")
def test_a_person_sees_the_robot(opened, tmp_path):
    import io

    from PIL import Image

    def counts(png: bytes) -> tuple[int, int]:
        picture = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), int)
        scene = picture[150:600, 100:750]  # without the panel, the note on software rendering, the axes
        dark = scene.sum(-1) < 450  # steel parts; the floor and the shell are light
        orange = (scene[..., 0] - scene[..., 2]) > 70
        return int(dark.sum()), int(orange.sum())

    viewer = opened(kt.load(ARM))
    png = browser.screenshot(
        viewer.url, tmp_path, lambda: bool(viewer.server.get_clients()), lambda png: min(counts(png)) > 20
    )
    (tmp_path / "page.png").write_bytes(png)
    dark, orange = counts(png)
    assert 20 < dark < 50_000
    assert orange > 20
