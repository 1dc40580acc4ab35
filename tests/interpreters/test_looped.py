"""The looped trace: kinds of nodes, tables of what differs, literals of what does not, size of programs."""

from __future__ import annotations

import numpy as np
import pytest
from tests.interpreters.samples import HEAVY, LINK, TURN, arm
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt
from kinetree.compiler.ir.graph import Loop, Switch, While
from kinetree.compiler.ir.program import walk
from kinetree.interpreters import looped
from kinetree.interpreters.kinds import Structure
from kinetree.ops import Expr
from kinetree.stages import sweeps
from kinetree.sweep import REGISTRY


def trace(function, model: kt.Model, *present: str, frames: str = "body"):
    return looped.trace(function.algorithm, model, present, {}, frames)


def statements(program, kind) -> list:
    return [s for s in walk(program.body) if isinstance(s, kind)]


def numbers(program) -> np.ndarray:
    """All numbers in the tables of floats."""
    tables = [a.data for a in program.tables if a.kind == "table"]
    return np.concatenate([*tables, np.zeros(0)])


class TestKinds:
    def test_one_for_each_structure(self):
        structure = Structure(arm(LINK, HEAVY, LINK, last=kt.Prismatic((1, 0, 0))).nodes)
        assert [len(kind.nodes) for kind in structure.kinds] == [1, 2, 1]
        assert [kind.is_root for kind in structure.kinds] == [True, False, False]
        assert structure.kind_of.tolist() == [0, 1, 1, 2] and structure.ordinal.tolist() == [0, 0, 1, 0]

    def test_slots_of_groups(self):
        """A node with a rotor has two slots; its child hangs on the slot of the link."""
        builder = kt.ModelBuilder("geared")
        builder.add_body("b0", "world", kt.Revolute((0, 0, 1)), inertia=LINK)
        builder.add_body("b1", "b0", kt.Revolute((0, 1, 0)), kt.Pose(TURN), inertia=LINK)
        builder.add_rotor("b0", HEAVY, kt.Pose(TURN), (0.6, 0.8, 0.0), 5.0)
        model = builder.build()
        structure = Structure(model.nodes)
        assert structure.slots == 4 and structure.first_slot.tolist() == [1, 3]
        node, member = model.nodes[1].predecessor
        assert node == 0 and structure.carrier_slot.tolist() == [0, 1 + member]
        assert structure.node_of_slot.tolist() == [0, 0, 0, 1]

    def test_marked_nodes_are_a_kind_of_their_own(self):
        nodes = arm(LINK, LINK, LINK).nodes
        assert len(Structure(nodes).kinds) == 2 and len(Structure(nodes, frozenset({2})).kinds) == 3

    def test_digest_tells_models_apart(self):
        base = arm(LINK, LINK)
        digests = {
            Structure(m.nodes).digest()
            for m in (
                base,
                arm(LINK, HEAVY),
                arm(HEAVY, LINK),
                arm(LINK, LINK, LINK),
                arm(LINK, last=kt.Fixed()),
            )
        }
        assert len(digests) == 5 and Structure(base.nodes).digest() in digests


class TestTables:
    def test_equal_links_make_literals_alone(self):
        program = trace(kt.inverse_dynamics, arm(*[LINK] * 5), "q", "v", "a")
        assert numbers(program).size == 0

    def test_a_column_that_differs_is_a_table(self):
        lighter = kt.Inertia.from_parameters((1.5, *LINK.parameters[1:]))
        program = trace(kt.inverse_dynamics, arm(LINK, LINK, lighter, LINK), "q", "v", "a")
        assert sorted(numbers(program)) == [1.5, 2.0, 2.0]  # the mass, for the three links that are not roots

    def test_the_text_does_not_grow_with_the_tree(self):
        """Bodies traced once for each kind, whatever their number."""
        sizes = []
        for count in (5, 20, 200):
            program = trace(kt.forward_dynamics, arm(*[LINK, HEAVY] * count), "q", "v", "tau")
            sizes.append(len(statements(program, Expr)))
        assert sizes[0] == sizes[1] == sizes[2]

    def test_work_memory_grows_linearly(self):
        words = [
            sum(a.size for a in trace(kt.inverse_dynamics, arm(*[LINK] * n), "q", "v", "a").work)
            for n in (10, 20, 30)
        ]
        assert words[2] - words[1] == words[1] - words[0]


class TestControlFlow:
    def test_loops_are_kept(self):
        program = trace(kt.inverse_dynamics, arm(*[LINK] * 4, last=kt.Spherical()), "q", "v", "a")
        loops = statements(program, Loop)
        assert [(loop.count, loop.step) for loop in loops] == [(5, 1), (5, -1)]
        assert all(len(switch.cases) == 3 for switch in statements(program, Switch))
        assert not program.is_straight

    def test_a_path_is_a_while_loop(self):
        for frames in ("body", "common"):
            program = trace(kt.mass_matrix, arm(*[LINK] * 4), "q", frames=frames)
            assert len(statements(program, While)) == 1

    def test_roots_alone_have_no_paths(self):
        builder = kt.ModelBuilder("forest")
        for k in range(3):
            builder.add_body(f"b{k}", "world", kt.Revolute((0, 0, 1)), inertia=LINK)
        assert not statements(trace(kt.mass_matrix, builder.build(), "q"), While)


@pytest.fixture(scope="module")
def rope() -> kt.Model:
    """A chain that is too long to unroll."""
    return kt.zoo.chain(160)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "gravity_force"])
def test_chosen_for_long_trees(rope, name):
    algorithm = REGISTRY[name]
    present = tuple(a.name for a in algorithm.inputs if not a.optional)
    assert not sweeps.lower(algorithm, rope, present, {}).is_straight
    assert sweeps.lower(algorithm, kt.zoo.chain(20), present, {}).is_straight


def test_long_trees_compute_the_same(rope):
    """By an ordinary call; errors relative to the size of the terms."""
    q, v = rope.random_state(np.random.default_rng(0))
    a = np.random.default_rng(1).normal(size=rope.nv)
    tau = kt.inverse_dynamics(rope, q, v, a, target="eager")
    size = np.abs(tau).max()
    np.testing.assert_allclose(kt.inverse_dynamics(rope, q, v, a), tau, rtol=0, atol=1e-13 * size)
    g = kt.gravity_force(rope, q, target="eager")
    np.testing.assert_allclose(kt.gravity_force(rope, q), g, rtol=0, atol=1e-13 * np.abs(g).max())
    back = kt.inverse_dynamics(rope, q, v, kt.forward_dynamics(rope, q, v, tau))
    np.testing.assert_allclose(back, tau, rtol=0, atol=1e-9 * size)
    M = kt.mass_matrix(rope, q)
    np.testing.assert_allclose(
        M @ a, kt.mass_matrix_product(rope, q, a), rtol=0, atol=1e-11 * np.abs(M @ a).max()
    )


def test_the_order_of_bodies_does_not_matter_to_kinds():
    rng = np.random.default_rng(3)
    for _ in range(20):
        model = random_mechanism(rng, 6).build()
        structure = Structure(model.nodes)
        for node in model.nodes:
            kind = structure.kinds[structure.kind_of[node.number]]
            assert kind.nodes[structure.ordinal[node.number]] is node
            assert kind.sample.structure == node.structure
            row = kind.numbers[structure.ordinal[node.number]]
            np.testing.assert_array_equal(row, np.array(node.parameters, float))
            rebuilt = kind.sample.with_parameters(row.tolist())
            np.testing.assert_array_equal(np.array(rebuilt.parameters, float), row)


def test_trees_of_one_body_have_loops_that_never_run():
    """Two bodies on the world: no velocity has another above it on its path."""
    bar = kt.Inertia(1.0, (0.1, 0, 0))
    builder = kt.ModelBuilder("two").add_body("a", None, kt.Revolute((0, 0, 1)), None, bar)
    builder.add_body("b", None, kt.Prismatic((0, 0, 1)), None, kt.Inertia(2.0))
    model = builder.build()
    found = kt.compile(kt.inverse_mass_matrix, model, mode="looped")(model.neutral())
    assert np.allclose(found, np.linalg.inv(kt.mass_matrix(model, model.neutral())), rtol=1e-14)
