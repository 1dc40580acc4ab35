"""Joints describe themselves: what file formats, converters and tables need to know of them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.joints.samples import JOINTS, SLANTED, Gimbal, samples

from kinetree.errors import ModelError
from kinetree.joints import (
    JOINT_TYPES,
    CoordinateJoint,
    Free,
    Helical,
    Joint,
    Planar,
    Revolute,
    Spherical,
    Universal,
)
from kinetree.joints.axis import rotation_about
from kinetree.spatial.rotation import Rotation
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import IDENTITY, scale, transpose

each_joint = pytest.mark.parametrize("joint", JOINTS.values(), ids=JOINTS.keys())
LIBRARY = set("fixed revolute prismatic helical cylindrical universal planar spherical free".split())


def test_types_are_found_by_name():
    assert set(JOINT_TYPES) >= LIBRARY | {"gimbal"}
    assert Joint.named("helical") is Helical
    assert Joint.named("gimbal") is Gimbal


@pytest.mark.parametrize("name", ["revolut", "spin", "", None, 3, ["free"]])
def test_unknown_names(name):
    with pytest.raises(ModelError, match="robot: there is no joint type"):
        Joint.named(name, "robot")


def test_two_types_of_one_name_are_refused():
    with pytest.raises(TypeError, match=r"'revolute' already, kinetree.joints.revolute.Revolute"):
        type("Mine", (Revolute,), {"type_name": "revolute"})
    assert Joint.named("revolute") is Revolute


def test_coordinates_must_be_said():
    with pytest.raises(TypeError, match=r"Mine: say what its coordinates are"):
        type("Mine", (Joint,), {"type_name": "mine"})
    with pytest.raises(TypeError, match=r"Mine: a coordinate is one of .*, not 'degree'"):
        type("Mine", (Joint,), {"type_name": "mine", "coordinates": ("degree",)})
    assert "mine" not in JOINT_TYPES


@each_joint
def test_a_joint_is_its_arguments(joint: Joint):
    assert type(joint)(**joint.arguments) == joint
    assert type(joint).from_parameters(joint.parameters) == joint
    assert eval(repr(joint), {type(joint).__name__: type(joint)}) == joint
    with pytest.raises(ModelError, match=r"a .* joint has . parameters, got"):
        type(joint).from_parameters((*joint.parameters, 1.0))


@each_joint
def test_coordinates_count_positions_and_velocities(joint: Joint):
    q = joint.neutral()
    assert len(q) == joint.nq
    assert len(joint.rates) == joint.nv == len(joint.subspace(q))
    assert [q[k : k + 4] for k in joint.quaternions] == [(0, 0, 0, 1)] * joint.coordinates.count("quaternion")


@each_joint
def test_rates_are_angular_or_linear(joint: Joint):
    """A coordinate that is a length turns nothing; one that is an angle turns."""
    for kind, column in zip(joint.rates, joint.subspace(joint.neutral()).columns, strict=True):
        assert (kind == "angle") == any(column.angular)


def matrix(X: Transform) -> np.ndarray:
    return np.array(X.matrix(), dtype=float)


def step_placement(step, q):
    values = [step.ratio * q[k] for k in step.positions]
    if step.kind == "hinge":
        return rotation_about(step.axis, values[0])
    if step.kind == "slide":
        return Transform(IDENTITY, scale(step.axis, values[0]))
    R = Rotation.from_quaternion(values).as_matrix()
    return Transform(transpose(R), (0, 0, 0))


@each_joint
def test_steps_compose_to_the_joint(joint: Joint):
    if isinstance(joint, Gimbal):
        assert joint.steps is None
        return
    for row in samples(joint, 5):
        q = tuple(row[: joint.nq].tolist())
        X = Transform()
        for step in joint.steps:
            X = step_placement(step, q) @ X
        assert np.allclose(matrix(X), matrix(joint.placement(q)), atol=1e-14)
        used = {k for step in joint.steps for k in step.velocities}
        assert used == set(range(joint.nv))


@each_joint
def test_a_joint_with_an_axis_looks_the_same_along_it(joint: Joint):
    """It commutes with turns about and slides along its axis, and with all shifts if it only slides."""
    if joint.axis is None:
        assert not joint.is_translation
        return
    C = rotation_about(joint.axis, 0.7) @ Transform(IDENTITY, scale(joint.axis, -0.4))
    shifts = [C] + [Transform(IDENTITY, (0.3, -0.2, 0.9))] * joint.is_translation
    for row in samples(joint, 3):
        X = joint.placement(tuple(row[: joint.nq].tolist()))
        for C in shifts:
            assert np.allclose(matrix(C @ X), matrix(X @ C), atol=1e-14)


@each_joint
def test_straightened_joints_do_the_same(joint: Joint):
    """Seen from axes of which z is its first axis."""
    straight = joint.straightened()
    if straight is None:
        assert joint.axis is None
        return
    E, other = straight
    C = Transform(E)
    assert np.allclose(np.array(E) @ np.array(E).T, np.eye(3), atol=1e-15) and np.linalg.det(E) > 0
    assert other.first_axis == (0, 0, 1)
    assert np.allclose(np.array(E) @ joint.first_axis, (0, 0, 1), atol=1e-15)
    for row in samples(joint, 3):
        q = tuple(row[: joint.nq].tolist())
        assert np.allclose(matrix(other.placement(q) @ C), matrix(C @ joint.placement(q)), atol=1e-14)


def test_joints_without_an_axis():
    assert Planar().straightened() is None and Planar().first_axis is None
    assert Universal((1, 0, 0), (0.6, 0.8, 0)).straightened() is None  # its axes are not at right angles
    assert Universal((0, 1, 0), SLANTED).first_axis is None
    assert Free().is_free
    assert not any(joint.is_free for joint in JOINTS.values() if type(joint) is not Free)


def test_quasi_velocities():
    assert not isinstance(Spherical(), CoordinateJoint)
    assert Free().coordinates == ("quaternion", "length", "length", "length")
    assert Free().rates == ("angle",) * 3 + ("length",) * 3
    assert Planar().rates == ("angle", "length", "length")
