"""Random expressions: as typed, simplified, compiled and dense, they are the same operator."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.random_mechanism import random_mechanism
from tests.soa.expressions import random_expression, size
from tests.soa.mechanisms import SHAPES

import kinetree as kt
from kinetree.soa.alphabet import EFFORTS, VELOCITIES
from kinetree.soa.operator import Operator
from kinetree.soa.rewriting import size as letters_in

L = kt.letters
MASS = L.H @ L.phi @ L.M @ L.phi.T @ L.H.T


def some_state(rng, most=6):
    shape = list(SHAPES.values())[rng.integers(len(SHAPES))]
    mechanism = random_mechanism(rng, int(rng.integers(2, most)), **shape)
    return mechanism.build(), mechanism.random_state(rng)[0]


def spread(op, space, model, x):
    """A vector of a function (bodies alone) as a vector of operators (with rotors), and back."""
    if space in (VELOCITIES, EFFORTS):
        return x
    B = op.B(model.body_names).dense()
    return B @ x.ravel() if x.ndim == 2 else (B.T @ x).reshape(-1, 6)


def agree(A: Operator, model, q, rng, modes=()):
    """A as typed, simplified, and as a function, against products of dense letters."""
    op = kt.operators(model, q)
    own = A.at(op)
    exact, scale = own.dense(), size(own)
    bound = 1e-10 * max(1.0, float(scale.max(initial=0)))
    simple = A.simplify()
    assert letters_in(simple) <= letters_in(A)
    assert np.abs(simple.at(op).dense() - exact).max(initial=0) <= bound, f"{A} -> {simple}"
    function = kt.function_of(A, "q, x -> y")
    bodies = A.columns not in (VELOCITIES, EFFORTS)
    x = rng.normal(size=(model.nbodies, 6) if bodies else model.nv)
    truth = exact @ spread(op, A.columns, model, x)
    truth = truth if A.rows in (VELOCITIES, EFFORTS) else spread(op, A.rows, model, truth)
    for mode in ("eager", *modes):
        if mode == "eager":
            found = function(model, q, x, target="eager")
        else:
            found = kt.compile(function, model, mode=mode)(q, x)
        assert found.shape == truth.shape
        assert np.abs(found - truth).max(initial=0) <= 10 * bound * model.nv, f"{mode}: {A}"


def test_forms_agree(cases, rng):
    """200 random expressions on random mechanisms: dense, simplified, and swept over spatial values."""
    for _ in range(cases(200)):
        model, q = some_state(rng)
        agree(random_expression(rng, int(rng.integers(1, 7))), model, q, rng)


def test_machine_code_agrees(cases, rng):
    """The same as straight code and as loops."""
    for _ in range(cases(15)):
        model, q = some_state(rng, 4)
        agree(random_expression(rng, int(rng.integers(1, 6))), model, q, rng, ("unrolled", "looped"))


@pytest.mark.long
def test_all_machine_code_agrees(rng):
    for _ in range(200):
        model, q = some_state(rng)
        agree(random_expression(rng, int(rng.integers(1, 7))), model, q, rng, ("unrolled", "looped"))
