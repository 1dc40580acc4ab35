"""The examples of the reference, from examples.txt: one for each name and member."""

from __future__ import annotations

import re
from pathlib import Path

# How an argument or an instance of a class is written in examples.
VALUES = {
    "q": "q",
    "v": "v",
    "a": "a",
    "tau": "tau",
    "x": "np.ones(robot.nv)",
    "weights": "np.ones(robot.nv)",
    "added": "np.ones(robot.nv)",
    "known": "tau",
    "accelerate": '["elbow"]',
    "C": "kt.coriolis_matrix(robot, q, v)",
    "frame": '"lower"',
    "frames": '["upper", "lower"]',
    "impulse": "np.ones(6)",
    "forces": '{"lower": np.ones(6)}',
    "Model": "robot",
    "ModelBuilder": "builder",
    "Trajectory": "run",
    "Inertia": "I",
    "Pose": "T",
    "Rotation": "R",
    "Function": "function",
    "Joint": "joint",
    "SpatialOperators": "op",
    "Operator": "A",
    "InfluenceMatrix": "influence",
}


def _read() -> dict[str, str]:
    """Each example by its name."""
    text = (Path(__file__).parent / "examples.txt").read_text()
    parts = re.split(r"^# --- (\S+)\n", text, flags=re.M)
    return {name: code.strip("\n") for name, code in zip(parts[1::2], parts[2::2])}


EXAMPLES = _read()


def setup(page: str) -> str:
    """What the examples of a page start from."""
    return EXAMPLES.get(f"@{page}", EXAMPLES["@default"])
