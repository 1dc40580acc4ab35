"""What may import what, as ARCHITECTURE.md draws it and pyproject.toml states it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.meta.sources import PACKAGE, ROOT


def test_the_layers_hold():
    linter = shutil.which("lint-imports", path=str(Path(sys.executable).parent)) or shutil.which(
        "lint-imports"
    )
    if linter is None:
        pytest.skip("import-linter is not installed")
    run = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_package_has_a_place_in_the_layers():
    import tomllib

    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c["type"] == "layers")
    placed = {name.strip(" ()") for layer in layers for name in layer.replace("|", ":").split(":")}
    there = {p.name for p in PACKAGE.iterdir() if p.is_dir() and any(p.glob("*.py"))}
    there |= {p.stem for p in PACKAGE.glob("*.py") if not p.stem.startswith("_")}
    assert there <= placed, f"give these a layer in pyproject.toml: {sorted(there - placed)}"
