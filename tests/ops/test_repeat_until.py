"""Loops that end early, and numbers with the derivatives of a rule."""

from __future__ import annotations

import numpy as np

import kinetree as kt
from kinetree import ops
from kinetree.compiler.emit import python
from kinetree.stages.job import Job

ROBOT = kt.zoo.pendulum()


@kt.function("x(2) -> y(2), turns")
def roots(model, x):
    """Square roots by Newton's method, and how many steps that took."""

    def better(y, n):
        return 0.5 * (y + x / y), n + 1

    def is_fine(y, n):
        return ops.less(ops.largest(y * y - x), 1e-9)

    return ops.repeat(50, better, x + 1.0, 0.0, until=is_fine)


@kt.function("p -> y")
def root(model, p):
    """A square root that a loop finds, and that changes as y^2 = x says."""
    found = ops.repeat(
        50, lambda y: 0.5 * (y + p / y), p + 1.0, until=lambda y: ops.less(ops.abs(y * y - p), 1e-12)
    )
    y = ops.implied(found, 0.0)
    return ops.implied(found, y - (y * y - p) / (2 * y))


@kt.function("given(2) -> found(2), turns")
def roots_from_one(model, given):
    """Square roots by Newton's method from 1, which is good enough for some: the state starts as numbers."""

    def better(y, n):
        return 0.5 * (y + given / y), n + 1

    def is_fine(y, n):
        return ops.less(ops.largest(y * y - given), 1e-9)

    return ops.repeat(50, better, np.ones(2), 0.0, until=is_fine)


@kt.function("given -> total, turns")
def doubled(model, given):
    """A number is added to 0 and doubled until it is large: the first end is known in a trace."""
    return ops.repeat(9, lambda y, n: (2 * y + given, n + 1), 0.0, 0, until=lambda y, n: ops.less(5.0, y))


def samples() -> np.ndarray:
    return np.random.default_rng(0).uniform(0.01, 1.0, (37, 2)) * np.array([1.0, 1e4])


def test_each_state_ends_for_itself():
    x = samples()
    y, turns = roots(ROBOT, x)
    assert np.abs(y * y - x).max() < 1e-9
    assert len(set(turns)) > 3 and turns.max() < 20
    for k in (0, 7, 36):
        alone = roots(ROBOT, x[k])
        assert np.array_equal(alone[0], y[k]) and alone[1] == turns[k]


def test_loops_that_start_from_numbers():
    x = samples()
    x[3] = 1.0
    y, turns = roots_from_one(ROBOT, x)
    assert np.abs(y * y - x).max() < 1e-9
    assert turns[3] == 0 and len(set(turns)) > 3 and turns.max() < 20
    total, turns = doubled(ROBOT, np.array([0.1, 1.0, 3.0, 7.0]))
    assert turns.tolist() == [6, 3, 2, 1] and np.allclose(total, [6.3, 7.0, 9.0, 7.0])


def test_plain_python_and_the_oracle_agree():
    x = samples()[:5]
    y, turns = roots(ROBOT, x)
    plain = roots(ROBOT, x, target="eager")
    np.testing.assert_allclose(plain[0], y, rtol=1e-15)
    assert np.array_equal(plain[1], turns)
    program = Job(roots, ROBOT, ("x",), {}).program(0)
    (again, count), _ = python.run(program, x)
    np.testing.assert_allclose(again, y, rtol=1e-15)
    assert np.array_equal(count[:, 0], turns)


def test_c_leaves_the_loop(tmp_path):
    kt.export_c([roots], ROBOT, tmp_path)
    assert "break;" in "".join(path.read_text() for path in tmp_path.glob("*.c"))


def test_what_is_implied_has_the_derivative_of_its_rule():
    x = np.array([0.3, 2.0, 50.0])
    y, slope = kt.jvp_of(root)(ROBOT, x, d_p=np.ones(3))
    np.testing.assert_allclose(y, np.sqrt(x), rtol=1e-12)
    np.testing.assert_allclose(slope, 0.5 / np.sqrt(x), rtol=1e-12)
    _, gradient = kt.vjp_of(root)(ROBOT, x, b_y=np.ones(3))
    np.testing.assert_allclose(gradient, 0.5 / np.sqrt(x), rtol=1e-12)


def test_a_rule_costs_nothing_where_nothing_is_differentiated():
    program = Job(root, ROBOT, ("p",), {}).program(0)
    assert "implied" not in {getattr(s, "op", "") for s in program.body.statements}
