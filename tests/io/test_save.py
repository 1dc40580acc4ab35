"""Models out and in again: JSON without loss, URDF where it fits."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.io.peers import bias, disagreement, eager, frame_pose
from tests.io.seeds import JSON_MODEL, SEEDS, URDF_ARM, URDF_MIXED

import kinetree as kt


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
    with pytest.raises(kt.errors.ModelError, match=r"\.json or \.urdf"):
        kt.save(kt.load(URDF_ARM), tmp_path / "robot.sdf")


def test_numbers_are_the_shortest_that_read_back(tmp_path):
    text = kt.save(kt.load(URDF_ARM), tmp_path / "robot.urdf").read_text()
    assert 'value="2.5"' in text and "2.5000" not in text
