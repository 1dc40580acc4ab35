"""Normal forms: equal functions become equal expressions, and no function becomes another one."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest
import sympy as sp
from tests.conftest import SEED, each

import kinetree as kt
from kinetree.symbolic import rings

X, Y, M, L = sp.symbols("x y m L", real=True)
WAVES = sp.sin(X), sp.cos(X), sp.sin(X - 2 * Y), sp.cos(X + Y), sp.sin(X / 2)
LEAVES = (X, Y, M, L, *WAVES, sp.Integer(2), sp.Rational(1, 3), sp.sqrt(M))
POINT = {X: 0.37, Y: -1.21, M: 1.7, L: 0.83}


def expression(chance: random.Random, leaves: int) -> sp.Expr:
    """A random expression of at most so many leaves."""
    if leaves <= 1:
        return chance.choice(LEAVES)
    if chance.random() < 0.2:
        return expression(chance, leaves - 1) ** 2
    left = chance.randrange(1, leaves)
    a, b = expression(chance, left), expression(chance, leaves - left)
    return chance.choice((a + b, a - b, a * b))


def test_a_normal_form_has_the_same_value():
    def check(seed: int) -> None:
        chance = random.Random(seed)
        e = sp.sympify(expression(chance, chance.randint(1, 5)))
        value = float(e.subs(POINT))
        scale = max(1.0, float(sum(abs(a.subs(POINT)) for a in sp.Add.make_args(sp.expand(e)))))
        assert abs(float(sp.sympify(kt.symbolic.simplified(e)).subs(POINT)) - value) < 1e-12 * scale

    each(range(SEED, SEED + 30), check)


def test_equal_functions_become_equal():
    """(a + b)^2 - a^2 - 2 a b - b^2 = 0, and sin^2 + cos^2 = 1, whatever a and b are."""

    def check(seed: int) -> None:
        chance = random.Random(seed)
        a, b = (expression(chance, chance.randint(1, 5)) for _ in range(2))
        assert kt.symbolic.simplified((a + b) ** 2 - a**2 - 2 * a * b - b**2).is_zero
        assert kt.symbolic.simplified(a * (sp.sin(X) ** 2 + sp.cos(X) ** 2) - a).is_zero

    each(range(SEED, SEED + 20), check)


@pytest.mark.parametrize(
    ("long", "short"),
    [
        (sp.cos(X) * sp.cos(Y) - sp.sin(X) * sp.sin(Y), sp.cos(X + Y)),
        (M * sp.sin(X) ** 2 + M * sp.cos(X) ** 2, M),
        (M * L - L * M * sp.sin(X) ** 2, L * M * sp.cos(X) ** 2),
        (sp.sin(2 * X) / 2, sp.sin(2 * X) / 2),
        (sp.sin(-X) + sp.sin(X), sp.Integer(0)),
        (M / L * L, M),
        (sp.Float(0.1) * X + sp.Float(0.2) * X - sp.Float(0.3) * X + M, M),
    ],
)
def test_short_forms(long, short):
    assert kt.symbolic.simplified(sp.expand(long)) == short


def test_kinds_of_containers():
    e = sp.cos(X) * sp.cos(Y) - sp.sin(X) * sp.sin(Y)
    assert kt.symbolic.simplified(sp.Matrix([e, 0])) == sp.Matrix([sp.cos(X + Y), 0])
    assert kt.symbolic.simplified(np.array([[e]], object))[0, 0] == sp.cos(X + Y)
    assert kt.symbolic.simplified([e]) == [sp.cos(X + Y)]
    assert kt.symbolic.simplified(0.5) == sp.Rational(1, 2)


def test_what_is_too_long_stays_as_it_is(monkeypatch):
    monkeypatch.setattr(rings, "EFFORT", 10)
    e = (sp.cos(X) + sp.sin(Y) + M) ** 6
    assert kt.symbolic.simplified(e) is e


def test_bad_input_is_named(monkeypatch):
    with pytest.raises(kt.errors.ArgumentError, match="got a str"):
        kt.symbolic.simplified("cos(x)")
    with pytest.raises(kt.errors.ArgumentError, match="must be a kinetree Model, got a int"):
        kt.symbolic.equations(3)
    assert sp.sympify(kt.symbolic.simplified(float("nan"))) is sp.nan
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(kt.errors.MissingPackageError, match=r"pip install 'kinetree\[symbolic\]'"):
        kt.symbolic.equations(kt.zoo.pendulum())
