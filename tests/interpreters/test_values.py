"""Values describe themselves: numbers in, numbers out, and a type of one's own runs in every interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from tests.interpreters.samples import HEAVY, LINK, WAYS, arm

import kinetree as kt
from kinetree.errors import TraceError
from kinetree.joints import Prismatic
from kinetree.spatial import (
    ArticulatedInertia,
    Coordinates,
    CoriolisInertia,
    Detached,
    Factored,
    Force,
    ForceSet,
    Inertia,
    Jet,
    Lump,
    Matrix,
    Motion,
    Partials,
    Stack,
    Subspace,
    Transform,
)
from kinetree.spatial.value import Value, take_apart

A = Motion((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
B = Force((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
X = kt.Pose(kt.Rotation.from_rotation_vector((0.3, -0.5, 0.4)), (1.0, -2.0, 0.5)).transform()
TURNED = Transform(((1, 0, 0), (0, 1, 0), (0, 0, 1)), (1.0, 2.0, 3.0), spin=(1, 0.6, 0.8)).following(X)
VALUES = {
    "motion": A,
    "force": B,
    "force set": ForceSet([B, B * 2.0]),
    "subspace": Subspace([A, A * 2.0]),
    "inertia": HEAVY,
    "articulated": ArticulatedInertia.from_rigid(HEAVY),
    "coriolis": CoriolisInertia.of(A, HEAVY),
    "lump": Lump.of(HEAVY),
    "jet": Jet((1.0, 2.0, 3.0), A),
    "transform": X,
    "transform of factors": TURNED,
    "detached": Detached(),
    "matrix": Matrix([[1.0, 2.0], [3.0, 4.0]]),
    "factored": Factored(Matrix([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 4.0]])),
    "coordinates": Coordinates([1.0, 2.0]),
    "partials": Partials([Subspace([A]), Subspace([A * 2.0])]),
    "stack": Stack([A, A * 3.0]),
    "tuple": (A, 1.0, [2.0, B]),
}


def flat(value) -> list[float]:
    return take_apart(value)[0]


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_taken_apart_and_put_together(value):
    numbers, build = take_apart(value)
    assert all(isinstance(x, (int, float)) for x in numbers)
    again = build(iter(numbers))
    assert type(again) is type(value)
    assert flat(again) == numbers
    other = build(iter([2.0 * x for x in numbers]))
    assert flat(other) == [2.0 * x for x in numbers]


@pytest.mark.parametrize("kind", [Motion, Force, Inertia, ArticulatedInertia, CoriolisInertia])
def test_sums_of_linear_types_are_sums_of_numbers(kind):
    assert kind.is_linear and kind.is_uniform
    a, b = (
        kind.zero().with_parts(list(np.random.default_rng(k).normal(size=len(kind.zero().parts))))
        for k in (0, 1)
    )
    assert flat(a + b) == pytest.approx([x + y for x, y in zip(flat(a), flat(b))], rel=1e-15)
    assert flat(a + kind.zero()) == flat(a)


@pytest.mark.parametrize("value", [B, HEAVY, *(VALUES[k] for k in ("articulated", "coriolis", "force set"))])
def test_carried_is_what_the_predecessor_sees(value):
    """X^T F of forces, X^T I X of inertias, against the 6 x 6 matrices; a group sums."""
    M, V = np.array(TURNED.matrix(), float), np.array(value.numbers(), float)
    expected = M.T @ V @ M if V.shape == (6, 6) else M.T @ V
    assert np.array(value.carried(TURNED).numbers(), float) == pytest.approx(expected, abs=1e-13)
    group = Stack([value, value, value]).carried(Stack([TURNED, Detached(), TURNED]))
    assert np.array(group.numbers(), float) == pytest.approx(2.0 * expected, abs=1e-13)


def test_transforms_are_carried_one_by_one():
    found = Stack([X, Detached()]).carried(Stack([TURNED, TURNED]))
    assert np.allclose(np.array(found.values[0].matrix(), float), np.array((X @ TURNED).matrix(), float))
    assert isinstance(found.values[1], Detached)


@pytest.mark.parametrize("value", [VALUES["jet"], VALUES["factored"]])
def test_what_has_no_array_form_says_so(value):
    with pytest.raises(TraceError, match="has no array form"):
        value.numbers()
    with pytest.raises(TraceError, match="a Motion does not go along a path"):
        A.carried(X)


class Tally(Value):
    """A type of one's own: a mass and its first moment, which sum."""

    __slots__ = ("first", "mass")
    is_uniform = is_linear = True

    def __init__(self, mass=0, first=(0, 0, 0)):
        self.mass, self.first = mass, first

    @property
    def parts(self):
        return (self.mass, *self.first)

    def with_parts(self, parts):
        mass, *first = parts
        return Tally(mass, tuple(first))

    def __add__(self, other):
        return Tally(self.mass + other.mass, tuple(a + b for a, b in zip(self.first, other.first)))

    def carried(self, X):
        turned, shift = X.turned_back(self.first), X.translation
        return Tally(self.mass, tuple(a + self.mass * b for a, b in zip(turned, shift)))


def moments(tree, q, v):
    """For each coordinate the first moment along z of all bodies outboard, times their mass."""
    (X,) = tree.fields(Transform)
    total = tree.sums(Tally)
    for i in tree.outward():
        X[i], _ = tree.joint(i, q[i])
        I = tree.inertia(i)
        total[i] = Tally(I.mass, I.first_moment)
    out = tree.coordinates()
    for i in tree.inward():
        out[i] = (total[i].first[2] * total[i].mass + 0 * v[i][0],)
        total.add(tree.parent(i), total[i].carried(X[i]))
    return out


def test_a_value_of_ones_own_runs_everywhere():
    model = arm(LINK, HEAVY, LINK, last=Prismatic((1, 0, 0)))
    results = [np.array(way(moments, model)) for way in WAYS.values()]
    q, _ = model.random_state(np.random.default_rng(0))
    M = kt.composite_inertias(model, q, target="eager")  # h_z and m stand in the 6 x 6 matrix
    expected = M[:, 1, 3] * M[:, 3, 3]
    for result in results:
        assert result == pytest.approx(expected, rel=1e-12)
