"""NaN in gives NaN out; a guard below 1 is an error that names the state."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler_native.programs import kernel_of, program

from kinetree.compiler.runtime.kernel import Kernel
from kinetree.errors import SingularError

BAD = [np.nan, np.inf, -np.inf]


def guarded(**options):
    """y = 1 / x0, with x0 as the guard; the second input does not matter for the result."""
    prog = program({"x": 2, "z": 1}, {"y": lambda x, z: [1.0 / x[0], x[1]]}, guard=lambda x, z: x[0])
    return kernel_of(prog, **options)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("count", [1, 6, 8, 50])
def test_every_output_of_a_spoiled_state_is_nan(bad, count) -> None:
    prog = program({"x": 2, "z": 1}, {"y": lambda x, z: [x[0], 3.0], "w": lambda x, z: [x[1]]})
    kernel = kernel_of(prog)
    x, z = np.ones((count, 2)), np.ones((count, 1))
    for array in (x, z):
        for state in {0, count // 2, count - 1}:
            array[state, -1] = bad
            y, w = kernel(x, z)
            rest = np.arange(count) != state
            assert np.isnan(y[state]).all() and np.isnan(w[state]).all()
            assert (y[rest] == [1.0, 3.0]).all() and (w[rest] == 1.0).all()
            assert np.isnan(kernel(x[state], z[state])[0]).all()
            array[state, -1] = 1.0


@pytest.mark.parametrize("count", [2, 7, 8, 9, 300])
@pytest.mark.parametrize("low", [0.5, 0.0, -2.0])
def test_the_first_singular_state_is_named(count, low) -> None:
    seen = []

    class Telling(Kernel):
        def singular(self, index, state):
            seen.append((index, [s.tolist() for s in state]))
            raise SingularError(f"state {index}")

    kernel = guarded(kind=Telling)
    for _ in range(2):
        for state in {0, 1, count - 1}:
            x = np.full((count, 2), 2.0)
            x[state:, 0] = low
            with pytest.raises(SingularError, match=f"state \\({state},\\)"):
                kernel(x, np.ones((count, 1)))
            assert seen.pop() == ((state,), [[low, 2.0], [1.0]])


def test_a_single_singular_state_leaves_out_alone() -> None:
    kernel = guarded()
    for _ in range(3):
        x = np.array([0.5, 4.0])
        with pytest.raises(SingularError):
            kernel(x, np.ones(1), out=x)
        assert x.tolist() == [0.5, 4.0]
    x = np.full((20, 2), 2.0)
    x[5, 0] = 0.25
    seen = []

    class Telling(Kernel):
        def singular(self, index, state):
            seen.append(state[0].tolist())
            super().singular(index, state)

    kernel = guarded(kind=Telling)
    with pytest.raises(SingularError, match=r"\(5,\)"):
        kernel(x, np.ones(1), out=x)
    assert seen == [[0.25, 2.0]]


@pytest.mark.parametrize("bad", BAD)
def test_a_spoiled_state_is_not_singular(bad) -> None:
    kernel = guarded()
    x = np.full((10, 2), 2.0)
    x[3] = [0.1, bad]
    assert np.isnan(kernel(x, np.ones(1))[3]).all()
    assert np.isnan(kernel(x[3], np.ones(1))).all()
    x[7, 0] = 0.1
    with pytest.raises(SingularError, match=r"\(7,\)"):
        kernel(x, np.ones(1))


def test_several_batch_axes_and_threads(monkeypatch) -> None:
    from kinetree.compiler.runtime import threads

    monkeypatch.setattr(threads, "WORTH", 1.0)
    monkeypatch.setattr("kinetree.compiler.runtime.kernel.BLOCK", 100.0)
    kernel = guarded()
    kernel.threads = 4
    x = np.full((30, 50, 2), 2.0)
    x[[17, 20, 29], [3, 0, 49], 0] = 0.0
    for _ in range(10):
        with pytest.raises(SingularError, match=r"\(17, 3\)"):
            kernel(x, np.ones((50, 1)))
