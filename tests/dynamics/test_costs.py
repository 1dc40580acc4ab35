"""What algorithms cost, counted: how the operations of their programs grow with the size of the robot."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import kinetree as kt
from kinetree.alternatives import System, complexity
from kinetree.alternatives.costs import Tally, counted
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


@pytest.fixture(scope="module")
def costs():
    return complexity([kt.zoo.chain(n) for n in (4, 6, 8, 10, 12)])


def test_complexity_claims_hold(costs):
    """TAB-12, MAS-6, E:C12: counts are polynomials of the length of a chain, of the claimed degrees."""
    assert {cost.claim for cost in costs} == {1, 2, 3}
    for cost in costs:
        assert cost.power == cost.claim, cost


def test_the_recursions_are_the_cheapest_routes(costs):
    """TAB-12: on the longest chain, each recursion over composite or articulated bodies beats all others."""
    found = {(cost.quantity, cost.route): cost.counts[-1] for cost in costs}
    for quantity, best in {
        "mass matrix": "composite bodies", "Coriolis matrix": "composite bodies",
        "inverse dynamics": "Newton-Euler recursion", "forward dynamics": "articulated bodies",
    }.items():  # fmt: skip
        others = [count for (what, how), count in found.items() if what == quantity and how != best]
        assert found[quantity, best] < min(others)


def test_the_jacobian_procedure_multiplies_so_often():
    """MAS-6, E:C12: J^T Q takes N (N + 1) (N + 2) multiplications for one half of M, 132,600 for N = 50."""
    n, rng = 50, np.random.default_rng(0)
    builder = kt.ModelBuilder("chain")
    for i in range(n):
        axis, parent = rng.normal(size=3), f"b{i - 1}" if i else None
        joint = kt.Helical(axis / np.linalg.norm(axis), 0.3)  # no component of S is zero
        builder.add_body(f"b{i}", parent, joint, kt.Pose.random(rng))
    system = System(builder.build(), rng.uniform(-3, 3, n))
    tally = Tally()
    J = counted(system.phi.T @ system.S, tally)
    J.T @ np.where(np.asarray(J) != 0, 1.0, 0.0)  # Q = M J has the zeros of J
    diagonal = 3 * n * (n + 1)
    assert tally.count == n * (n + 1) * (2 * n + 1)
    assert (tally.count + diagonal) // 2 == n * (n + 1) * (n + 2) == 132_600


@pytest.mark.parametrize("sizes", [(4, 6), (4, 6, 8, 10, 14), (6, 6, 6, 6, 6)])
def test_models_that_show_no_growth_are_refused(sizes):
    with pytest.raises(kt.errors.ArgumentError, match="equal steps"):
        complexity([kt.zoo.chain(n) for n in sizes])
