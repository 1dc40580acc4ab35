"""Derivatives through loops, by complex steps through what closes them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.derivatives import test_dynamics, test_second_order
from tests.derivatives.cases import STEP, Case
from tests.loops.random_loop import RandomLoop

import kinetree as kt

SEEDS = (1, 4, 6, 12)


def machine(name: str) -> Case:
    case = Case(getattr(kt.zoo, name)(), np.random.default_rng([*name.encode()]))
    case.f_ext *= 0.1  # of what moves such machines
    return case


def random(seed: int) -> Case:
    loop = RandomLoop(seed)
    model = loop.build()
    case = Case(model, np.random.default_rng([seed, 3]))
    case.q = np.asarray(model.neutral(), float)
    return case


def sized(case: Case) -> Case:
    """With an acceleration and a force that belong together, so that no part is lost beside others."""
    case.tau = case.run("inverse_dynamics", case.q, case.v, case.a, case.f_ext)
    return case


LONG = [pytest.param(name, marks=pytest.mark.long) for name in ("parallel_ankle", "cassie_leg")]


@pytest.mark.parametrize("name", ["four_bar", "gripper", *LONG])
def test_first_derivatives(name):
    test_dynamics.check(sized(machine(name)), "body")


@pytest.mark.parametrize("seed", SEEDS)
def test_first_derivatives_of_random_loops(seed):
    case = sized(random(seed))
    dq, dv, M = case.run("inverse_dynamics_derivatives", case.q, case.v, case.a, case.f_ext)
    truth = test_dynamics.inverse_by_steps(case)
    size = max(np.abs(x).max(initial=1.0) for x in truth)
    for found, expected in zip((dq, dv, M), truth, strict=True):
        assert np.abs(found - expected).max(initial=0.0) < 1e-11 * size


@pytest.mark.parametrize("name", ["four_bar", LONG[0]])
def test_second_derivatives(name):
    test_second_order.check(machine(name))


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "gripper"])
def test_rates_of_the_mass_matrix_are_complex_steps_through_the_closure(name):
    """The closed position is a function of the independent joints, wherever the others are said to be."""
    case = machine(name)
    M = case.along_q(lambda q: case.run("mass_matrix", q))
    found = case.run("mass_matrix_partials", case.q)
    size = np.abs(found).max() + np.abs(case.run("mass_matrix", case.q)).max()
    assert np.abs(found - M).max() < 1e-13 * size
    moved = case.q + 1j * STEP * np.arange(case.model.nq)  # opens the loops
    places = [
        case.model.position_index(joint).start for loop in case.model.loops for joint, _ in loop.independent
    ]
    moved[places] = case.q[places]
    assert np.abs(np.imag(case.run("mass_matrix", moved))).max() / STEP < 1e-10 * size
