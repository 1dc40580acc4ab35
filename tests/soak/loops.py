"""A random mechanism with loops through everything that its open tree and multipliers say about it.

Every function on one closed state; every 25th mechanism also takes the laws that tie algorithms together.
"""

from __future__ import annotations

import numpy as np
from tests.identities.case import Case
from tests.identities.laws import broken_laws
from tests.loops.checks import Checked
from tests.loops.projection import Welded
from tests.loops.random_loop import RandomLoop

import kinetree as kt

COUNT = 10_000
BLOCK = 20
# Laws that say themselves how trees pass forces on; tests of the wrenches of loops are in tests/loops.
OF_TREES = {
    "constraint_forces_are_what_the_joint_does_not_move_along", "joint_wrenches_balance_every_body",
    "rotors_share_the_force_of_their_joint", "wrenches_in_three_decompositions",
    "external_wrenches_pass_through_the_joints",
}  # fmt: skip
ILL = 1e6  # of the loops' rows; what lies beyond stands next to a dead point


def trial(seed: int) -> str:
    loop = RandomLoop(seed)
    if not loop.count:
        return "nothing to close"
    model = loop.build()
    welded = Welded(model)
    checked = state(loop, model, welded)
    if checked is None:
        return "next to a dead point"
    failures = checked.all().failures
    if seed % 25 == 0:
        failures += laws(f"loop {seed}", checked)
    assert not failures, "\n".join(failures)
    return "laws" if seed % 25 == 0 else "multipliers"


def state(loop: RandomLoop, model: kt.Model, welded: Welded) -> Checked | None:
    """A closed state away from where the loop was made, if it can get there."""
    q = welded.complete(model.neutral(), loop.rng, loop.meeting)
    for reach in (0.2, 0.05, 0.0):
        moved, error = welded.closed(welded.tree.integrate(q, reach * loop.rng.normal(size=welded.wide)))
        checked = Checked(welded, moved, loop.rng)
        if error < 1e-12 * (1 + np.abs(moved).max()) and checked.truth.condition < ILL:
            return checked
    return None


def laws(label: str, checked: Checked) -> list[str]:
    """The laws that a state breaks."""
    rng = np.random.default_rng(len(label))
    case = Case(label, checked.model, rng, state=(checked.q, checked.v))
    return broken_laws(case, False, OF_TREES)
