"""Xacro templates are run only where the caller trusts them."""

from __future__ import annotations

import sys

import pytest

import kinetree as kt
from kinetree.io.lint import lint

TEMPLATE = """<?xml version="1.0"?>
<robot name="{name}" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="mass" default="2"/>
  <xacro:arg name="long" default="false"/>
  {include}
  <xacro:property name="w" value="${{0.25 * 2}}"/>
  <xacro:macro name="part" params="name">
    <link name="${{name}}"><inertial><mass value="$(arg mass)"/>
      <inertia ixx="${{w}}" iyy="${{w}}" izz="${{w}}" ixy="0" ixz="0" iyz="0"/></inertial></link>
  </xacro:macro>
  <link name="base"/>
  <xacro:part name="arm"/>
  <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
</robot>
"""


@pytest.fixture
def template(tmp_path):
    path = tmp_path / "robot.urdf.xacro"
    path.write_text(TEMPLATE.format(name="r", include=""))
    return path


def test_a_template_is_refused_unless_it_is_trusted(template):
    with pytest.raises(kt.errors.FileError, match="trust") as caught:
        kt.load(template)
    assert caught.value.finding.rule == "xacro"
    assert [f.rule for f in lint(template)] == ["xacro"]


def test_the_package_is_named_if_it_is_missing(template, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(kt.errors.FileError, match=r"xacro.*not installed.*kinetree\[files\]"):
        kt.load(template, xacro_args={})


def test_other_files_need_no_xacro(monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    assert kt.load(kt.robots.path("arm7.urdf"), xacro_args={}).nv == 7


def test_templates_are_expanded(template):
    pytest.importorskip("xacro")
    assert kt.load(template, xacro_args={}).total_mass == 2.0
    assert kt.load(str(template), xacro_args={"mass": 3.5, "long": True}).total_mass == 3.5
    model = kt.load(template.read_text(), xacro_args={"mass": "4"})
    assert model.total_mass == 4.0 and model.name == "r"
    assert not [f for f in lint(template, xacro_args={}) if f.severity == "error"]


def test_what_an_expression_raises_is_an_error_of_the_file(tmp_path):
    pytest.importorskip("xacro")
    path = tmp_path / "bad.xacro"
    for inside in ("${1/0}", "${nobody}", "$(find nobody)", "$(arg nobody)"):
        path.write_text(TEMPLATE.format(name=inside, include=""))
        with pytest.raises(kt.errors.FileError, match="xacro cannot expand it") as caught:
            kt.load(path, xacro_args={})
        assert caught.value.finding.rule == "xacro"
    path.write_text("<robot")
    with pytest.raises(kt.errors.FileError):
        kt.load(path, xacro_args={})


def test_packages_are_found_in_the_given_folders(tmp_path):
    pytest.importorskip("xacro")
    package = tmp_path / "ws" / "parts"
    package.mkdir(parents=True)
    (package / "more.xacro").write_text(
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="more"/></robot>'
    )
    main = tmp_path / "main.urdf.xacro"
    include = '<xacro:include filename="$(find parts)/more.xacro"/>'
    main.write_text(TEMPLATE.format(name="r", include=include))
    for folder in (tmp_path / "ws", package):
        model = kt.load(main, xacro_args={}, package_dirs=[folder])
        assert "more" in model.frame_names or "more" in model.body_names
    with pytest.raises(kt.errors.FileError, match="parts"):
        kt.load(main, xacro_args={})


def test_what_comes_out_is_read_with_care(tmp_path):
    pytest.importorskip("xacro")
    path = tmp_path / "r.xacro"
    path.write_text(TEMPLATE.format(name="r", include='<link name="${chr(34)}x"/>'))
    with pytest.raises(kt.errors.FileError):
        kt.load(path, xacro_args={})
