"""Kernels, threads and processes come and go: nothing is used after it is gone, nobody waits for ever."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import llvmlite.binding as llvm
import numpy as np
import pytest
from tests import memory
from tests.compiler.random_programs import random_straight
from tests.compiler_native.programs import bare_kernel, identity_kernel, kernel_of, program

from kinetree import ops
from kinetree.compiler.runtime import machine, native, threads
from kinetree.compiler.runtime.machine import host

X, Y = np.arange(3.0), np.ones(3)
SOURCES = os.pathsep.join([*sys.path[:1], "src", "."])

DROP_KERNELS = """
import gc
import numpy as np
from tests.compiler_native.programs import identity_kernel
for _ in range(8):
    kernel = identity_kernel(3)
    for _ in range(3):
        kernel(np.ones(3), np.ones(3))
    call = kernel.call
    del kernel, call
    gc.collect()
print("alive")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="freed memory is overwritten by glibc")
def test_nothing_is_used_after_it_was_freed() -> None:
    """What the collector frees is overwritten at once, so that using it is fatal."""
    environment = {"PYTHONPATH": SOURCES, "PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "255"}
    command = [sys.executable, "-c", DROP_KERNELS]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr


def many_sines(x: list) -> list:
    value, step = x
    for _ in range(200):
        value = ops.sin(value + step)
    return [value]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs an interval timer")
def test_an_interrupt_leaves_no_thread_behind(monkeypatch) -> None:
    """Whenever the call returns, with its result or with an interrupt, nobody writes any more."""

    def interrupt(*_) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threads, "WORTH", 1.0)
    monkeypatch.setattr("kinetree.compiler.runtime.kernel.BLOCK", 4e6)
    kernel = kernel_of(program({"x": 2}, {"y": many_sines}))
    kernel.threads = 4
    x = np.random.default_rng(0).normal(size=(60_000, 2))
    out = np.zeros((60_000, 1))
    expected = [kernel(x) for _ in range(2)][-1]  # everything is compiled before the first interrupt
    interrupts = 0
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for trial in range(12):
            out[:] = 0.0
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, 1e-3 * (1 + trial), 5e-4)
                    kernel(x, out=out)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0.0)
            except KeyboardInterrupt:
                interrupts += 1
            seen = out.copy()
            time.sleep(0.02)
            np.testing.assert_array_equal(seen, out)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupts
    np.testing.assert_array_equal(kernel(x, out=out), expected)


def _first_kernel(seed: int) -> float:
    """A kernel that this process must compile, for one state and for a batch in threads."""
    kernel = kernel_of(program({"x": 1}, {"y": lambda x: [x[0] * (3.0 + seed)]}))
    kernel.threads = 2
    return float(kernel(np.ones(1))[0] + kernel(np.ones((200_000, 1)))[-1, 0])


@pytest.fixture
def compiling():
    """A thread that compiles all the time."""
    stop = threading.Event()
    texts = [bare_kernel(random_straight(k, length=300)).source for k in range(3)]

    def compile_all() -> None:
        while not stop.is_set():
            for text in texts:
                native.build(text, host())

    worker = threading.Thread(target=compile_all)
    worker.start()
    yield
    stop.set()
    worker.join()


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_children_compile_while_their_parent_does(method, compiling) -> None:
    assert _first_kernel(0) == 6.0  # the pool of threads has begun
    with multiprocessing.get_context(method).Pool(2) as pool:
        results = [pool.apply_async(_first_kernel, (seed,)) for seed in range(4)]
        assert [r.get(timeout=120) for r in results] == [6.0, 8.0, 10.0, 12.0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_waits_for_the_compiler(compiling) -> None:
    for _ in range(6):
        child = os.fork()
        if child == 0:  # nobody of the parent's threads is here to release the lock
            os._exit(0 if machine.lock.acquire(timeout=20) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not memory.is_known(), reason="asks the C library of Linux")
def test_constants_go_with_their_module() -> None:
    """LLVM keeps the constants of a context until it goes: 200 of each module would be 10 kB."""
    fresh = itertools.count(1.5)

    def build(count: int) -> None:
        for _ in range(count):
            sums = (f"%x{k + 1} = fadd double %x{k}, {next(fresh)!r}" for k in range(200))
            body = "\n".join(sums)
            native.build(f"define double @f(double %x0) {{\n{body}\nret double %x200\n}}", host())

    build(5)
    before = memory.given_out()
    build(20)
    assert memory.given_out() - before < 20 * 1000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_waits_for_what_is_freed() -> None:
    """Machine code that is dropped is freed under llvmlite's own lock, by whatever thread drops it."""
    stop = threading.Event()

    def drop() -> None:
        while not stop.is_set():
            llvm.parse_assembly("")

    worker = threading.Thread(target=drop)
    worker.start()
    try:
        for _ in range(15):
            child = os.fork()
            if child == 0:
                os._exit(0 if llvm.ffi.lib._lock._lock.acquire(timeout=20) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        worker.join()


@pytest.fixture
def theirs():
    """llvmlite's own lock, kept by a thread that has left llvmlite, as after an interrupt."""
    found, stop = llvm.ffi.lib._lock._lock, threading.Event()

    def lose() -> None:
        found.acquire()
        stop.wait()
        if found._is_owned():
            found.release()

    worker = threading.Thread(target=lose)
    worker.start()
    yield found
    stop.set()
    worker.join()


def _in_time(work: Callable[[], object]) -> bool:
    """Whether work ends well that a lost lock would stop."""
    done: list[object] = []
    worker = threading.Thread(target=lambda: done.append(work()), daemon=True)
    worker.start()
    worker.join(20)
    return bool(done)


def test_a_lock_that_an_interrupt_left_behind_stops_nobody(theirs) -> None:
    assert _in_time(lambda: native.build(bare_kernel(random_straight(5, length=9)).source, host()))
    assert theirs.acquire(timeout=20)
    theirs.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_lock_that_an_interrupt_left_behind_stops_no_fork(theirs) -> None:
    def fork() -> None:
        child = os.fork()
        if child == 0:
            os._exit(0 if theirs.acquire(timeout=20) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    assert _in_time(fork)


def test_a_lock_in_use_is_waited_for(monkeypatch) -> None:
    """A thread that is in llvmlite for long keeps the lock."""
    order: list[str] = []
    inside = threading.Event()

    def slowly() -> int:
        inside.set()
        time.sleep(1.0)
        order.append("freed")
        return 0

    slow = llvm.ffi._lib_fn_wrapper(llvm.ffi.lib._lock, slowly)
    text = bare_kernel(random_straight(6, length=9)).source
    worker = threading.Thread(target=slow)
    worker.start()
    assert inside.wait(20)
    native.build(text, host())
    order.append("built")
    worker.join()
    assert order == ["freed", "built"]


def test_a_kernel_of_a_program_alone_cannot_be_pickled() -> None:
    kernel = identity_kernel()
    kernel(X, Y), kernel(X, Y)
    with pytest.raises(TypeError, match="sample does not know how it was made"):
        pickle.dumps(kernel)
