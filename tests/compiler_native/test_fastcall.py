"""Fast calls: what they take, what they hand on, and that they neither keep nor lose a reference."""

from __future__ import annotations

import gc
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
    call, context = fastcall.make("z", kernel.inputs, kernel.outputs, kernel.dtype, counting)
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


HANDED_ON = {
    "list": lambda: ([0.0, 1.0, 2.0], Y),
    "float32": lambda: (X.astype(np.float32), Y),
    "big-endian": lambda: (X.astype(">f8"), Y),
    "strided": lambda: (np.arange(6.0)[::2], Y),
    "subclass": lambda: (X.view(type("S", (np.ndarray,), {})), Y),
    "broadcast": lambda: (np.tile(X, (4, 1)), Y),
    "two batch axes": lambda: (np.tile(X, (4, 2, 1)), np.tile(Y, (4, 2, 1))),
    "batch of one": lambda: (X[None], Y[None]),
    "empty": lambda: (np.zeros((0, 3)), np.zeros((0, 3))),
    "too long": lambda: (np.tile(X, (1001, 1)), np.tile(Y, (1001, 1))),
}


@pytest.mark.parametrize("arguments", HANDED_ON.values(), ids=HANDED_ON.keys())
def test_handed_on(counted, arguments) -> None:
    call, general = counted
    x, y = arguments()
    np.testing.assert_array_equal(call(x, y), np.asarray(x, float) + y)
    assert general.count == 1


def test_out_handed_on(counted) -> None:
    call, general = counted
    many = np.tile(X, (8, 1))
    outs = [np.empty(6)[::2], np.empty(3, np.float32), np.empty((2, 3)), (np.empty(3),), None]
    for n, out in enumerate(outs):
        expected = np.broadcast_to(X + Y, getattr(out, "shape", (3,)))
        np.testing.assert_array_equal(call(X, Y, out=out), expected)
        assert general.count == n + 1
    call(many, many, out=many)
    assert general.count == len(outs) + 1


WRONG = [
    ((), {}, TypeError), ((X,), {}, TypeError), ((X, Y, X), {}, TypeError), ((X, Y), {"oops": X}, TypeError),
    ((np.zeros(2), Y), {}, ShapeError), ((X, np.zeros((3, 2))), {}, ShapeError), ((X, "abc"), {}, ShapeError),
    ((X, None), {}, ShapeError), ((X, Y), {"out": np.zeros(2)}, ShapeError), ((X, Y), {"out": 3}, TypeError),
    ((np.zeros((5, 3)), np.zeros((6, 3))), {}, ShapeError),
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

    def everything() -> None:
        call(x, y)
        call(x, y, out=out)
        call(many, many)
        call(many, y)
        scalars(x, y[:2])
        for arguments in ((x,), (x, wrong), (wrong, wrong)):
            with pytest.raises((TypeError, ShapeError)):
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


@pytest.mark.parametrize("member", ["data", "nd", "dimensions", "descr", "flags", "type"])
def test_an_unknown_layout_is_noticed(monkeypatch, member) -> None:
    true = fastcall.offsets()
    monkeypatch.setattr(fastcall, "offsets", lambda: true._replace(**{member: getattr(true, member) + 8}))
    monkeypatch.setattr(fastcall, "_word", lambda a, w=fastcall._word: w(a) if a % 8 == 0 and a > 4096 else 0)
    assert not fastcall._layout_is_known()
