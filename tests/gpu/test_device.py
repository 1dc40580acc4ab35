"""Kernels on a GPU against machine code of the CPU, bit by bit: every function, many trees, all sizes.

These tests run where there is a GPU. The whole matrix is a campaign: `tests/soak/devices.py`.
"""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import memory
from tests.gpu.jobs import NAMES
from tests.soak import devices

import kinetree as kt
from kinetree.compiler.runtime import cuda, cuda_kernels
from kinetree.errors import ShapeError, SingularError
from kinetree.stages.targets import cuda_code
from kinetree.stages.targets.cuda_code import same_bits

if not cuda.is_available():
    pytest.skip("no GPU here: these comparisons run where there is one", allow_module_level=True)
LAUNCHES = int(os.environ.get("KINETREE_GPU_LAUNCHES", "1000000"))
COMPILATIONS = int(os.environ.get("KINETREE_GPU_COMPILATIONS", "10000"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("seed", "kind"), [(1, ()), (2, ("looped",)), (10, (None, "float32"))])
def test_the_bits_of_the_cpu(name, seed, kind):
    """A few trees; `python -m tests.soak.campaign devices` has them all."""
    devices.check(devices.Unit(seed, name, *kind))


@pytest.mark.parametrize("make", [kt.zoo.arm7, kt.zoo.quadruped, kt.zoo.humanoid])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_robots(make, dtype):
    """Strands, packed results and rows that arrive ahead, in ragged batches, with bad states in between."""
    robot = make()
    q, v = (x.astype(dtype) for x in robot.random_state(3, 70_001))
    q[[5, 40_000], 0] = np.nan
    for function in (kt.inverse_dynamics, kt.forward_dynamics, kt.mass_matrix):
        arrays = (q,) if function is kt.mass_matrix else (q, v, v[::-1].copy())
        there = function(robot, *(kt.cuda.array(x) for x in arrays))
        assert same_bits(there.numpy(), function(robot, *arrays)), function.name


def test_nan_singular_and_large_angles():
    arm = kt.zoo.arm7()
    kernel = kt.compile(kt.mass_matrix, arm, target="cuda")
    q = np.full((3, 7), 1e18)
    np.testing.assert_array_equal(kernel(q), kt.mass_matrix(arm, q))
    q[1, 2] = np.nan
    assert np.isnan(kernel(q)[1]).all() and np.isfinite(kernel(q)[[0, 2]]).all()
    with pytest.raises(SingularError, match="no inertia"):
        kt.compile(kt.forward_dynamics, arm, target="cuda", inputs=("parameters",))(
            np.zeros(7), np.zeros(7), np.zeros(7), np.zeros((7, 10))
        )


@pytest.fixture
def sample():
    arm = kt.zoo.arm7()
    q, v = arm.random_state(1, 300)
    return arm, (q, v, v), kt.inverse_dynamics(arm, q, v, v)


def test_tensors_of_pytorch(sample):
    torch = pytest.importorskip("torch")
    arm, arrays, expected = sample
    with torch.cuda.stream(torch.cuda.Stream()):
        found = kt.inverse_dynamics(arm, *(torch.as_tensor(x, device="cuda") for x in arrays))
        assert isinstance(found, torch.Tensor) and same_bits(found.cpu().numpy(), expected)
    columns = [torch.as_tensor(x.T.copy(), device="cuda").T for x in arrays]
    found = kt.inverse_dynamics(arm, *columns)
    assert same_bits(found.cpu().numpy(), expected)
    kernel = kt.compile(kt.inverse_dynamics, arm, target="cuda")
    assert kernel(*columns).stride() == (1, 300)
    with pytest.raises(ShapeError, match="host and of the device are mixed"):
        kernel(columns[0], arrays[1], columns[2])


def test_arrays_of_cupy(sample):
    cupy = pytest.importorskip("cupy")
    arm, arrays, expected = sample
    found = kt.inverse_dynamics(arm, *(cupy.asarray(x) for x in arrays))
    assert isinstance(found, cupy.ndarray) and same_bits(found.get(), expected)
    q, v, _ = (cupy.asarray(x) for x in arrays)
    run = kt.simulate(arm, q, v, duration=0.01, dt=0.001, limits=False)
    assert isinstance(run.q, cupy.ndarray) and run.q.shape == (300, 11, 7)


def test_the_tutorial(capsys):
    """A million arms, and the best one wins: the page's program with CuPy instead of NumPy."""
    pytest.importorskip("cupy")
    text = (Path(__file__).parents[2] / "docs" / "tutorials" / "sampling.md").read_text()
    program = text.partition("```python\n")[2].partition("```")[0]
    before, after = text.partition("```text\n")[2].partition("```")[0].splitlines()
    changed = program.replace("import numpy as np", before)
    changed = "\n".join(after if line.startswith("samples, ") else line for line in changed.splitlines())
    assert changed.count("cupy") == 1 and "1_000_000" in changed
    exec(changed, {})
    assert float(capsys.readouterr().out.split()[-1]) < 0.1


def test_arrays_of_numba(sample):
    numba = pytest.importorskip("numba.cuda")
    arm, arrays, expected = sample
    found = kt.inverse_dynamics(arm, *(numba.to_device(x) for x in arrays))
    assert numba.is_cuda_array(found) and same_bits(found.copy_to_host(), expected)


def test_arrays_of_jax(sample):
    jax = pytest.importorskip("jax")
    arm, arrays, expected = sample
    kernel = kt.compile(kt.inverse_dynamics, arm, target="cuda", dtype="float32")
    there = [jax.device_put(x.astype(np.float32)) for x in arrays]
    if there[0].devices().pop().platform != "gpu":
        pytest.skip("JAX sees no GPU")
    found = kernel(*there)
    assert isinstance(found, jax.Array) and np.allclose(np.asarray(found), expected, rtol=1e-3, atol=1e-3)


@kt.function("t, q, v, gain -> tau")
def wave(model, t, q, v, gain):
    """A law of the time."""
    return gain * kt.ops.sin(3.0 * t) - 0.1 * v - q


@pytest.mark.parametrize("integrator", ["discrete", "rk4"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_simulations(integrator, dtype):
    for robot in (kt.zoo.arm7(), kt.zoo.quadruped()):
        q, v = (x.astype(dtype) for x in robot.random_state(3, 200))
        options = {"duration": 0.05, "dt": 0.001, "record": 5, "integrator": integrator, "limits": False}
        tau = np.random.default_rng(0).normal(size=(200, 50, robot.nv)).astype(dtype)
        here = kt.simulate(robot, q, v, control=tau, **options)
        there = kt.simulate(robot, kt.cuda.array(q), kt.cuda.array(v), control=kt.cuda.array(tau), **options)
        assert same_bits(there.numpy().q, here.q) and same_bits(there.numpy().v, here.v)
        found = kt.simulate(robot, q, v, control=tau, target="cuda", **options)
        assert same_bits(found.q, here.q)
    arm = kt.zoo.arm7()
    q, v = (x.astype(dtype) for x in arm.random_state(3, 100))
    law = functools.partial(wave, gain=2.0)
    here = kt.simulate(arm, q, v, control=law, **options)
    there = kt.simulate(arm, kt.cuda.array(q), kt.cuda.array(v), control=law, **options).numpy()
    assert same_bits(there.q, here.q) and same_bits(there.tau, here.tau.astype(dtype))


def test_many_threads():
    """Calls of one kernel from several threads: with guards, with large angles, from the host and there."""
    arm = kt.zoo.arm7()
    solve, mass = (kt.compile(f, arm, target="cuda") for f in (kt.forward_dynamics, kt.mass_matrix))
    q, v = arm.random_state(5, 8 * 300)
    q[::3] *= 1e18
    here = kt.mass_matrix(arm, q), kt.forward_dynamics(arm, q, v, v)

    def check(number: int) -> bool:
        part = slice(300 * (number % 8), 300 * (number % 8 + 1))
        put = kt.cuda.array if number % 2 else np.asarray
        x, y = put(q[part]), put(v[part])
        found = [np.asarray(r.numpy() if number % 2 else r) for r in (mass(x), solve(x, y, y))]
        return all(same_bits(a, b[part]) for a, b in zip(found, here, strict=True))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(check, range(2000)))


class Taken:
    """What this process has: memory of the host, and what the driver has given it and not got back."""

    PAIRS = (
        ("cuMemAlloc_v2", "cuMemFree_v2"), ("cuMemHostAlloc", "cuMemFreeHost"),
        ("cuModuleLoadDataEx", "cuModuleUnload"), ("cuStreamCreate", "cuStreamDestroy_v2"),
    )  # fmt: skip

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.counts = dict.fromkeys(self.PAIRS, 0)
        library = cuda.driver()
        for pair in self.PAIRS:
            for name, step in zip(pair, (1, -1), strict=True):
                monkeypatch.setattr(library, name, self._counted(pair, getattr(library, name), step))

    def _counted(self, pair: tuple[str, str], function: Callable[..., int], step: int) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            self.counts[pair] += step
            return function(*arguments)

        return call

    def now(self) -> dict[str, int]:
        gc.collect()
        with open("/proc/self/statm") as file:
            host = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        found = {"host bytes": host, "given out": memory.given_out(), "device bytes": -cuda.free_bytes()}
        return found | {pair[0]: count for pair, count in self.counts.items()}


def check_flat(taken: Taken, work: Callable[[int], None], first: int, count: int) -> None:
    """What is taken stays as it was after the first calls."""
    work(first)
    before = taken.now()
    for k in range(10):
        work(count // 10)
        more = {name: value - before[name] for name, value in taken.now().items()}
        print(f"{work.__name__}, {count // 10 * (k + 1)}: {more}", flush=True)
    assert all(more[pair[0]] <= 8 for pair in taken.PAIRS)
    assert more["host bytes"] < 16 << 20


@pytest.mark.long
def test_no_leak_over_launches(monkeypatch):
    arm = kt.zoo.arm7()
    numbers = (*arm.random_state(0, 256), np.zeros((256, 7)))
    q, v, out = (kt.cuda.array(x) for x in numbers)
    kernel = kt.compile(kt.inverse_dynamics, arm, target="cuda")

    def launch(count: int) -> None:
        for k in range(count):
            kernel(q, v, v, out=out)
            if k % 100 == 0:
                kernel(*numbers)  # from the host: streams, pinned memory, copies

    check_flat(Taken(monkeypatch), launch, 2000, LAUNCHES)


@pytest.mark.long
def test_no_leak_over_compilations(monkeypatch):
    """Of models that differ in a mass: nothing comes from a cache."""
    pendulum = kt.zoo.pendulum()
    q, v = (kt.cuda.array(x) for x in pendulum.random_state(0, 256))
    fresh = count(os.getpid() << 20)

    def compile(times: int) -> None:
        for _ in range(times):
            model = pendulum.with_parameters(pendulum.parameters * (1.0 + 1e-12 * next(fresh)))
            kt.kinetic_energy(model, q, v)

    check_flat(Taken(monkeypatch), compile, 200, COMPILATIONS)


@pytest.mark.long
def test_what_the_driver_keeps(monkeypatch):
    """A module that the driver alone loads and unloads, for comparison."""
    kernel = kt.compile(kt.kinetic_energy, kt.zoo.pendulum(), target="cuda")
    where = cuda.device()
    kernel.placed(where)
    ptx = kernel.code.ptx("rows", where)
    fresh = count(os.getpid() << 20)

    def load(times: int) -> None:
        for _ in range(times):
            text = f"{ptx.text}\n// {next(fresh)}\n"
            cuda_kernels.Launcher(text, where, cuda_code.LEVELS[0], ptx.threads, ptx.shared)

    check_flat(Taken(monkeypatch), load, 200, COMPILATIONS)
