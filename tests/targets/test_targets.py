"""Eager = unrolled = looped = machine code, for every algorithm, on robots and random trees."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import scale
from tests.targets import recipes
from tests.targets.cases import ZOO, Case, robot, tree
from tests.targets.execution import COMPILED, PRINTED

import kinetree as kt
from kinetree import functions
from kinetree.sweep import REGISTRY, Algorithm

assert functions  # importing it fills the registry
NAMES = sorted(REGISTRY)
TREES = 200

#: How many random trees an algorithm sees in each target in the normal run. Together they see all of them.
COUNTS = {
    "eager batch": 8, "unrolled": 8, "unrolled, common frame": 8, "unrolled, all passes": 4, "looped": 5,
    "looped, common frame": 5, "looped, all passes": 3, "compiled unrolled": 1, "compiled looped": 1,
}  # fmt: skip
#: Robots for each target: all for what is quick, small ones for what is not.
SMALL = ("pendulum", "double_pendulum", "cart_pole", "chain", "star", "spacecraft")


def seeds(target: str, name: str) -> list[int]:
    """The trees of one algorithm in one target: spread evenly, others for each pair."""
    count = min(TREES, max(1, round(COUNTS[target] * scale())))
    first = 41 * NAMES.index(name) + 17 * list(COUNTS).index(target)
    return sorted({(first + k * TREES // count) % TREES for k in range(count)})


def robots(target: str, name: str) -> list[str]:
    """The robots of one algorithm in one target."""
    if target in COMPILED or target not in ("eager batch", "unrolled"):
        return [SMALL[(NAMES.index(name) + list(COUNTS).index(target)) % len(SMALL)]]
    return [list(ZOO)[(NAMES.index(name) + 5 * k) % len(ZOO)] for k in range(2)]


def applies(target: str, algorithm: Algorithm) -> bool:
    return algorithm.pairs or "common" not in target


def check(case: Case, name: str, target: tuple) -> str:
    """What is wrong with one algorithm on one model in one target; nothing if nothing is."""
    label, runner = target
    setting = case.setting(name)
    worst = setting.worst(runner(setting))
    return f"{setting}: {label} is off by {worst:.3g} tolerances" if worst > 1.0 else ""


@pytest.mark.parametrize("name", NAMES)
def test_every_target_gives_the_same(name, target):
    if not applies(target[0], REGISTRY[name]):
        pytest.skip("only quantities of pairs of bodies are computed in a common frame")
    cases = [tree(seed) for seed in seeds(target[0], name)]
    cases += [robot(other) for other in robots(target[0], name)]
    wrong = [message for case in cases if (message := check(case, name, target))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(TREES))
def test_every_algorithm_on_every_tree(seed, target):
    label, _ = target
    names = [name for name in NAMES if applies(label, REGISTRY[name])]
    wrong = [message for name in names if (message := check(tree(seed), name, target))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.soak
@pytest.mark.parametrize("other", ZOO)
@pytest.mark.parametrize("name", NAMES)
def test_every_algorithm_on_every_robot(name, other, target):
    if applies(target[0], REGISTRY[name]):
        assert not check(robot(other), name, target)


def test_every_algorithm_has_a_recipe():
    lacking = {name: found for name in NAMES if (found := recipes.lacks(REGISTRY[name]))}
    assert not lacking, f"inputs and options without a recipe in tests/targets/recipes.py: {lacking}"


def test_every_target_sees_every_algorithm_and_all_trees_are_used():
    assert set(COUNTS) == {*PRINTED, *COMPILED}
    used = {seed for target in COUNTS for name in NAMES for seed in seeds(target, name)}
    assert used == set(range(TREES))


def test_the_trees_reach_every_corner():
    """All joint types, forests, branches, rotors, mimic joints, armatures, floating bases, models without
    coordinates.
    """
    found: set[str] = set()
    for seed in range(TREES):
        model = tree(seed).model
        parents = model.parents
        found |= {body.joint.type_name for body in model.bodies}
        found |= {"forest"} if parents.count(0) > 1 else set()
        found |= {"branch"} if any(parents.count(b) > 1 for b in range(1, model.nbodies + 1)) else set()
        found |= {"rotor"} if model.rotors else set()
        found |= {"mimic"} if any(body.mimic for body in model.bodies) else set()
        found |= {"armature"} if np.any(model.armature) else set()
        found |= {"motionless"} if not model.nv else set()
        found |= {"same kind"} if len({node.structure for node in model.nodes}) < len(model.nodes) else set()
        found |= {"floating"} if any(isinstance(b.joint, kt.Free) and not b.parent for b in model.bodies) else set()
        found |= {"group"} if any(sum(m.body > 0 for m in n.members) > 1 for n in model.nodes) else set()
    assert found == {
        "fixed", "revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical", "free",
        "forest", "branch", "rotor", "mimic", "armature", "motionless", "same kind", "floating", "group",
    }  # fmt: skip


def test_tolerances_are_tight():
    """A few units in the last place, scaled by what the same text loses in single precision."""
    relative = []
    for k, name in enumerate(NAMES):
        setting = tree(3 * k % TREES).setting(name)
        for tolerance, exact in zip(setting.tolerances, setting.eager):
            size = np.abs(exact).max(initial=0.0)
            if size:
                relative.append(tolerance / size)
    assert np.median(relative) < 1e-12 and max(relative) < 1e-7
