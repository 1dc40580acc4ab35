"""Operation counts change only on purpose: `python -m tests.golden.counts` writes them anew."""

from __future__ import annotations

from functools import cache

import pytest
from tests.golden import counts

from kinetree.sweep import REGISTRY

GOLDEN = counts.read()


@cache
def robot(name: str):
    return counts.ROBOTS[name]()


@pytest.mark.parametrize(
    ("on", "name"), [(robot, name) for robot in counts.ROBOTS for name in counts.names(robot)]
)
def test_count_is_as_on_file(on, name):
    assert name in GOLDEN.get(on, {}), f"{name} has no count for {on}: run python -m tests.golden.counts"
    assert counts.measure(REGISTRY[name], robot(on)) == GOLDEN[on][name]


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
