"""Every example runs where the packages that it imports are installed, and draws what it promises."""

from __future__ import annotations

import ast
import importlib.util
import shutil
from pathlib import Path

import pytest
from tests.meta.sources import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LEARNED = {"poles that stand in the end before": (0, 0.2), "poles that stand after": (0.8, 1)}
# What the figures of an example must be: name -> (at least, at most)
FIGURES = {
    "swing_up": {
        "largest torque / holding torque": (0.3, 0.4 + 1e-6),
        "changes of direction": (2, 9),
        "end of the simulation, rad from the top": (0, 0.02),
    },
    "arm_trajectory": {
        "nearest to the centre": (0.2 - 1e-6, 0.3),
        "nearest to the centre without the ball, m": (0, 0.1),
    },
    "identify_arm": {"of these in their intervals of 95 %": (0.85, 1), "and after": (0, 0.2)},
    "policy_gradient_jax": LEARNED,
    "policy_gradient_torch": LEARNED,
    "humanoid_lqr": {"deviation at the end, rad": (0, 1e-3), "fastest growth without control, 1/s": (2, 100)},
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path, tmp_path):
    for package in imported(path):
        pytest.importorskip(package)
    if "casadi.external" in path.read_text() and not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("there is no C compiler")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    figures = example.main(tmp_path)
    for name, (low, high) in FIGURES[path.stem].items():
        assert low <= figures[name] <= high, f"{name}: {figures[name]}"
    if importlib.util.find_spec("matplotlib"):
        assert (tmp_path / f"{path.stem}.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_says_what_it_shows(path: Path):
    first = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n")[0]
    assert len(first) > 40 and first.endswith(".")
    assert f"python examples/{path.name}" in path.read_text()


def imported(path: Path) -> set[str]:
    """The packages that an example imports at its beginning."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return {name.partition(".")[0] for name in found} - {"__future__", "kinetree"}
