"""Models out and in again: JSON without loss, URDF where it fits."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.io.peers import bias, disagreement, eager, frame_pose
from tests.io.seeds import JSON_MODEL, SEEDS, URDF_ARM, URDF_MIXED

import kinetree as kt
from kinetree.model import Limits


@pytest.mark.parametrize("name", SEEDS)
def test_json_keeps_everything(tmp_path, name):
    model = kt.load(SEEDS[name])
    again = kt.load(kt.save(model, tmp_path / "robot.json"))
    assert again == model and again.report.format == "json"
    json.loads((tmp_path / "robot.json").read_text())


def urdf_models():
    yield "arm", kt.load(URDF_ARM)
    yield "free arm", kt.load(URDF_ARM, base="free")
    yield "json", kt.load(JSON_MODEL)
    mixed = (
        URDF_MIXED.replace("<drake:joint", "<joint")
        .replace("</drake:joint", "</joint")
        .replace("universal", "revolute")
    )
    yield "free, planar, sprung, with a rotor on the moon", kt.load(mixed)


@pytest.mark.parametrize("name, model", list(urdf_models()), ids=lambda x: x if isinstance(x, str) else "")
def test_urdf_keeps_what_it_can_say(tmp_path, name, model, rng):
    again = kt.load(kt.save(model, tmp_path / "robot.urdf"))
    assert again.body_names == model.body_names and again.joint_names == model.joint_names
    assert set(again.frame_names) == set(model.frame_names)
    assert again.gravity == model.gravity and len(again.rotors) == len(model.rotors)
    for ours, theirs in zip(again.bodies, model.bodies):
        for field in (
            "joint",
            "mimic",
            "limits",
            "damping",
            "friction",
            "armature",
            "stiffness",
            "spring_reference",
        ):
            assert getattr(ours, field) == getattr(theirs, field), field
    q, v = model.random_state(rng)
    assert np.allclose(
        eager(kt.mass_matrix, again, q), eager(kt.mass_matrix, model, q), rtol=1e-12, atol=1e-13
    )
    assert np.allclose(bias(again, q, v), bias(model, q, v), rtol=1e-12, atol=1e-12)
    for frame in (*model.body_names, *model.frame_names):
        for a, b in zip(frame_pose(again, q, frame), frame_pose(model, q, frame)):
            assert np.allclose(a, b, atol=1e-14)


def test_pinocchio_reads_what_we_write(tmp_path, rng):
    pytest.importorskip("pinocchio")
    from tests.io.peers import Pinocchio

    model = kt.load(URDF_ARM)
    text = kt.save(model, tmp_path / "robot.urdf").read_text()
    assert disagreement(model, Pinocchio(text, model), rng) < 1e-10


@pytest.mark.parametrize("joint", [kt.Spherical(), kt.Cylindrical((0, 0, 1)), kt.Helical((0, 0, 1), 0.1)])
def test_joints_that_urdf_does_not_have(tmp_path, joint):
    model = kt.ModelBuilder("m").add_body("b", "world", joint, joint_name="strange").build()
    with pytest.raises(kt.errors.ModelError, match=r"'strange'.*save the model as JSON"):
        kt.save(model, tmp_path / "m.urdf")
    assert kt.load(kt.save(model, tmp_path / "m.json")) == model
    assert not (tmp_path / "m.urdf").exists()


def test_names_that_urdf_should_not_have(tmp_path):
    model = kt.ModelBuilder("m").add_body('a"b', "world", kt.Revolute((0, 0, 1))).build()
    with pytest.raises(kt.errors.ModelError, match="rename"):
        kt.save(model, tmp_path / "m.urdf")
    assert kt.load(kt.save(model, tmp_path / "m.json")) == model


def test_unknown_endings(tmp_path):
    with pytest.raises(kt.errors.ModelError, match=r"\.urdf or .*\.json"):
        kt.save(kt.load(URDF_ARM), tmp_path / "robot.dae")


def test_numbers_are_the_shortest_that_read_back(tmp_path):
    text = kt.save(kt.load(URDF_ARM), tmp_path / "robot.urdf").read_text()
    assert 'value="2.5"' in text and "2.5000" not in text


def rebuilt(model, **changes):
    """The model with other entries in the dictionary of its last body."""
    data = model.to_dict()
    data["bodies"][-1].update(changes)
    return kt.Model.from_dict(data, check="finite")


def planar():
    """A planar base with a rotor geared to all its coordinates, springs and limits that all differ."""
    builder = kt.ModelBuilder("base", gravity=(0.0, 0.1, -1.6))
    builder.add_body(
        "cart",
        "world",
        kt.Planar(),
        inertia=kt.Inertia(2.0, (0.1, 0.2, 0.3), (0.3, 0.4, 0.5)),
        limits=Limits((-1.0, -2.0, -np.inf), (1.0, 2.0, 3.0), (1.0, 2.0, 3.0), (np.inf, 5.0, 6.0)),
        stiffness=(1.0, 2.0, 3.0),
        spring_reference=(0.1, 0.2, 0.3),
        damping=(0.1, 0.2, 0.3),
    )
    rotor = kt.Inertia(0.1, (0, 0, 0.01), (0.01, 0.01, 0.02))
    builder.add_rotor("cart", rotor, ratio=(10.0, -20.0, 50.0), axis=(0, 0.6, 0.8))
    return builder.build()


def free():
    builder = kt.ModelBuilder("floating")
    reference = (0.0, 0.6, 0.0, 0.8, 1.0, 2.0, 3.0)
    builder.add_body(
        "base",
        "world",
        kt.Free(),
        inertia=kt.Inertia(2.0, (0.1, 0.2, 0.3), (0.3, 0.4, 0.5)),
        limits=Limits(velocity=(1.0, 1.0, 1.0, 2.0, 2.0, 2.0), effort=7.0),
        stiffness=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
        spring_reference=reference,
    )
    return builder.build()


def wide():
    """Bodies in an order that is not depth first."""
    builder = kt.ModelBuilder("wide")
    inertia = kt.Inertia(1.0, (0.1, 0.0, 0.2), (0.1, 0.2, 0.15))
    for name, parent in (("a", "world"), ("b", "world"), ("c", "a"), ("d", "b"), ("e", "a")):
        builder.add_body(name, parent, kt.Revolute((0.0, 0.6, 0.8)), kt.Pose(p=(0.1, 0.2, 0.3)), inertia)
    return builder.build()


def only(make, *kept):
    """The same with nothing but some of its drives: what is lost alone is seen alone."""
    data = make().to_dict()
    for body in data["bodies"]:
        for field in {"limits", "stiffness", "spring_reference", "damping"} - set(kept):
            body.pop(field, None)
    if "rotors" not in kept:
        data["rotors"] = []
    return kt.Model.from_dict(data)


@pytest.mark.parametrize("kept", ["rotors", "limits", "damping", "springs"])
@pytest.mark.parametrize("make", [planar, free])
def test_urdf_loses_no_drive(tmp_path, make, kept, rng):
    model = only(make, *(("stiffness", "spring_reference") if kept == "springs" else (kept,)))
    again = kt.load(kt.save(model, tmp_path / "robot.urdf"))
    fields = ("limits", "stiffness", "spring_reference", "damping")
    for ours, theirs in zip(again.bodies, model.bodies):
        assert [getattr(ours, f) for f in fields] == [getattr(theirs, f) for f in fields]
    q, _ = model.random_state(rng)
    assert np.allclose(eager(kt.mass_matrix, again, q), eager(kt.mass_matrix, model, q), rtol=1e-14)


@pytest.mark.parametrize("make", [planar, free, wide])
def test_urdf_loses_nothing_in_silence(tmp_path, make, rng):
    model = make()
    again = kt.load(kt.save(model, tmp_path / "robot.urdf"))
    assert again.body_names == model.body_names and again.gravity == model.gravity
    for ours, theirs in zip(again.bodies, model.bodies):
        for field in ("joint", "limits", "stiffness", "spring_reference", "damping", "friction", "armature"):
            assert getattr(ours, field) == getattr(theirs, field), field
    for ours, theirs in zip(again.rotors, model.rotors):
        assert ours.ratio == theirs.ratio and ours.axis == pytest.approx(theirs.axis, abs=1e-15)
    q, v = model.random_state(rng)
    assert np.allclose(eager(kt.mass_matrix, again, q), eager(kt.mass_matrix, model, q), rtol=1e-14)
    assert np.allclose(bias(again, q, v), bias(model, q, v), rtol=1e-13, atol=1e-14)
    assert np.allclose(kt.passive_force(again, q, v), kt.passive_force(model, q, v), rtol=1e-14)


@pytest.mark.parametrize(
    "change, named",
    [
        ({"inertia": [1e31, 0, 0, 0, 1e31, 1e31, 1e31, 0, 0, 0]}, "body 'b': 1e.31 is too large"),
        ({"inertia": [-1.0, 0, 0, 0, 1, 1, 1, 0, 0, 0]}, "body 'b' .* negative mass"),
        ({"placement": {"R": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "p": [1e33, 0, 0]}}, "joint 'j': 1e.33"),
        ({"damping": [1e40]}, "joint 'j': 1e.40 is too large"),
        ({"stiffness": [1e40]}, "joint 'j': 1e.40 is too large"),
        ({"limits": {"upper": [2e30]}}, "joint 'j': the bound 2e.30"),
    ],
)
def test_what_urdf_cannot_say_is_an_error_that_names_it(tmp_path, change, named):
    builder = kt.ModelBuilder("m")
    builder.add_body("b", "world", kt.Revolute((0, 0, 1)), inertia=kt.Inertia(1.0), joint_name="j")
    model = rebuilt(builder.build(), **change)
    with pytest.raises(kt.errors.ModelError, match=named):
        kt.save(model, tmp_path / "m.urdf")
    assert not list(tmp_path.iterdir())
    assert kt.load(kt.save(model, tmp_path / "m.json")) == model


def test_the_longest_names_load_again(tmp_path):
    builder = kt.ModelBuilder("m").add_body("b", "world", kt.Revolute((0, 0, 1)), inertia=kt.Inertia(1.0))
    model = builder.add_frame("f" * 256, "b").build()
    assert kt.load(kt.save(model, tmp_path / "m.urdf")).frame_names == model.frame_names


MADE_OF_PARTS = [
    kt.Planar(),
    kt.Free(),
    kt.Helical((0.0, 0.6, 0.8), 0.1),
    kt.Cylindrical((0.0, 0.6, 0.8)),
    kt.Universal(),
    kt.Spherical(),
]


def mixed(joint):
    """Bodies on one kind of joint and on hinges, in an order that is not depth first."""
    builder = kt.ModelBuilder("mixed", gravity=(0.1, 0.2, -1.6))
    inertia, degrees = kt.Inertia(2.0, (0.1, 0.2, 0.3), (0.3, 0.4, 0.5)), np.arange(joint.nv)
    springs = 0.0 if joint.is_free else 2.0 if joint.quaternions else tuple(degrees + 1.0)
    at = kt.Pose(kt.Rotation.from_rotation_vector((0.1, 0.2, 0.3)), (1.0, 2.0, 3.0))
    builder.add_body(
        "a",
        "world",
        joint,
        at,
        inertia,
        damping=0.5,
        armature=0.1,
        stiffness=springs,
        limits=Limits(velocity=tuple(degrees + 1.0), effort=tuple(degrees + 2.0)),
    )
    builder.add_body("b", "a", joint, at, inertia, damping=0.3)
    builder.add_body("c", "world", kt.Revolute((0, 1, 0)), None, inertia, limits=(-1, np.inf), friction=0.2)
    limits = Limits(0.5, 0.5, 0.0, 0.0)
    builder.add_body("d", "b", kt.Prismatic((0, 1, 0)), at, inertia, limits=limits, spring_reference=0.3)
    builder.add_body("e", "a", kt.Revolute((0, 1, 0)), at, inertia, mimic=("c", -2.0, 0.5))
    builder.add_frame("tool", "b", at)
    return builder.build()


@pytest.mark.parametrize("joint", MADE_OF_PARTS, ids=lambda joint: joint.type_name)
def test_mjcf_loads_as_the_same_model(tmp_path, joint, rng):
    model = mixed(joint)
    again = kt.load(kt.save(model, tmp_path / "robot.xml"))
    assert again.body_names == model.body_names and again.joint_names == model.joint_names
    assert again.frame_names == model.frame_names and again.gravity == model.gravity
    for ours, theirs in zip(again.bodies, model.bodies):
        for field in ("joint", "mimic", "limits", "damping", "friction", "armature", "stiffness"):
            assert getattr(ours, field) == getattr(theirs, field), field
        if any(theirs.stiffness):
            assert ours.spring_reference == theirs.spring_reference
    assert not [f for f in again.report if f.rule in ("split", "ignored")]
    q, v = model.random_state(rng)
    M, expected = (eager(kt.mass_matrix, each, q) for each in (again, model))
    assert np.allclose(M, expected, rtol=1e-13, atol=1e-13)
    assert np.allclose(bias(again, q, v), bias(model, q, v), rtol=1e-12, atol=1e-12)
    assert np.allclose(kt.passive_force(again, q, v), kt.passive_force(model, q, v), rtol=1e-13)


def test_mujoco_reads_what_we_write(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    for joint in MADE_OF_PARTS:
        twin = mujoco.MjModel.from_xml_path(str(kt.save(mixed(joint), tmp_path / "robot.xml")))
        assert twin.nbody == 6


def sprung(joint, **drive):
    builder = kt.ModelBuilder("m")
    builder.add_body("b", "world", joint, inertia=kt.Inertia(1.0, inertia=(1, 1, 1)), joint_name="j", **drive)
    return builder.build()


@pytest.mark.parametrize(
    "model, named",
    [
        (planar(), "the rotors of 'cart'"),
        (sprung(kt.Spherical(), stiffness=(1.0, 2.0, 3.0)), "the stiffness of joint 'j'"),
        (sprung(kt.Spherical(), stiffness=1.0, spring_reference=(0.0, 0.6, 0.0, 0.8)), "relaxed"),
        (sprung(kt.Free(), stiffness=1.0), "the stiffness of joint 'j'"),
        (sprung(kt.Free(), friction=1.0), "the friction of joint 'j'"),
        (sprung(kt.Free(), damping=(1, 1, 1, 1, 2, 3)), "the damping of joint 'j'"),
        (sprung(kt.Spherical(), armature=(1, 2, 3)), "the armature of joint 'j'"),
    ],
)
def test_what_mjcf_cannot_say_is_an_error_that_names_it(tmp_path, model, named):
    with pytest.raises(kt.errors.ModelError, match=named):
        kt.save(model, tmp_path / "m.mjcf")
    assert not list(tmp_path.iterdir())


def test_what_acts_on_a_free_body_in_mjcf_is_read_or_reported():
    joint = '<joint type="free" damping="2" stiffness="1" frictionloss="3"/>'
    body = f'<body>{joint}<geom size="1"/></body>'
    model = kt.load(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    assert model.bodies[0].damping == (2.0,) * 6
    found = [f.problem for f in model.report.warnings if f.rule == "unsupported"]
    assert len(found) == 2 and "frictionloss" in found[0] and "stiffness" in found[1]


def test_json_has_no_numbers_whose_products_overflow(tmp_path):
    builder = kt.ModelBuilder("m").add_body("a", "world", kt.Revolute(), inertia=kt.Inertia(1.0))
    model = builder.add_body("b", "a", kt.Revolute(), inertia=kt.Inertia(1.0), mimic=("a", 1e300)).build()
    with pytest.raises(kt.errors.ModelError, match=r"'m' cannot be saved: the number 1e\+300 is too large"):
        kt.save(model, tmp_path / "m.json")
    smaller = rebuilt(model, mimic=["a", 1e99, 0.0])
    text = kt.save(smaller, tmp_path / "m.json")
    with pytest.raises(kt.errors.FileError, match=r"1e\+300 is too large"):
        kt.load(text.read_text().replace("1e+99", "1e+300"))
