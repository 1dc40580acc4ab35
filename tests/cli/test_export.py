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
    assert sorted(Path(p).suffix for p in data["files"]) == [".c", ".c", ".h"]
    assert all(Path(p).is_file() for p in data["files"])


def test_one_function_for_a_person(tmp_path):
    run = kinetree("export", "zoo:pendulum", "--function", "mass_matrix", "--output", tmp_path)
    assert run.returncode == 0 and "mass_matrix" in run.stdout and "bytes" in run.stdout


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_c_compiler_takes_them_without_a_word_and_the_self_test_passes(tmp_path, dtype):
    words = ["export", "zoo:puma560", "--output", tmp_path, "--prefix", "arm", "--dtype", dtype, "--json"]
    files = json.loads(kinetree(*words).stdout)["files"]
    assert all(Path(p).name.startswith("arm") for p in files)
    flags = "-std=c99 -Wall -Wextra -Wconversion -pedantic -Werror -O1".split()
    sources = [p for p in files if p.endswith(".c")]
    subprocess.run(["cc", *flags, *sources, "-o", "selftest", "-lm"], check=True, cwd=tmp_path)
    subprocess.run([tmp_path / "selftest"], check=True, cwd=tmp_path, capture_output=True)


def test_a_function_of_a_frame(tmp_path):
    words = ["export", "zoo:puma560", "--function", "jacobian", "--output", tmp_path]
    assert "--frame" in assert_one_line_error(kinetree(*words), 2)
    assert "Did you mean 'flange'?" in assert_one_line_error(kinetree(*words, "--frame", "flagne"), 2)
    assert kinetree(*words, "--frame", "flange").returncode == 0


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    run = kinetree("export", "zoo:pendulum", "--output", tmp_path / "file" / "deeper")
    assert "cannot be written" in assert_one_line_error(run, 2)
