"""Robots: a state gives the same bits wherever it stands in a batch, for any number of threads."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt
from kinetree.compiler.runtime import threads

FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix")


def tree() -> kt.Model:
    """A tree whose Christoffel symbols are zero in many places, in some of them -0."""
    rng = np.random.default_rng([271, 12])
    return random_mechanism(rng, int(rng.integers(1, 5)), mimics=0.2).build()


MODELS: dict[str, Any] = {
    "arm7": (kt.zoo.arm7, FUNCTIONS, None),
    "puma560": (kt.zoo.puma560, ("inverse_dynamics", "inverse_mass_matrix"), None),
    "spacecraft": (kt.zoo.spacecraft, FUNCTIONS, None),
    "quadruped": (kt.zoo.quadruped, ("inverse_dynamics", "jacobian"), None),
    "chain, looped": (lambda: kt.zoo.chain(12), ("forward_dynamics", "mass_matrix"), "looped"),
    "tree": (tree, ("christoffel_symbols",), None),
    "spacecraft, looped": (kt.zoo.spacecraft, ("inverse_dynamics", "coriolis_matrix"), "looped"),
}
CASES = [(name, function) for name, (_, functions, _) in MODELS.items() for function in functions]
STATES = 140

cases = pytest.mark.parametrize(("name", "function"), CASES)


@cache
def model(name: str) -> kt.Model:
    return MODELS[name][0]()


def states(robot: kt.Model, function: str, count: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    both = [robot.random_state(rng) for _ in range(count)]
    known = {"q": np.array([q for q, _ in both]), "v": np.array([v for _, v in both])}
    needed = [a for a in getattr(kt, function).algorithm.inputs if not a.optional]
    return [known[a.name] if a.name in known else rng.normal(size=(count, *a.sizes(robot))) for a in needed]


@cache
def compiled(name: str, function: str, dtype: str = "float64") -> tuple:
    """A kernel, a batch of states, and its result."""
    options = {"frame": model(name).body_names[-1]} if function == "jacobian" else {}
    kernel = kt.compile(getattr(kt, function), model(name), mode=MODELS[name][2], dtype=dtype, **options)
    inputs = [x.astype(dtype) for x in states(model(name), function, STATES)]
    return kernel, inputs, kernel(*inputs)


def assert_same_bits(found: Any, expected: Any) -> None:
    """Equal numbers, and zeros of equal sign."""
    found, expected = (np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}") for x in (found, expected))
    np.testing.assert_array_equal(found, expected)


@cases
def test_every_size_and_position(name, function):
    """Batches of 1 to 70 states from any position, and single states."""
    kernel, inputs, expected = compiled(name, function)
    for size in range(1, 71):
        first = (13 * size) % (STATES - size)
        part = slice(first, first + size)
        assert_same_bits(kernel(*(x[part] for x in inputs)), expected[part])
    for k in range(STATES):
        assert_same_bits(kernel(*(x[k] for x in inputs)), expected[k])


@cases
def test_repeated_runs_and_threads(name, function, any_threads):
    kernel, inputs, expected = compiled(name, function)
    for count in (1, 2, 2, 3, 1):
        threads.set_threads(count)
        assert_same_bits(kernel(*inputs), expected)
        kernel.threads = count
        assert_same_bits(kernel(*inputs), expected)
        kernel.threads = None


@cases
def test_shapes_strides_and_out(name, function):
    kernel, inputs, expected = compiled(name, function)
    grid = kernel(*(x.reshape(7, 20, *x.shape[1:]) for x in inputs))
    assert_same_bits(grid.reshape(expected.shape), expected)
    assert_same_bits(kernel(*(x[::-1] for x in inputs)), expected[::-1])
    assert_same_bits(kernel(*(x[5::3] for x in inputs)), expected[5::3])
    assert_same_bits(kernel(*(np.asfortranarray(x) for x in inputs)), expected)
    out = np.empty_like(expected)
    assert kernel(*inputs, out=out) is out
    assert_same_bits(out, expected)
    assert (expected == kernel(*inputs)).all()  # nothing was overwritten


@pytest.mark.parametrize("name", ["arm7", "chain, looped"])
def test_single_precision(name):
    kernel, inputs, expected = compiled(name, "forward_dynamics", "float32")
    assert expected.dtype == np.float32
    for size in (1, 2, 7, 8, 9, 33, 70):
        assert_same_bits(kernel(*(x[3 : 3 + size] for x in inputs)), expected[3 : 3 + size])


def test_a_new_kernel_gives_the_same_bits(monkeypatch):
    """Compiled again, not found in memory, for an equal model that was made again."""
    from kinetree.compiler.runtime import artifact, native

    _, inputs, expected = compiled("arm7", "inverse_dynamics")
    monkeypatch.setattr(artifact, "_artifacts", {})
    monkeypatch.setattr(native, "_libraries", {})
    again = kt.compile(kt.inverse_dynamics, kt.zoo.arm7())
    assert_same_bits(again(*inputs), expected)


class Crowd:
    """Eight threads that start at one moment; what goes wrong in any of them is raised."""

    def __init__(self, work: Any, count: int = 8):
        self.failures: list[BaseException] = []
        self.gate = threading.Barrier(count)
        crowd = [threading.Thread(target=self._run, args=(work, k)) for k in range(count)]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()
        if self.failures:
            raise self.failures[0]

    def _run(self, work: Any, number: int) -> None:
        try:
            self.gate.wait()
            work(number)
        except BaseException as failure:
            self.failures.append(failure)


class TestEightThreads:
    def test_on_one_model_equal_to_serial(self):
        """Different functions, batch sizes and single states at the same time."""
        robot = model("arm7")
        serial = {f: (states(robot, f, 60), None) for f in FUNCTIONS}
        serial = {f: (x, getattr(kt, f)(robot, *x)) for f, (x, _) in serial.items()}

        def work(number: int) -> None:
            for turn in range(25):
                function = FUNCTIONS[(number + turn) % len(FUNCTIONS)]
                inputs, expected = serial[function]
                first = (7 * number + 11 * turn) % 50
                part: Any = first if turn % 2 else slice(first, first + 1 + turn % 10)
                found = getattr(kt, function)(robot, *(x[part] for x in inputs))
                assert_same_bits(found, expected[part])

        Crowd(work)

    @pytest.mark.parametrize("target", ["cpu", "eager"])
    def test_simultaneous_first_calls(self, target):
        """Compilation races: all threads ask for machine code that nobody has made yet."""
        builder = kt.ModelBuilder("fresh")
        inertia = kt.Inertia(1.2345, (0.1, 0.2, 0.3), ((0.5, 0, 0), (0, 0.6, 0), (0, 0, 0.7)))
        above = "world"
        for k in range(3):
            builder.add_body(
                f"b{k}", above, kt.Revolute((0, 0.6, 0.8)), kt.Pose(p=(0.1 * k, 0.2, 0)), inertia
            )
            above = f"b{k}"
        fresh, again = builder.build(), builder.build()
        functions = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
        inputs = {f: states(fresh, f, 9) for f in functions}
        found: dict[tuple, Any] = {}

        def work(number: int) -> None:
            for turn in range(3):
                function = functions[(number // 3 + turn) % 3]
                whole = number % 2
                x = [a if whole else a[4] for a in inputs[function]]
                found[number, function, whole] = getattr(kt, function)(fresh, *x, target=target)

        Crowd(work)
        for (_, function, whole), result in found.items():
            expected = getattr(kt, function)(again, *inputs[function], target=target)
            assert_same_bits(result, expected if whole else expected[4])

    def test_one_new_kernel_called_by_all(self):
        """The first calls of one kernel, single and batch, while it connects its fast entry."""
        for seed in range(3):
            robot = kt.zoo.chain(2 + seed)
            kernel = kt.compile(kt.forward_dynamics, robot)
            inputs = states(robot, "forward_dynamics", 40, seed)
            expected = kt.forward_dynamics(kt.zoo.chain(2 + seed), *inputs)

            def work(number: int, kernel=kernel, inputs=inputs, expected=expected) -> None:
                for turn in range(20):
                    k = (5 * number + turn) % 40
                    assert_same_bits(kernel(*(x[k] for x in inputs)), expected[k])
                    assert_same_bits(kernel(*inputs), expected)

            Crowd(work)
