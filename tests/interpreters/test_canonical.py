"""Canonical nodes: other frames and inertias, the same dynamics in the coordinates."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.conftest import scale
from tests.reference.measure import condition, error
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt
from kinetree.interpreters import eager
from kinetree.joints import Fixed, Spin
from kinetree.model.canonical import canonical
from kinetree.model.node import NOTHING

TREES, BLOCK = max(20, round(200 * scale())), 20
Array = np.ndarray


def run(name: str, model: kt.Model, nodes: tuple, **inputs: Array) -> Array:
    """An algorithm with given nodes in place of the model's own."""
    algorithm = getattr(kt, name).algorithm
    values = {k: x.tolist() for k, x in inputs.items()}
    _, (output,) = eager.run(algorithm, model, values, {}, "body", nodes)
    return eager.assembled(output)


@cache
def case(seed: int) -> tuple:
    rng = np.random.default_rng([seed, 70])
    mechanism = random_mechanism(rng, 1 + seed % 8, chain=0.4, rotors=0.4)
    model = mechanism.build()
    q, v = mechanism.random_state(rng)
    return model, canonical(model.nodes), q, v, rng.normal(size=model.nv)


def differences(seed: int) -> list[str]:
    """The quantities that the canonical nodes change."""
    model, nodes, q, v, a = case(seed)
    M = run("mass_matrix", model, model.nodes, q=q)
    # all terms of C, Gamma and tau are inertias times speeds and accelerations of order one
    size = float(max(np.abs(M).max(initial=1.0), 10.0 * model.total_mass))
    tau = run("inverse_dynamics", model, model.nodes, q=q, v=v, a=a)
    scales = {
        "mass_matrix": ({}, size, 1e-13),
        "inverse_dynamics": ({"v": v, "a": a}, size * 10, 1e-13),
        "coriolis_matrix": ({"v": v}, size * 3, 1e-13),
        "christoffel_symbols": ({}, size, 1e-13),
        "forward_dynamics": ({"v": v, "tau": tau}, 1.0, 1e-13 * (1 + condition(M))),
    }
    wrong = []
    for name, (inputs, scale_, tolerance) in scales.items():
        before = run(name, model, model.nodes, q=q, **inputs)
        after = run(name, model, nodes, q=q, **inputs)
        if (e := error(after, before, scale_)) > tolerance:
            wrong.append(f"tree {seed}: {name} changes by {e:.2e}, allowed {tolerance:.1e}")
    return wrong


@pytest.mark.parametrize("first", range(0, TREES, BLOCK))
def test_the_dynamics_is_unchanged(first):
    wrong = [message for seed in range(first, first + BLOCK) for message in differences(seed)]
    assert not wrong, "\n".join(wrong)


def test_the_order_of_coordinates_is_unchanged():
    """No coordinate is lost, none changes its place, and every node comes after its predecessor."""
    for seed in range(TREES):
        model, nodes, *_ = case(seed)
        assert sorted(k for n in nodes for k in n.v_index) == list(range(model.nv))
        assert sorted(k for n in nodes for k in n.q_index) == list(range(model.nq))
        moving = [n for n in model.nodes if n.v_index]
        assert [n.v_index for n in nodes if n.v_index] == [n.v_index for n in moving]
        assert [n.number for n in nodes] == list(range(len(nodes)))
        assert all(n.predecessor[0] < n.number for n in nodes)


def test_fixed_joints_disappear():
    for seed in range(TREES):
        _, nodes, *_ = case(seed)
        assert not any(len(n.members) == 1 and isinstance(n.members[0].joint, Fixed) for n in nodes)


def test_axes_lie_along_z():
    for seed in range(TREES):
        _, nodes, *_ = case(seed)
        for m in (m for n in nodes for m in n.members if m.carrier != NOTHING):
            if (
                m.joint.type_name in ("revolute", "prismatic", "helical", "cylindrical")
                or type(m.joint) is Spin
            ):
                assert m.joint.parameters[:3] == (0, 0, 1)


def test_what_a_revolute_joint_does_not_feel_is_gone():
    """Links beyond the first have no mass of their own: three numbers fewer for each."""
    model = kt.zoo.puma560()
    for node in canonical(model.nodes):
        (member,) = (m for m in node.members if m.body)
        assert member.inertia.mass == 0 and member.inertia.first_moment[2] == 0


def test_doing_it_again_changes_nothing():
    """The same structure and, but for rounding, the same numbers and dynamics."""
    for seed in range(0, TREES, 4):
        model, once, q, v, a = case(seed)
        twice = canonical(once)
        assert [n.structure for n in twice] == [n.structure for n in once], f"tree {seed}"
        M = run("mass_matrix", model, once, q=q)
        assert error(run("mass_matrix", model, twice, q=q), M) < 1e-13
        tau = run("inverse_dynamics", model, once, q=q, v=v, a=a)
        assert error(run("inverse_dynamics", model, twice, q=q, v=v, a=a), tau, 100.0) < 1e-13


def test_fewer_operations():
    """What it is for: no program of the zoo grows, most shrink a lot."""
    from kinetree.interpreters import unrolled

    for make in (kt.zoo.puma560, kt.zoo.arm7, kt.zoo.quadruped):
        model = make()
        algorithm = kt.inverse_dynamics.algorithm
        counts = [
            unrolled.trace(algorithm, model, ("q", "v", "a"), {}, "body", nodes).ops["flops"]
            for nodes in (model.nodes, canonical(model.nodes))
        ]
        assert counts[1] < 0.9 * counts[0]
