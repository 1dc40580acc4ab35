"""Robots of the corpus whose files say loops, and closed states of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.loops.checks import Checked, Run
from tests.loops.projection import Kept, Welded

import kinetree as kt

MJCF = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "mjcf"
# Every file with loops that is no scene around another one of them.
ROBOTS = (
    "agility_cassie/cassie", "ms_human_700/MS-Human-700", "ms_human_700/MS-Human-700-Locomotion",
    "ms_human_700/MS-Human-700-Manipulation", "robotiq_2f85/2f85", "robotiq_2f85_v4/2f85",
    "robotiq_2f85_v4/mjx_2f85", "stanford_tidybot/tidybot", "toddlerbot_2xc/toddlerbot_2xc",
    "toddlerbot_2xc/toddlerbot_2xc_mjx", "toddlerbot_2xc/toddlerbot_2xc_pos", "toddlerbot_2xm/toddlerbot_2xm",
    "toddlerbot_2xm/toddlerbot_2xm_mjx", "toddlerbot_2xm/toddlerbot_2xm_pos", "ufactory_xarm7/hand",
    "ufactory_xarm7/xarm7",
)  # fmt: skip
EXACT = 1e-10  # rows that were left out and open by more, in units of the loop, are no part of the truth


def robot(name: str) -> kt.Model:
    return kt.load(MJCF / f"{name}.xml")


def checked(model: kt.Model, rng: np.random.Generator, run: Run | None = None) -> Checked:
    """A robot in a closed state away from where its file puts it."""
    is_exact = all(loop.slack < EXACT for loop in model.loops)
    welded = Welded(model) if is_exact else Kept(model)
    q = welded.complete(model.neutral(), rng)
    q, error = welded.closed(welded.tree.integrate(q, 0.1 * rng.normal(size=welded.wide)))
    assert error < 1e-13, f"open by {error:.1e}"
    return Checked(welded, q, rng, run)
