"""A random mechanism with loops, checked in every function against its open tree and multipliers.

Every function on one closed state: most eagerly, some (different ones for each mechanism) as optimised
programs. Every 25th mechanism is also checked against the laws that connect the algorithms.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from tests.identities.case import Case
from tests.identities.laws import broken_laws
from tests.loops.checks import Checked, Run
from tests.loops.projection import Welded
from tests.loops.random_loop import RandomLoop

import kinetree as kt
from kinetree.compiler.emit.python import run
from kinetree.compiler.passes.pipeline import optimize
from kinetree.stages import sweeps
from kinetree.sweep import REGISTRY

COUNT = 10_000
BLOCK = 20
# Laws that assume how trees transmit forces; the wrenches of loops are tested in tests/loops.
OF_TREES = {
    "constraint_forces_are_what_the_joint_does_not_move_along", "joint_wrenches_balance_every_body",
    "rotors_share_the_force_of_their_joint", "wrenches_in_three_decompositions",
    "external_wrenches_pass_through_the_joints",
}  # fmt: skip
LOOSE = 1e-7  # tolerance; a state that needs more is next to a dead point
SHARE = 16  # one function in this many runs as a program


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
    """A closed state away from where the loop was made, if one can be reached."""
    q = welded.complete(model.neutral(), loop.rng, loop.meeting)
    for reach in (0.2, 0.05, 0.0):
        moved, error = welded.closed(welded.tree.integrate(q, reach * loop.rng.normal(size=welded.wide)))
        checked = Checked(welded, moved, loop.rng, either(model, loop.seed))
        if error < 2e-14 * (1 + np.abs(moved).max()) and checked.tolerance < LOOSE:
            return checked
    return None


def either(model: kt.Model, seed: int) -> Run:
    """Functions of a model: eager or, at random, compiled and run as Python code."""

    def chosen(name: str, *inputs: Any, **options: Any) -> Any:
        eager = getattr(kt, name)(model, *inputs, target="eager", **options)
        lot = zlib.crc32(f"{seed} {name}".encode())
        if lot % SHARE:
            return eager
        algorithm, mode = REGISTRY[name], ("unrolled", "looped")[lot // SHARE % 2]
        present = tuple(a.name for a in algorithm.inputs[: len(inputs)])
        program = optimize(sweeps.lower(algorithm, model, present, options, mode), 300)
        (output,), status = run(program, *(np.ravel(x) for x in inputs))
        assert not status.any(), f"{name}, {mode}: not trusted"
        return output.reshape(np.shape(eager))

    return chosen


def laws(label: str, checked: Checked) -> list[str]:
    """The laws that a state breaks."""
    rng = np.random.default_rng(len(label))
    case = Case(label, checked.model, rng, state=(checked.q, checked.v))
    return broken_laws(case, False, OF_TREES)
