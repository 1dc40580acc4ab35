"""Vectors over joints by name, in and out, and vectors as other libraries write them."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ModelError, ShapeError

ROBOT = kt.zoo.quadruped()


class Row:
    """What `positions` needs of a row of a pandas table."""

    def __init__(self, **values):
        self.values = values

    def keys(self):
        return self.values.keys()

    def items(self):
        return self.values.items()


def test_out_and_in_again():
    q, v = ROBOT.random_state(3, batch=(2, 5))
    assert np.array_equal(ROBOT.positions(ROBOT.split_positions(q)), q)
    assert np.array_equal(ROBOT.velocities(ROBOT.split_velocities(v)), v)


def test_a_row_of_a_table():
    robot = kt.zoo.double_pendulum()
    assert np.array_equal(robot.positions(Row(elbow=0.2, shoulder=0.1)), [0.1, 0.2])
    table = robot.positions(Row(elbow=np.array([0.2, 0.3])))
    assert np.array_equal(table, [[0.0, 0.2], [0.0, 0.3]])


def test_pandas():
    pandas = pytest.importorskip("pandas")
    robot = kt.zoo.double_pendulum()
    table = pandas.DataFrame({"shoulder": [0.1, 0.2], "elbow": [0.3, 0.4]})
    assert np.array_equal(robot.positions(table), table.to_numpy())
    assert np.array_equal(kt.gravity_force(robot, table), kt.gravity_force(robot, table.to_numpy()))
    row = kt.gravity_force(robot, table.iloc[1])
    assert np.array_equal(row, kt.gravity_force(robot, table.to_numpy()[1]))


def test_a_column_of_symbols():
    sympy = pytest.importorskip("sympy")
    robot = kt.zoo.double_pendulum()
    a, b = sympy.symbols("a b")
    column = kt.gravity_force(robot, sympy.Matrix([a, b]))
    assert list(column) == list(kt.gravity_force(robot, [a, b]))


def test_a_dict_is_led_to_positions():
    robot = kt.zoo.double_pendulum()
    with pytest.raises(ShapeError, match=r"model\.positions"):
        kt.gravity_force(robot, {"shoulder": 0.1})
    with pytest.raises(ShapeError, match=r"model\.velocities"):
        kt.bias_force(robot, [0.0, 0.0], {"shoulder": 0.1})
    with pytest.raises(ModelError, match="dict"):
        robot.positions([0.1, 0.2])


def test_a_point_of_a_frame():
    robot = kt.zoo.arm7()
    q, _ = robot.random_state(0, batch=4)
    point = np.array([0.1, -0.2, 0.3])
    T = kt.frame_placement(robot, q, "link7")
    moved = kt.frame_placement(robot, q, "link7", point=point)
    assert np.array_equal(moved[:, :3, :3], T[:, :3, :3])
    assert np.allclose(moved[:, :3, 3], T[:, :3, :3] @ point + T[:, :3, 3], rtol=0, atol=1e-14)
    velocity = kt.frame_velocity(robot, q, np.ones(7), "link7", "aligned", point=point)
    assert np.allclose(kt.jacobian(robot, q, "link7", "aligned", point=point) @ np.ones(7), velocity)
