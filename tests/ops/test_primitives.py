"""The table of primitives: its NumPy rule, the function of `ops`, and the derivative agree."""

from __future__ import annotations

import numpy as np
import pytest

from kinetree import ops
from kinetree.ops import PRIMITIVES
from kinetree.ops.primitives import TRUTH

OPERATORS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b, "neg": lambda a: -a, "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c, "fnma": lambda a, b, c: c - a * b,
    "fnms": lambda a, b, c: -(a * b) - c, "where": ops.where,
    "lt": ops.less, "le": ops.less_equal, "eq": ops.equal,
    "and": np.logical_and, "or": np.logical_or, "not": np.logical_not,
}  # fmt: skip
POINTS = {
    "acos": (0.3,),
    "asin": (0.3,),
    "where": (True, 0.4, 1.7),
    "and": (True, False),
    "or": (True, False),
    "not": (True,),
}


def function(name: str):
    return OPERATORS.get(name) or getattr(ops, name)


def point(name: str) -> tuple:
    return POINTS.get(name, (0.7, 1.3, 0.4)[: PRIMITIVES[name].arity])


NUMERIC = [n for n, row in PRIMITIVES.items() if row.cost and row.numpy]  # no loads, counters, indices


@pytest.mark.parametrize("name", NUMERIC)
class TestRow:
    def test_name_arity_cost(self, name):
        row = PRIMITIVES[name]
        assert row.name == name and row.arity == len(point(name)) and sum(row.cost.values()) >= 1

    def test_numpy_rule_is_the_function(self, name):
        args = [np.array([x, x]) for x in point(name)]
        np.testing.assert_allclose(
            np.asarray(PRIMITIVES[name].numpy(*args), float),
            np.asarray(function(name)(*args), float),
            rtol=1e-15,
        )

    def test_derivative_by_complex_step(self, name):
        row, args = PRIMITIVES[name], point(name)
        assert row.derivative is not None
        with np.errstate(all="ignore"):
            partials = row.derivative(args, function(name)(*args))
        assert len(partials) == row.arity
        for k, partial in enumerate(partials):
            if partial is None:
                assert row.gives == TRUTH or (name == "where" and k == 0)
                continue
            if name == "abs":  # the modulus of a complex number is not analytic
                step = 1e-6
                wanted = (abs(args[0] + step) - abs(args[0] - step)) / (2 * step)
            else:
                moved = [complex(a) if j != k else a + 1e-40j for j, a in enumerate(args)]
                moved[0] = args[0] if name == "where" else moved[0]
                wanted = np.imag(function(name)(*moved)) / 1e-40
            assert partial == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_pass_one_slope(name):
    for args in ((1.0, 2.0), (2.0, 1.0), (1.0, 1.0)):
        partials = PRIMITIVES[name].derivative(args, None)
        assert sorted(partials) == [0.0, 1.0]
