"""`kinetree convert` and `kinetree zoo`, standard input, and JSON on errors."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.cli.command import assert_one_line_error, kinetree
from tests.cli.robots import MJCF, urdf

import kinetree as kt
from kinetree import zoo


def piped(*words: str, text: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kinetree", *words]
    return subprocess.run(command, input=text, capture_output=True, encoding="utf-8", timeout=300)


@pytest.mark.parametrize("ending", ["urdf", "xml", "json"])
def test_convert(tmp_path, ending):
    (tmp_path / "robot.urdf").write_text(urdf())
    run = kinetree("convert", "robot.urdf", f"out.{ending}", cwd=tmp_path)
    assert run.returncode == 0 and f"out.{ending}" in run.stdout, run.stderr
    again, model = kt.load(tmp_path / f"out.{ending}"), kt.load(tmp_path / "robot.urdf")
    assert again.joint_names == model.joint_names and again.total_mass == pytest.approx(model.total_mass)


def test_convert_never_writes_over_a_file_unasked(tmp_path):
    target = tmp_path / "out.json"
    target.write_text("mine")
    assert "--force" in assert_one_line_error(kinetree("convert", "zoo:puma560", target), 2)
    assert target.read_text() == "mine"
    run = kinetree("convert", "zoo:puma560", target, "--force", "--json")
    assert run.returncode == 0 and json.loads(run.stdout)["file"] == str(target)
    assert kt.load(target) == zoo.puma560()


def test_convert_says_what_cannot_be_said(tmp_path):
    builder = kt.ModelBuilder("m").add_body("b", "world", kt.Spherical(), inertia=kt.Inertia(1.0))
    kt.save(builder.build(), tmp_path / "m.json")
    run = kinetree("convert", tmp_path / "m.json", tmp_path / "m.urdf")
    assert "spherical" in assert_one_line_error(run, 1)
    assert "must end in" in assert_one_line_error(kinetree("convert", "zoo:puma560", tmp_path / "m.dae"), 2)


def test_the_zoo_is_listed():
    run = kinetree("zoo")
    assert run.returncode == 0
    listed = json.loads(kinetree("zoo", "--json").stdout)
    assert {robot["name"] for robot in listed} == set(zoo.__all__)
    for robot in listed:
        assert f"zoo:{robot['name']}" in run.stdout and robot["summary"]


def test_standard_input():
    for text in (urdf(), MJCF):
        run = piped("info", "-", "--json", text=text)
        assert run.returncode == 0, run.stderr
        assert json.loads(run.stdout)["report"]["source"] == "<stdin>"
    run = piped("check", "-", text=urdf(lower="3"))
    assert run.returncode == 1 and "limits-swapped" in run.stdout


def test_standard_input_is_fixed_where_it_is_told(tmp_path):
    assert_one_line_error(piped("check", "-", "--fix", text=urdf(lower="3")), 2)
    target = tmp_path / "fixed.urdf"
    run = piped("check", "-", "--fix", "--output", str(target), text=urdf(lower="3"))
    assert run.returncode == 0 and kt.load(target).nv == 2, run.stdout


def test_errors_are_json_under_json(tmp_path):
    run = kinetree("info", "nowhere.urdf", "--json", cwd=tmp_path)
    error = json.loads(run.stdout)["error"]
    assert run.returncode == error["status"] == 2 and "nowhere.urdf" in error["message"]
    assert error["message"] in run.stderr
    (tmp_path / "bad.urdf").write_text("<robot/>")
    run = kinetree("info", "bad.urdf", "--json", cwd=tmp_path)
    error = json.loads(run.stdout)["error"]
    assert run.returncode == error["status"] == 1
    assert error["kind"] == "FileError" and error["finding"]["rule"] == "tree-empty"


def test_sdf_goes_in_and_out(tmp_path):
    path = tmp_path / "puma.sdf"
    assert kinetree("convert", "zoo:puma560", path).returncode == 0
    info = json.loads(kinetree("info", path, "--json").stdout)
    assert info["report"]["format"] == "sdf" and info["nv"] == 6
    assert kinetree("convert", path, tmp_path / "puma.xml").returncode == 0
    again = kt.load(tmp_path / "puma.xml")
    assert again.joint_names == zoo.puma560().joint_names
    refused = assert_one_line_error(kinetree("convert", path, tmp_path / "puma.usda"), 2)
    assert "read, not written" in refused and ".sdf" in refused
