"""`kinetree check`: findings by rule and line, JSON, repair, exit statuses."""

from __future__ import annotations

import json
import os

import pytest
from tests.cli.command import assert_one_line_error, kinetree
from tests.cli.robots import MJCF, urdf

import kinetree as kt


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.urdf"
    path.write_text(urdf())
    return path


@pytest.fixture
def bad(tmp_path):
    path = tmp_path / "bad.urdf"
    path.write_text(urdf(ixx="0.5", lower="3"))  # 0.5 > 0.02 + 0.01, and 3 > 2
    return path


def test_a_good_file(good):
    run = kinetree("check", good)
    assert run.returncode == 0 and run.stderr == "" and "0 errors" not in run.stdout
    assert "1 file" in run.stdout


def test_a_good_mjcf_file(tmp_path):
    path = tmp_path / "pendulum.xml"
    path.write_text(MJCF)
    assert kinetree("check", path).returncode == 0


def test_findings_name_rule_line_element_and_remedy(bad):
    run = kinetree("check", bad)
    assert run.returncode == 1 and run.stderr == ""
    for word in (
        "bad.urdf",
        "inertia-triangle",
        "limits-swapped",
        "link 'forearm'",
        "joint 'elbow'",
        "repair",
    ):
        assert word in run.stdout
    line = next(k for k, text in enumerate(bad.read_text().split("\n"), 1) if 'ixx="0.5"' in text)
    assert any(f" {k} " in run.stdout for k in range(line - 4, line + 1))


def test_json(good, bad):
    run = kinetree("check", good, bad, "--json", "--level", "warning")
    assert run.returncode == 1
    first, second = json.loads(run.stdout)
    assert first == {"file": str(good), "findings": []}
    assert {f["rule"] for f in second["findings"]} == {"inertia-triangle", "limits-swapped"}
    for f in second["findings"]:
        assert f["severity"] == "warning" and f["where"]["line"] > 0 and f["fixable"] is True


def test_level(bad):
    run = kinetree("check", bad, "--level", "error")
    assert "inertia-triangle" not in run.stdout and run.returncode == 1


@pytest.mark.parametrize("text", ["", "not a robot", "<robot", "\0", "<!DOCTYPE x><robot name='x'/>"])
def test_a_file_that_cannot_be_read_is_a_finding_not_a_crash(tmp_path, text):
    path = tmp_path / "broken.urdf"
    path.write_text(text)
    run = kinetree("check", path)
    assert run.returncode == 1 and run.stderr == "" and "error" in run.stdout


def test_names_cannot_steer_the_terminal(tmp_path):
    path = tmp_path / "evil.urdf"
    path.write_text(urdf(name="&#x9b;31m", mass="-1"), encoding="utf-8")
    run = kinetree("check", path)
    assert run.returncode == 1 and "\x9b" not in run.stdout + run.stderr


def test_fix_writes_a_file_that_loads(bad):
    run = kinetree("check", bad, "--fix")
    repaired = bad.with_name("bad.repaired.urdf")
    assert run.returncode == 0 and "repaired" in run.stdout, run.stdout + run.stderr
    assert bad.read_text() == urdf(ixx="0.5", lower="3")  # the file itself is left alone
    assert kinetree("check", repaired).returncode == 0
    assert kt.load(repaired).nv == 2


def test_fix_never_writes_over_a_file_unasked(bad):
    target = bad.with_name("bad.repaired.urdf")
    target.write_text("precious")
    assert "--force" in assert_one_line_error(kinetree("check", bad, "--fix"), 2)
    assert target.read_text() == "precious"
    assert kinetree("check", bad, "--fix", "--force").returncode == 0
    assert target.read_text() != "precious"


def test_fix_writes_where_it_is_told(bad, tmp_path):
    target = tmp_path / "repaired.urdf"
    assert kinetree("check", bad, "--fix", "--output", target).returncode == 0
    assert kt.load(target).nv == 2


def test_fix_says_what_it_cannot_repair(tmp_path):
    path = tmp_path / "worse.urdf"
    path.write_text(urdf(lower="3", mass="much"))
    run = kinetree("check", path, "--fix")
    assert run.returncode == 1 and run.stderr == "" and "cannot be repaired" in run.stdout
    assert "limits-swapped" in run.stdout and "much" in run.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["worse.urdf"]
    (data,) = json.loads(kinetree("check", path, "--fix", "--json").stdout)
    assert "much" in data["failure"] and "repaired" not in data


def test_fix_writes_nothing_when_there_is_nothing_to_repair(good):
    assert kinetree("check", good, "--fix").returncode == 0
    assert sorted(p.name for p in good.parent.iterdir()) == ["good.urdf"]


def test_a_place_that_cannot_be_written(bad, tmp_path):
    run = kinetree("check", bad, "--fix", "--output", tmp_path / "nowhere" / "repaired.urdf")
    assert "cannot be written" in assert_one_line_error(run, 2)


def test_many_places_of_one_rule_are_cut_short(tmp_path):
    joint = "<joint name='j{0}' type='revolute'><parent link='base'/><child link='l{0}'/></joint>"
    links = "".join(f"<link name='l{k}'/>{joint.format(k)}" for k in range(12))
    path = tmp_path / "many.urdf"
    path.write_text(urdf().replace("\n</robot>", links + "</robot>"))
    short, full = kinetree("check", path).stdout, kinetree("check", path, "--all").stdout
    assert "more; --all lists them" in short and "more; --all" not in full
    assert full.count("\n") > short.count("\n")


def test_fix_does_not_follow_a_dangling_link(bad):
    target = bad.with_name("bad.repaired.urdf")
    target.symlink_to(bad.with_name("secret.urdf"))
    for words in ((), ("--force",)):
        assert target.name in assert_one_line_error(kinetree("check", bad, "--fix", *words), 2)
    assert sorted(path.name for path in bad.parent.iterdir()) == ["bad.repaired.urdf", "bad.urdf"]


def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for command in ("check", "info"):
        assert "a pipe or a device" in assert_one_line_error(kinetree(command, tmp_path / "pipe"), 2)


def test_parts_from_allowed_folders(tmp_path):
    for folder in ("arm", "common"):
        (tmp_path / folder).mkdir()
    path = tmp_path / "arm" / "arm.xml"
    path.write_text('<mujoco><include file="../common/part.xml"/></mujoco>')
    (tmp_path / "common" / "part.xml").write_text(MJCF)
    run = kinetree("check", path)
    assert run.returncode == 1 and "include_dirs" in run.stdout
    assert kinetree("check", path, "--include-dir", tmp_path / "common").returncode == 0
    assert kinetree("info", path, "--include-dir", tmp_path / "common").returncode == 0


def test_templates_are_expanded_only_if_asked(tmp_path):
    path = tmp_path / "robot.urdf.xacro"
    path.write_text(urdf())
    run = kinetree("check", path)
    assert run.returncode == 1 and "trust" in run.stdout
    assert "NAME:=VALUE" in assert_one_line_error(kinetree("check", path, "--xacro-arg", "mass=3"), 2)
    pytest.importorskip("xacro")
    assert kinetree("check", path, "--xacro").returncode == 0
    assert kinetree("info", path, "--xacro-arg", "mass:=3").returncode == 0
