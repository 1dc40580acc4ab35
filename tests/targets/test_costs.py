"""The cost that every algorithm states grows as stated: exactly, by operation counts of unrolled programs.

On a chain of n equal links the count must be a polynomial in n, of degree 1 for O(N), 2 for O(N d) and
O(N^2), 3 for O(N d^2). On a perfect binary tree of depth k (n = 2^k - 1) the count must be p(k) 2^k +
constant, with p of degree 0, 1 and 2: so f(k + 1) - 2 f(k), taken once, twice or three times, is that
constant, a small number.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from tests.conftest import share
from tests.targets import recipes

import kinetree as kt
from kinetree import functions
from kinetree.interpreters import unrolled
from kinetree.sweep import REGISTRY

assert functions  # importing it fills the registry
NAMES = sorted(REGISTRY)
DEGREES = {"N": 1, "N d": 2, "N^2": 2, "N d^2": 3, "N^2 d": 3, "N d^2 + N^2 d": 3}
LINK = kt.Inertia(2.0, (0.1, -0.2, 0.3), ((0.5, 0.02, 0.01), (0.02, 0.4, -0.03), (0.01, -0.03, 0.6)))
TURN = kt.Rotation.from_rotation_vector((0.3, -0.5, 0.4)).as_matrix()
SHIFT = (0.2, -0.3, 0.4)
# Where a count has settled: the first bodies from the base and the last ones lack some terms.
SETTLED = 3


def stated(name: str) -> int:
    """The degree of growth that the docstring states."""
    text = " ".join(str(REGISTRY[name].body.__doc__).split())
    costs = [DEGREES[cost] for cost in re.findall(r"O\(([^)]*)\)", text) if cost in DEGREES]
    assert costs, f"{name}: the docstring states no cost O(N), O(N d), O(N^2) or O(N d^2)"
    return max(costs)


@cache
def tree(parents: tuple[int, ...]) -> kt.Model:
    """General links, equal ones so that counts follow the shape of the tree alone."""
    builder = kt.ModelBuilder("tree", gravity=(1.0, 2.0, -9.0))
    for k, parent in enumerate(parents):
        on = "world" if parent < 0 else f"b{parent}"
        builder.add_body(f"b{k}", on, kt.Revolute((0.6, 0.0, 0.8)), kt.Pose(TURN, SHIFT), LINK)
    return builder.build()


def chain(n: int) -> kt.Model:
    return tree(tuple(range(-1, n - 1)))


def binary(depth: int) -> kt.Model:
    return tree(tuple((k - 1) // 2 if k else -1 for k in range(2**depth - 1)))


def flops(name: str, model: kt.Model) -> int:
    """The operations that the body of an algorithm makes in body frames, used or not."""
    algorithm = REGISTRY[name]
    options = {k: recipes.OPTIONS[k](model, np.random.default_rng(0)) for k in algorithm.options}
    options |= {"frame": model.body_names[-1]} if "frame" in options else {}
    options |= {"accelerate": (model.joint_names[1],)} if "accelerate" in options else {}
    present = tuple(a.name for a in algorithm.inputs)
    return unrolled.trace(algorithm, model, present, options).ops["flops"]


@pytest.mark.parametrize("name", share(NAMES, 2))
def test_growth_on_chains(name):
    """The differences of order degree + 1 vanish, and those of order degree do not."""
    degree = stated(name)
    counts = [flops(name, chain(n)) for n in range(SETTLED, SETTLED + degree + 2)]
    assert not np.diff(counts, degree + 1).any(), counts
    assert (np.diff(counts, degree) > 0).all(), counts


WITHOUT_FRAMES = [n for n in NAMES if "frame" not in REGISTRY[n].options]


@pytest.mark.parametrize("name", share(WITHOUT_FRAMES, 3))
def test_growth_on_binary_trees(name):
    """f(k + 1) - 2 f(k), taken as often as the degree, no longer grows; taken once less it does."""
    degree = stated(name)
    if "N^2" in str(REGISTRY[name].body.__doc__):
        pytest.skip("grows with the square of the number of bodies whatever the shape")
    left = [[flops(name, binary(depth)) for depth in range(2, 5 if degree == 1 else 6)]]
    for _ in range(degree):
        left.append([b - 2 * a for a, b in zip(left[-1], left[-1][1:])])
    negligible = 0.005 * left[0][-1]  # where a count has not settled yet
    (*_, before, after) = (row if len(row) > 1 else [0, *row] for row in left)
    assert abs(after[-1] - after[-2]) <= 2 * negligible < before[-1] - before[-2], left
