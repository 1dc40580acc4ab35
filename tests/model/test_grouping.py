"""Bodies, rotors and mimic joints become nodes as the contract of a node says."""

from __future__ import annotations

import pytest
from tests.model.samples import DISC, LINK, LUMP, rich_model

from kinetree import zoo
from kinetree.joints import Free, Revolute, Spherical, Spin
from kinetree.model import ModelBuilder
from kinetree.model.coupling import Linear, Own
from kinetree.model.grouping import NOTHING, PREDECESSOR, is_axisymmetric
from kinetree.spatial.inertia import Inertia


def tree(*bodies: tuple) -> ModelBuilder:
    """A builder with revolute bodies given as (name, parent, mimic)."""
    b = ModelBuilder("grouped")
    for name, parent, mimic in bodies:
        b.add_body(name, parent, Revolute(), inertia=LINK, mimic=mimic)
    return b


def groups(model) -> list[tuple[str, ...]]:
    return [tuple(model.body_names[m.body - 1] for m in node.members if m.body) for node in model.nodes]


def test_one_body_a_node():
    model = zoo.quadruped()
    assert len(model.nodes) == model.nbodies
    for k, node in enumerate(model.nodes):
        assert node.number == k
        (member,) = node.members
        assert member.body == k + 1 and member.carrier == PREDECESSOR
        assert node.predecessor == model.location(model.parents[k])
        assert model.location(k + 1) == (k, 0)
    assert model.location("world") == (-1, 0)


@pytest.mark.parametrize(
    "bodies, expected",
    [
        ([("a", None, None), ("b", "a", "a")], [("a", "b")]),
        ([("a", None, None), ("b", None, "a")], [("a", "b")]),
        ([("r", None, None), ("a", "r", None), ("b", "r", "a")], [("r",), ("a", "b")]),
        ([("a", None, None), ("c", "a", None), ("b", "c", "a")], [("a", "c", "b")]),
        ([("r", None, None), ("a", "r", None), ("b", "r", None), ("c", "b", "a")], [("r",), ("a", "b", "c")]),
        ([("a", None, "b"), ("b", "a", None), ("c", "b", None)], [("a", "b"), ("c",)]),
        ([("a", None, None), ("b", "a", "a"), ("c", "b", "b")], [("a", "b", "c")]),
        (
            [("a", None, None), ("b", "a", "a"), ("c", "b", None), ("d", "c", None), ("e", "d", "c")],
            [("a", "b"), ("c", "d", "e")],
        ),
        ([("a", None, None), ("b", "a", None), ("c", "b", "a"), ("d", "c", "b")], [("a", "b", "c", "d")]),
    ],
    ids=[
        "child",
        "sibling roots",
        "siblings",
        "further down",
        "cousins",
        "leader is the child",
        "chain of mimics",
        "two groups",
        "overlapping",
    ],
)
def test_groups_of_mimic_joints(bodies, expected):
    model = tree(*bodies).build()
    assert groups(model) == expected
    for node in model.nodes:
        assert node.predecessor[0] < node.number
        for k, member in enumerate(node.members):
            assert member.carrier < k
    independent = [name for name, _, mimic in bodies if mimic is None]
    assert model.nq == model.nv == len(independent)
    assert sorted(i for node in model.nodes for i in node.v_index) == list(range(model.nv))


def test_a_chain_of_mimic_joints_multiplies_and_composes():
    model = tree(("a", None, None), ("b", None, ("a", 2.0, 0.5)), ("c", None, ("b", -3.0, 0.25))).build()
    assert model.layout.follows[3] == (1, -6.0, 0.25 - 3.0 * 0.5)
    (node,) = model.nodes
    assert node.members[2].coupling == Linear(((0, 0, -6.0),), -1.25)


def test_rotors_ride_on_the_predecessor_of_their_joint():
    b = tree(("a", None, None), ("b", "a", ("a", 2.0, 0.5)), ("c", "b", None))
    b.add_rotor("a", DISC, ratio=10.0).add_rotor("b", LUMP, ratio=3.0).add_rotor("c", DISC, ratio=5)
    model = b.build()
    first, second = model.nodes
    assert [m.body for m in first.members] == [1, 2, 0, 0]
    assert [m.carrier for m in first.members] == [PREDECESSOR, 0, PREDECESSOR, 0]
    assert first.members[2].coupling == Linear(((0, 0, 10.0),))
    assert first.members[3].coupling == Linear(((0, 0, 6.0),), 1.5)
    assert isinstance(first.members[2].joint, Spin) and isinstance(first.members[3].joint, Revolute)
    assert second.predecessor == (0, 1)
    assert [m.carrier for m in second.members] == [PREDECESSOR, PREDECESSOR]


def test_armature_is_a_detached_spin():
    b = ModelBuilder("arm").add_body("a", None, Revolute(), inertia=LINK, armature=0.25)
    b.add_body("b", "a", Revolute(), inertia=LINK, armature=0.5, mimic=("a", 3.0))
    (node,) = b.build().nodes
    assert [m.carrier for m in node.members] == [PREDECESSOR, 0, NOTHING, NOTHING]
    assert [m.inertia.second[2] for m in node.members[2:]] == [0.25, 0.5]
    assert [m.coupling for m in node.members[2:]] == [Linear(((0, 0, 1),)), Linear(((0, 0, 3.0),))]


def test_armature_of_quasi_velocities_is_a_detached_body():
    b = ModelBuilder("float").add_body("a", None, Free(), inertia=LINK, armature=(1, 2, 3, 4, 4, 4))
    b.add_body("b", "a", Spherical(), inertia=LINK, armature=0.5)
    free, ball = (node.members[1] for node in b.build().nodes)
    assert (free.carrier, free.joint, free.coupling) == (NOTHING, Free(), Own(0, 7, 0, 6))
    assert free.inertia.parameters == (4, 0, 0, 0, 1, 2, 3, 0, 0, 0)
    assert ball.inertia.parameters == (0, 0, 0, 0, 0.5, 0.5, 0.5, 0, 0, 0)


def test_coordinates_inside_a_group_agree_where_they_are_coupled():
    """Positions and velocities that couplings refer to are found, whatever else is in the group."""
    b = ModelBuilder("mixed")
    b.add_body("ball", None, Spherical(), inertia=LINK)
    b.add_body("a", "ball", Revolute(), inertia=LINK)
    b.add_body("b", None, Revolute(), inertia=LINK, mimic="a")
    (node,) = b.build().nodes
    assert node.q_index == (0, 1, 2, 3, 4)
    assert node.v_index == (0, 1, 2, 3)
    assert node.members[2].coupling == Linear(((4, 3, 1.0),))


def test_every_body_has_a_location():
    model = rich_model()
    for i in range(1, model.nbodies + 1):
        node, member = model.location(i)
        assert model.nodes[node].members[member].body == i


@pytest.mark.parametrize(
    "inertia, axis, expected",
    [
        (DISC, (0, 0, 1), True),
        (DISC, (1, 0, 0), False),
        (LUMP, (0, 0, 1), False),
        (Inertia(1.0, (0.1, 0, 0), (1, 1, 2)), (0, 0, 1), False),
        (Inertia(1.0, (0.06, 0, 0.08), (1, 1, 1)), (0.6, 0, 0.8), True),
        (Inertia.zero(), (0.6, 0, 0.8), True),
    ],
)
def test_axisymmetry(inertia, axis, expected):
    assert is_axisymmetric(inertia, axis) is expected
