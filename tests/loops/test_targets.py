"""Loops eagerly, traced, looped, as machine code and as C: the same numbers."""

from __future__ import annotations

import zlib
from functools import cache

import pytest
from tests.conftest import share
from tests.loops.random_loop import RandomLoop
from tests.targets.cases import Case, off
from tests.targets.execution import COMPILED, PRINTED

import kinetree as kt
from kinetree import functions
from kinetree.sweep import REGISTRY

assert functions  # importing it fills the registry
NAMES = sorted(REGISTRY)
MACHINES = ("four_bar", "gripper", "parallel_ankle", "random 11")  # planar, mimic, spatial, anything
WAYS = ("eager batch", "unrolled", "unrolled, all passes", "looped", "looped, all passes")
MAIN = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "coriolis_matrix",
    "christoffel_symbols",
    "jacobian",
)


@cache
def case(name: str) -> Case:
    seed = zlib.crc32(name.encode())
    if name.startswith("random"):
        return Case(name, seed, RandomLoop(int(name.split()[1])).build())
    return Case(name, seed, getattr(kt.zoo, name)())


def check(machine: str, name: str, way: str) -> None:
    setting = case(machine).setting(name)
    runner = {**PRINTED, **COMPILED}[way]
    worst = off(setting, way, runner(setting))
    assert worst <= 1.0, f"{setting}: {way} is off by {worst:.3g} tolerances"


@pytest.mark.parametrize("name", share(NAMES, 4))
def test_every_algorithm_on_one_machine_in_one_way(name):
    """Each pair of machine and way gets its share; the long tests run all of them."""
    k = NAMES.index(name)
    check(MACHINES[k % 3], name, WAYS[1 + k % 4])


@pytest.mark.parametrize(("machine", "name", "way"), [
    ("four_bar", "forward_dynamics", "compiled unrolled"),
    ("four_bar", "coriolis_matrix", "compiled unrolled"),
    ("gripper", "inverse_dynamics", "compiled looped"), ("gripper", "mass_matrix", "compiled unrolled"),
])  # fmt: skip
def test_machine_code(machine, name, way):
    check(machine, name, way)


def test_c():
    """Exported, compiled by a C compiler and called."""
    made = case("four_bar")
    for name in ("inverse_dynamics", "forward_dynamics"):
        setting = made.setting(name)
        function = getattr(kt, name)
        found = function(made.model, **setting.inputs, **setting.options, target="c")
        assert setting.worst((found,)) <= 1.0


@pytest.mark.long
@pytest.mark.parametrize("way", [*WAYS, *COMPILED])
@pytest.mark.parametrize("machine", [*MACHINES, "delta", "cassie_leg", "differential", "slider_crank"])
def test_every_algorithm_on_every_machine(machine, way):
    for name in NAMES if way in WAYS[:3] else MAIN:
        check(machine, name, way)


@pytest.mark.parametrize(("seed", "name", "mode"), share([
    (10, "mass_matrix", "unrolled"), (12, "kinetic_energy", "unrolled"), (24, "kinetic_energy", "looped"),
    (37, "mass_matrix", "looped"),
], 2))  # fmt: skip
def test_a_loop_may_be_closed_by_a_massless_body_at_the_end_of_a_chain(seed, name, mode):
    """It matters where such a body is, although nothing weighs there."""
    check(f"random {seed}", name, f"{mode}, all passes")
