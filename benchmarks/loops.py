"""Machines with closed loops in their own degrees of freedom, and feet on the ground; with Pinocchio."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.measure import Call, race
from benchmarks.table import time_of
from kinetree.interop import to_pinocchio
from kinetree.model import Model

BATCH = 4096
FEET = tuple(kt.PointConstraint(name) for name in kt.zoo.quadruped().frame_names)
# Without rotors, which Pinocchio does not have.
MACHINES: dict[str, Callable[[], Model]] = {
    "four-bar": lambda: kt.zoo.four_bar().replace(rotors="none"),
    "parallel ankle": lambda: kt.zoo.parallel_ankle().replace(rotors="none"),
    "quadruped, 4 feet": kt.zoo.quadruped,
}

HEAD = """\
| machine | function | one call | Pinocchio | ratio | per state of 4096 | difference |
|---|---|--:|--:|--:|--:|--:|"""


def row(machine: str, seconds: float) -> dict[str, Any]:
    """Forward dynamics: a single call, and a batch on one thread. Pinocchio's `constraintDynamics` takes one
    state.
    """
    model = MACHINES[machine]()
    more: list[Any]
    function, more = (kt.forward_dynamics, []) if model.loops else (kt.constrained_dynamics, [FEET])
    q, v = model.random_state(np.random.default_rng(0), BATCH)
    tau = np.random.default_rng(1).normal(size=v.shape)
    one = [x[0].copy() for x in (q, v, tau)]
    ours = function(model, *one, *more)
    contestants = {"ours": Call(function, [model, *one, *more])}
    theirs, difference = _pinocchio(model, one, ours if model.loops else ours[0])
    contestants |= {"pinocchio": theirs} if theirs else {}
    alone = race(contestants, seconds)
    function(model, q, v, tau, *more)
    together = race({"ours": Call(function, [model, q, v, tau, *more])}, seconds)["ours"] / BATCH
    return {
        "machine": machine, "function": function.name, "single": {k: t._asdict() for k, t in alone.items()},
        "batch": together._asdict(), "difference": difference,
    }  # fmt: skip


def _pinocchio(model: Model, state: list[np.ndarray], ours: Any) -> tuple[Call | None, float | None]:
    """The same with the loops cut and closed by forces, and how far our acceleration differs from it."""
    try:
        import pinocchio as pin
    except ImportError:
        return None, None
    tree = model.spanning_tree
    robot, maps = to_pinocchio(tree)
    G = kt.loop_matrix(model, state[0], target="eager")
    q, u = state[0], G @ state[1]
    push = np.linalg.pinv(G.T) @ state[2]  # forces on all joints equivalent to ours
    rows, local = _rows(pin, robot, model), pin.ReferenceFrame.LOCAL
    models = pin.StdVec_RigidConstraintModel()
    for (first, here), (second, there) in rows:
        kind = pin.ContactType.CONTACT_3D
        models.append(pin.RigidConstraintModel(kind, robot, first, here, second, there, local))
    datas = pin.StdVec_RigidConstraintData()
    for contact in models:
        datas.append(contact.createData())
    data = robot.createData()
    pin.initConstraintDynamics(robot, data, models, datas)
    settings = pin.ProximalSettings(1e-12, 1e-10, 20)
    given = [maps.q(q), maps.v(q, u), maps.tau(q, push)]
    given = [np.ascontiguousarray(x) for x in given]
    found = maps.a_back(*given[:2], pin.constraintDynamics(robot, data, *given, models, datas, settings))
    kept = [j for j in range(len(G)) if np.count_nonzero(G[j]) == 1 and np.isclose(G[j].sum(), 1.0)]
    independent = [next(j for j in kept if G[j, k] == 1.0) for k in range(model.nv)]
    size = max(1.0, float(np.abs(ours).max()))
    call = Call(pin.constraintDynamics, [robot, data, *given, models, datas, settings])
    return call, float(np.abs(found[independent] - ours).max()) / size


def _rows(pin: Any, robot: Any, model: Model) -> list[Any]:
    """Pairs of (joint, placement) whose origins coincide: ends of loop closures, or feet and the ground."""

    def end(body: int, placement: Any) -> tuple[int, Any]:
        joint = robot.getJointId(model.bodies[body - 1].joint_name) if body else 0
        return joint, pin.SE3(np.array(placement.R, float), np.array(placement.p, float))

    if model.loops:
        closures = [closure for loop in model.loops for closure in loop.closures]
        return [(end(c.body, c.placement), end(c.other, c.other_placement)) for c in closures]
    feet = [next(frame for frame in model.frames if frame.name == foot.frame) for foot in FEET]
    return [(end(foot.body, foot.placement), (0, pin.SE3.Identity())) for foot in feet]


def line(result: dict[str, Any]) -> str:
    """A row of the table."""
    single, peer = result["single"], result["single"].get("pinocchio")
    ratio = f"{peer['median'] / single['ours']['median']:.1f}" if peer else ""
    cells = [
        result["machine"], result["function"], time_of(single["ours"]), time_of(peer), ratio,
        time_of(result["batch"]), "" if result["difference"] is None else f"{result['difference']:.0e}",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"
