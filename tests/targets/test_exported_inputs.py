"""Exported C takes the optional inputs that are asked for."""

from __future__ import annotations

import shutil
import subprocess

import pytest

import kinetree as kt


def test_external_forces_are_left_out_unless_asked_for(tmp_path):
    header, *_ = kt.export_c([kt.inverse_dynamics], kt.zoo.double_pendulum(), tmp_path)
    assert "f_ext" not in header.read_text()


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_external_forces_in_c(tmp_path):
    functions = [kt.inverse_dynamics, kt.forward_dynamics, kt.mass_matrix]
    paths = kt.export_c(functions, kt.zoo.quadruped(), tmp_path, optional=["f_ext"])
    assert paths[0].read_text().count("f_ext[78]: 13 x 6, by rows") == 2
    sources = [str(path) for path in paths if path.suffix == ".c"]
    subprocess.run(["gcc", "-std=c99", *sources, "-o", "selftest", "-lm"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "selftest"], check=True)
