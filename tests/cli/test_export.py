"""`kinetree export`: files that a C compiler takes, and what they compute."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cli.command import assert_one_line_error, kinetree


def test_the_files_are_written_and_named(tmp_path):
    run = kinetree("export", "zoo:puma560", "--output", tmp_path / "out", "--json")
    assert run.returncode == 0 and run.stderr == ""
    data = json.loads(run.stdout)
    assert data["functions"] == ["inverse_dynamics", "forward_dynamics", "mass_matrix"]
    assert sorted(Path(p).suffix for p in data["files"]) == [".c", ".h"]
    assert all(Path(p).is_file() for p in data["files"])


def test_one_function_for_a_person(tmp_path):
    run = kinetree("export", "zoo:pendulum", "--function", "mass_matrix", "--output", tmp_path)
    assert run.returncode == 0 and "mass_matrix" in run.stdout and "bytes" in run.stdout


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_c_compiler_takes_them_without_a_word(tmp_path):
    data = json.loads(kinetree("export", "zoo:puma560", "--output", tmp_path, "--json").stdout)
    source = next(p for p in data["files"] if p.endswith(".c"))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-O0", "-c"]
    subprocess.run(["cc", *flags, source, "-o", str(tmp_path / "robot.o")], check=True, cwd=tmp_path)


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    run = kinetree("export", "zoo:pendulum", "--output", tmp_path / "file" / "deeper")
    assert "cannot be written" in assert_one_line_error(run, 2)
