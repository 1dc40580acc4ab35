"""Eager = unrolled = looped = machine code, for every algorithm, on robots and random trees."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pytest
from tests.conftest import SEED, scale, share
from tests.targets import recipes
from tests.targets.cases import ZOO, Case, massless, motionless, off, robot, tree
from tests.targets.execution import COMPILED, PRINTED

import kinetree as kt
from kinetree import functions
from kinetree.sweep import REGISTRY, Algorithm

assert functions  # importing it fills the registry
NAMES = sorted(REGISTRY)
TREES = 200

#: How many random trees an algorithm sees in each target in the normal run. Together they see all of them.
COUNTS = {
    "eager batch": 3, "unrolled": 3, "unrolled, common frame": 3, "unrolled, all passes": 1, "looped": 2,
    "looped, common frame": 2, "looped, all passes": 1, "compiled unrolled": 1, "compiled looped": 1,
    "compiled float32": 1,
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
    if target not in ("eager batch", "unrolled", "looped", "looped, common frame"):
        return []
    if scale() < 1 and (NAMES.index(name) + SEED // 1000) % 2:
        return []  # every other algorithm, by the fresh seed of a run
    among = list(ZOO) if target == "unrolled" and not REGISTRY[name].pairs else SMALL
    return [among[(NAMES.index(name) + list(COUNTS).index(target)) % len(among)]]


def bodies(target: str, name: str) -> int:
    """How many bodies the trees may have: few where programs are long or compiled."""
    if target in COMPILED:
        return 2
    most = 3 if REGISTRY[name].pairs else 5
    return most - 1 if "looped" in target else most


def applies(target: str, algorithm: Algorithm) -> bool:
    return algorithm.pairs or "common" not in target


def check(case: Case, name: str, target: tuple) -> str:
    """What is wrong with one algorithm on one model in one target; nothing if nothing is."""
    label, runner = target
    setting = case.setting(name)
    worst = off(setting, label, runner(setting))
    return f"{setting}: {label} is off by {worst:.3g} tolerances" if worst > 1.0 else ""


def pairs() -> list[tuple[str, str]]:
    """Algorithms and their targets; every third of those that are machine code."""
    every = [(name, way) for way in COUNTS for name in NAMES if applies(way, REGISTRY[name])]
    machine = share([pair for pair in every if pair[1] in COMPILED], 3)
    return [pair for pair in every if pair[1] in PRINTED] + machine


@pytest.mark.parametrize(("name", "way"), pairs())
def test_every_target_gives_the_same(name, way):
    target = way, {**PRINTED, **COMPILED}[way]
    cases = [tree(seed, bodies(target[0], name)) for seed in seeds(target[0], name)]
    cases += [robot(other) for other in robots(target[0], name)]
    wrong = [message for case in cases if (message := check(case, name, target))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("bodies", [0, 2])
def test_models_that_do_not_move(bodies, target):
    """No body at all, or none that moves: whatever an algorithm gives, all targets give it."""
    names = NAMES[:: 8 if target[0] in COMPILED else 1]
    names = [name for name in names if applies(target[0], REGISTRY[name])]
    wrong = [message for name in names if (message := check(motionless(bodies), name, target))]
    assert not wrong, "\n".join(wrong)


def test_bodies_without_mass(target):
    """Dummy links at the tips, and a model that has no mass at all."""
    names = [
        name
        for name in NAMES
        if re.search("mass|moment|inertia", name) and applies(target[0], REGISTRY[name])
    ]
    cases = [massless(link) for link in (0.0, 2.0)]
    for name in share(names, 4 if target[0] in COMPILED else 2):
        for case in cases:
            assert not check(case, name, target)


def check_all(cases: Iterable[Case], target: tuple) -> None:
    """Every algorithm on every one of some models, so that one run names everything that is wrong."""
    names = [name for name in NAMES if applies(target[0], REGISTRY[name])]
    found = (check(case, name, target) for case in cases for name in names)
    wrong = [message for message in found if message]
    assert not wrong, "\n".join(wrong)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, TREES, 10))
def test_every_algorithm_on_every_tree(first, target):
    check_all(map(tree, range(first, first + 10)), target)


@pytest.mark.long
@pytest.mark.parametrize("other", ZOO)
def test_every_algorithm_on_every_robot(other, target):
    check_all([robot(other)], target)


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
        parents, bodies, nodes = model.parents, model.bodies, model.nodes
        found |= {body.joint.type_name for body in bodies}
        facts = {
            "forest": parents.count(0) > 1,
            "branch": any(parents.count(k + 1) > 1 for k in range(model.nbodies)),
            "rotor": bool(model.rotors),
            "mimic": any(body.mimic for body in bodies),
            "armature": np.any(model.armature),
            "motionless": not model.nv,
            "floating": any(isinstance(body.joint, kt.Free) and not body.parent for body in bodies),
            "group": any(sum(m.body > 0 for m in node.members) > 1 for node in nodes),
            "several of a kind": len({node.structure for node in nodes}) < len(nodes),
        }
        found |= {fact for fact, holds in facts.items() if holds}
    joints = ("fixed", "revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical")
    assert found == {*joints, "free", *facts}


def test_tolerances_are_tight():
    """A few units in the last place, scaled by the conditioning of the result."""
    relative = []
    for k, name in enumerate(NAMES):
        setting = tree(3 * k % TREES).setting(name)
        for tolerance, exact in zip(setting.tolerances, setting.eager):
            size = np.abs(exact).max(initial=0.0)
            if size:
                relative.append(tolerance / size)
    assert np.median(relative) < 1e-13 and np.quantile(relative, 0.9) < 1e-11
