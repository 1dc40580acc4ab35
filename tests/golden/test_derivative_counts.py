"""Operation counts of derivatives: what is known to be enough, and no more than four times the function."""

from __future__ import annotations

from functools import cache

import pytest
from tests.conftest import share
from tests.golden import counts

import kinetree as kt
from kinetree.stages import Job

GOLDEN = counts.read()

ENOUGH = {
    ("arm7", "inverse_dynamics_derivatives"): 2150, ("quadruped", "inverse_dynamics_derivatives"): 5000,
    ("humanoid", "inverse_dynamics_derivatives"): 18_200, ("chain20", "inverse_dynamics_derivatives"): 18_000,
    ("arm7", "inverse_mass_matrix"): 560, ("quadruped", "inverse_mass_matrix"): 3420,
    ("humanoid", "inverse_mass_matrix"): 16_700, ("chain20", "inverse_mass_matrix"): 10_900,
    ("arm7", "forward_dynamics_derivatives"): 4000,
    ("arm7", "inverse_dynamics_second_derivatives"): 9200, ("arm7", "inverse_dynamics_hessian"): 9700,
}  # fmt: skip

FUNCTIONS = (
    "inverse_dynamics forward_dynamics bias_force gravity_force mass_matrix mass_matrix_product "
    "mass_matrix_solve kinetic_energy potential_energy placements body_velocities body_accelerations "
    "center_of_mass momentum centroidal_momentum coriolis_product jacobian"
).split()


@cache
def robot(name: str) -> kt.Model:
    return kt.zoo.chain(20) if name == "chain20" else getattr(kt.zoo, name)()


def flops(function: kt.Function, model: kt.Model, *given: str) -> int:
    needed = {"frame": model.body_names[-1]}
    options = {k: needed.get(k, v) for k, v in function.options.items()}
    return Job(function, model, function.present(given), options, mode="unrolled").program().ops["flops"]


@pytest.mark.parametrize(("on", "name"), share(ENOUGH, 2), ids=lambda part: part)
def test_count_is_among_the_best_known(on, name):
    known = GOLDEN.get(counts.key(on, "unrolled"), {}).get(name)  # which another test compares with the code
    found = known["flops"] if known else flops(getattr(kt, name), robot(on))
    assert found <= ENOUGH[on, name]


@pytest.mark.parametrize("name", share(FUNCTIONS, 2))
@pytest.mark.parametrize("on", ["arm7", pytest.param("quadruped", marks=pytest.mark.long)])
def test_products_cost_at_most_four_times_the_function(on, name):
    """Along all inputs that must be given, with the function's own result among the results."""
    function, model = getattr(kt, name), robot(on)
    own = flops(function, model)
    needed = [a.name for a in function.own_inputs if not a.optional]
    assert flops(kt.jvp_of(function), model, *(f"d_{n}" for n in needed)) <= 4 * own
    assert flops(kt.vjp_of(function), model, *(f"b_{a.name}" for a in function.outputs)) <= 4 * own
