"""Every function of models with loops against their open trees with multipliers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.conftest import share
from tests.identities.case import Case
from tests.identities.laws import broken_laws
from tests.loops.checks import Checked
from tests.loops.projection import Projection, Welded
from tests.loops.random_loop import CLOSING, RandomLoop
from tests.reference.mechanism import ALL_TYPES
from tests.soak import loops

import kinetree as kt
from kinetree.model.parts import Frame

MACHINES = (
    "four_bar", "slider_crank", "gripper", "differential", "parallel_ankle", "delta", "cassie_leg", "stewart",
)  # fmt: skip
LOOPS = share(range(16), 4)


@cache
def machine(name: str) -> Checked:
    """A machine of the zoo in a closed state away from its drawing."""
    rng = np.random.default_rng([*name.encode()])
    welded = Welded(getattr(kt.zoo, name)())
    q = welded.complete(welded.model.neutral(), rng)
    q, error = welded.closed(welded.tree.integrate(q, 0.15 * rng.normal(size=welded.wide)))
    assert error < 1e-14 and np.abs(q[: welded.model.nq] - welded.model.neutral()).max() > 0.05
    return Checked(welded, q, rng)


@pytest.mark.parametrize("name", share(MACHINES, 2))
def test_machines(name):
    checked = machine(name).all()
    assert not checked.failures, "\n".join(checked.failures)
    assert len(checked.errors) > 25


@pytest.mark.parametrize("seed", LOOPS)
def test_random_loops(seed):
    assert loops.trial(5 * seed + 1) in ("multipliers", "nothing to close", "next to a dead point")


@pytest.mark.parametrize("on", ["gripper", pytest.param("parallel_ankle", marks=pytest.mark.long)])
def test_laws(on):
    checked = machine(on)
    case = Case(on, checked.model, np.random.default_rng(3), state=(checked.q, checked.v))
    broken = broken_laws(case, False, loops.OF_TREES)
    assert not broken, "\n".join(broken)


def test_most_random_loops_can_be_checked_and_reach_every_corner():
    found: set[str] = set()
    count = 0
    for seed in range(150):
        loop = RandomLoop(seed)
        found |= loop.features if loop.count else set()
        count += bool(loop.count)
    assert count > 120
    assert {f"closed by {kind}" for kind in (*CLOSING, "rod", "relation")} <= found
    assert {f"{kind} joint" for kind in ALL_TYPES} <= found
    assert {
        "rotor",
        "mimic",
        "armature",
        "planar",
        "spatial",
        "1 closures",
        "2 closures",
        "3 closures",
    } <= found


@pytest.mark.parametrize("name", ["four_bar", "parallel_ankle", "gripper", "stewart"])
def test_explicit_constraints_on_the_tree_give_the_same_motion(name):
    """Embedding and `constrained_dynamics` are two ways to one acceleration."""
    checked = machine(name)
    model, truth = checked.model, Projection(checked.truth.welded, checked.truth.q, checked.v, checked.a)
    closures = [closure for loop in model.loops for closure in loop.closures]
    ends = tuple(Frame(f"end{k}", c.other, c.other_placement) for k, c in enumerate(closures))
    tree, names = model.remade(loops=(), frames=(*model.frames, *ends)), ("world", *model.body_names)
    constraints = tuple(
        kt.LoopConstraint(f"end{k}", names[c.body], c.joint, c.placement) for k, c in enumerate(closures)
    )
    independent, push = truth.welded.independent, np.zeros(tree.nv)
    push[independent] = tau = np.random.default_rng(5).normal(size=model.nv)
    u = truth.u[: tree.nv]
    found = kt.constrained_dynamics(tree, checked.q, u, push, constraints, target="eager").acceleration
    a = kt.forward_dynamics(model, checked.q, checked.v, tau, target="eager")
    expected, _ = truth.multipliers(tau)
    tolerance = 1e-13 * truth.condition * np.linalg.cond(truth.M) * np.abs(expected).max()
    assert np.abs(a - expected[independent]).max() < tolerance
    assert np.abs(found - expected[: tree.nv]).max() < 100 * tolerance


def test_mimic_joints_on_one_way_of_a_loop():
    """A joint and one outboard of it that follows it move the same anchor: both count."""
    assert loops.trial(55) == "multipliers"
    bar = kt.Inertia(1.0, (0.1, 0.0, 0.0), np.diag([0.01, 0.02, 0.02]).tolist())
    hinge, at = kt.Revolute((0, 1, 0)), kt.Pose(p=(0.3, 0, 0))
    builder = kt.ModelBuilder("curling").add_body("lower", None, hinge, None, bar)
    builder.add_body("upper", "lower", hinge, at, bar, mimic=("lower", 0.7, 0.2))
    builder.add_body("slide", None, kt.Prismatic((1, 0, 0)), None, bar)
    builder.add_body("rod", "slide", hinge, None, bar)
    builder.add_loop("upper", "rod", hinge, at, kt.Pose(p=(0.5, 0, 0)), name="pin")
    welded = Welded(builder.build())
    rng = np.random.default_rng(0)
    q, _ = welded.closed(welded.complete(welded.model.neutral(), rng))
    assert not Checked(welded, q, rng).all().failures


@pytest.mark.parametrize("seed", [119, 8881, 7495292349971])
def test_loops_that_failed_once(seed):
    """A recorded loop that never runs; two with redundant rows that only another branch of the loop opens."""
    assert loops.trial(seed) == "multipliers"


def test_a_closure_that_adds_nothing():
    """A second slide along the first: all its five rows are redundant, and noise decides nothing."""
    bar = kt.Inertia(1.0, (0.1, 0.2, 0.0), np.diag([0.01, 0.02, 0.02]).tolist())
    builder = kt.ModelBuilder("twice").add_body("slide", None, kt.Prismatic((0, 0, 1)), None, bar)
    builder.add_loop("slide", None, kt.Prismatic((0, 0, 1)), other=kt.Pose(p=(0, 0, 0.1)), name="again")
    model = builder.build()
    assert model.nv == 1 and sum(loop.redundant for loop in model.loops) == 5
    found = kt.forward_dynamics(model, model.neutral(), [0.3], [0.0], target="eager")
    assert abs(found[0] + 9.81) < 1e-14
