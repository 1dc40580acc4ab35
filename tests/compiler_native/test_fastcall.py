"""Fast calls: what they take, what they hand on, and that they neither keep nor lose a reference."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref

import numpy as np
import pytest
from tests.compiler_native.programs import identity_kernel, kernel_of, mixed_kernel, program

from kinetree.compiler.runtime import fastcall
from kinetree.errors import ShapeError, SingularError

pytestmark = pytest.mark.skipif(not fastcall.is_available(), reason="this Python has no fast calls")


@pytest.fixture
def kernel():
    result = identity_kernel(3)
    result(np.zeros(3), np.zeros(3))
    result(np.zeros((2, 3)), np.zeros((2, 3)))
    return result


class Counting:
    """Replaces the general way by one that counts."""

    def __init__(self, kernel):
        self.count = 0
        self.kernel = kernel

    def __call__(self, *arrays, out=None):
        self.count += 1
        return self.kernel._general(*arrays, out=out)


@pytest.fixture
def counted(kernel):
    counting = Counting(kernel)
    call, context = fastcall.for_kernel("z", kernel.inputs, kernel.outputs, kernel.dtype, counting)
    context.connect(kernel.single, single=True)
    context.connect(kernel.batch, single=False)
    context.allow(1000)
    return call, counting


X, Y = np.arange(3.0), np.full(3, 0.5)


def test_direct(counted) -> None:
    call, general = counted
    out = np.empty(3)
    np.testing.assert_array_equal(call(X, Y), X + Y)
    assert call(X, Y, out=out) is out
    np.testing.assert_array_equal(out, X + Y)
    batch = np.tile(X, (500, 1))
    np.testing.assert_array_equal(call(batch, batch), 2 * batch)
    out = np.empty_like(batch)
    assert call(batch, batch, out=out) is out and (out == 2 * batch).all()
    np.testing.assert_array_equal(call(out[0], out[1]), 2 * out[0])
    assert general.count == 0


def batch(count: int = 4) -> np.ndarray:
    return np.tile(X, (count, 1)) + np.arange(count)[:, None]


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


TAKEN = {
    "from a pickle": lambda: (pickle.loads(pickle.dumps(X)), Y),
    "read-only": lambda: (read_only(X.copy()), Y),
    "batch": lambda: (batch(), batch()),
    "batch of one": lambda: (X[None], Y[None]),
    "batch of one and one state": lambda: (X[None], Y),
    "one state for all": lambda: (batch(), Y),
    "one state first": lambda: (Y, batch()),
    "two batch axes": lambda: (np.arange(24.0).reshape(4, 2, 3), np.tile(Y, (4, 2, 1))),
    "three batch axes and one state": lambda: (np.arange(90.0).reshape(2, 3, 5, 3), Y),
    "two batch axes of one": lambda: (X[None, None], Y[None, None]),
    "two axes of slices": lambda: (np.arange(48.0).reshape(4, 2, 6)[..., :3], np.tile(Y, (4, 2, 1))),
    "every other state": lambda: (batch(10)[::2], batch(5)),
    "reversed states": lambda: (batch()[::-1], batch()),
    "slices of a larger state": lambda: (np.arange(60.0).reshape(10, 6)[:, :3], batch(10)),
    "broadcast view": lambda: (np.broadcast_to(X, (4, 3)), batch()),
}
CONVERTED = {
    "list": lambda: ([0.0, 1.0, 2.0], Y),
    "tuple of integers": lambda: ((0, 1, 2), Y),
    "integers": lambda: (np.arange(3), Y),
    "booleans": lambda: (np.array([True, False, True]), Y),
    "float32": lambda: (X.astype(np.float32), Y),
    "float16": lambda: (X.astype(np.float16), Y),
    "big-endian": lambda: (X.astype(">f8"), Y),
    "strided": lambda: (np.arange(6.0)[::2], Y),
    "reversed": lambda: (X[::-1], Y),
    "misaligned": lambda: (np.frombuffer(b"x" + X.tobytes(), np.float64, offset=1), Y),
    "subclass": lambda: (X.view(type("S", (np.ndarray,), {})), Y),
    "every other element": lambda: (np.arange(60.0).reshape(10, 6)[:, ::2], batch(10)),
    "lists of lists": lambda: ([[1, 2, 3], [4, 5, 6]], Y),
    "fortran": lambda: (np.asfortranarray(batch()), batch()),
}
HANDED_ON = {
    "axes that differ": lambda: (batch(8), np.tile(Y, (2, 8, 1))),
    "axes that broadcast": lambda: (np.tile(X, (4, 2, 1)), np.tile(Y, (4, 1, 1))),
    "axes of uneven strides": lambda: (np.tile(X, (6, 2, 1))[::2], np.tile(Y, (3, 2, 1))),
    "axes in another order": lambda: (np.tile(X, (4, 2, 1)).swapaxes(0, 1), np.tile(Y, (2, 4, 1))),
    "one of a batch for all": lambda: (batch(), Y[None]),
    "empty": lambda: (np.zeros((0, 3)), np.zeros((0, 3))),
    "too long": lambda: (np.tile(X, (1001, 1)), np.tile(Y, (1001, 1))),
}


@pytest.mark.parametrize("arguments", TAKEN.values(), ids=TAKEN.keys())
def test_taken(counted, arguments) -> None:
    call, general = counted
    x, y = arguments()
    expected = np.asarray(x, float) + np.asarray(y, float)
    result = call(x, y)
    np.testing.assert_array_equal(result, expected)
    assert type(result) is np.ndarray and result.flags.c_contiguous and result.flags.owndata
    out = np.empty_like(expected)
    assert call(x, y, out=out) is out
    np.testing.assert_array_equal(out, expected)
    assert general.count == 0


@pytest.mark.parametrize("arguments", CONVERTED.values(), ids=CONVERTED.keys())
def test_converted_and_then_taken(kernel, monkeypatch, arguments) -> None:
    assert kernel.call
    monkeypatch.setattr(kernel, "_run", None)
    x, y = arguments()
    expected = np.asarray(x, float) + np.asarray(y, float)
    out = np.empty_like(expected)
    np.testing.assert_array_equal(kernel(x, y), expected)
    assert kernel(x, y, out=out) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("arguments", HANDED_ON.values(), ids=HANDED_ON.keys())
def test_handed_on(counted, arguments) -> None:
    call, general = counted
    x, y = arguments()
    np.testing.assert_array_equal(call(x, y), np.asarray(x, float) + y)
    assert general.count == 1


def test_a_float32_kernel_takes_everything_too() -> None:
    kernel = identity_kernel(3, dtype="float32")
    kernel(X, Y), kernel(batch(), Y)
    counting = Counting(kernel)
    call, context = fastcall.for_kernel("z", kernel.inputs, kernel.outputs, kernel.dtype, counting)
    context.connect(kernel.single, single=True)
    context.connect(kernel.batch, single=False)
    context.allow(1000)
    for arguments in (TAKEN | CONVERTED).values():
        x, y = arguments()
        result = call(x, y)
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, np.asarray(x, np.float32) + np.asarray(y, np.float32))
    x, y = X.astype(np.float32), batch().astype(np.float32)
    before = counting.count
    call(x, x), call(x, y), call(y, y)
    assert counting.count == before


def test_numbers_for_inputs_without_axes() -> None:
    prog = program({"x": 1, "y": 1}, {"z": lambda x, y: [x[0] * y[0]]})
    kernel = kernel_of(prog, [(), ()], [()])
    for _ in range(3):
        for x, y in ((3, 0.5), (np.float32(3), np.array(0.5)), (True, 2)):
            assert kernel(x, y) == x * y and isinstance(kernel(x, y), np.float64)
        np.testing.assert_array_equal(kernel([1, 2, 3], 0.5), [0.5, 1.0, 1.5])


def test_out_taken(counted) -> None:
    call, general = counted
    frame = np.zeros((8, 6))
    many = batch(8)
    for out in (np.empty(3), (np.empty(3),), (None,), None):
        place = out[0] if isinstance(out, tuple) else out
        result = call(X, Y, out=out)
        np.testing.assert_array_equal(result, X + Y)
        assert isinstance(result, np.ndarray) and (place is None or result is place)
    for out in (frame[:, :3], frame[:, 3:], frame[::-1, :3], np.empty((16, 3))[::2]):
        assert call(many, Y, out=out) is out
        np.testing.assert_array_equal(out, many + Y)
    single = X.copy()
    assert call(single, single, out=single) is single  # one state may be overwritten by its result
    np.testing.assert_array_equal(single, 2 * X)
    assert general.count == 0


def test_out_handed_on(counted) -> None:
    call, general = counted
    many = batch(8)
    outs = [np.empty(6)[::2], np.empty(3, np.float32), np.empty((2, 3))]
    for n, out in enumerate(outs):
        np.testing.assert_array_equal(call(X, Y, out=out), np.broadcast_to(X + Y, out.shape))
        assert general.count == n + 1
    expected = many + many
    call(many, many, out=many)
    np.testing.assert_array_equal(many, expected)
    assert general.count == len(outs) + 1


@pytest.mark.parametrize("shape", [(), (1,), (6,)], ids=str)
def test_several_results(shape) -> None:
    kernel = mixed_kernel()
    for size in ((), (1,), (6,)):
        kernel(np.ones((*size, 3)), np.ones((*size, 2)))
    counting = Counting(kernel)
    call, context = fastcall.for_kernel("m", kernel.inputs, kernel.outputs, kernel.dtype, counting)
    context.connect(kernel.single, single=True)
    context.connect(kernel.batch, single=False)
    context.allow(1000)
    x, y = (
        np.random.default_rng(4).normal(size=(*shape, 3)),
        np.random.default_rng(5).normal(size=(*shape, 2)),
    )
    expected = kernel._general(x, y)
    for given in ((True, True), (True, False), (False, True), (False, False)):
        out = tuple(np.full_like(e, 7.0) if g else None for e, g in zip(expected, given))
        results = call(x, y, out=out)
        assert isinstance(results, tuple)
        for result, place, theirs in zip(results, out, expected):
            assert place is None or result is place
            np.testing.assert_array_equal(result, theirs)
    assert isinstance(call(x, y)[1], np.ndarray if shape else np.float64)
    assert isinstance(call(x, y, out=out)[1], np.ndarray if shape else np.float64)
    assert counting.count == 0
    memory = np.zeros((*shape, 8))
    call(x, y, out=(memory[..., :7], memory[..., 6]))  # results that overlap: as if copied one by one
    assert counting.count == 1
    np.testing.assert_array_equal(memory[..., :6], expected[0][..., :6])
    np.testing.assert_array_equal(memory[..., 6], expected[1])
    for wrong in ((memory,), (memory[..., :7], memory[..., 6], None), memory, [None, None]):
        with pytest.raises((ShapeError, TypeError)):
            call(x, y, out=wrong)


WRONG = [
    ((), {}, TypeError), ((X,), {}, TypeError), ((X, Y, X), {}, TypeError), ((X, Y), {"oops": X}, TypeError),
    ((np.zeros(2), Y), {}, ShapeError), ((X, np.zeros((3, 2))), {}, ShapeError), ((X, "abc"), {}, ShapeError),
    ((X, None), {}, ShapeError), ((X, Y), {"out": np.zeros(2)}, ShapeError), ((X, Y), {"out": 3}, TypeError),
    ((np.zeros((5, 3)), np.zeros((6, 3))), {}, ShapeError), ((X, [1.0, None, 2.0]), {}, ShapeError),
    ((X, ["1", "2", "3"]), {}, ShapeError), ((X, [1j, 2, 3]), {}, ShapeError),
    ((X, [[1.0], 2.0]), {}, ValueError),
    ((X, {}), {}, ShapeError), ((X, np.array(["2000"] * 3, "M8[Y]")), {}, ShapeError),
    ((X, 1.0), {}, ShapeError),
    (([1, 2], Y), {"out": np.zeros(3)}, ShapeError), (([1, 2, 3], Y), {"out": np.zeros(2)}, ShapeError),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "keywords", "error"), WRONG)
def test_errors(counted, arguments, keywords, error) -> None:
    with pytest.raises(error):
        counted[0](*arguments, **keywords)


def test_references_are_stable(kernel) -> None:
    call = kernel.call
    singular = kernel_of(program({"x": 1}, {"y": lambda x: [x[0]]}, guard=lambda x: x[0]))
    singular(np.ones(1))
    scalars = mixed_kernel()
    x, y, out, low = X.copy(), Y.copy(), np.empty(3), np.zeros(1)
    many, wrong = np.tile(X, (9, 1)), np.zeros(4)
    items, integers, ragged, outs = [1.0, 2.0, 3.0], np.arange(3), [[1.0], 2.0], (np.zeros(7), np.zeros(()))

    def everything() -> None:
        call(x, y)
        call(x, y, out=out)
        call(many, many)
        call(many, y)
        call(items, y)
        call(items, integers, out=(out,))
        call(many[:, ::-1], y)
        scalars(x, y[:2])
        scalars(x, y[:2], out=outs)
        scalars(x, items[:2], out=(outs[0], None))
        for arguments in ((x,), (x, wrong), (wrong, wrong), (items, wrong), (items, ragged), (items, "x")):
            with pytest.raises((TypeError, ShapeError, ValueError)):
                call(*arguments)
        for place in (None, low):
            with pytest.raises(SingularError):
                singular(low, out=place)

    for _ in range(3):
        everything()
    watched = (
        x,
        y,
        out,
        low,
        many,
        wrong,
        items,
        integers,
        ragged,
        outs,
        *outs,
        np.dtype(int),
        kernel,
        call,
        np.dtype(float),
        np.ndarray,
        None,
        "out",
        kernel._general,
    )
    gc.collect()
    before = [sys.getrefcount(o) for o in watched]
    for _ in range(200):
        everything()
    gc.collect()
    after = [sys.getrefcount(o) for o in watched]
    assert all(abs(a - b) < 20 for a, b in zip(after, before)), list(zip(before, after))


def test_results_own_their_memory(kernel) -> None:
    results = [kernel(X + k, Y) for k in range(50)]
    assert all(r.flags.owndata and r.flags.c_contiguous for r in results)
    assert [r[0] for r in results] == [k + 0.5 for k in range(50)]


def test_a_kernel_that_nobody_holds_goes() -> None:
    kernel = identity_kernel(2)
    for _ in range(3):
        kernel(np.zeros(2), np.zeros(2))
    gone = weakref.ref(kernel)
    call = kernel.call
    del kernel
    gc.collect()
    np.testing.assert_array_equal(call(np.ones(2), np.ones(2)), [2.0, 2.0])  # its function keeps all it needs
    del call
    gc.collect()
    assert gone() is None


def test_without_fast_calls_everything_works(monkeypatch) -> None:
    monkeypatch.setattr(fastcall, "_entry", False)
    kernel = identity_kernel(3)
    assert kernel.call == kernel._general
    for _ in range(3):
        np.testing.assert_array_equal(kernel(X, Y), X + Y)


@pytest.mark.parametrize(
    "member", ["data", "nd", "dimensions", "strides", "descr", "flags", "type", "kind", "length", "items"]
)
def test_an_unknown_layout_is_noticed(monkeypatch, member) -> None:
    true = fastcall.offsets()
    monkeypatch.setattr(fastcall, "offsets", lambda: true._replace(**{member: getattr(true, member) + 8}))
    monkeypatch.setattr(fastcall, "_word", lambda a, w=fastcall._word: w(a) if a % 8 == 0 and a > 4096 else 0)
    assert not fastcall._layout_is_known()
