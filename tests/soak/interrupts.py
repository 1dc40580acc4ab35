"""Threads that call and compile, interrupts in threaded batches, and forks, all at once.

Results equal those of a quiet process, bit by bit; nothing writes into an array after the call that fills it
has returned or was interrupted; no process hangs.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
import warnings
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from tests.compiler_native.programs import kernel_of, program

import kinetree as kt
from kinetree import ops
from kinetree.compiler.runtime import threads

COUNT = 5400  # an hour of work on one core
BLOCK = 10
PATIENCE = 60.0  # seconds for a child or a thread to end

armed = threading.Event()


def _interrupt(*_: Any) -> None:
    if armed.is_set():
        armed.clear()
        raise KeyboardInterrupt


def _sines(x: list) -> list:
    value, step = x
    for _ in range(120):
        value = ops.sin(value + step)
    return [value]


@cache
def sample() -> tuple[Any, np.ndarray, np.ndarray, Any, tuple, np.ndarray]:
    """A kernel with a long batch, a robot with a short one, and their results."""
    kernel = kernel_of(program({"x": 2}, {"y": _sines}))
    kernel.threads = 4
    x = np.random.default_rng(0).normal(size=(20_000, 2))
    robot = kt.zoo.double_pendulum()
    state = (*robot.random_state(np.random.default_rng(1), 50), np.ones((50, 2)))
    return kernel, x, kernel(x), robot, state, kt.inverse_dynamics(robot, *state)


def trial(seed: int) -> str:
    chance = random.Random(seed)
    sample()
    threads.WORTH = 1.0  # even short batches go to several threads
    stop, faults = threading.Event(), []

    def calls() -> None:
        _, _, _, robot, state, expected = sample()
        while not stop.is_set():
            if not np.array_equal(kt.inverse_dynamics(robot, *state), expected):
                faults.append("a thread got other numbers")

    def compiles() -> None:
        number = chance.randrange(10**9)
        while not stop.is_set():
            number += 1
            if kernel_of(program({"x": 1}, {"y": lambda x, n=number: [x[0] * n]}))(np.ones(1))[0] != number:
                faults.append("a thread compiled other numbers")

    crowd = [threading.Thread(target=work) for work in (calls, calls, compiles)]
    before = signal.signal(signal.SIGUSR1, _interrupt)
    try:
        for thread in crowd:
            thread.start()
        done = [chance.choice((interrupted, interrupted, forked))(chance) for _ in range(6)]
    finally:
        armed.clear()
        signal.signal(signal.SIGUSR1, before)
        stop.set()
        for thread in crowd:
            thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in crowd), "a thread does not end"
    assert not faults, faults[0]
    return "interrupted" if any(done) else "undisturbed"


@contextmanager
def _signalled(after: float):
    """Interrupt this thread after some seconds, unless the block is faster."""
    main = threading.get_ident()
    timer = threading.Timer(after, lambda: signal.pthread_kill(main, signal.SIGUSR1))
    armed.set()
    timer.start()
    try:
        yield
    finally:
        armed.clear()
        timer.cancel()


def interrupted(chance: random.Random) -> bool:
    """Whether an interrupt came during a batch; the batch is complete, or nothing writes to it afterwards."""
    kernel, x, expected, *_ = sample()
    out, came = np.zeros_like(expected), False
    try:
        with _signalled(chance.uniform(0.0, 0.01)):
            kernel(x, out=out)
    except KeyboardInterrupt:
        came = True
    seen = out.copy()
    time.sleep(0.005)
    assert np.array_equal(seen, out), "somebody writes after the call has returned"
    assert came or np.array_equal(out, expected), "a batch has other numbers"
    return came


def forked(chance: random.Random) -> bool:
    """A child that calls and compiles, whatever the threads of its parent were doing."""
    number = chance.randrange(10**9)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        child = os.fork()
    if child == 0:
        try:
            kernel, x, expected, robot, state, forces = sample()
            made = kernel_of(program({"x": 1}, {"y": lambda x: [x[0] * number]}))
            same = made(np.ones(1))[0] == number and np.array_equal(kernel(x), expected)
            os._exit(0 if same and np.array_equal(kt.inverse_dynamics(robot, *state), forces) else 3)
        finally:
            os._exit(4)
    finish = time.monotonic() + PATIENCE
    while time.monotonic() < finish:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            assert status == 0, f"a child ended with {os.waitstatus_to_exitcode(status)}"
            return False
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("a child does not end")
