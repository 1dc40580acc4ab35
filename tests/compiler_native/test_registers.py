"""Straight code for any number of registers computes the same, and stores only what it must."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.random_programs import random_inputs, random_straight
from tests.compiler_native.programs import bare_kernel, kernel_of, program

import kinetree as kt
from kinetree.compiler.emit import python
from kinetree.compiler.emit.llvm import emit
from kinetree.compiler.emit.llvm.addresses import Addresses
from kinetree.compiler.passes.pipeline import optimize
from kinetree.compiler.runtime.machine import Target, describe, host
from kinetree.stages import Job


def registers(monkeypatch, count: int) -> None:
    monkeypatch.setattr(Target, "registers", property(lambda self: count))


@pytest.mark.parametrize("seed", [0, 4])
def test_any_number_of_registers(monkeypatch, seed) -> None:
    prog = optimize(random_straight(seed))
    inputs = random_inputs(prog, seed, (11,))
    expected = bare_kernel(prog)(*inputs)
    for count in (3, 9, 32):
        registers(monkeypatch, count)
        kernel = bare_kernel(prog)
        for ours, theirs in zip(kernel(*inputs), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        for ours, theirs in zip(kernel(*[x[4] for x in inputs]), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs[4])


@pytest.mark.parametrize("count", [4, 16])
def test_parts_and_tiles(monkeypatch, count) -> None:
    """A robot's program in several parts, whose results wait for one another, against the Python printer."""
    registers(monkeypatch, count)
    model = kt.zoo.arm7()
    prog = Job(kt.inverse_dynamics_derivatives, model, ("q", "v", "a"), {"hold": "body"}).program(300)
    states = [np.random.default_rng(k).normal(size=(9, 7)) for k in range(3)]
    found = bare_kernel(prog)(*states)
    for k in (0, 5, 8):
        expected, _ = python.run(prog, *(x[k] for x in states))
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours[k], theirs, rtol=1e-12, atol=1e-12)


def long_sum(x: list) -> list:
    """Every input again and again, with constants, far apart; never more than one number besides."""
    total = x[0]
    for k in range(200):
        total = total * (0.5 + 0.001 * (k % 7)) + x[(5 * k) % len(x)]
    return [total]


def test_what_is_in_memory_is_not_stored() -> None:
    text = kernel_of(program({"x": 60}, {"y": long_sum})).source
    assert "load volatile" in text
    assert "store volatile" not in text


def test_places_on_the_stack_are_used_again() -> None:
    """Products that wait in groups: as many places as wait at a time, not as many as there are."""

    def groups(x: list) -> list:
        total = x[0]
        for k in range(12):
            waiting = [x[a] * x[(a + k) % 30] * (total + 0.01 * a) for a in range(30)]
            for w in waiting:
                total = total * 0.01 + w
        return [total]

    prog = optimize(program({"x": 30}, {"y": groups}), 0)
    text = emit(prog, "float64", 4, host()).text
    places = int(text.split("%spilled = alloca [")[1].split(" x")[0])
    assert places < min(40, text.count("store volatile"))


@pytest.mark.parametrize(("triple", "features", "count"), [
    ("x86_64-unknown-linux-gnu", dict.fromkeys(("avx512f", "avx512dq", "avx512vl"), True), 32),
    ("x86_64-pc-windows-msvc", {"avx2": True, "fma": True}, 16),
    ("i686-pc-windows-msvc", {}, 8),
    ("aarch64-unknown-linux-gnu", {}, 32),
])  # fmt: skip
def test_processors(triple, features, count) -> None:
    assert describe(triple, "some", features).registers == count


@pytest.mark.parametrize("window", [0, 256, 64])
def test_addresses_lead_to_the_same_places(monkeypatch, window) -> None:
    prog = optimize(program({"x": 90}, {"y": long_sum, "z": lambda x: [a * 2.0 for a in x[:49]]}))
    states = np.random.default_rng(1).normal(size=(9, 90))
    expected = bare_kernel(prog)(states)
    monkeypatch.setattr(Target, "window", property(lambda self: window))
    for ours, theirs in zip(bare_kernel(prog)(states), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_what_is_used_most_has_short_addresses() -> None:
    addresses = Addresses(256)
    places = [0, 3, 3, 3, 6, 6, 7, 11, 11]  # windows
    for line, place in enumerate(places):
        addresses.ask(line, f"%a{line}", "%ws", 256 * place + 8 * line)
    head = "\n".join(addresses.head())
    assert "(i64 768)" in head and "(i64 2816)" in head and "(i64 1792)" in head  # 3 and twice 3, 11, 7
    found = dict(addresses.lines())
    offsets = [int(found[line].rpartition(" ")[2]) for line in range(len(places))]
    assert offsets == [8 * line - 128 for line in range(len(places))]


def test_what_is_used_most_stands_first() -> None:
    addresses = Addresses(0)
    for line, place in enumerate([0, 32, 32, 64, 64, 64]):
        addresses.ask(line, f"%a{line}", "%spilled", place)
    addresses.sort("%spilled", 32)
    assert [text.rpartition(" ")[2] for _, text in addresses.lines()] == ["64", "32", "32", "0", "0", "0"]
