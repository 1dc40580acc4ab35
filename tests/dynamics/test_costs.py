"""What algorithms cost, counted: how the operations of their programs grow with the size of the robot."""

from __future__ import annotations

from itertools import pairwise

import pytest

import kinetree as kt
from kinetree.stages import sweeps

LINEAR = (
    "inverse_dynamics", "forward_dynamics", "bias_force", "gravity_force", "mass_matrix_product",
    "mass_matrix_solve", "coriolis_product", "coriolis_transpose_product", "kinetic_energy", "momentum",
    "center_of_mass", "centroidal_momentum_matrix", "composite_inertias", "articulated_inertias",
    "joint_wrenches", "inverse_dynamics_composite", "forward_dynamics_concurrent",
)  # fmt: skip


def flops(name: str, model: kt.Model) -> float:
    """Additions and multiplications of the unrolled program of an algorithm."""
    algorithm = getattr(kt, name).algorithm
    inputs = tuple(a.name for a in algorithm.inputs if not a.optional)
    return sweeps.lower(algorithm, model, inputs, dict(algorithm.options), "unrolled").ops["flops"]


def increments(name: str, sizes: tuple[int, ...]) -> list[float]:
    """Differences of the counts of chains, whose lengths increase in equal steps."""
    counts = [flops(name, kt.zoo.chain(n)) for n in sizes]
    return [b - a for a, b in pairwise(counts)]


@pytest.mark.parametrize("name", LINEAR)
def test_linear(name):
    """O(N): every further body costs the same."""
    steps = increments(name, (6, 8, 10))
    assert steps[0] > 0
    assert steps[1] == pytest.approx(steps[0], rel=0.01)


@pytest.mark.parametrize("name", ["mass_matrix", "coriolis_matrix", "mass_matrix_rate"])
def test_quadratic_on_chains(name):
    """O(N d) with d = N: second differences are constant."""
    first, second, third = increments(name, (6, 8, 10, 12))
    assert third - second == pytest.approx(second - first, rel=0.02)
    assert second > first


def test_cubic_on_chains():
    """O(N d^2) with d = N: third differences are constant."""
    steps = increments("christoffel_symbols", (4, 6, 8, 10, 12))
    second = [b - a for a, b in pairwise(steps)]
    assert second[2] - second[1] == pytest.approx(second[1] - second[0], rel=0.1)


@pytest.mark.parametrize(
    ("name", "power"), [("mass_matrix", 1), ("coriolis_matrix", 1), ("christoffel_symbols", 2)]
)
def test_branching_costs_less(name, power):
    """O(N d^p): on a binary tree the depth counts, not the number of bodies."""
    chain, tree = flops(name, kt.zoo.chain(15)), flops(name, kt.zoo.tree(15, 2))
    pairs = sum(d**power for d in range(1, 16)) / sum(
        (1 + (k + 1).bit_length() - 1) ** power for k in range(15)
    )
    assert tree < chain
    assert chain / tree > 0.3 * pairs
