"""What a file refers to is read from its own folder and from those that the caller allows; nowhere else."""

from __future__ import annotations

import os

import pytest
from tests.io import shapes

import kinetree as kt
from kinetree.io.paths import Reach, confined, folders_of

INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
PART = f'<mujoco><worldbody><body name="part"><joint name="j"/>{INERTIAL}</body></worldbody></mujoco>'


def including(file: str) -> str:
    return f'<mujoco><include file="{file}"/></mujoco>'


@pytest.fixture
def home(tmp_path):
    """robots/arm/arm.xml, with parts in robots/common and a file that nobody may read beside robots."""
    for folder in ("robots/arm", "robots/common/deep", "meshes"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "robots/common/part.xml").write_text(PART)
    (tmp_path / "robots/common/deep/part.xml").write_text(including("../part.xml"))
    (tmp_path / "secret.xml").write_text(PART)
    (tmp_path / "meshes/m.stl").write_bytes(shapes.stl(*shapes.box()))
    return tmp_path


def load(home, text: str, **options):
    (home / "robots/arm/arm.xml").write_text(text)
    return kt.load(home / "robots/arm/arm.xml", **options)


INSIDE = ["../common/part.xml", "../common/deep/part.xml", "part.xml", "deep/part.xml"]


@pytest.mark.parametrize("file", INSIDE)
def test_includes_from_allowed_folders(home, file):
    with pytest.raises(kt.errors.FileError) as caught:
        load(home, including(file))
    assert caught.value.finding.rule == "include"
    model = load(home, including(file), include_dirs=[home / "robots/common"])
    assert model.body_names == ("part",)
    assert load(home, including(file), include_dirs=home / "robots/common") == model
    assert load(home, including(file), include_dirs=str(home / "robots/common")) == model


@pytest.mark.parametrize(
    "file",
    [
        "../../secret.xml", "../common/../../secret.xml", "{home}/secret.xml", "deep/../../../secret.xml",
        "link.xml", "folder/secret.xml", "file://{home}/secret.xml", "..\\..\\secret.xml",
    ],
)  # fmt: skip
def test_no_way_out_of_allowed_folders(home, file):
    (home / "robots/common/link.xml").symlink_to(home / "secret.xml")
    (home / "robots/arm/link.xml").symlink_to(home / "secret.xml")
    (home / "robots/arm/folder").symlink_to(home)
    for options in ({}, {"include_dirs": [home / "robots/common"]}):
        with pytest.raises(kt.errors.FileError) as caught:
            load(home, including(file.format(home=home)), **options)
        assert caught.value.finding.rule == "include"


def test_absolute_paths_into_allowed_folders(home):
    file = str(home / "robots/common/part.xml")
    with pytest.raises(kt.errors.FileError, match="include_dirs"):
        load(home, including(file))
    assert load(home, including(file), include_dirs=[home / "robots/common"]).nv == 1


def test_a_text_includes_from_allowed_folders(home):
    with pytest.raises(kt.errors.FileError, match="include_dirs"):
        kt.load(including("part.xml"))
    assert kt.load(including("part.xml"), include_dirs=[home / "robots/common"]).nv == 1


def with_mesh(file: str, compiler: str = "") -> str:
    body = '<body name="b"><joint/><geom type="mesh" mesh="m"/></body>'
    asset = f'<asset><mesh name="m" file="{file}"/></asset>'
    return f"<mujoco><compiler {compiler}/>{asset}<worldbody>{body}</worldbody></mujoco>"


@pytest.mark.parametrize(
    "file, compiler",
    [
        ("../../meshes/m.stl", ""),
        ("m.stl", 'meshdir="../../meshes"'),
        ("m.stl", 'assetdir="../../meshes/"'),
        ("m.stl", 'assetdir="nowhere" meshdir="../../meshes"'),
        ("some/where/m.stl", 'meshdir="../../meshes" strippath="true"'),
        ("C:\\\\parts\\\\m.stl", 'meshdir="..\\..\\meshes" strippath="true"'),
        ("m.stl", 'meshdir="{home}/meshes"'),
        ("{home}/meshes/m.stl", 'meshdir="elsewhere"'),
    ],
)
@pytest.mark.filterwarnings("ignore::kinetree.errors.FileWarning")
def test_meshes_from_allowed_folders(home, file, compiler):
    text = with_mesh(file.format(home=home), compiler.format(home=home))
    (found,) = (f for f in load(home, text).report if f.rule == "inertia-mesh")
    assert "include_dirs" in found.problem or "not found" in found.problem
    assert load(home, text, include_dirs=[home / "meshes"]).total_mass == pytest.approx(48.0)
    assert load(home, text, include_dirs=[home / "robots/common"]).total_mass == 0.0


def test_meshes_of_an_attached_model_lie_beside_it(home):
    leg = with_mesh("m.stl", 'meshdir="shapes"').replace("<mujoco>", '<mujoco model="leg">')
    (home / "robots/arm/leg/shapes").mkdir(parents=True)
    (home / "robots/arm/leg/leg.xml").write_text(leg)
    (home / "robots/arm/leg/shapes/m.stl").write_bytes(shapes.stl(*shapes.box()))
    text = (
        '<mujoco><asset><model name="leg" file="leg/leg.xml"/></asset><worldbody>'
        '<attach model="leg" body="b" prefix="l_"/></worldbody></mujoco>'
    )
    assert load(home, text).total_mass == pytest.approx(48.0)


URDF = (
    '<robot name="r"><link name="a"/><link name="b"><collision><geometry><mesh filename="{uri}"/></geometry>'
    '</collision></link><joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
)


@pytest.mark.filterwarnings("ignore::kinetree.errors.FileWarning")
def test_packages_by_the_environment_only_if_asked(home, monkeypatch):
    monkeypatch.setenv("ROS_PACKAGE_PATH", os.pathsep.join([str(home / "nowhere"), str(home)]))
    text = URDF.format(uri="package://meshes/m.stl")
    assert kt.load(text, density=1000).total_mass == 0.0
    assert kt.load(text, density=1000, package_dirs="$ROS_PACKAGE_PATH").total_mass == pytest.approx(48.0)
    inner = URDF.format(uri="package://meshes/../secret.xml")
    found = [f.problem for f in kt.load(inner, density=1000, package_dirs=["$ROS_PACKAGE_PATH"]).report]
    assert any("not known" in problem for problem in found)
    assert folders_of("$NO_SUCH_VARIABLE") == ()
    assert folders_of(["$ROS_PACKAGE_PATH/share"])[1] == home / "share"


def test_one_folder_may_stand_for_a_list(home):
    """A text is one folder, not a list of letters: "/" would allow everything."""
    assert folders_of("/some/where") == folders_of(["/some/where"])
    model = kt.load(URDF.format(uri="/etc/passwd"), density=1000, package_dirs=str(home), repair=True)
    assert "mesh-outside" in {f.rule for f in model.report}


def test_confinement(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    a, b = tmp_path / "a", tmp_path / "b"
    assert confined("x", a, a) == a.resolve() / "x"
    assert confined("../b/x", a, a) is None and confined("../b/x", a, a, b) == b.resolve() / "x"
    assert confined("x\0y", a, a) is None and confined("http://x", a, a) is None
    assert confined("x", a) is None
    assert Reach(a).part("../ax") == []  # a sibling whose name begins alike
    (a / "loop").symlink_to(a / "loop")
    assert confined("loop/x", a, a) is None or not (confined("loop/x", a, a) or a).is_file()
