"""The functions of numbers on every kind of number."""

from __future__ import annotations

import cmath
import math

import mpmath
import numpy as np
import pytest
import sympy

from kinetree import ops
from kinetree.compiler.ir.graph import Graph
from kinetree.errors import TraceError
from kinetree.ops import Expr

UNARY = ["sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "exp", "log", "tanh", "abs"]
POINT = 0.37


def reference(name: str, x: float) -> float:
    return abs(x) if name == "abs" else getattr(math, name)(x)


@pytest.mark.parametrize("name", UNARY)
class TestUnary:
    @pytest.mark.parametrize("kind", [float, np.float64, np.float32, np.longdouble])
    def test_scalars(self, name, kind):
        tolerance = 1e-6 if kind is np.float32 else 1e-14
        assert float(getattr(ops, name)(kind(POINT))) == pytest.approx(reference(name, POINT), rel=tolerance)

    def test_integers(self, name):
        assert getattr(ops, name)(1) == pytest.approx(reference(name, 1.0)) == getattr(ops, name)(np.int64(1))

    def test_arrays(self, name):
        x = np.array([[0.1, 0.2], [0.3, 0.4]])
        result = getattr(ops, name)(x)
        assert result.shape == x.shape and result[1, 0] == pytest.approx(reference(name, 0.3))
        assert getattr(ops, name)(x.astype(np.float32)).dtype == np.float32

    def test_arrays_of_objects(self, name):
        x = np.array([mpmath.mpf("0.3"), mpmath.mpf("0.4")], object)
        result = getattr(ops, name)(x)
        assert isinstance(result[0], mpmath.mpf) and float(result[0]) == pytest.approx(reference(name, 0.3))

    def test_complex(self, name):
        for x in (0.3 + 0.1j, np.complex128(0.3 + 0.1j)):
            wanted = abs(x) if name == "abs" else getattr(cmath, name)(x)
            assert getattr(ops, name)(x) == pytest.approx(wanted)

    def test_mpmath(self, name):
        with mpmath.workdps(40):
            x = mpmath.mpf("0.3")
            wanted = abs(x) if name == "abs" else getattr(mpmath, name)(x)
            assert getattr(ops, name)(x) == wanted

    def test_sympy(self, name):
        x = sympy.Symbol("x", real=True)
        result = getattr(ops, name)(x)
        assert float(result.subs(x, sympy.Float(POINT))) == pytest.approx(reference(name, POINT))

    def test_expr(self, name):
        graph = Graph()
        x = graph.load(graph.array("x", "input", 1), 0)
        result = getattr(ops, name)(x)
        assert isinstance(result, Expr) and result.op == name and result.args == (x,)

    def test_strangers(self, name):
        with pytest.raises((TraceError, TypeError)):
            getattr(ops, name)("0.3")


def test_outside_the_domain_is_nan():
    assert math.isnan(ops.sqrt(-1.0)) and math.isnan(ops.asin(2.0)) and math.isnan(ops.acos(-2.0))
    assert math.isnan(ops.log(-1.0)) and ops.log(0.0) == -math.inf and ops.exp(1e4) == math.inf
    assert math.isnan(ops.sin(math.inf))


KINDS = {
    "float": float, "int": int, "float64": np.float64, "float32": np.float32,
    "array": lambda x: np.array([x, x]), "mpmath": mpmath.mpf, "sympy": sympy.Float,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
class TestTwo:
    def test_atan2(self, kind):
        make = KINDS[kind]
        for y, x in ((1, 2), (-1, -2), (3, -1), (0, -1)):
            result = np.atleast_1d(ops.atan2(make(y), make(x)))[0]
            assert float(result) == pytest.approx(math.atan2(y, x), rel=1e-6)

    def test_min_max(self, kind):
        make = KINDS[kind]
        assert float(np.atleast_1d(ops.min(make(2), make(3)))[0]) == 2.0
        assert float(np.atleast_1d(ops.max(make(2), make(3)))[0]) == 3.0

    def test_compare_and_choose(self, kind):
        make = KINDS[kind]
        one, two = make(1), make(2)
        for truth, wanted in (
            (ops.less(one, two), 1), (ops.less(two, one), 2), (ops.less_equal(one, one), 1),
            (ops.equal(one, two), 2), (ops.equal(one, one), 1),
        ):  # fmt: skip
            assert float(np.atleast_1d(ops.where(truth, one, two))[0]) == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_sign_and_floor(kind):
    for x, sign in ((-2, -1), (0, 0), (3, 1)):
        assert float(np.atleast_1d(ops.sign(KINDS[kind](x)))[0]) == sign
        assert float(np.atleast_1d(ops.floor(KINDS[kind](x)))[0]) == x
    if kind != "int":
        assert float(np.atleast_1d(ops.floor(KINDS[kind](-1.5)))[0]) == -2.0


def test_steps_have_no_slope_and_keep_nan():
    for function in (ops.sign, ops.floor):
        assert math.isnan(function(math.nan)) and np.isnan(function(np.array([math.nan]))).all()
        assert np.imag(function(0.3 + 1e-30j)) == 0.0
        with pytest.raises(TraceError, match="of a str"):
            function("0.3")
    assert ops.floor(math.inf) == math.inf and ops.sign(-math.inf) == -1.0


def test_nan_wins():
    for a, b in ((math.nan, 1.0), (1.0, math.nan)):
        assert math.isnan(ops.min(a, b)) and math.isnan(ops.max(a, b))
        assert np.isnan(ops.min(np.array([a]), b)).all()


def test_complex_step_goes_through_branches():
    step = 1e-30j
    assert ops.less(1.0 + step, 1.0 - step) is False or not ops.less(1.0 + step, 1.0 - step)
    assert ops.max(2.0 + step, 1.0) == 2.0 + step and ops.min(2.0 + step, 1.0) == 1.0
    slope = ops.atan2(0.3 + step, 0.4).imag / 1e-30
    assert slope == pytest.approx(0.4 / 0.25)
    assert ops.atan2(np.array([0.3 + step]), 0.4)[0].imag / 1e-30 == pytest.approx(0.4 / 0.25)


def test_symbolic_choice():
    x = sympy.Symbol("x", real=True)
    result = ops.where(ops.less(x, 1), x**2, 2)
    assert result.subs(x, 0.5) == 0.25 and result.subs(x, 3) == 2


def test_literals():
    graph = Graph()
    x = graph.load(graph.array("x", "input", 1), 0)
    assert all(map(ops.is_literal, (1, 1.0, True, np.float32(1), np.int8(1))))
    assert not any(map(ops.is_literal, (x, 1j, np.ones(1), sympy.Symbol("x"), mpmath.mpf(1), "1")))


def test_where_refuses_numbers():
    with pytest.raises(TraceError, match="where of a float"):
        ops.where(1.0, 2.0, 3.0)
