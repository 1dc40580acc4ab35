"""`kinetree info` on robots of the zoo and on files."""

from __future__ import annotations

import json

import pytest
from tests.cli.command import assert_one_line_error, kinetree
from tests.cli.robots import MJCF, urdf

import kinetree as kt


def test_a_robot_of_the_zoo():
    run = kinetree("info", "zoo:quadruped")
    assert run.returncode == 0 and run.stderr == ""
    model = kt.zoo.quadruped()
    for name in (*model.body_names, *model.joint_names, *model.frame_names):
        assert name in run.stdout
    assert "18 degrees of freedom, nq 19, nv 18" in run.stdout


@pytest.mark.parametrize("name", kt.zoo.__all__)
def test_every_robot_of_the_zoo(name):
    run = kinetree("info", f"zoo:{name}", "--json")
    assert run.returncode == 0 and run.stderr == ""
    data = json.loads(
        run.stdout, parse_constant=pytest.fail
    )  # no Infinity or NaN: other languages cannot read them
    model = getattr(kt.zoo, name)()
    assert (data["nq"], data["nv"], data["nbodies"]) == (model.nq, model.nv, model.nbodies)
    assert sorted(k for joint in data["joints"].values() for k in joint["v"]) == list(range(model.nv))
    assert kt.Model.from_dict(data["model"], check="finite") == model


def test_a_robot_of_the_zoo_with_arguments():
    assert "20 bodies" in kinetree("info", "zoo:chain:20").stdout


def test_branches_are_drawn_and_chains_are_lists():
    lines = kinetree("info", "zoo:quadruped").stdout.split("\n")
    assert sum(line.startswith(("├─ ", "└─ ")) for line in lines) == 4
    chain = kinetree("info", "zoo:chain:50").stdout
    assert "├" not in chain and "└" not in chain


def test_a_urdf_file(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(urdf())
    run = kinetree("info", path)
    assert run.returncode == 0 and run.stderr == ""
    for word in (
        "two_links",
        "urdf",
        "arm.urdf",
        "shoulder",
        "forearm",
        "revolute y",
        "-2..2",
        "mass 3.5 kg",
    ):
        assert word in run.stdout


def test_a_urdf_file_with_a_free_base(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(urdf())
    assert json.loads(kinetree("info", path, "--base", "free", "--json").stdout)["nv"] == 8


def test_an_mjcf_file(tmp_path):
    path = tmp_path / "pendulum.xml"
    path.write_text(MJCF)
    data = json.loads(kinetree("info", path, "--json").stdout)
    assert data["nv"] == 1 and data["report"]["format"] == "mjcf"


def test_the_wrong_format(tmp_path):
    path = tmp_path / "pendulum.xml"
    path.write_text(MJCF)
    assert "urdf" in assert_one_line_error(kinetree("info", path, "--format", "urdf"), 1)


def test_what_was_wrong_with_the_file_is_said(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(urdf(mass="-1"))
    assert "forearm" in assert_one_line_error(kinetree("info", path), 1)
    run = kinetree("info", path, "--repair")
    assert run.returncode == 0 and "repaired: " in run.stdout and "forearm" in run.stdout


def test_groups_are_listed(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(
        urdf().replace("  </joint>\n</robot>", "<mimic joint='shoulder' multiplier='2'/></joint></robot>")
    )
    run = kinetree("info", path)
    assert "group: upper_arm + forearm, moved by 1 coordinate" in run.stdout
