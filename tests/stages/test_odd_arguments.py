"""What no call can mean is refused with a word about it; what a campaign found once stays found."""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest

import kinetree as kt
from kinetree.compiler.passes.pipeline import without_garbage_collection
from kinetree.errors import ArgumentError, KinetreeError, ShapeError, SingularError

ARM = kt.zoo.double_pendulum()
Q = np.array([0.3, -0.2])
everywhere = pytest.mark.parametrize("target", [None, "cpu", "eager"])


@everywhere
def test_masked_numbers(target):
    masked = np.ma.MaskedArray(Q, mask=[False, True])
    for _ in range(3):  # the first call, and those that go straight to the machine code
        with pytest.raises(ShapeError, match="q has masked numbers: fill them first"):
            kt.mass_matrix(ARM, masked, target=target)
        kt.mass_matrix(ARM, Q, target=target)
    with pytest.raises(ShapeError, match="q has masked numbers"):
        kt.compile(kt.mass_matrix, ARM)(masked)
    unmasked = np.ma.MaskedArray(Q)
    assert np.array_equal(
        kt.mass_matrix(ARM, unmasked, target=target), kt.mass_matrix(ARM, Q, target=target)
    )


@everywhere
@pytest.mark.parametrize(
    ("out", "said"),
    [
        (np.zeros((2, 2), int), "out for .* holds int64 values"),
        (np.zeros((2, 2), "U32"), "out for .* holds <U32 values"),
        (np.broadcast_to(0.0, (2, 2)), "out for .* is read-only"),
        ([[0.0, 0.0], [0.0, 0.0]], "out for .* must be a NumPy array, not a list"),
    ],
)
def test_places_for_results(target, out, said):
    for _ in range(3):
        with pytest.raises(ShapeError, match=said):
            kt.mass_matrix(ARM, Q, out=out, target=target)
        kt.mass_matrix(ARM, Q, target=target)


@pytest.mark.parametrize("target", ["", "nonsense", 3, b"cpu", ["cpu"], {}])
def test_targets(target):
    with pytest.raises(KinetreeError, match="mass_matrix: unknown target"):
        kt.mass_matrix(ARM, Q, target=target)


def test_options():
    with pytest.raises(ArgumentError, match="jacobian cannot take a dict as 'reference'"):
        kt.jacobian(ARM, Q, frame="lower", reference={})
    for value in (7, True, ["elbow", 3], object()):
        with pytest.raises(ArgumentError, match="accelerate takes a name or a list of names"):
            kt.hybrid_dynamics(ARM, Q, Q, Q, accelerate=value)


@everywhere
def test_lists_in_arrays_of_objects(target):
    ragged = [[1.0], [1.0, 2.0]]  # as many as there are joints
    with pytest.raises(ShapeError, match="q holds non-numeric values"):
        kt.mass_matrix(ARM, ragged, target=target)


def test_objects_that_are_plain_numbers_follow_the_rule_of_nan():
    forces = kt.gravity_force(ARM, Q.astype(object), gravity=np.array([0.0, 0.0, np.inf]))
    assert forces.dtype == float and np.isnan(forces).all()


@pytest.mark.parametrize("target", [None, "eager"])
def test_so_does_a_model_without_coordinates_given_none_as_objects(target):
    builder = kt.ModelBuilder("rests")
    builder.add_body("b", "world", kt.Fixed(), inertia=kt.Inertia(1.0, (0, 0, 0), np.eye(3).tolist()))
    place = kt.center_of_mass(
        builder.build(), np.zeros(0, object), parameters=np.full((1, 10), np.inf), target=target
    )
    assert place.dtype == float and np.isnan(place).all()


@pytest.mark.parametrize("batch", [(), (1,), (3,)])
@pytest.mark.parametrize("name", ["center_of_mass", "center_of_mass_jacobian", "composite_moments"])
def test_nothing_has_its_centre_at_the_origin(name, batch):
    """Alone and in a batch, in plain Python and as machine code."""
    given = np.broadcast_to(Q, (*batch, 2)), np.zeros((*batch, 2, 10))
    for target in ("eager", "cpu"):
        found = getattr(kt, name)(ARM, given[0], parameters=given[1], target=target)
        assert all(not np.any(part) for part in (found if isinstance(found, tuple) else (found,)))


@pytest.mark.parametrize("target", ["eager", "cpu"])
def test_a_first_moment_without_a_mass_is_the_same_everywhere(target):
    parameters = np.zeros((2, 10))
    parameters[1, 1:4] = 0.3
    for batch in ((), (2,)):
        given = np.broadcast_to(Q, (*batch, 2)), np.broadcast_to(parameters, (*batch, 2, 10))
        _, com, _ = kt.composite_moments(ARM, given[0], parameters=given[1], target=target)
        assert np.all(com[..., 1, :] == 0.3)


@pytest.mark.parametrize("target", ["eager", "cpu"])
def test_inertia_below_the_smallest_normal_number_is_none(target):
    builder = kt.ModelBuilder("speck")
    builder.add_body("a", "world", kt.Prismatic((1, 0, 0)), inertia=kt.Inertia(1e-320), joint_name="slide")
    with pytest.raises(SingularError, match="joint 'slide' of model 'speck' has no inertia"):
        kt.forward_dynamics(builder.build(), [0.0], [0.0], [1.0], target=target)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_the_collector_rests_while_a_program_is_made_and_no_longer():
    assert gc.isenabled()
    with without_garbage_collection():
        with without_garbage_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
        child = os.fork()  # in which nobody would end the rest
        if child == 0:
            os._exit(0 if gc.isenabled() else 1)
    assert gc.isenabled() and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with pytest.raises(ZeroDivisionError), without_garbage_collection():
        1 / 0
    assert gc.isenabled()
