"""Every law holds for the robots of the zoo and for random mechanisms; every algorithm has a law."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import numpy as np
import pytest
from tests.conftest import scale
from tests.identities.case import Case
from tests.identities.laws import COVERED, LAWS, broken_laws
from tests.identities.lies import lying
from tests.reference.mechanism import ALL_TYPES
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt
from kinetree import algorithms
from kinetree.sweep import REGISTRY

BLOCK = 25
# see tests/dynamics/test_derived.py and tests/loops/test_forces.py
ELSEWHERE = {"passive_force", "spring_energy", "rotor_error", "loop_wrenches"}
ZOO = {
    "pendulum": lambda: kt.zoo.pendulum(),
    "double_pendulum": lambda: kt.zoo.double_pendulum(),
    "cart_pole": lambda: kt.zoo.cart_pole(),
    "chain": lambda: kt.zoo.chain(6),
    "tree": lambda: kt.zoo.tree(7, 2),
    "auto_tree": lambda: kt.zoo.auto_tree(7, 1.5, 0.2, 0.95),
    "star": lambda: kt.zoo.star(5),
    "puma560": lambda: kt.zoo.puma560(),
    "arm7": lambda: kt.zoo.arm7(),
    "quadruped": lambda: kt.zoo.quadruped(),
    "biped": lambda: kt.zoo.biped(),
    "spacecraft": lambda: kt.zoo.spacecraft(),
}


def random_case(block: int, k: int) -> Case:
    rng = np.random.default_rng([block, k, 10])
    m = random_mechanism(rng, 1 + int(rng.integers(1, 8) * rng.random()), roots=0.1)
    return Case(f"tree {block}.{k}", m.build(), rng, m)


@pytest.mark.parametrize("block", range(max(1, round(8 * scale()))))
def test_laws_on_random_mechanisms(block):
    broken = [message for k in range(BLOCK) for message in broken_laws(random_case(block, k), k % 5 == 0)]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("name", ZOO)
def test_laws_on_the_zoo(name):
    robot = Case(name, ZOO[name](), np.random.default_rng(list(name.encode())))
    broken = broken_laws(robot, True)
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    "types",
    [("revolute", "prismatic"), ("universal", "spherical")],
    ids="-".join,
)
@pytest.mark.long
def test_laws_on_compiled_code(types):
    """Rotors, mimic joints and moving axes, as machine code."""
    rng = np.random.default_rng(7)
    m = random_mechanism(rng, 3, types=types, chain=1.0, roots=0.0, rotors=1.0, mimics=1.0)
    broken = broken_laws(Case("compiled", m.build(), rng, m, target="cpu"), True)
    assert not broken, "\n".join(broken)


def telling_cases() -> Iterator[Case]:
    """Together they have all that laws are about: a floating base, rotors, branches, many joint types."""
    yield Case("spacecraft", kt.zoo.spacecraft(), np.random.default_rng(1))
    for seed, types, rotors in ((3, ALL_TYPES, 0.0), (7, ("revolute", "prismatic"), 1.0)):
        rng = np.random.default_rng(seed)
        m = random_mechanism(rng, 4, types=types, rotors=rotors, mimics=0.0)
        yield Case(f"tree {seed}", m.build(), rng, m)


def parts_of(name: str) -> int:
    """How many outputs a function has."""
    with lying(name) as results:
        next(c for c in telling_cases() if breaks(COVERED[name][0], c) or results)
    return len(results[0]) if isinstance(results[0], tuple) else 1


def breaks(law: str, case: Case) -> bool:
    try:
        LAWS[law](case)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize(("law", "name"), [(law, name) for name in COVERED for law in COVERED[name]])
def test_a_law_catches_what_it_covers(law, name):
    """A function that is off by a thousandth breaks every law that claims to test it."""
    with lying(name) as results:
        caught = [breaks(law, case) for case in telling_cases()]
    assert results, f"{law} claims to test {name} and never calls it"
    assert any(caught), f"{law} claims to test {name} and lets it lie"


@pytest.mark.parametrize("name", COVERED)
def test_every_output_has_a_law(name):
    for part in range(parts_of(name)):
        with lying(name, part):
            caught = any(breaks(law, case) for law in COVERED[name] for case in telling_cases())
        assert caught, f"no law tests output {part} of {name}"


def test_every_algorithm_has_a_law():
    for module in pkgutil.iter_modules(algorithms.__path__):
        importlib.import_module(f"kinetree.algorithms.{module.name}")
    missing = set(REGISTRY) - set(COVERED)
    assert not missing, f"algorithms without a law in tests/identities/laws.py: {sorted(missing)}"


def test_every_public_function_of_a_model_has_a_law():
    homes = ("kinetree.functions", "kinetree.derived", "kinetree.drives")
    public = {name for name in kt.__all__ if getattr(getattr(kt, name), "__module__", "") in homes}
    missing = public - set(COVERED) - ELSEWHERE
    assert not missing, f"public functions without a law in tests/identities: {sorted(missing)}"


def test_every_law_is_about_something_public():
    unknown = [name for name in COVERED if not callable(getattr(kt, name, None))]
    assert not unknown, f"laws about functions that kinetree does not have: {unknown}"
