"""Named configurations: given, kept by edits, files and pickles."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import FileWarning, ModelError, ShapeError

ROBOT = kt.zoo.double_pendulum().replace(configurations={"home": {"elbow": 0.5}, "up": [1.0, 2.0]})


def test_given_by_joint_or_whole():
    assert np.array_equal(ROBOT.configurations["home"], [0.0, 0.5])
    assert np.array_equal(ROBOT.configurations["up"], [1.0, 2.0])
    assert list(kt.zoo.arm7().configurations) == []


def test_they_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        ROBOT.configurations["home"][0] = 1.0
    with pytest.raises(TypeError):
        ROBOT.configurations["other"] = np.zeros(2)


def test_they_are_content():
    assert kt.zoo.double_pendulum() != ROBOT
    assert pickle.loads(pickle.dumps(ROBOT)) == ROBOT
    assert kt.Model.from_dict(json.loads(json.dumps(ROBOT.to_dict()))) == ROBOT
    assert "configurations" not in kt.zoo.arm7().to_dict()


def test_edits_keep_them():
    assert dict(ROBOT.replace(gravity=(0, 0, 0)).configurations).keys() == {"home", "up"}
    assert np.array_equal(ROBOT.lock({"shoulder": 0.1}).configurations["up"], [2.0])
    assert np.array_equal(ROBOT.subtree("lower").configurations["home"], [0.5])
    assert np.array_equal(ROBOT.with_parameters(ROBOT.parameters).configurations["up"], [1.0, 2.0])
    both = ROBOT.attach(ROBOT, "lower", prefix="b_").configurations
    assert np.array_equal(both["up"], [1.0, 2.0, 0.0, 0.0])
    assert np.array_equal(both["b_up"], [0.0, 0.0, 1.0, 2.0])
    assert not ROBOT.replace(configurations={}).configurations


def test_json_keeps_them_and_other_files_say_that_they_do_not(tmp_path):
    assert kt.load(kt.save(ROBOT, tmp_path / "robot.json")) == ROBOT
    with pytest.warns(FileWarning, match="'home', 'up'"):
        kt.save(ROBOT, tmp_path / "robot.urdf")


@pytest.mark.parametrize("wrong", [{"a": [1.0]}, {"a": {"knee": 1.0}}, {"a": [np.nan, 0.0]}, {1: [0, 0]}])
def test_wrong_ones_are_refused(wrong):
    with pytest.raises((ModelError, ShapeError)):
        kt.zoo.double_pendulum().replace(configurations=wrong)


@pytest.mark.parametrize("wrong", [[], "home", {"home": [1, 2]}, {"home": {"elbow": "x"}}])
def test_wrong_dictionaries_are_refused(wrong):
    data = kt.zoo.double_pendulum().to_dict() | {"configurations": wrong}
    with pytest.raises((ModelError, ShapeError)):
        kt.Model.from_dict(data)
