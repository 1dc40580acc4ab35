"""`import kinetree` is cheap: it loads what a name needs when the name is first used."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

LATER = (
    "llvmlite",
    "sympy",
    "mpmath",
    "pinocchio",
    "mujoco",
    "kinetree.compiler",
    "kinetree.io",
    "kinetree.cli",
    "xml",
)


@pytest.fixture(scope="module")
def loaded() -> list[str]:
    program = "import sys, json, kinetree; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


@pytest.mark.parametrize("name", LATER)
def test_import_leaves_for_later(loaded, name):
    early = [m for m in loaded if m == name or m.startswith(name + ".")]
    assert not early, f"import kinetree loads {early}"


def test_import_prints_nothing():
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import kinetree"], capture_output=True, text=True
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_help_needs_no_numpy():
    program = "import sys, kinetree.cli as c; c.main(['--help']); sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
