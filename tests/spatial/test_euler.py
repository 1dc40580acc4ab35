"""Euler angles: twelve sequences about moving and fixed axes, at and near gimbal lock, and their rates."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from tests.spatial.kinds import KINDS, TOLERANCE, derivative, difference, evaluate, exact_derivative, residual

from kinetree import ops
from kinetree.errors import ModelError, SingularError
from kinetree.spatial import Rotation, euler_omega, euler_rate, gimbal_lock_distance
from kinetree.spatial.euler import SEQUENCES, turn

ALL = SEQUENCES + tuple(s.lower() for s in SEQUENCES)
AXIS = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


def lock(sequence: str) -> tuple[float, float]:
    """The two middle angles of gimbal lock."""
    return (0.0, math.pi) if sequence[0] == sequence[2] else (-math.pi / 2, math.pi / 2)


def regular_angles(sequence: str, rng, n: int = 20) -> np.ndarray:
    """Angles at which the decomposition is unique."""
    low, high = lock(sequence)
    return np.column_stack(
        [rng.uniform(-3.1, 3.1, n), rng.uniform(low + 0.05, high - 0.05, n), rng.uniform(-3.1, 3.1, n)]
    )


def test_there_are_twelve_sequences():
    assert len(SEQUENCES) == 12 and {"ZYX", "XYZ", "ZXZ", "ZYZ"} <= set(SEQUENCES)


@pytest.mark.parametrize("sequence", ALL)
class TestEverySequence:
    def test_is_the_product_of_its_turns(self, sequence, rng):
        """ATT-8: moving axes multiply on the right, fixed axes on the left."""
        angles = rng.uniform(-3, 3, 3)
        R = Rotation.identity()
        for letter, angle in zip(sequence, angles, strict=True):
            step = Rotation.from_axis_angle(AXIS[letter.lower()], angle)
            R = R @ step if sequence.isupper() else step @ R
        assert np.allclose(
            np.asarray(Rotation.from_euler(sequence, angles)), np.asarray(R), atol=1e-15, rtol=0
        )

    def test_angles_come_back(self, sequence, rng):
        """ATT-8: round trip of the angles themselves, away from gimbal lock."""
        for angles in regular_angles(sequence, rng):
            back = Rotation.from_euler(sequence, angles).as_euler(sequence)
            assert np.allclose(back, angles, atol=1e-13, rtol=0)

    def test_every_rotation_has_angles(self, sequence, rng):
        """ATT-8: from_euler(as_euler(R)) = R, with the angles in their ranges."""
        low, high = lock(sequence)
        for _ in range(50):
            R = Rotation.random(rng)
            a, b, c = R.as_euler(sequence)
            assert -math.pi < a <= math.pi and -math.pi < c <= math.pi and low <= b <= high
            assert np.allclose(
                np.asarray(Rotation.from_euler(sequence, (a, b, c))), np.asarray(R), atol=3e-15
            )

    @pytest.mark.parametrize("distance", (0.0, 1e-16, 1e-14, 1e-12, 1e-9, 1e-8, 1e-6, 1e-3))
    def test_gimbal_lock_and_its_neighbourhood_lose_nothing(self, sequence, distance, rng):
        """ATT-8: the rotation comes back to rounding at any distance from gimbal lock."""
        for middle in lock(sequence):
            for sign in (-1, 1):
                R = Rotation.from_euler(
                    sequence, (rng.uniform(-3, 3), middle + sign * distance, rng.uniform(-3, 3))
                )
                back = Rotation.from_euler(sequence, R.as_euler(sequence))
                assert np.allclose(np.asarray(back), np.asarray(R), atol=3e-15, rtol=0)

    def test_rates_and_angular_velocity_are_inverse_to_each_other(self, sequence, rng):
        """ATT-8, ATT-11: omega -> rates -> omega, in body and world axes, and against the derivative of R."""
        for angles in regular_angles(sequence, rng, 5):
            omega = rng.standard_normal(3)
            for frame in ("body", "world"):
                rates = euler_rate(sequence, angles, omega, frame)
                assert np.allclose(euler_omega(sequence, angles, rates, frame), omega, atol=1e-12)
            rates = euler_rate(sequence, angles, omega)
            Rdot = derivative(lambda *a: Rotation.from_euler(sequence, a), angles, rates).reshape(3, 3)
            R = np.asarray(Rotation.from_euler(sequence, angles))
            wx, wy, wz = omega
            body = np.array([[0, -wz, wy], [wz, 0, -wx], [-wy, wx, 0]])
            assert np.allclose(R.T @ Rdot, body, atol=1e-12)
            world = euler_omega(sequence, angles, rates, "world")
            assert np.allclose(world, R @ omega, atol=1e-12)

    def test_gimbal_lock_is_detected(self, sequence):
        """ATT-8: the distance vanishes there and rates are refused."""
        for middle in lock(sequence):
            angles = (0.3, middle, -0.7)
            assert gimbal_lock_distance(sequence, angles) < 1e-15
            with pytest.raises(SingularError, match="gimbal lock"):
                euler_rate(sequence, angles, (1.0, 2.0, 3.0))
        straight = (0.3, sum(lock(sequence)) / 2, -0.7)
        assert math.isclose(gimbal_lock_distance(sequence, straight), 1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sequence", ("ZYX", "ZXZ", "xyz", "YXZ"))
def test_round_trip_for_every_kind_of_number(kind, sequence, rng):
    """ATT-8."""

    def axiom(*angles):
        R = Rotation.from_euler(sequence, angles)
        return difference(Rotation.from_euler(sequence, R.as_euler(sequence)), R)

    assert residual(kind, axiom, regular_angles(sequence, rng)) <= 3 * TOLERANCE[kind]


def test_batch_mixes_locked_and_free_samples():
    """ATT-8: elementwise, in one array."""
    angles = np.array([(0.2, math.pi / 2, 0.4), (0.2, 0.1, 0.4), (0.2, -math.pi / 2, 0.4)])
    R = Rotation.from_euler("ZYX", angles)
    back = np.stack(R.as_euler("ZYX"), axis=-1)
    assert np.allclose(np.asarray(Rotation.from_euler("ZYX", back)), np.asarray(R), atol=1e-15)
    assert np.allclose(back[1], angles[1], atol=1e-15) and back[0, 2] == back[2, 2] == 0.0


def test_lower_case_reversed_is_upper_case(rng):
    """ATT-8: roll, pitch, yaw about fixed axes are yaw, pitch, roll about moving axes."""
    a, b, c = rng.uniform(-3, 3, 3)
    assert Rotation.from_euler("xyz", (a, b, c)) == Rotation.from_euler("ZYX", (c, b, a))


def test_roll_pitch_yaw_formula():
    """ATT-8: the matrix that every URDF reader knows."""
    r, p, y = 0.1, -0.4, 1.2
    cr, sr, cp, sp, cy, sy = (f(x) for x in (r, p, y) for f in (math.cos, math.sin))
    expected = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    assert np.allclose(np.asarray(Rotation.from_euler("xyz", (r, p, y))), expected, atol=1e-16, rtol=0)


def test_fifty_digits_come_back(rng):
    """ATT-8: pi and the angles are taken in the precision of the numbers."""
    with mpmath.workdps(50):
        angles = [mpmath.mpf("1.1"), mpmath.mpf("-0.3"), mpmath.mpf("3.0")]
        back = Rotation.from_euler("ZYX", angles).as_euler("ZYX")
        assert max(abs(a - b) for a, b in zip(back, angles, strict=True)) < 1e-48


def test_derivative_of_the_angles(rng):
    """ATT-8: a complex step through as_euler agrees with 90 digits."""
    for angles in regular_angles("ZYX", rng, 5):
        direction = rng.standard_normal(3)

        def function(*a):
            return Rotation.from_euler("ZXZ", a).as_euler("ZYX")

        step, exact = derivative(function, angles, direction), exact_derivative(function, angles, direction)
        assert np.allclose(step, exact, rtol=1e-10, atol=1e-12)


def test_traced_rates_have_no_branches(rng):
    """ATT-8: the rates of a batch of expressions are those of floats."""
    angles, omega = regular_angles("ZYX", rng, 6), rng.standard_normal((6, 3))
    rows = np.hstack([angles, omega])
    traced = evaluate("expr", lambda *x: euler_rate("ZYX", x[:3], x[3:]), rows)
    plain = [euler_rate("ZYX", a.tolist(), w.tolist()) for a, w in zip(angles, omega, strict=True)]
    assert np.allclose(traced, plain, rtol=1e-13)


def test_turn_about_a_coordinate_axis_has_exact_zeros_and_ones():
    for k in range(3):
        rows = turn(k, 0.3)
        assert rows[k][k] == 1 and all(rows[k][j] == rows[j][k] == 0 for j in range(3) if j != k)
        assert rows[(k + 1) % 3][(k + 1) % 3] == ops.cos(0.3)


@pytest.mark.parametrize("frame", ("Body", "space", None))
def test_unknown_frame_is_named(frame):
    with pytest.raises(ModelError, match="'body' or 'world'"):
        euler_rate("ZYX", (0.1, 0.2, 0.3), (1, 2, 3), frame)
