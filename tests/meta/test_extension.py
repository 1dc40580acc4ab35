"""A joint type, an algorithm, a function and a target from outside the package: one object each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import kinetree as kt
from kinetree.compiler.emit import python
from kinetree.joints.base import CoordinateJoint
from kinetree.spatial import Motion, Subspace, Transform
from kinetree.stages import TARGETS, SweepFunction, Target, register
from kinetree.sweep import REGISTRY, algorithm


class Parabolic(CoordinateJoint):
    """A slide along the parabola z = x^2 / 2 without turning: S depends on q."""

    __slots__ = ()
    type_name, coordinates = "parabolic", ("length",)

    def placement(self, q: Any) -> Transform:
        return Transform(((1, 0, 0), (0, 1, 0), (0, 0, 1)), (q[0], 0, q[0] * q[0] / 2))

    def subspace(self, q: Any) -> Subspace:
        return Subspace((Motion((0, 0, 0), (1, 0, q[0])),))

    def subspace_partials(self, q: Any) -> tuple[Subspace, ...]:
        return (Subspace((Motion((0, 0, 0), (0, 0, 1)),)),)

    def complement(self, q: Any) -> Subspace:
        length = (1 + q[0] * q[0]) ** 0.5
        across = Motion((0, 0, 0), (-q[0] / length, 0, 1 / length))
        turns = [Motion(tuple(int(i == k) for i in range(3)), (0, 0, 0)) for k in range(3)]
        return Subspace((*turns, Motion((0, 0, 0), (0, 1, 0)), across))


@pytest.fixture
def bead() -> kt.Model:
    builder = kt.ModelBuilder("bead")
    builder.add_body("bead", None, Parabolic(), inertia=kt.Inertia(2.0, (0, 0, 0), (0.1, 0.1, 0.1)))
    link = kt.Inertia(1.0, (0, 0, -0.5), (0.1, 0.1, 0.01))
    builder.add_body("link", "bead", kt.Revolute((0, 1, 0)), inertia=link)
    return builder.build()


@pytest.mark.parametrize("target", ["eager", "cpu", "c"])
def test_a_joint_type(bead, target):
    """A bead on a parabola, by hand: T = m (1 + x^2) x'^2 / 2, V = m g x^2 / 2."""
    alone = bead.lock({"link": [0.0]}) if "link" in bead.joint_names else bead
    m = alone.total_mass
    x, v, a = 0.3, -0.7, 1.1
    expected = m * (1 + x * x) * a + m * x * v * v + m * 9.81 * x
    found = kt.inverse_dynamics(alone, np.array([x]), np.array([v]), np.array([a]), target=target)
    assert math.isclose(found[0], expected, rel_tol=1e-13)


def test_the_laws_hold_for_it(bead):
    rng = np.random.default_rng(1)
    q, v = bead.random_state(rng, (5,))
    tau = rng.normal(size=(5, 2))
    a = kt.forward_dynamics(bead, q, v, tau)
    np.testing.assert_allclose(kt.inverse_dynamics(bead, q, v, a), tau, atol=1e-12)
    C, rate = kt.coriolis_matrix(bead, q, v), kt.mass_matrix_rate(bead, q, v)
    np.testing.assert_allclose(rate, C + np.swapaxes(C, -1, -2), atol=1e-12)
    assert kt.Model.from_dict(bead.to_dict()) == bead


def test_an_algorithm(bead):
    @algorithm("q, v -> total(6)")
    def total_twist(tree, q, v):
        """The sum of all body velocities, each in its own axes."""
        X, V = tree.fields(Transform, Motion)
        total = tree.array(6)
        sums = tree.sums(Motion)
        for i in tree.outward():
            X[i], S = tree.joint(i, q[i])
            V[i] = X[i] @ V[tree.parent(i)] + S @ v[i]
            sums.add(tree.world, V[i].tagged(tree.world_frame))
        total[:] = sums[tree.world].components
        return total

    try:
        function = SweepFunction(total_twist)
        q, v = bead.random_state(np.random.default_rng(2), (3,))
        expected = kt.body_velocities(bead, q, v).sum(axis=-2)
        for target in ("eager", "cpu", "c"):
            np.testing.assert_allclose(function(bead, q, v, target=target), expected, atol=1e-14)
        looped = kt.compile(function, bead, mode="looped")
        np.testing.assert_allclose(looped(q, v), expected, atol=1e-14)
    finally:
        del REGISTRY["total_twist"]


class Printed(Target):
    """Runs the Python that the oracle prints."""

    name = "printed"

    def executable(self, job):
        program = job.program()

        def run(*arrays, out=None):
            results, singular = python.run(
                program, *(np.atleast_1d(a).reshape(-1, s.size) for a, s in zip(arrays, program.inputs))
            )
            assert out is None and not singular.any()
            return results[0].reshape(job.shapes[1][0])

        return run


def test_a_target(bead):
    register(Printed())
    try:
        q, v = bead.random_state(np.random.default_rng(3))
        found = kt.bias_force(bead, q, v, target="printed")
        np.testing.assert_allclose(found, kt.bias_force(bead, q, v), atol=1e-13)
        assert kt.compile(kt.bias_force, bead, target="printed")(q, v).shape == (2,)
        with pytest.raises(kt.errors.KinetreeError, match="already a target named 'printed'"):
            register(Printed())
    finally:
        del TARGETS["printed"]
    with pytest.raises(kt.errors.KinetreeError, match="unknown target 'printed'"):
        kt.bias_force(bead, q, v, target="printed")
