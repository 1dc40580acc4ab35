"""What targets other than machine code refuse at their boundary."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.compiler.runtime.cuda_arrays import View
from kinetree.errors import ShapeError


class Placed:
    """Says where it would stand on a device."""

    def __init__(self, pointer: int, shape: tuple[int, ...], strides: tuple[int, ...] | None = None):
        self.__cuda_array_interface__ = {
            "shape": shape, "typestr": "<f8", "data": (pointer, False), "version": 3, "strides": strides,
        }  # fmt: skip


def test_c_takes_real_arrays_of_the_right_shape():
    arm = kt.zoo.puma560()
    kernel = kt.compile(kt.mass_matrix, arm, target="c")
    q = np.linspace(0.1, 0.6, 6)
    np.testing.assert_allclose(kernel(q), kt.mass_matrix(arm, q), atol=1e-13)
    for call in (kernel, lambda x: kt.mass_matrix(arm, x, target="c")):
        with pytest.raises(ShapeError, match="real numbers are needed"):
            call(q + 1e-3j)
        with pytest.raises(ShapeError, match="has shape"):
            call(q[:3])
    with pytest.raises(ShapeError, match="out has shape"):
        kernel(q, out=np.empty((2, 6, 6)))
    out = np.empty((6, 6))
    assert kernel(q, out=(out,)) is out


def test_memory_that_belongs_to_two_arrays_is_seen():
    a = View.of(Placed(1000, (4, 3)))  # 96 bytes
    assert a.overlaps(a) and a.overlaps(View.of(Placed(1088, (1,))))
    assert not a.overlaps(View.of(Placed(1096, (5,)))) and not a.overlaps(View.of(Placed(1000, (0, 3))))
    backwards = View.of(Placed(1088 + 80, (11,), (-8,)))  # down to 1088
    assert a.overlaps(backwards)
