"""Mesh references are looked for where they may be, and nowhere else."""

from __future__ import annotations

import pytest
from tests.io.test_urdf import joint, link, robot

import kinetree as kt


def with_mesh(uri: str) -> str:
    visual = f'<visual><geometry><mesh filename="{uri}"/></geometry></visual>'
    return robot(link("a", visual), link("b"), joint("j", "a", "b"))


@pytest.fixture
def home(tmp_path):
    package = tmp_path / "roots" / "pkg" / "meshes"
    package.mkdir(parents=True)
    (package / "a.stl").write_text("solid")
    (tmp_path / "secret.stl").write_text("solid")
    return tmp_path


@pytest.mark.parametrize(
    "uri, rule",
    [
        ("package://pkg/meshes/a.stl", None),
        ("pkg/meshes/a.stl", None),
        ("package://pkg/meshes/b.stl", "mesh-missing"),
        ("package://pkg/../../secret.stl", "mesh-outside"),
        ("../secret.stl", "mesh-outside"),
        ("/etc/passwd", "mesh-outside"),
        ("file:///etc/passwd", "mesh-outside"),
        ("http://127.0.0.1:9/a.stl", "mesh-missing"),
    ],
)
def test_where_a_mesh_may_be(home, uri, rule):
    report = kt.load(with_mesh(uri), package_dirs=[home / "roots"]).report
    assert {f.rule for f in report if f.rule.startswith("mesh")} == ({rule} if rule else set())


def test_a_package_directory_may_be_the_package_itself(home):
    report = kt.load(with_mesh("package://pkg/meshes/a.stl"), package_dirs=[home / "roots" / "pkg"]).report
    assert not [f for f in report if f.rule.startswith("mesh")]


def test_meshes_do_not_matter_without_directories():
    report = kt.load(with_mesh("../../../etc/passwd")).report
    assert not [f for f in report if f.rule.startswith("mesh")]
