"""Relations between bodies: the facts of the documents, and brute force on random trees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.model.samples import figure_tree, rich_model

from kinetree import zoo
from kinetree.model.topology import Topology


def test_relations_of_the_thesis_figure():
    """E:T7 corrected: bodies 3 and 6, 2 and 10, 3 and 7, 2 and 9 are related, 9 and 5, 4 and 6 are not."""
    parents = (0, 1, 1, 3, 3, 5, 4, 2, 2, 9)
    tree = Topology(parents)
    for j, i in ((3, 6), (2, 10), (3, 7), (2, 9)):
        assert tree.is_ancestor(j, i) and not tree.is_ancestor(i, j)
    assert not tree.related(9, 5) and not tree.related(4, 6)
    assert tree.outermost(9, 2) == 9
    assert tree.outermost(2, 9, 10) == 10
    assert tree.outermost(9, 5) is None


def test_body_sets_of_concurrent_dynamics_figure_2():
    model = figure_tree()
    assert model.path(6) == (6, 5, 3, 1)
    assert model.path(5)[1:] == (3, 1)
    assert model.path("b10") == (10, 9, 1)
    assert model.branch(3) == (3, 4, 5, 6, 7, 8)
    assert model.branch("b4") == (4, 7, 8)
    assert [model.children(i) for i in (1, 3, 4)] == [(2, 3, 9), (4, 5), (7,)]
    assert model.depth == 5
    assert model.parents == (0, 1, 1, 3, 3, 5, 4, 7, 1, 9)


@pytest.mark.parametrize("seed", range(20))
def test_against_brute_force(seed: int):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 13))
    parents = [int(rng.integers(0, i)) for i in range(1, count + 1)]
    tree = Topology(parents)
    above = {i: set(tree.path(i)) for i in range(1, count + 1)} | {0: set()}
    for j, i in itertools.product(range(1, count + 1), repeat=2):
        assert tree.is_ancestor(j, i) == (j in above[i])
        assert tree.related(i, j) == (j in above[i] or i in above[j])
        common = max((above[i] & above[j]), key=tree.depths.__getitem__, default=0)
        assert tree.common_ancestor(i, j) == common
        assert (i in tree.branch(j)) == (j in above[i])
    assert all(tree.is_ancestor(0, i) for i in range(count + 1))
    assert tree.depths[1:] == tuple(len(above[i]) for i in range(1, count + 1))
    assert tree.branch(0) == tuple(range(count + 1))


@pytest.mark.parametrize("seed", range(10))
def test_reindexing_theorem(seed: int):
    """Thesis theorem 1: {(k, j): i <= k, j <= k} = {(k, j): j ~ i, outermost(i, j) <= k}."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 11))
    tree = Topology([int(rng.integers(0, i)) for i in range(1, count + 1)])
    bodies = range(1, count + 1)
    for i in bodies:
        left = {(k, j) for k in tree.branch(i) for j in tree.path(k)}
        right = {(k, j) for j in bodies if tree.related(i, j) for k in tree.branch(tree.outermost(i, j))}
        assert left == right


@pytest.mark.parametrize("n", [1, 2, 7])
def test_depth(n: int):
    assert zoo.chain(n).depth == n
    assert zoo.star(n).depth == min(n, 2)


def test_mass_sparsity_is_the_relation_of_bodies():
    model = figure_tree()
    expected = [[model.related(i, j) for j in range(1, 11)] for i in range(1, 11)]
    assert np.array_equal(model.mass_sparsity(), expected)
    assert zoo.chain(4).mass_sparsity().all()


def test_numbering_of_the_spatial_operator_algebra():
    assert zoo.chain(4).soa_order() == (4, 3, 2, 1)


def test_no_recursion_on_a_deep_chain():
    parents = range(100_000)
    tree = Topology(parents)
    assert tree.depths[-1] == 100_000
    assert tree.is_ancestor(1, 100_000) and not tree.is_ancestor(100_000, 1)
    assert len(tree.branch(1)) == 100_000
    assert len(tree.path(100_000)) == 100_000


def test_bodies_by_name_and_number():
    model = rich_model()
    assert model.is_ancestor("base", "ankle") and model.is_ancestor(1, 4)
    assert not model.related("puck", "base")
    assert model.common_ancestor("ankle", "ball") == model.body_index("base")
    assert model.common_ancestor("puck", "ball") == 0
    assert model.outermost("base", "hip", "ankle") == 4
