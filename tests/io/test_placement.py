"""Rotations as files write them, and snapping."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from kinetree.io import placement as P
from kinetree.spatial.rotation import Rotation


def rotation(rng):
    return P.from_wxyz(rng.standard_normal(4))


def is_rotation(R):
    R = np.array(R)
    return np.allclose(R @ R.T, np.eye(3), atol=1e-14) and np.linalg.det(R) > 0


def test_rpy_goes_round(rng):
    for _ in range(100):
        rpy = tuple(rng.uniform((-3, -1.5, -3), (3, 1.5, 3)))
        assert P.to_rpy(P.from_rpy(rpy)) == pytest.approx(rpy)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2])
@pytest.mark.parametrize("roll, yaw", [(0.0, 0.0), (0.3, -0.7), (3.0, 2.0)])
def test_rpy_goes_round_in_gimbal_lock(pitch, roll, yaw):
    R = P.from_rpy((roll, pitch, yaw))
    assert np.allclose(P.from_rpy(P.to_rpy(R)), R, atol=1e-12)


def test_quaternions_have_their_scalar_first(rng):
    for _ in range(20):
        axis, angle = P.unit(tuple(rng.standard_normal(3))), rng.uniform(-6, 6)
        w, (x, y, z) = np.cos(angle / 2), np.sin(angle / 2) * np.array(axis)
        length = rng.uniform(0.1, 10)
        R = P.from_wxyz(length * np.array([w, x, y, z]))
        assert np.allclose(R, P.from_axis_angle(axis, angle), atol=1e-15)
        n, (c, s) = np.array(axis), (np.cos(angle), np.sin(angle))
        tilde = np.cross(n, np.eye(3)).T  # columns n x e_i
        assert np.allclose(R, c * np.eye(3) + (1 - c) * np.outer(n, n) + s * tilde, atol=1e-15)


@pytest.mark.parametrize("quaternion", [(1, 1, 0, 0), (0.7071068, 0, 0.7071068, 0), (0.5, 0.5, -0.5, 0.5)])
def test_right_angles_of_quaternions_are_exact(quaternion):
    R = np.array(P.from_wxyz(quaternion))
    assert np.count_nonzero(R) == 3 and np.allclose(np.abs(R[R != 0]), 1, atol=1e-15)


def test_the_z_axis_goes_where_it_is_sent(rng):
    for z in [*rng.standard_normal((20, 3)), (0, 0, 1), (0, 0, -1), (1, 0, 0), (0, 1e-9, -1)]:
        R = np.array(P.from_z(tuple(z)))
        assert is_rotation(R) and np.allclose(R @ [0, 0, 1], z / np.linalg.norm(z), atol=1e-12)


def test_all_24_right_angled_frames_snap_exactly(rng):
    signed = [
        np.array([[s * (i == p) for i in range(3)] for p, s in zip(perm, signs)])
        for perm in ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (1, 0, 2), (2, 1, 0))
        for signs in product((1.0, -1.0), repeat=3)
    ]
    exact = [R for R in signed if np.linalg.det(R) > 0]
    assert len(exact) == 24
    for R in exact:
        small = P.from_axis_angle(P.unit(tuple(rng.standard_normal(3))), 4e-4)
        assert np.array_equal(P.snap_rotation(Rotation.from_matrix(R) @ small, 1e-3), R)


@pytest.mark.parametrize("axis, angle", [(0, 0.3), (1, -2.0), (2, 1.0)])
def test_a_turn_about_an_axis_keeps_its_angle(axis, angle, rng):
    wobble = P.from_axis_angle(P.unit(tuple(rng.standard_normal(3))), 1e-5)
    R = P.snap_rotation(P.about(axis, angle) @ wobble, 1e-3)
    assert np.count_nonzero(R) == 5 and is_rotation(R)
    assert np.allclose(R, P.about(axis, angle), atol=3e-5)


def test_what_is_not_near_a_right_angle_is_left_alone(rng):
    for _ in range(50):
        R = rotation(rng)
        if np.max(np.abs(R)) < 0.99:
            assert P.snap_rotation(R, 1e-3) is R


def test_snapping_twice_changes_nothing(rng):
    for _ in range(200):
        small = P.from_axis_angle(P.unit(tuple(rng.standard_normal(3))), rng.uniform(0, 2e-3))
        R = P.snap_rotation(P.about(rng.integers(3), rng.uniform(-4, 4)) @ small, 1e-3)
        assert np.allclose(P.snap_rotation(R, 1e-3), R, atol=1e-15) and is_rotation(R)
