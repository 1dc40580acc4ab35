"""Masses that move to where loops pin bodies to each other change nothing, and stay where rows could open."""

from __future__ import annotations

import numpy as np
import pytest
from tests.interpreters.test_canonical import run
from tests.reference.measure import condition

import kinetree as kt
from kinetree.model.canonical import canonical

COUPLERS = {
    "four_bar": 1, "slider_crank": 1, "gripper": 2, "parallel_ankle": 2, "delta": 3, "cassie_leg": 2,
    "arm": 1,
}  # fmt: skip


def bar(length: float) -> kt.Inertia:
    return kt.Inertia(1.0, (length / 2, 0, 0), np.diag([1e-4, length**2 / 12, length**2 / 12]))


def on_an_arm(skew: float) -> kt.Model:
    """A four-bar on an arm whose axes are not those of the linkage; the rocker's axis is skewed."""
    hinge = kt.Revolute((0, 1, 0))
    builder = kt.ModelBuilder("on_an_arm")
    builder.add_body("arm", None, kt.Revolute((0.6, 0.0, 0.8)), inertia=bar(0.5))
    builder.add_body("crank", "arm", hinge, kt.Pose(p=(0.1, 0.2, 0.3)), bar(0.3))
    builder.add_body("coupler", "crank", hinge, kt.Pose(p=(0.3, 0, 0)), bar(0.8))
    rocker = kt.Revolute((skew, 1.0, 0.0))
    builder.add_body("rocker", "arm", rocker, kt.Pose(p=(0.8, 0.2, 0.3)), bar(0.6))
    ends = {"at": kt.Pose(p=(0.8, 0, 0)), "other": kt.Pose(p=(0.6, 0, 0))}
    builder.add_loop("coupler", "rocker", hinge, **ends, independent="crank", name="pin")
    return builder.build()


def couplers(model: kt.Model) -> int:
    """The number of bodies that only resist turning, of those that had a first moment without the loops."""

    def light(nodes: list) -> int:
        inertias = [m.inertia for node in canonical(nodes) for m in node.members]
        return sum(not any((I.mass, *I.first_moment)) for I in inertias)

    return light(model.nodes) - light([n.spanning if n.closing else n for n in model.nodes])


@pytest.mark.parametrize("name", COUPLERS)
def test_moved_masses_change_nothing(name):
    model = on_an_arm(0.0) if name == "arm" else getattr(kt.zoo, name)()
    assert couplers(model) == COUPLERS[name]
    nodes, rng = canonical(model.nodes), np.random.default_rng(14)
    for _ in range(3):
        q, v = model.random_state(rng)
        a, M = rng.normal(size=model.nv), run("mass_matrix", model, model.nodes, q=q)
        tau = run("inverse_dynamics", model, model.nodes, q=q, v=v, a=a)
        for function, inputs, digits in (
            ("mass_matrix", {}, 1.0), ("gravity_force", {}, 1.0), ("inverse_dynamics", {"v": v, "a": a}, 1.0),
            ("coriolis_matrix", {"v": v}, 1.0), ("christoffel_symbols", {}, 1.0),
            ("forward_dynamics", {"v": v, "tau": tau}, condition(M)),
        ):  # fmt: skip
            before, after = (run(function, model, on, q=q, **inputs) for on in (model.nodes, nodes))
            assert np.abs(after - before).max() <= 1e-12 * digits * np.abs(before).max()


def test_masses_stay_where_rows_could_open():
    """A skew axis makes the linkage planar only nearly: then its pin is not exactly a point."""
    nearly = on_an_arm(1e-6)
    assert nearly.loops[0].slack > 1e-9
    assert couplers(nearly) == 0
