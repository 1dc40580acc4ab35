"""The handler that XLA calls, called here as XLA does, without JAX."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest
from tests.bridges.samples import floating, inputs

import kinetree as kt
from kinetree.compiler.emit.llvm.xla import Api
from kinetree.compiler.runtime.xla import Handler, api_of, name_of

HEADER = """
#define XLA_FFI_API_MAJOR 0
#define XLA_FFI_API_MINOR 3
  _XLA_FFI_API_STRUCT_FIELD(XLA_FFI_Error_Create);
  _XLA_FFI_API_STRUCT_FIELD(XLA_FFI_Error_Destroy);
  _XLA_FFI_API_STRUCT_FIELD(XLA_FFI_ThreadPool_Schedule);
  _XLA_FFI_API_STRUCT_FIELD(XLA_FFI_ThreadPool_NumThreads);
"""
WORD = ctypes.c_int64
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def words(address: int, count: int) -> list[int]:
    return list((WORD * count).from_address(address or 0))


class Xla:
    """XLA's side of a call."""

    def __init__(self, threads: int = 1):
        self.errors: list[tuple[str, int]] = []
        self.helpers: list[threading.Thread] = []
        self.threads, self.dropped = threads, 0
        self.functions = [FUNCTION(f) for f in (self._create, self._destroy, self._schedule, self._count)]
        pointers = [ctypes.cast(f, ctypes.c_void_p).value for f in self.functions]
        self.api = (WORD * 10)(0, 0, 0, 0, 0, 0, *pointers)

    def _create(self, address):
        _, _, message, code = words(address, 4)
        self.errors.append((ctypes.string_at(message).decode(), code & 0xFFFFFFFF))
        return 1

    def _destroy(self, address):
        self.dropped += 1

    def _schedule(self, address):
        _, _, _, task, data = words(address, 5)
        self.helpers.append(threading.Thread(target=TASK(task), args=(data,)))
        self.helpers[-1].start()

    def _count(self, address):
        if not self.threads:
            return 1  # an error: there are no threads
        WORD.from_address(words(address, 4)[3]).value = self.threads

    def call(self, handler: Handler, arguments: list, results: list) -> int | None:
        """What the handler returns: an error, or None."""
        kept = []

        def buffers(arrays):
            made = []
            for a in arrays:
                dims = (WORD * max(1, a.ndim))(*a.shape)
                made.append((WORD * 6)(48, 0, 12, a.ctypes.data, a.ndim, ctypes.addressof(dims)))
                kept.append(dims)
            places = (WORD * len(made))(*map(ctypes.addressof, made))
            kept.extend([made, places])
            return ctypes.addressof(places)

        given = [40, 0, len(arguments), 0, buffers(arguments)]
        wanted = [40, 0, len(results), 0, buffers(results)]
        frame = (WORD * 20)(160, 0, ctypes.addressof(self.api), 0, 3, *given, *wanted)
        found = FUNCTION(handler.address)(ctypes.addressof(frame))
        for helper in self.helpers:
            helper.join()
        return found


@pytest.fixture(scope="module")
def api() -> Api:
    return api_of(HEADER)


@pytest.fixture(scope="module")
def kernel():
    return kt.compile(kt.forward_dynamics, floating())


def test_what_the_header_says(api):
    assert api == (0, 3, 48, 56, 64, 72)
    with pytest.raises(kt.errors.CompileError, match="another foreign function interface"):
        api_of("#define XLA_FFI_API_MAJOR 1")


def test_registration(api, kernel):
    metadata = (WORD * 6)(48, 24, 0, -1, -1, 0)
    extension = (WORD * 4)(32, 1, 0, ctypes.addressof(metadata))
    frame = (WORD * 20)(160, ctypes.addressof(extension))
    assert FUNCTION(Handler(kernel, True, api).address)(ctypes.addressof(frame)) is None
    assert metadata[3] == 3 << 32 and metadata[4] & 0xFFFFFFFF == 0
    names = {name_of(kernel, single) for single in (True, False)}
    assert len(names) == 2 and all(name.startswith("kinetree_forward_dynamics_") for name in names)


@pytest.mark.parametrize(
    ("single", "batch"),
    [(True, ()), (True, (1,)), (False, ()), (False, (1,)), (False, (5,)), (False, (2, 3)), (False, (0,))],
)
def test_states(api, kernel, single, batch, rng):
    given = list(inputs(kt.forward_dynamics, floating(), rng, *batch).values())
    found = np.full((*batch, 7), np.nan)
    assert Xla().call(Handler(kernel, single, api), given, [found]) is None
    assert np.array_equal(found, kt.forward_dynamics(floating(), *given))


def test_rows_that_all_states_share(api, kernel, rng):
    q, v, tau = inputs(kt.forward_dynamics, floating(), rng, 6).values()
    found = np.empty((6, 7))
    assert Xla().call(Handler(kernel, False, api), [q, v[0], tau], [found]) is None
    assert np.array_equal(found, kt.forward_dynamics(floating(), q, v[0], tau))


@pytest.mark.parametrize("threads", [0, 1, 4])
def test_threads(api, kernel, threads, rng):
    given = list(inputs(kt.forward_dynamics, floating(), rng, 20_000).values())
    found, xla = np.empty((20_000, 7)), Xla(threads)
    handler = Handler(kernel, False, api)
    kernel.threads = 4
    handler.on_threads()
    try:
        assert xla.call(handler, given, [found]) is None
    finally:
        kernel.threads = None
    assert np.array_equal(found, kt.forward_dynamics(floating(), *given))
    assert xla.dropped == (threads == 0) and len(xla.helpers) == (3 if threads == 4 else 0)


@pytest.mark.parametrize("batch", [(), (9,)])
def test_a_state_that_is_refused(api, kernel, batch, rng):
    given = list(inputs(kt.forward_dynamics, floating(), rng, *batch).values())
    given[0][..., 3:7] *= 30
    xla = Xla()
    assert xla.call(Handler(kernel, not batch, api), given, [np.empty((*batch, 7))]) == 1
    ((message, code),) = xla.errors
    assert message.startswith("forward_dynamics: a state was refused") and code == 3


def test_a_frame_that_does_not_fit(api, kernel, rng):
    q, v, tau = inputs(kt.forward_dynamics, floating(), rng, 6).values()
    for given in ([q, v], [q, v[:4], tau]):
        xla = Xla()
        assert xla.call(Handler(kernel, False, api), given, [np.empty((6, 7))]) == 1
        assert xla.errors == [("forward_dynamics: the compiled program does not fit this kernel", 13)]
