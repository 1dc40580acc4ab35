"""Kernels are called like NumPy's generalised universal functions."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler_native.programs import identity_kernel, kernel_of, mixed_kernel, mixed_reference, program
from tests.conftest import share

from kinetree.compiler.runtime.kernel import Kernel
from kinetree.errors import ShapeError

RNG = np.random.default_rng(2)
BATCHES = [
    ((), ()), ((1,), (1,)), ((1,), ()), ((7,), (7,)), ((8,), (8,)), ((9,), ()), ((), (17,)), ((1,), (5,)),
    ((3, 5), (3, 5)), ((3, 1), (1, 5)), ((4, 1, 3), (2, 1)), ((100, 1), (1, 90)), ((2, 70), (70,)),
    ((1, 1), (1, 1)),    ((0,), (0,)), ((0,), ()), ((3, 0), (1, 0)), ((1,), (0,)),
]  # fmt: skip


@pytest.fixture(scope="module")
def kernel():
    return mixed_kernel()


def check(kernel, x, y, **options) -> None:
    for ours, theirs in zip(kernel(x, y, **options), mixed_reference(x, y)):
        assert np.shape(ours) == np.shape(theirs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("a", "b"), BATCHES)
def test_batch_axes_broadcast(kernel, a, b) -> None:
    check(kernel, RNG.normal(size=(*a, 3)), RNG.normal(size=(*b, 2)))


class Subclass(np.ndarray):
    pass


VIEWS = {
    "fortran": lambda a: np.asfortranarray(a),
    "reversed batch": lambda a: a[::-1],
    "every other state": lambda a: np.repeat(a, 2, axis=0)[::2],
    "reversed core": lambda a: a[..., ::-1].copy()[..., ::-1],
    "every other element": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "transposed": lambda a: a.T.copy().T,
    "read-only": lambda a: _read_only(a),
    "misaligned": lambda a: _misaligned(a),
    "big-endian": lambda a: a.astype(">f8"),
    "list": lambda a: a.tolist(),
    "subclass": lambda a: a.view(Subclass),
}


def _read_only(a: np.ndarray) -> np.ndarray:
    a = a.copy()
    a.flags.writeable = False
    return a


def _misaligned(a: np.ndarray) -> np.ndarray:
    raw = np.zeros(a.nbytes + 1, np.uint8)[1:]
    view = raw.view(np.float64).reshape(a.shape)
    view[...] = a
    assert not view.flags.aligned
    return view


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
@pytest.mark.parametrize("count", [1, 5, 33])
def test_any_layout(kernel, view, count) -> None:
    x, y = RNG.normal(size=(count, 3)), RNG.normal(size=(count, 2))
    for ours, theirs in zip(kernel(view(x), view(y)), mixed_reference(view(x), view(y))):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int8", "uint8", "bool"])
def test_other_types_are_converted(kernel, dtype) -> None:
    x, y = (RNG.integers(0, 2, size=(6, n)).astype(dtype) for n in (3, 2))
    result = kernel(x, y)
    assert result[0].dtype == np.float64
    check(kernel, x, y)


def test_results_are_new_arrays_or_scalars(kernel) -> None:
    m, t = kernel([1, 2, 3], [4, 5])
    assert m.shape == (7,) and m.flags.owndata and isinstance(t, np.float64)
    for _ in range(3):  # the fast way too
        m, t = kernel(np.ones(3), np.ones(2))
        assert m.flags.owndata and isinstance(t, np.float64)


OUTS = {
    "contiguous": np.zeros,
    "fortran": lambda shape: np.zeros(shape, order="F"),
    "float32": lambda shape: np.zeros(shape, np.float32),
    "strided": lambda shape: np.zeros((*shape[:-1], 2 * shape[-1]))[..., ::2],
}


@pytest.mark.parametrize("make", OUTS.values(), ids=OUTS.keys())
def test_out_of_any_layout(kernel, make) -> None:
    x, y = RNG.normal(size=(11, 3)), RNG.normal(size=(11, 2))
    m, t = make((11, 7)), np.zeros(11)
    result = kernel(x, y, out=(m, t))
    assert result[0] is m and result[1] is t
    np.testing.assert_allclose(m, mixed_reference(x, y)[0], rtol=1e-6, atol=1e-6)
    t[:] = 0
    assert kernel(x, y, out=(None, t))[0].shape == (11, 7)
    np.testing.assert_allclose(t, mixed_reference(x, y)[1], rtol=1e-13)


def test_out_may_broadcast_the_arguments(kernel) -> None:
    m, t = np.zeros((6, 7)), np.zeros(6)
    kernel(np.ones(3), np.ones(2), out=(m, t))
    assert (m == m[0]).all() and t[3] == 3.0


ERRORS = [
    ((np.zeros(4), np.zeros(2)), {}, ShapeError, "x has shape"),
    ((np.zeros(()), np.zeros(2)), {}, ShapeError, "x has shape"),
    ((np.zeros((5, 3)), np.zeros((4, 2))), {}, ShapeError, "do not broadcast"),
    ((np.zeros(3),), {}, TypeError, "takes 2 arrays"),
    ((np.zeros(3), np.zeros(2), np.zeros(2)), {}, TypeError, "takes 2 arrays"),
    ((np.zeros(3, complex), np.zeros(2)), {}, ShapeError, "real numbers are needed"),
    ((np.array(["a", "b", "c"]), np.zeros(2)), {}, ShapeError, "real numbers are needed"),
    ((np.zeros(3), np.zeros(2)), {"out": np.zeros(7)}, ShapeError, "out has 1 arrays"),
    ((np.zeros(3), np.zeros(2)), {"out": (np.zeros(6), np.zeros(()))}, ShapeError, "out: m has shape"),
    (
        (np.zeros((4, 3)), np.zeros(2)),
        {"out": (np.zeros((5, 7)), np.zeros(5))},
        ShapeError,
        "do not broadcast",
    ),
    (
        (np.zeros((4, 3)), np.zeros(2)),
        {"out": (np.zeros((1, 7)), np.zeros(1))},
        ShapeError,
        "out has batch shape",
    ),
    ((np.zeros(3), np.zeros(2)), {"out": (_read_only(np.zeros(7)), None)}, ValueError, "read-only"),
    ((np.zeros(3), np.zeros(2)), {"out": ([0.0] * 7, None)}, TypeError, "must be a NumPy array"),
    ((np.zeros(3), np.zeros(2)), {"output": None}, TypeError, "output"),
]


@pytest.mark.parametrize(("arguments", "keywords", "error", "message"), ERRORS)
def test_errors(kernel, arguments, keywords, error, message) -> None:
    for _ in range(3):  # the general way, then the fast one
        with pytest.raises(error, match=message):
            kernel(*arguments, **keywords)


def test_a_subclass_words_shape_errors() -> None:
    class Worded(Kernel):
        def wrong_shape(self, core, shape):
            return f"robot r2 wants another {core.name} than {shape}"

    kernel = mixed_kernel(kind=Worded)
    with pytest.raises(ShapeError, match=r"robot r2 wants another y than \(5, 3\)"):
        kernel(np.zeros(3), np.zeros((5, 3)))


def test_matrices_and_empty_arrays() -> None:
    prog = program(
        {"a": 6, "e": 0}, {"t": lambda a, e: [a[0], a[3], a[1], a[4], a[2], a[5]], "n": lambda a, e: []}
    )
    kernel = kernel_of(prog, [(2, 3), (0,)], [(3, 2), (0, 4)])
    for batch in ((), (5,), (2, 9)):
        a = RNG.normal(size=(*batch, 2, 3))
        t, n = kernel(a, np.zeros((*batch, 0)))
        np.testing.assert_array_equal(t, np.swapaxes(a, -1, -2))
        assert n.shape == (*batch, 0, 4)
        t, _ = kernel(np.swapaxes(np.swapaxes(a, -1, -2).copy(), -1, -2), np.zeros(0))
        np.testing.assert_array_equal(t, np.swapaxes(a, -1, -2))


@pytest.mark.parametrize("size", share([1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 17, 63, 64, 65, 66, 67, 130], 2))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_of_every_length_arrive(size, dtype) -> None:
    kernel = identity_kernel(size, dtype=dtype)
    for count in (1, 2, 7, 8, 16, 19, 37):
        x, y = RNG.normal(size=(2, count, size)).astype(dtype)
        np.testing.assert_array_equal(kernel(x, y), x + y)
        np.testing.assert_array_equal(kernel(x[::-1], y[0]), x[::-1] + y[0])
    np.testing.assert_array_equal(kernel(x[0], y[0]), x[0] + y[0])


def test_a_constant_result_needs_no_input() -> None:
    kernel = kernel_of(program({"x": 2}, {"y": lambda x: [3.5]}))
    assert kernel(np.zeros((4, 2))).tolist() == [[3.5]] * 4


EMPTY = {  # no element, but strides of their own
    "plain": lambda shape: np.zeros((*shape[:-1], 5))[..., 2:2],
    "reversed": lambda shape: np.zeros((*shape[:-1], 5))[:, ::-1, ..., 2:2],
    "swapped": lambda shape: np.swapaxes(np.zeros((shape[1], shape[0], *shape[2:-1], 5)), 0, 1)[..., 2:2],
    "broadcast": lambda shape: np.broadcast_to(np.zeros((1, *shape[1:-1], 5))[..., 2:2], shape),
}


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY.keys())
@pytest.mark.parametrize("batch", [(2, 3), (3, 2, 4), (70, 2)], ids=str)
def test_arguments_without_elements(empty, batch) -> None:
    """A model without degrees of freedom: its energy and an empty force, for batches of any layout."""
    prog = program({"q": 0, "v": 0}, {"energy": lambda q, v: [2.5], "force": lambda q, v: []})
    kernel = kernel_of(prog, [(0,), (0,)], [(), (0,)])
    for _ in range(3):
        for v in (np.zeros((*batch, 0)), np.zeros(0)):
            energy, force = kernel(empty((*batch, 0)), v)
            assert force.shape == (*batch, 0)
            np.testing.assert_array_equal(energy, np.full(batch, 2.5))


def test_a_tuple_of_one_result_is_the_array_itself() -> None:
    """As NumPy has it: np.negative(a, out=(b,)) is b."""
    kernel = identity_kernel(3)
    for batch in ((), (1,), (4,), (2, 3)):
        for dtype in (np.float64, np.float32):
            out = np.zeros((*batch, 3), dtype)
            for _ in range(3):
                assert kernel(np.ones((*batch, 3)), np.ones(3), out=(out,)) is out
            assert (out == 2.0).all()
