"""What is released together agrees: version, licence, citation, change log, packaging."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import entry_points, metadata

from tests.meta.sources import PACKAGE, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_one_version():
    assert f"version: {PROJECT['version']}" in (ROOT / "CITATION.cff").read_text()
    assert re.search(rf"^## {re.escape(PROJECT['version'])}\b", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert metadata("kinetree")["Version"] == PROJECT["version"]


def test_one_licence():
    assert PROJECT["license"] == "Apache-2.0"
    assert "license: Apache-2.0" in (ROOT / "CITATION.cff").read_text()
    assert "Version 2.0, January 2004" in (ROOT / "LICENSE").read_text()


def test_the_core_needs_two_packages_only():
    assert {re.match(r"[a-z]+", d).group() for d in PROJECT["dependencies"]} == {"numpy", "llvmlite"}


def test_types_are_shipped():
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    assert {"py.typed", "*.pyi"} <= set(shipped["kinetree"])
    assert (PACKAGE / "py.typed").is_file() and (PACKAGE / "__init__.pyi").is_file()


def test_the_command_is_installed():
    (script,) = [e for e in entry_points(group="console_scripts") if e.name == "kinetree"]
    assert script.value == "kinetree.cli:main"


def test_the_makefile_has_every_target_and_names_no_package_index():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    assert {"demo", "test", "lint", "bench", "docs", "clean", "generate", "soak", "test-long"} <= targets
    assert "://" not in makefile and "index-url" not in makefile


def test_continuous_integration_runs_the_tests():
    run = ROOT / ".ci" / "run"
    assert run.stat().st_mode & 0o111 and "make test" in run.read_text()
