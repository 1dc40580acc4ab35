"""Every example runs where the packages that it imports are installed, and gives what it promises."""

from __future__ import annotations

import ast
import importlib.util
import shutil
from pathlib import Path

import pytest
from tests.conftest import share
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
    "pendulum": {"difference from the equation by hand": (0, 1e-12), "change of energy, J": (0, 1e-9)},
    "cart_pendulum": {"terms that differ from print": (0, 0), "centre of mass moved by, m": (0, 1e-9)},
    "tree_of_ten": {
        "nilpotency": (5, 5),
        "largest entry of Phi^5 (of Phi^4: not zero)": (0, 0),
        "error of Psi(8, 1)": (0, 1e-12),
        "bodies on the path to body 6": (4, 4),
        "bodies of branch 3": (6, 6),
    },
    "touching": {
        "force below a box / weight above it - 1": (0, 1e-4),
        "boxes of the stack moved by, m": (0, 0.01),
        "first box stops at x, m": (0.28, 0.34),
        "second box stops at x, m": (0.54, 0.6),
    },
    "star": {"nilpotency": (2, 2), "error of Psi = 1 + Phi": (0, 0), "zeros of the mass matrix": (20, 36)},
    "hinge_force": {
        "force along the rod, N": (18.558, 18.560),
        "by hand, N": (18.558, 18.560),
        "moment about the hinge, N m": (-1e-12, 1e-12),
    },
    "hinge_axis": {
        **{f"error of the {kind} axis": (0, 0) for kind in ("revolute", "prismatic", "helical")},
        "columns of a ball joint": (3, 3),
    },
    "ball_in_pipe": {
        "mass felt along the pipe, kg": (3 - 1e-12, 3 + 1e-12),
        "mass felt across, kg": (5 - 1e-12, 5 + 1e-12),
    },
    "planet": {"spatial acceleration": (0, 1e-14), "towards the centre, m/s^2": (12 - 1e-12, 12 + 1e-12)},
    "molecule": {
        "after taking it away": (0, 1e-12),
        "joint rates changed by": (0, 0),
        "largest on a run": (0.1, 10),
        "largest on a run with resets": (0, 1e-12),
    },
    "branches": {
        "3 is an ancestor of 6": (1, 1),
        "9 and 5 are related": (0, 0),
        "outermost of 2, 9 and 10": (10, 10),
        "entries of M between strangers": (0, 0),
        "entries of Gamma off the paths": (0, 0),
    },
    "thesis_rig": {
        "without rotors off by, rad/s^2": (23.165, 23.175),
        "reflected inertia off by, rad/s^2": (0.0575, 0.0585),
        "between the two (Table 4.3: 23.15)": (23.145, 23.155),
        "forward, then inverse dynamics off by, N m": (0, 1e-12),
    },
    "stacked_vectors": {"length": (6, 6), "first number of the ball": (4, 4), "parts that differ": (0, 0)},
    "crane": {
        "swing after a plain move, degrees": (4, 7),
        "after a shaped one, degrees": (0, 0.05),
        "force of the hoist at rest, kN": (-19.6201, -19.6199),
    },
    "antenna": {
        "the bus turns by, degrees": (1, 3),
        "so the dish points off by, degrees": (1, 3),
        "largest momentum": (0, 1e-12),
    },
    "hand": {"pads off by, m": (0, 1e-6), "largest torque, N m": (0.1, 1), "fingers that differ": (0, 0)},
    "transmission": {
        "inertia that the arm feels, kg m^2": (0.38352 - 1e-12, 0.38352 + 1e-12),
        "share of each motor in 2 N m, N m": (0.05 - 1e-12, 0.05 + 1e-12),
        "both motors of the wrist turn, rad/s": (20, 20),
        "their torques act on one angle alone": (0, 1e-12),
    },
    "suspension": {
        "body bounces at, Hz": (1.2, 1.3),
        "difference from the matrices by hand, Hz": (0, 1e-9),
        "left of a step of 5 cm after 3 s, mm": (0, 1),
    },
    "free_flyer": {
        "hand off by, m": (0, 1e-3),
        "base turned by, degrees": (1, 4),
        "centre of mass moved by, m": (0, 1e-3),
        "largest momentum": (0, 1e-10),
    },
    "delta_tracking": {
        "off the path by inverse dynamics, mm": (0, 0.3),
        "off the path by servos alone, mm": (3, 30),
        "work less energy, J": (0, 2e-3),
        "loops open by, m": (0, 1e-12),
    },
    "walking": {
        "reward of an action with the first policies": (0.05, 0.22),
        "and with the last": (0.25, 1.3),
        "standing after 10 s": (0.8, 1),
        "walked in 10 s on average, m": (1, 12),
    },
    "walking_ppo": {
        "reward of an action with the first policies": (-1, 0),
        "and with the last": (-0.2, 1.7),
        "standing after 10 s": (0.5, 1),
        "walked in 10 s on average, m": (-1, 12),
    },
    "humanoid_lqr": {"deviation at the end, rad": (0, 1e-3), "fastest growth without control, 1/s": (2, 100)},
}


def runs() -> list:
    """All examples, of which each run takes a share; what takes long is marked so."""
    long = {"humanoid_lqr": pytest.mark.long}
    return [pytest.param(path, id=path.stem, marks=long.get(path.stem, ())) for path in EXAMPLES]


@pytest.mark.parametrize("path", share(runs(), 3))
def test_example(path: Path, tmp_path):
    for package in imported(path):
        pytest.importorskip(package)
    if "casadi.external" in path.read_text() and not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("there is no C compiler")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    draws = "savefig" in path.read_text()
    figures = example.main(tmp_path) if draws else example.main()
    for name, (low, high) in FIGURES[path.stem].items():
        assert low <= figures[name] <= high, f"{name}: {figures[name]}"
    if draws and importlib.util.find_spec("matplotlib"):
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
