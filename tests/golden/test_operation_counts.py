"""Operation counts change only on purpose: `python -m tests.golden.counts` rewrites them."""

from __future__ import annotations

from functools import cache

import pytest
from tests.conftest import share
from tests.golden import counts

from kinetree.sweep import REGISTRY

GOLDEN = counts.read()
LONG = ("christoffel_symbols", "inverse_mass_matrix")


@cache
def robot(name: str):
    return counts.ROBOTS[name]()


def cases() -> list:
    """Everything that is counted; what takes seconds, and is counted on other robots too, is a long test."""
    found = []
    for on, mode, name in counts.counted():
        long = (on, mode) == ("humanoid", "unrolled") and name in LONG
        found.append(pytest.param(on, mode, name, marks=pytest.mark.long if long else ()))
    return found


@pytest.mark.parametrize(("on", "mode", "name"), share(cases(), 4))
def test_count_is_as_on_file(on, mode, name):
    known = GOLDEN.get(counts.key(on, mode), {})
    assert name in known, f"{name} has no count for {on}, {mode}: run python -m tests.golden.counts"
    assert counts.measure(REGISTRY[name], robot(on), mode) == known[name]


def test_nothing_else_is_on_file():
    on_file = {(where, name) for where, found in GOLDEN.items() for name in found}
    closing = {(on, "closing") for on in counts.LOOPS}
    assert on_file == closing | {(counts.key(on, mode), name) for on, mode, name in counts.counted()}


# What the literature and throw-away experiments have shown to be enough for a 7-DoF arm with right angles.
ENOUGH = {
    ("arm7_dense", "inverse_dynamics"): 640, ("arm7_dense", "mass_matrix"): 340,
    ("arm7_dense", "forward_dynamics"): 1270, ("arm7", "inverse_dynamics"): 450, ("arm7", "mass_matrix"): 250,
    ("arm7", "forward_dynamics"): 960,
}  # fmt: skip


@pytest.mark.parametrize(("on", "name"), ENOUGH, ids=lambda part: part)
def test_count_is_among_the_best_known(on, name):
    assert GOLDEN[on][name]["flops"] <= ENOUGH[on, name]
    assert GOLDEN[on][name].get("sincos", 0) <= 7


@pytest.mark.parametrize("on", counts.LOOPS)
def test_closing_is_as_on_file(on):
    assert counts.closing(robot(on)) == GOLDEN[on]["closing"]["flops"]


# A loop beside its open tree as it is given; where closing alone costs about as much, what has been reached.
RATIO = 2.5
REACHED = {
    ("four_bar", "inverse_dynamics"): 3.0, ("parallel_ankle", "inverse_dynamics"): 2.7,
    ("slider_crank", "mass_matrix"): 5.9, ("four_bar", "mass_matrix"): 9.6, ("gripper", "mass_matrix"): 4.2,
    ("parallel_ankle", "mass_matrix"): 7.4, ("stewart", "mass_matrix"): 4.3,
}  # fmt: skip


@pytest.mark.parametrize("on", counts.LOOPS)
@pytest.mark.parametrize("name", counts.FIRST)
def test_a_loop_costs_little_more_than_its_open_tree(on, name):
    given = counts.key(f"{on}, open", counts.GIVEN)
    closed, cut = (GOLDEN[where][name]["flops"] for where in (on, given))
    assert closed <= REACHED.get((on, name), RATIO) * cut


# The same beside the open tree in canonical frames, for forward dynamics.
CANONICAL = dict.fromkeys(counts.LOOPS, 2.1) | {"stewart": 7.6}  # whose legs alone cost next to nothing


@pytest.mark.parametrize("on", counts.LOOPS)
def test_forward_dynamics_of_a_loop_beside_its_canonical_open_tree(on):
    closed, cut = (GOLDEN[where]["forward_dynamics"]["flops"] for where in (on, f"{on}, open"))
    assert closed <= CANONICAL[on] * cut


@pytest.mark.parametrize("on", counts.LOOPS)
@pytest.mark.parametrize("name", counts.FIRST)
def test_closing_costs_most_of_what_a_loop_adds(on, name):
    """Everything, rates of G included, is within 2.5 times the open tree and 1.5 times closing."""
    closed, cut = (GOLDEN[where][name]["flops"] for where in (on, f"{on}, open"))
    assert closed <= 1.5 * GOLDEN[on]["closing"]["flops"] + 2.5 * cut


def test_the_page_on_loops_has_these_counts():
    assert counts.loops_table(GOLDEN) in counts.PAGE.read_text()
