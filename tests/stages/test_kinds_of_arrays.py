"""Arrays of small types compute in doubles, wherever they run; what is out of range never wraps around."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt

SMALL = [np.int8, np.uint8, np.int16, np.int64, np.bool_, np.float16, np.float32]


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("target", ["eager", "cpu"])
def test_small_types_do_not_wrap_around(kind, target):
    model = kt.zoo.puma560()
    big = 1 if kind is np.bool_ else 100
    q = np.full((2, model.nq), 1, kind)
    v = np.full((2, model.nv), big, kind)
    expected = kt.bias_force(model, q.astype(float), v.astype(float), target="eager")
    found = kt.bias_force(model, q, v, target=target)
    tolerance = 1e-5 if kind is np.float32 else 1e-12
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
    assert found.dtype == (np.float32 if kind is np.float32 else np.float64)


@pytest.mark.parametrize("kind", SMALL)
def test_nor_beside_complex_numbers(kind):
    model = kt.zoo.puma560()
    q = np.linspace(0.1, 0.6, model.nq) + 1e-30j
    v = np.full(model.nv, 1 if kind is np.bool_ else 100, kind)
    expected = kt.bias_force(model, q, v.astype(float))
    np.testing.assert_allclose(kt.bias_force(model, q, v), expected, rtol=1e-13)


@pytest.mark.parametrize("target", ["eager", "cpu"])
def test_one_array_for_out_alone_or_in_a_tuple(target):
    model = kt.zoo.puma560()
    q, _ = model.random_state(1)
    for out in (np.empty((6, 6)), (np.empty((6, 6)),)):
        found = kt.mass_matrix(model, q, out=out, target=target)
        assert found is (out[0] if isinstance(out, tuple) else out)
