"""What is released: a README that an index can show, a source archive with its tests, a wheel that works."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.util import find_spec

import pytest
from tests.meta.sources import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
USE = """
import numpy as np, kinetree as kt
robot = kt.load(kt.robots.path("arm7.urdf"))
q, v = robot.random_state(0)
a = kt.forward_dynamics(robot, q, v, np.zeros(7))
assert np.allclose(kt.inverse_dynamics(robot, q, v, a), 0, atol=1e-9)
assert "site-packages" in kt.__file__
"""


def test_the_readme_of_an_index_has_no_link_that_leads_nowhere():
    text = runpy.run_path(str(ROOT / "setup.py"))["described"]()
    assert text.startswith("# kinetree") and "```python" in text and "Right: a plot" not in text
    for link in re.findall(r"(?:\]\(|<img src=\")([^)\"]+)", text):
        assert link.startswith("https://"), link


def test_every_extra_is_explained():
    page = (ROOT / "docs" / "installation.md").read_text()
    for extra in set(PROJECT["optional-dependencies"]) - {"test", "lint", "all", "release"}:
        assert re.search(rf"^\|[^|]*`{extra}`", page, re.M), extra


def test_the_source_archive_takes_everything_along():
    manifest = (ROOT / "MANIFEST.in").read_text()
    for name in ("tests", "docs", "benchmarks", "examples"):
        assert f"graft {name}" in manifest
    assert "CHANGELOG.md" in manifest


@pytest.mark.long
def test_archives_are_good_and_the_wheel_works_alone(tmp_path):
    for tool in ("build", "twine"):
        if find_spec(tool) is None:
            pytest.skip(f"{tool} is not installed: pip install 'kinetree[release]'")
    built = subprocess.run(
        [sys.executable, "-m", "build", "--outdir", tmp_path, ROOT], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    (source,) = tmp_path.glob("*.tar.gz")
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", wheel, source], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout
    with tarfile.open(source) as archive:
        names = archive.getnames()
    top = source.name.removesuffix(".tar.gz")
    for name in ("CHANGELOG.md", "tests/conftest.py", "docs/quickstart.md", "Makefile", "LICENSE"):
        assert f"{top}/{name}" in names
    inside = zipfile.ZipFile(wheel).namelist()
    carried = {"py.typed", "__init__.pyi", "robots/arm7.urdf", "examples/crane.py", "cli/tables/printed.toml"}
    assert {f"kinetree/{name}" for name in carried} <= set(inside)
    assert not [name for name in inside if name.startswith("tests")]

    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    installed = ["-m", "pip", "install", "--quiet", wheel]
    for words in (installed, ["-c", USE], ["-m", "kinetree", "info", "zoo:arm7"]):
        subprocess.run([python, *words], cwd=tmp_path, env=alone, check=True)
