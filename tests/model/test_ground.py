"""Planes and heights over a grid: distances and normals, eagerly, compiled, and their derivatives."""

from __future__ import annotations

import pickle

import mpmath
import numpy as np
import pytest

import kinetree as kt

HEIGHTS = np.random.default_rng(4).normal(size=(6, 9))
SPACING, ORIGIN = (0.5, 0.25), (-1.0, -0.75, 0.2)


def by_hand(x: float, y: float) -> float:
    """The bilinear height, cell by cell; beyond the edges that of the edge."""
    u, v = (x - ORIGIN[0]) / SPACING[0], (y - ORIGIN[1]) / SPACING[1]
    u, v = min(max(u, 0.0), 5.0), min(max(v, 0.0), 8.0)
    i, j = min(int(u), 4), min(int(v), 7)
    s, t = u - i, v - j
    rows = (1 - t) * HEIGHTS[i : i + 2, j] + t * HEIGHTS[i : i + 2, j + 1]
    return float((1 - s) * rows[0] + s * rows[1]) + ORIGIN[2]


@pytest.fixture
def field() -> kt.Heightfield:
    return kt.Heightfield(HEIGHTS, SPACING, ORIGIN)


@kt.function("place(3), field -> gap, normal(3)")
def standing(model, place, field, ground=None):
    gap, normal = ground.at(tuple(place))
    return gap + 0.0 * field, np.array(normal)


def test_planes():
    ground = kt.Ground((1, 2, 2), 0.5)
    assert ground.normal == pytest.approx((1 / 3, 2 / 3, 2 / 3)) and kt.Ground() == kt.Ground((0, 0, 7))
    rng = np.random.default_rng(0)
    for _ in range(20):
        p, along = rng.normal(size=3), float(rng.normal())
        foot = p - np.array(ground.normal) * (np.dot(ground.normal, p) - 0.5)
        gap, normal = ground.at(tuple(foot + along * np.array(ground.normal)))
        assert gap == pytest.approx(along, abs=1e-14) and normal == ground.normal


def test_heights_by_hand(field):
    rng = np.random.default_rng(1)
    for x, y in rng.uniform(-2, 2.5, (300, 2)):
        assert field.height(x, y)[0] == pytest.approx(by_hand(x, y), abs=1e-13)
    for i, j in np.ndindex(6, 9):
        x, y = ORIGIN[0] + i * SPACING[0], ORIGIN[1] + j * SPACING[1]
        assert field.height(x, y)[0] == pytest.approx(HEIGHTS[i, j] + ORIGIN[2], abs=1e-13)


def test_slopes_are_those_of_the_heights(field):
    rng = np.random.default_rng(2)
    inside = rng.uniform((-0.99, -0.74), (1.49, 1.24), (200, 2))
    for x, y in inside:
        _, slopes = field.height(x, y)
        wanted = [np.imag(field.height(x + a, y + b)[0]) / 1e-30 for a, b in ((1e-30j, 0), (0, 1e-30j))]
        assert slopes == pytest.approx(wanted, abs=1e-12)
    _, slopes = field.height(99.0, 0.1)
    assert slopes[0] == 0.0 and slopes[1] != 0.0  # level beyond the edge, across it as the edge is
    gap, normal = field.at((99.0, 99.0, 3.0))
    assert gap == pytest.approx(3.0 - HEIGHTS[5, 8] - ORIGIN[2]) and normal == (0.0, 0.0, 1.0)


def test_normals_are_unit_and_gaps_are_distances_to_slopes():
    x, y = np.meshgrid(np.arange(4.0), np.arange(5.0), indexing="ij")
    plane = kt.Heightfield(0.3 * x - 0.4 * y, 1.0, (0, 0))
    flat = kt.Ground((-0.3, 0.4, 1.0))
    rng = np.random.default_rng(3)
    for p in rng.uniform((0, 0, -1), (3, 4, 2), (50, 3)):
        gap, normal = plane.at(tuple(p))
        assert normal == pytest.approx(flat.normal, abs=1e-14)
        assert gap == pytest.approx(flat.at(tuple(p))[0], abs=1e-14)


@pytest.mark.parametrize("ground", [kt.Ground((0.1, 0.2, 1), 0.3), kt.Heightfield(HEIGHTS, SPACING, ORIGIN)])
def test_compiled_is_eager(ground):
    model, rng = kt.zoo.pendulum(), np.random.default_rng(5)
    places = rng.uniform(-2, 2.5, (100, 3))
    wanted = standing(model, places, 0.0, ground=ground, target="eager")
    for got, expected in zip(standing(model, places, 0.0, ground=ground), wanted, strict=True):
        assert np.allclose(got, expected, rtol=0, atol=4e-15)
    single = standing(model, places.astype(np.float32), np.float32(0), ground=ground)
    assert single[0].dtype == np.float32 and np.abs(single[0] - wanted[0]).max() < 1e-3


def test_derivatives(field):
    model, rng = kt.zoo.pendulum(), np.random.default_rng(6)
    for place in rng.uniform((-0.9, -0.7, -1), (1.4, 1.2, 2), (20, 3)):
        step = rng.normal(size=3)
        _, (gap, _) = kt.jvp(standing.with_options(ground=field), model, (place, 0.0), (step, 0.0))
        moved = field.at(tuple(place + 1e-30j * step))[0]
        assert gap == pytest.approx(np.imag(moved) / 1e-30, abs=1e-12)


def test_fields_with_other_heights_have_other_kernels(field):
    other = kt.Heightfield(HEIGHTS + 1.0, SPACING, ORIGIN)
    assert repr(other) != repr(field) and other != field and hash(other) == hash(field)
    model, place = kt.zoo.pendulum(), np.array([0.1, 0.2, 3.0])
    high, low = (standing(model, place, 0.0, ground=g)[0] for g in (field, other))
    assert high - low == pytest.approx(field.at((0.1, 0.2, 3.0))[1][2])


def test_nan_gives_nan_and_other_numbers_work(field):
    assert np.isnan(field.at((np.nan, 0.0, 1.0))[0])
    many = field.height(mpmath.mpf("0.1"), mpmath.mpf("0.2"))[0]
    assert isinstance(many, mpmath.mpf) and float(many) == pytest.approx(by_hand(0.1, 0.2), abs=1e-14)


def test_values(field):
    assert pickle.loads(pickle.dumps(field)) == field == kt.Heightfield(HEIGHTS.tolist(), SPACING, ORIGIN)
    assert kt.Heightfield(np.zeros((3, 5)), 2.0).origin == (-2.0, -4.0, 0.0)  # over the middle
    with pytest.raises(AttributeError, match="does not change"):
        field.spacing = (1, 1)
    with pytest.raises(ValueError, match="read-only"):
        field.array[0, 0] = 1.0
    given = HEIGHTS.copy()
    kept = kt.Heightfield(given, SPACING, ORIGIN)
    given[:] = 0.0
    assert kept == field
