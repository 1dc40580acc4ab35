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
from kinetree.compiler.runtime.xla_cuda import DeviceHandler, Place

HEADER = """
#define XLA_FFI_API_MAJOR 0
#define XLA_FFI_API_MINOR 3
  _XLA_FFI_API_STRUCT_FIELD(XLA_FFI_Error_Create);
  _XLA_FFI_API_STRUCT_FIELD(XLA_FFI_Error_Destroy);
  _XLA_FFI_API_STRUCT_FIELD(XLA_FFI_ThreadPool_Schedule);
  _XLA_FFI_API_STRUCT_FIELD(XLA_FFI_ThreadPool_NumThreads);
  _XLA_FFI_API_STRUCT_FIELD(XLA_FFI_Stream_Get);
"""
WORD = ctypes.c_int64
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
STREAM = 77


def words(address: int, count: int) -> list[int]:
    return list((WORD * count).from_address(address or 0))


class Xla:
    """XLA's side of a call."""

    def __init__(self, threads: int = 1):
        self.errors: list[tuple[str, int]] = []
        self.helpers: list[threading.Thread] = []
        self.threads, self.dropped = threads, 0
        own = self._create, self._destroy, self._schedule, self._count, self._stream
        self.functions = [FUNCTION(f) for f in own]
        pointers = [ctypes.cast(f, ctypes.c_void_p).value for f in self.functions]
        self.api = (WORD * 11)(0, 0, 0, 0, 0, 0, *pointers)

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

    def _stream(self, address):
        WORD.from_address(address + 24).value = STREAM

    def call(self, handler: Handler | DeviceHandler, arguments: list, results: list) -> int | None:
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
    assert api == (0, 3, 48, 56, 64, 72, 80)
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


class Driver:
    """The functions of a graphics driver that handlers call: what they are given is written down."""

    def __init__(self, context: int, fails: str = ""):
        self.context, self.fails, self.log = context, fails, []
        self.launches: list[list[int]] = []
        self.arguments = 0  # of a kernel
        word, number = ctypes.c_void_p, ctypes.c_int
        kinds = {
            "cuStreamGetCtx": (word, word),
            "cuCtxPushCurrent_v2": (word,),
            "cuCtxPopCurrent_v2": (word,),
            "cuMemsetD32Async": (ctypes.c_uint64, ctypes.c_uint, ctypes.c_size_t, word),
            "cuLaunchKernel": (word, *[ctypes.c_uint] * 7, word, word, word),
        }
        self.functions = {
            name: ctypes.CFUNCTYPE(number, *kind)(lambda *args, name=name: self.called(name, *args))
            for name, kind in kinds.items()
        }

    @property
    def symbols(self) -> dict[str, int]:
        return {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in self.functions.items()}

    def called(self, name: str, *args: int) -> int:
        self.log.append((name, *args))
        if name == "cuStreamGetCtx":
            WORD.from_address(args[1]).value = self.context
        if name == "cuLaunchKernel":
            self.launches.append([WORD.from_address(place).value for place in words(args[9], self.arguments)])
        return 700 if name == self.fails else 0


@pytest.mark.parametrize(("large", "blocks"), [(0, 2**31 - 1), (333, 2**31 - 1), (333, 2)])
def test_a_kernel_on_a_device(api, large, blocks):
    """On XLA's stream and its device: notes are reset, then both kernels start with all that they need."""
    driver = Driver(context=5000)
    driver.arguments = 3 * 4 + 6
    places = [Place(4000, 1, 2, 3, 0, 1, 1, 0), Place(5000, 222, large, 444, blocks, 64, 320, 1000)]
    handler = DeviceHandler("f", [(3,), (2, 2), ()], [(3,)], places, api, driver.symbols)
    count = 3 * 64 + 1
    given = [np.zeros((count, 3)), np.zeros((2, 2)), np.zeros((count, 1))[:, 0]]
    results = [np.zeros((count, 3)), np.zeros(4, np.uint32), np.zeros(9)]
    assert Xla().call(handler, given, results) is None
    notes = results[1].ctypes.data
    used = min(blocks, 4)
    launched = [entry for entry in driver.log if entry[0] == "cuLaunchKernel"]
    kernels = [222, 333] if large else [222]
    assert [entry[1:9] for entry in launched] == [(k, used, 1, 1, 320, 1, 1, 1000) for k in kernels]
    assert all(entry[9] == STREAM for entry in launched)
    q, m, s, out = (a.ctypes.data for a in (*given, results[0]))
    arrays = [q, 3, 1, m, 0, 1, s, 1, 1, out, 3, 1]
    expected = [*arrays, 444, results[2].ctypes.data, notes, count, used, 1]
    assert driver.launches == [expected] * len(kernels)
    resets = [entry[1:] for entry in driver.log if entry[0] == "cuMemsetD32Async"]
    assert resets == [(notes, 2**32 - 1, 2, STREAM), (notes + 8, 0, 1, STREAM)]
    assert driver.log[0][:2] == ("cuStreamGetCtx", STREAM)
    assert driver.log[1] == ("cuCtxPushCurrent_v2", 5000) and driver.log[-1][0] == "cuCtxPopCurrent_v2"


def test_a_device_that_is_not_known_or_cannot(api):
    for context, fails, said in ((1, "", "does not fit this kernel"), (2, "cuLaunchKernel", "cannot start")):
        driver, xla = Driver(context, fails), Xla()
        handler = DeviceHandler("f", [(3,)], [(3,)], [Place(2, 3, 0, 4, 9, 128, 128, 0)], api, driver.symbols)
        driver.arguments = 3 * 2 + 6
        results = [np.zeros((7, 3)), np.zeros(4, np.uint32), np.zeros(0)]
        assert xla.call(handler, [np.zeros((7, 3))], results) == 1
        assert said in xla.errors[0][0] and xla.errors[0][1] == 13
        assert xla.call(handler, [np.zeros((6, 3))], results) == 1
        assert xla.call(handler, [np.zeros((7, 3))], results[:2]) == 1
        empty = [np.zeros((0, 3)), *results[1:]]
        assert xla.call(handler, [np.zeros((0, 3))], empty) is None


def test_a_kernel_on_a_device_may_be_recorded(api):
    metadata = (WORD * 6)(48, 24, 0, -1, -1, 0)
    extension = (WORD * 4)(32, 1, 0, ctypes.addressof(metadata))
    frame = (WORD * 20)(160, ctypes.addressof(extension))
    handler = DeviceHandler("f", [(3,)], [(3,)], [], api, Driver(0).symbols)
    assert FUNCTION(handler.address)(ctypes.addressof(frame)) is None
    assert metadata[3] == 3 << 32 and metadata[4] & 0xFFFFFFFF == 1
