"""URDF models beside Pinocchio: mass matrix and bias force."""

from __future__ import annotations

import pytest
from tests.io.peers import Pinocchio, disagreement
from tests.io.seeds import URDF_ARM
from tests.io.test_urdf import joint, link, robot

import kinetree as kt

pytest.importorskip("pinocchio")

LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
TURN = '<origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>'
ROBOTS = {
    "arm with a mimic joint and a rotor": URDF_ARM,
    "continuous and prismatic": robot(
        *(link(x) for x in "abc"),
        joint("j", "a", "b", "continuous", '<axis xyz="0 1 0"/>' + TURN),
        joint("k", "b", "c", "prismatic", '<axis xyz="1 1 0"/>' + LIMIT + TURN),
    ),
    "tree with fixed links": robot(
        *(link(x) for x in "abcde"),
        joint("j", "a", "b", inside='<axis xyz="1 2 3"/>' + LIMIT + TURN),
        joint("k", "a", "c", inside='<axis xyz="0 1 0"/>' + LIMIT + TURN),
        joint("l", "c", "d", "fixed", TURN),
        joint("m", "d", "e", inside='<axis xyz="1 0 0"/>' + LIMIT + TURN),
    ),
    "floating": robot(
        '<link name="world"/>',
        link("a"),
        link("b"),
        joint("f", "world", "a", "floating", TURN),
        joint("j", "a", "b", inside=LIMIT),
    ),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_the_model_is_that_of_pinocchio(name, rng):
    model = kt.load(ROBOTS[name])
    peer = Pinocchio(ROBOTS[name], model)
    for _ in range(3):
        assert disagreement(model, peer, rng) < 1e-10


def test_a_free_base_is_that_of_pinocchio(rng):
    text = ROBOTS["tree with fixed links"]
    model = kt.load(text, base="free")
    assert disagreement(model, Pinocchio(text, model, free=True), rng) < 1e-10
