"""Random robots through every format that is written, alone and one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from tests.interop.robots import mechanism
from tests.io.peers import bias, eager

import kinetree as kt
from kinetree.model import Limits

WRITTEN = {"urdf": ".urdf", "mjcf": ".xml", "sdf": ".sdf", "json": ".json"}
BY_JOINT = ("mimic", "armature", "damping", "friction", "stiffness", "spring_reference", "limits")


def drawn(rng, count: int, shared: bool = False) -> list[float]:
    return [float(rng.uniform(0.1, 1))] * count if shared else rng.uniform(0.1, 1, count).tolist()


def decorated(seed: int, **options) -> kt.Model:
    """A random tree with limits, springs and dampers of its own at every coordinate, and frames."""
    model = mechanism(seed, **options).build()
    rng = np.random.default_rng([seed, 5])
    data = model.to_dict()
    for body, entry in zip(model.bodies, data["bodies"], strict=True):
        nv = body.joint.nv
        if body.mimic is None and nv and not body.joint.is_free:
            shared = body.joint.type_name == "spherical"
            entry |= {"damping": drawn(rng, nv, shared), "friction": drawn(rng, nv, shared)}
            if not shared:
                entry["stiffness"] = drawn(rng, nv)
                entry["spring_reference"] = rng.uniform(-1, 1, body.joint.nq).tolist()
            upper = rng.uniform(0.5, 2, (3, nv))
            entry["limits"] = dict(zip(("lower", "upper", "velocity", "effort"), (
                (-upper[0]).tolist(), upper[0].tolist(), upper[1].tolist(), upper[2].tolist()
            )))  # fmt: skip
    data["frames"] = [
        {"name": f"frame{k}", "body": name, "placement": {"R": np.array(pose.R).tolist(), "p": list(pose.p)}}
        for k, name in enumerate(("world", *model.body_names))
        for pose in [kt.Pose.random(rng)]
    ]
    data["gravity"] = rng.uniform(-5, 5, 3).tolist()
    return kt.Model.from_dict(data)


def assert_same(again: kt.Model, model: kt.Model, rng, names: bool = True) -> None:
    """The same model, to the rounding of rotations that are written as angles."""
    assert again.body_names == model.body_names and again.gravity == model.gravity
    assert not names or again.joint_names == model.joint_names
    assert set(again.frame_names) == set(model.frame_names) and len(again.rotors) == len(model.rotors)
    for ours, theirs in zip(again.bodies, model.bodies, strict=True):
        assert type(ours.joint) is type(theirs.joint)
        for field in BY_JOINT:
            a, b = getattr(ours, field), getattr(theirs, field)
            if field == "mimic":
                assert (a is None) == (b is None) and (a is None or a.joint == b.joint)
                a, b = (a or ())[1:], (b or ())[1:]
            a, b = (np.array(x, dtype=float) for x in (a, b))
            assert np.array_equal(np.isfinite(a), np.isfinite(b)), field
            assert np.allclose(a[np.isfinite(a)], b[np.isfinite(b)], rtol=1e-12, atol=1e-13), field
    q, v = model.random_state(rng)
    M, c = eager(kt.mass_matrix, model, q), bias(model, q, v)
    assert np.abs(eager(kt.mass_matrix, again, q) - M).max(initial=0) <= 1e-12 * np.abs(M).max(initial=1)
    assert np.abs(bias(again, q, v) - c).max(initial=0) <= 1e-12 * np.abs(c).max(initial=1)
    f = eager(kt.passive_force, model, q, v)
    assert np.abs(eager(kt.passive_force, again, q, v) - f).max(initial=0) <= 1e-12 * np.abs(f).max(initial=1)
    for frame in model.frame_names:
        gap = eager(kt.frame_placement, again, q, frame) - eager(kt.frame_placement, model, q, frame)
        assert np.abs(gap).max() < 1e-12


def through(model: kt.Model, path, merge: bool = False) -> kt.Model | str:
    """The model after a file, or what the format said that it cannot hold."""
    try:
        kt.save(model, path)
    except kt.errors.ModelError as error:
        return str(error)
    return kt.load(path, merge_fixed=merge)


@pytest.mark.parametrize("seed", range(12))
def test_sdf_keeps_every_tree(tmp_path, seed, rng):
    options = [{}, {"rotors": 0.4}, {"mimics": 0.4}, {"armatures": 0.5}][seed % 4]
    model = decorated(seed + 7, **options)
    again = through(model, tmp_path / "m.sdf")
    assert isinstance(again, kt.Model), again
    assert_same(again, model, rng)


@pytest.mark.parametrize("seed", range(8))
def test_formats_in_a_row_keep_the_dynamics_or_say_what_they_cannot(tmp_path, seed, rng):
    model = decorated(seed + 20, types=("revolute", "prismatic", "helical", "universal")[: 2 + seed % 3])
    reached = model
    for name, suffix in WRITTEN.items():
        found = through(reached, tmp_path / f"m{suffix}", merge=True)
        if isinstance(found, str):
            assert name == "urdf" and "URDF has only" in found
            continue
        reached = found
        assert_same(reached, model, rng, names=False)
    assert reached is not model


def test_names_that_sdf_keeps_for_itself(tmp_path, rng):
    """Bodies, joints and frames may share names here, and have colons: SDF takes neither."""
    builder, body = kt.ModelBuilder("arm::left"), kt.Inertia(1.0, inertia=(0.1, 0.1, 0.1))
    builder.add_body(
        "elbow",
        "world",
        kt.Revolute((0, 0, 1)),
        inertia=body,
        joint_name="elbow",
    )
    builder.add_body("a::b", "elbow", kt.Revolute((1, 0, 0)), inertia=body, joint_name="tip",
                     mimic=("elbow", 2.0, 0.5))  # fmt: skip
    builder.add_frame("tip", "a::b").add_frame("__x__", "elbow")
    model = builder.build()
    path = kt.save(model, tmp_path / "m.sdf")
    text = path.read_text()
    assert 'name="a::b"' not in text.replace("kinetree:name", "") and "1.11" in text
    again = kt.load(path)
    assert again.name == model.name and again.joint_names == model.joint_names
    assert_same(again, model, rng)


def test_the_version_is_the_lowest_that_has_the_words(tmp_path):
    for motion, version in ((kt.Revolute(), "1.7"), (kt.Helical((0, 0, 1), 0.1), "1.10")):
        model = (
            kt.ModelBuilder("m")
            .add_body("b", "world", motion, inertia=kt.Inertia(1.0, inertia=(0.1, 0.1, 0.1)))
            .build()
        )
        assert f'<sdf version="{version}"' in kt.save(model, tmp_path / "m.sdf").read_text()


def test_what_sdf_cannot_say(tmp_path):
    limits = Limits(upper=1e20)
    body = kt.ModelBuilder("m").add_body("b", "world", kt.Revolute(), limits=limits, joint_name="wide")
    with pytest.raises(kt.errors.ModelError, match=r"joint 'wide'.*1e\+20 would be read as no bound"):
        kt.save(body.build(), tmp_path / "m.sdf")
    with pytest.raises(kt.errors.ModelError, match=r"read, not written"):
        kt.save(body.build(), tmp_path / "m.usd")
    assert not list(tmp_path.iterdir())


HOPPER = """<mujoco model="hopper"><compiler angle="degree" inertiafromgeom="true"/>
<default><joint armature="1" damping="1" limited="true"/></default>
<worldbody><body name="torso" pos="0 0 1.25">
 <joint armature="0" axis="1 0 0" damping="0" limited="false" name="rootx" type="slide"/>
 <joint armature="0" axis="0 0 1" damping="0" limited="false" name="rootz" ref="1.25" type="slide"/>
 <joint armature="0" axis="0 1 0" damping="0" limited="false" name="rooty" pos="0 0 1.25"/>
 <geom fromto="0 0 1.45 0 0 1.05" size="0.05" type="capsule"/>
 <body name="thigh" pos="0 0 1.05"><joint axis="0 -1 0" name="thigh_y" range="-150 0"/>
  <joint axis="1 0 0.3" name="thigh_x" pos="0.1 0 0.2" range="-10 10"/>
  <joint axis="0 0 1" name="thigh_z" pos="0.0 0.1 0.2" range="-10 10"/>
  <geom fromto="0 0 0 0 0 -0.45" size="0.05" type="capsule"/>
  <body name="leg" pos="0 0 0.35" euler="10 20 30">
   <joint axis="0 -1 0" name="leg_y" pos="0 0 0.6" range="-150 0"/>
   <geom fromto="0 0 0.6 0 0 0.1" size="0.04" type="capsule"/></body></body></body></worldbody></mujoco>"""


def test_bodies_with_several_joints_go_back_to_mujoco(tmp_path, rng):
    """MuJoCo refuses massless bodies: its own file and ours must be the same mechanism there."""
    mujoco = pytest.importorskip("mujoco")
    model = kt.load(HOPPER)
    path = kt.save(model, tmp_path / "hopper.xml")
    assert path.read_text().count("<body ") == 3
    again = kt.load(path)
    assert again.body_names == model.body_names and again.joint_names == model.joint_names
    q, v = model.random_state(rng)
    found = []
    for peer in (mujoco.MjModel.from_xml_string(HOPPER), mujoco.MjModel.from_xml_path(str(path))):
        data = mujoco.MjData(peer)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(peer, data)
        columns = np.eye(peer.nv)
        for column in columns:
            product = np.zeros(peer.nv)
            mujoco.mj_mulM(peer, data, product, column.copy())
            column[:] = product
        found.append((columns, data.qfrc_bias.copy()))
    for a, b in zip(*found, strict=True):
        assert np.abs(a - b).max() < 1e-12 * np.abs(a).max()
    assert np.allclose(eager(kt.mass_matrix, again, q), found[0][0], rtol=1e-12, atol=1e-12)
