"""COR-16: results for triples of velocities on one path, packed in the same order by every interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.interpreter import interpret
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt
from kinetree.compiler.ir.check import check
from kinetree.interpreters import looped
from kinetree.stages import sweeps

EAGER = {"target": "eager"}


def spread(model: kt.Model, values: np.ndarray) -> np.ndarray:
    """The symbols with all their zeros."""
    dense = np.zeros((model.nv,) * 3)
    dense[tuple(model.christoffel_sparsity().T)] = values
    return dense


@pytest.mark.parametrize("seed", range(2))
def test_loops_and_straight_code_write_to_the_same_places(seed):
    """With joints of several velocities, groups, fixed joints and several roots."""
    rng = np.random.default_rng([seed, 60])
    model = random_mechanism(rng, 4, roots=0.3).build()
    q, _ = model.random_state(rng)
    dense = kt.christoffel_symbols(model, q, **EAGER)
    size = np.abs(dense).max()
    for mode in ("unrolled", "looped"):
        program = sweeps.lower(kt.christoffel_values.algorithm, model, ("q",), {}, mode)
        (values,), untrusted = interpret(program, q)
        assert not untrusted
        assert np.abs(spread(model, values) - dense).max() <= 1e-13 * size, mode


def test_a_joint_that_carries_what_is_fixed():
    """No path leads from the joint to itself: a loop has no case for that, whose places would be outside."""
    rng = np.random.default_rng(61)
    builder, parent = kt.ModelBuilder("slide"), "world"
    joints = {"base": kt.Fixed(), "slide": kt.Cylindrical((0.6, 0.0, 0.8)), "tip": kt.Fixed()}
    for name, joint in joints.items():
        inertia = kt.Inertia(1.0, tuple(rng.normal(size=3)), np.eye(3).tolist())
        builder.add_body(name, parent, joint, kt.Pose(p=tuple(rng.normal(size=3))), inertia)
        parent = name
    model = builder.build()
    q, _ = model.random_state(rng)
    program = looped.trace(kt.christoffel_values.algorithm, model, ("q",), {})
    (values,), _ = interpret(check(program), q)
    assert np.allclose(spread(model, values), kt.christoffel_symbols(model, q, **EAGER), atol=1e-13)


def test_compiled():
    """As machine code, straight and with loops, for batches."""
    model = kt.zoo.tree(7, 2)
    q, _ = model.random_state(0, (5,))
    expected = kt.christoffel_values(model, q, **EAGER)
    for mode in ("unrolled", "looped"):
        assert np.allclose(kt.compile(kt.christoffel_values, model, mode=mode)(q), expected, atol=1e-14)


def test_a_large_tree_has_few():
    """A binary tree of 1000 bodies: 10^9 symbols, of which 2 in 10,000 can differ from zero."""
    model = kt.zoo.tree(1000, 2)
    assert len(model.christoffel_sparsity()) < 3e-4 * model.nv**3
    small = kt.zoo.tree(15, 2)
    q, v = small.random_state(1)
    i, j, k = small.christoffel_sparsity().T
    C = np.zeros((small.nv, small.nv))
    np.add.at(C, (i, j), kt.christoffel_values(small, q, **EAGER) * v[k])
    assert np.allclose(C, kt.coriolis_matrix(small, q, v, **EAGER), atol=1e-13)


def test_models_without_velocities():
    nothing = kt.ModelBuilder("nothing").build()
    assert nothing.christoffel_sparsity().shape == (0, 3)
    assert kt.christoffel_values(nothing, np.zeros(0), **EAGER).shape == (0,)
