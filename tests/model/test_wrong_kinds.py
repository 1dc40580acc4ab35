"""Strings, missing values, wrong kinds and shapes in dictionaries and arguments are errors with a name."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree import zoo
from kinetree.errors import ArgumentError, KinetreeError, ModelError, ShapeError

ARM, DOG = zoo.arm7(), zoo.quadruped()
WRONG = {"text": "0.3", "degrees": "90deg", "texts": ["1"], "none": None, "dict": {}, "object": object()}


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("method", [ARM.positions, ARM.velocities])
def test_stacked_by_name(method, value):
    with pytest.raises(ShapeError, match=r"model 'arm7': [qv] of joint 'joint2' must hold numbers"):
        method({"joint1": 0.1, "joint2": value})


def test_stacked_ragged_and_batches_that_do_not_fit():
    with pytest.raises(ShapeError, match="rows have different lengths"):
        ARM.positions({"joint1": [[1], [1, 2]]})
    with pytest.raises(ShapeError, match="do not broadcast"):
        ARM.positions({"joint1": [1, 2, 3], "joint2": [1, 2]})


@pytest.mark.parametrize("value", [*WRONG.values(), True, np.nan, np.inf, np.zeros(2)])
def test_locked_positions(value):
    with pytest.raises(ModelError, match="position of locked joint 'joint3'"):
        ARM.lock({"joint3": value})


def test_quaternions_of_models():
    for q in (np.zeros(7), 2.0 * DOG.neutral()[:7]):
        with pytest.raises(
            ModelError, match=r"position of locked joint 'trunk': its quaternion .* has length"
        ):
            DOG.lock({"trunk": q})
    with pytest.raises(ModelError, match="joint 'ball': spring_reference: its quaternion"):
        kt.ModelBuilder("m").add_body("ball", None, kt.Spherical(), spring_reference=(0, 0, 0, 0))
    assert DOG.lock({"trunk": DOG.neutral()[:7]}).nv == DOG.nv - 6


@pytest.mark.parametrize("value", [{"joint": "a"}, {"a"}, 3, ("a", "2"), ("a", 1, None), ()])
def test_mimic(value):
    builder = kt.ModelBuilder("m").add_body("a", None, kt.Revolute())
    with pytest.raises(ModelError, match="joint 'b': "):
        builder.add_body("b", "a", kt.Revolute(), mimic=value)


@pytest.mark.parametrize(
    "arguments",
    [
        ("1",),
        (None,),
        (1, "abc"),
        (1, (0, 0)),
        (1, (0, "0", 0)),
        (1, (0, 0, 0), "abc"),
        (1, (0, 0, 0), ("1",) * 3),
    ],
)
def test_inertias(arguments):
    with pytest.raises(KinetreeError, match="Inertia: the "):
        kt.Inertia(*arguments)


@pytest.mark.parametrize("batch", [-1, 2.5, "3", (2.0,), True, (2, -1), {}.keys, ("a",)])
def test_batches_of_random_states(batch):
    with pytest.raises(ArgumentError, match="random_state: batch is"):
        ARM.random_state(0, batch)


def test_seeds_of_random_states():
    for rng in ("seed", -1, 2.5):
        with pytest.raises(ArgumentError, match="random_state: rng is"):
            ARM.random_state(rng)


@pytest.mark.parametrize(
    "batch, shape", [((), ()), (3, (3,)), (np.int64(2), (2,)), ((4, 0, 2), (4, 0, 2)), ([2], (2,))]
)
def test_random_states(batch, shape):
    q, v = DOG.random_state(np.random.default_rng(5), batch)
    assert q.shape == (*shape, DOG.nq) and v.shape == (*shape, DOG.nv)
    assert np.allclose(np.linalg.norm(q[..., :4], axis=-1), 1.0)


@pytest.mark.parametrize(
    "q", [["1"] * 7, "abc", [[1], [2, 3]], np.array(["1"] * 7, object), [None] * 7, np.zeros((2, 7))]
)
def test_steps(q):
    with pytest.raises(ShapeError, match="integrate: "):
        ARM.integrate(q, np.zeros((3, 7)))


class TestParameters:
    def test_order_and_round_trip(self):
        p = ARM.parameters
        assert p.shape == (7, 10) and p.dtype == float
        assert [tuple(row) for row in p] == [body.inertia.parameters for body in ARM.bodies]
        assert ARM.with_parameters(p) == ARM

    def test_what_is_no_inertia_of_a_body_stays(self):
        model = zoo.puma560()
        p = model.parameters
        p[:, 0] *= 1.5
        p[:, 4:7] *= 1.5
        other = model.with_parameters(p, check="finite")  # the arm is known by its felt moments alone
        assert np.array_equal(other.parameters, p)
        assert other.rotors == model.rotors and other.layout == model.layout
        assert [b._replace(inertia=a.inertia) for a, b in zip(model.bodies, other.bodies)] == list(
            model.bodies
        )
        q, _ = model.random_state(0)
        assert np.allclose(kt.mass_matrix(other, q), kt.mass_matrix(model, q, parameters=p), rtol=1e-13)

    def test_an_unphysical_body_is_named(self):
        p = ARM.parameters
        p[3, 0] = -1.0
        with pytest.raises(ModelError, match="body 'link4': the mass is negative"):
            ARM.with_parameters(p)
        assert ARM.with_parameters(p, check="finite").bodies[3].inertia.mass == -1.0
        p[3] = np.nan
        with pytest.raises(ModelError, match="'link4' contains nan"):
            ARM.with_parameters(p, check="finite")

    @pytest.mark.parametrize("p", ["x", np.zeros((3, 10)), np.zeros(70), None, np.zeros((7, 10), bool)])
    def test_wrong_shapes(self, p):
        with pytest.raises(ShapeError, match=r"with_parameters takes \(7, 10\) numbers"):
            ARM.with_parameters(p)

    def test_a_model_without_bodies(self):
        empty = kt.ModelBuilder("empty").build()
        assert empty.parameters.shape == (0, 10)
        assert empty.with_parameters(empty.parameters) == empty
