"""Joints refuse bad axes, pitches and pairs of axes, and keep good numbers as they are."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import sympy

from kinetree.errors import ModelError
from kinetree.joints import Cylindrical, Helical, Prismatic, Revolute, Universal
from kinetree.joints.axis import coordinate_axis, perpendiculars

BAD_AXES = {
    "zero": ((0, 0, 0), "zero vector"),
    "too long": ((0, 0, 2), "length 2"),
    "too short": ((0.1, 0.2, 0.3), "length 0.37"),
    "two numbers": ((0, 1), "three numbers"),
    "four numbers": ((0, 0, 1, 0), "three numbers"),
    "a number": (1.0, "three numbers"),
    "text": ("xyz", "three numbers"),
    "strings": (("0", "0", "1"), "three numbers"),
    "none": (None, "three numbers"),
    "a hole": ((0, None, 1), "three numbers"),
    "nan": ((0, math.nan, 1), "not finite"),
    "infinite": ((0, 0, math.inf), "not finite"),
    "a matrix": (np.eye(3), "three numbers"),
}


@pytest.mark.parametrize("make", [Revolute, Prismatic, Helical, Cylindrical, Universal])
@pytest.mark.parametrize("axis, expected", BAD_AXES.values(), ids=BAD_AXES.keys())
def test_bad_axis(make, axis, expected):
    with pytest.raises(ModelError) as error:
        make(axis)
    message = str(error.value)
    assert message.startswith(make.__name__)
    assert expected in message
    assert "\n" not in message


@pytest.mark.parametrize("pitch", [None, "0.1", (0.1,), math.nan, math.inf])
def test_bad_pitch(pitch):
    with pytest.raises(ModelError, match="Helical: the pitch"):
        Helical((0, 0, 1), pitch)


def test_parallel_axes():
    with pytest.raises(ModelError, match="parallel"):
        Universal((0, 0, 1), (0, 0, -1))


def test_axes_of_files_are_normalised_and_exact_ones_kept():
    axis = Revolute((0.577, 0.577, 0.577)).axis
    assert math.isclose(math.hypot(*axis), 1.0, rel_tol=1e-15)
    assert Revolute(axis).axis == axis
    assert Revolute(np.array([0.0, -1.0, 0.0])).axis == (0, -1, 0)
    assert [type(a) for a in Revolute((0.0, 0.0, 1.0)).axis] == [int, int, int]
    assert Revolute((0.6, 0.0, 0.8)).axis == (0.6, 0, 0.8)


def test_symbols_are_taken_as_they_are():
    x, y, z = sympy.symbols("x y z")
    assert Revolute((x, y, z)).axis == (x, y, z)
    assert Prismatic((mpmath.mpf(3), 0, 0)).axis == (3, 0, 0)


def test_coordinate_axes():
    assert coordinate_axis((0, 0, 1)) == (2, 1)
    assert coordinate_axis((0, -1, 0)) == (1, -1)
    assert coordinate_axis((0.6, 0, 0.8)) is None
    assert coordinate_axis((0, 0, 1.0000000000000002)) is None
    assert coordinate_axis((0, 0, sympy.Symbol("z"))) is None


@pytest.mark.parametrize("axis", [(0, 0, -1), (0, 0, 1), (1, 0, 0), (0, -1, 0), (0.48, 0.6, -0.64)])
def test_perpendiculars_make_a_right_handed_triple(axis):
    a, b = perpendiculars(axis)
    R = np.array([a, b, axis], dtype=float)
    assert np.allclose(R @ R.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(R) > 0


@pytest.mark.parametrize("make", [Revolute, Prismatic, Cylindrical])
def test_one_axis_is_all_that_it_takes(make):
    with pytest.raises(TypeError, match="positional argument"):
        make((0, 0, 1), (0, 0, 0))
