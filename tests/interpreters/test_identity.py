"""Programs that are not the same do not share machine code, whatever they have in common."""

from __future__ import annotations

import numpy as np
import pytest
from tests.interpreters.samples import HEAVY, LINK, of

import kinetree as kt
from kinetree.joints import Revolute
from kinetree.spatial import Subspace
from kinetree.stages import SweepFunction


def geared(ratio: float) -> type:
    """A joint of the user's own that turns by a multiple of its coordinate; the class has the same name each
    time, as when a notebook is run again after a change.
    """

    class Geared(Revolute):
        type_name = "geared"

        def placement(self, q):
            return super().placement((q[0] * ratio,))

        def subspace(self, q):
            return Subspace(column * ratio for column in super().subspace(q).columns)

    return Geared


def two_links(joint: type, names: tuple[str, str] = ("a", "b")) -> kt.Model:
    turn = kt.Rotation.from_rotation_vector((0.3, -0.5, 0.4)).as_matrix()
    builder = kt.ModelBuilder("two links")
    builder.add_body("upper", "world", joint((0, 0.6, 0.8)), kt.Pose(turn), LINK, joint_name=names[0])
    builder.add_body(
        "lower", "upper", joint((0, 0, 1)), kt.Pose(turn, (0.3, 0, 0.1)), HEAVY, joint_name=names[1]
    )
    return builder.build()


@pytest.mark.parametrize("mode", ["unrolled", "looped"])
@pytest.mark.parametrize("function", ["inverse_dynamics", "mass_matrix", "christoffel_symbols", "placements"])
def test_joints_of_the_user_are_compiled_as_they_are_now(function, mode):
    for ratio in (1.0, -2.0, 0.5):
        model = two_links(geared(ratio))
        needed = [a for a in getattr(kt, function).algorithm.inputs if not a.optional]
        inputs = np.random.default_rng(1).normal(size=(len(needed), 2))
        wanted = getattr(kt, function)(model, *inputs, target="eager")
        found = kt.compile(getattr(kt, function), model, mode=mode)(*inputs)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_algorithms_of_the_user_are_compiled_as_they_are_now():
    """Of the same name, one after the other, on one model."""

    def text(factor):
        def scaled(tree, q, v):
            tau = tree.coordinates()
            for i in tree.outward():
                tau[i] = tuple(x * factor for x in v[i])
            return tau

        return of(scaled)

    model = two_links(kt.Revolute)
    q, v = np.random.default_rng(2).normal(size=(2, 2))
    for factor in (2.0, 3.0):
        np.testing.assert_array_equal(SweepFunction(text(factor))(model, q, v), factor * v)


def test_names_of_joints_tell_programs_apart():
    """The option `accelerate` names joints: models that differ in these names alone differ."""
    q, v, known = np.random.default_rng(3).normal(size=(3, 2))
    for names in (("a", "b"), ("b", "a")):
        model = two_links(kt.Revolute, names)
        wanted = kt.hybrid_dynamics(model, q, v, known, accelerate=("a",), target="eager")
        found = kt.hybrid_dynamics(model, q, v, known, accelerate=("a",))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        {"gravity": (0.0, 0.0, -3.0)},
        {"gravity": (0.0, 0.0, -9.810000000000002)},
    ],
)
def test_gravity_tells_programs_apart(change):
    model = two_links(kt.Revolute)
    other = model.replace(**change)
    q = np.array([0.3, 0.4])
    assert not np.array_equal(kt.gravity_force(model, q), kt.gravity_force(other, q))


def test_one_bit_of_an_inertia_tells_programs_apart():
    q, v, a = np.random.default_rng(4).normal(size=(3, 1))
    found = set()
    for mass in (2.0, np.nextafter(2.0, 3.0)):
        builder = kt.ModelBuilder("bits")
        builder.add_body(
            "b", "world", kt.Prismatic((1, 0, 0)), inertia=kt.Inertia(float(mass), (0, 0, 0), np.eye(3))
        )
        found.add(
            float(kt.inverse_dynamics(builder.build().replace(gravity=(0.0, 0.0, 0.0)), q, v, a * 0 + 1)[0])
        )
    assert found == {2.0, float(np.nextafter(2.0, 3.0))}


def test_frames_tell_programs_apart():
    """Equal names of frames at other places."""
    q = np.array([0.2])
    found = []
    for x in (0.5, 0.6):
        builder = kt.ModelBuilder("frames")
        builder.add_body("b", "world", kt.Revolute((0, 0, 1)), inertia=LINK)
        builder.add_frame("tool", "b", kt.Pose(p=(x, 0, 0)))
        model = builder.build()
        found.append(kt.frame_placement(model, q, "tool")[0, 3])
        assert kt.jacobian(model, q, "tool")[4, 0] == pytest.approx(x, rel=1e-15)
    assert found == pytest.approx([0.5 * np.cos(0.2), 0.6 * np.cos(0.2)], rel=1e-15)
