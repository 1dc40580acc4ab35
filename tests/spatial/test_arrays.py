"""Spatial values are arrays where arrays are expected, and are made of what other libraries hand over."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ModelError, ShapeError
from kinetree.spatial import Force, Motion

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("kind", [Motion, Force])
def test_a_vector_is_six_numbers(kind):
    numbers = RNG.standard_normal(6)
    value = kind.from_components(numbers.tolist())
    assert np.array_equal(np.asarray(value), numbers)
    assert np.asarray(value, dtype=np.float32).dtype == np.float32


def test_symbols_stay_symbols():
    sympy = pytest.importorskip("sympy")
    x = sympy.Symbol("x")
    assert np.asarray(Motion((x, 0, 0))).tolist() == [x, 0, 0, 0, 0, 0]


def test_a_batch_leads():
    batch = RNG.standard_normal((4, 5, 6))
    value = Motion.from_components(np.moveaxis(batch, -1, 0))
    assert np.array_equal(np.asarray(value), batch)


def test_an_array_times_a_value_is_a_batch_of_the_value():
    value = Motion((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    factors = np.array([1.0, 2.0])
    assert isinstance(factors * value, Motion)
    assert np.array_equal(np.asarray(factors * value), factors[:, None] * np.arange(1.0, 7.0))
    assert isinstance(np.float64(2.0) * value, Motion)


def test_matrices_are_by_row():
    inertia = kt.Inertia(2.0, (0.1, 0.2, 0.3), np.diag([1.0, 2.0, 3.0]))
    X = kt.Pose.random(3).transform()
    assert np.array_equal(np.asarray(inertia), np.array(inertia.matrix()))
    v = RNG.standard_normal(6)
    moved = np.asarray(X @ Motion.from_components(v.tolist()))
    assert np.allclose(np.asarray(X) @ v, moved, rtol=0, atol=1e-14)
    S = kt.Cylindrical((0, 0, 1)).subspace((0.1, 0.2))
    assert np.asarray(S).shape == (6, 2)


@pytest.mark.parametrize("form", [np.asarray, lambda T: np.asarray(T).tolist(), kt.Pose.as_matrix])
def test_a_pose_takes_its_matrix(form):
    pose = kt.Pose.random(1)
    assert kt.Pose(form(pose)) == pose == kt.Pose.from_matrix(form(pose))


def test_a_batch_of_poses():
    poses = np.stack([np.asarray(kt.Pose.random(k)) for k in range(3)])
    assert np.array_equal(np.asarray(kt.Pose(poses)), poses)


def test_a_pose_of_symbols():
    sympy = pytest.importorskip("sympy")
    x = sympy.Symbol("x")
    matrix = sympy.eye(4)
    matrix[0, 3] = x
    assert kt.Pose(matrix).p == (x, 0, 0)
    assert np.array_equal(np.asarray(kt.Pose(matrix)), np.array(matrix))


def test_a_matrix_that_is_no_pose():
    with pytest.raises(ModelError, match="last row"):
        kt.Pose(np.ones((4, 4)))
    with pytest.raises(ShapeError):
        kt.Pose(np.eye(4), (0.0, 0.0, 1.0))
    with pytest.raises(ShapeError):
        kt.Pose(np.eye(5))
