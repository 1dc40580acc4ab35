"""Kernels on a GPU against machine code of the CPU, bit by bit: every function, many trees, all sizes.

These tests run where there is a GPU; `KINETREE_GPU_TREES` says on how many random trees (60 for a full run).
"""

from __future__ import annotations

import functools
import math
import os

import numpy as np
import pytest
from tests.gpu.test_emission import NAMES, job

import kinetree as kt
from kinetree.compiler.runtime import cuda
from kinetree.errors import ShapeError, SingularError
from kinetree.stages import TARGETS
from kinetree.stages.targets.cuda_code import same_bits

pytestmark = pytest.mark.skipif(
    not cuda.is_available(), reason="no GPU here: these comparisons run where there is one"
)
TREES = int(os.environ.get("KINETREE_GPU_TREES", "3"))
BATCHES = (1, 31, 1000)
LARGEST, NUMBERS = 100_000, 1 << 26  # states of the largest batch; numbers that it may hold


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(TREES))
def test_the_bits_of_the_cpu(name, seed):
    for mode in (None, "looped"):
        j = job(name, mode, seed)
        gpu, cpu = TARGETS["cuda"].executable(j), TARGETS["cpu"].executable(j)
        numbers = sum(math.prod(s) for part in j.shapes for s in part)
        large = min(LARGEST, NUMBERS // numbers) if seed < 6 else 200
        for count in (*BATCHES, large):
            few = j.samples(min(count, 5000), seed)
            states = [np.resize(x, (count, *x.shape[1:])) for x in few]
            for a, b in zip(_tuple(gpu(*states)), _tuple(cpu(*states)), strict=True):
                assert same_bits(np.asarray(a), np.asarray(b)), (mode, count)


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
    q = np.full((3, 7), 1e9)
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


@pytest.mark.soak
def test_no_leak():
    arm = kt.zoo.arm7()
    q, v = (kt.cuda.array(x) for x in arm.random_state(0, 256))
    out = kt.cuda.array(np.zeros((256, 7)))
    kernel = kt.compile(kt.inverse_dynamics, arm, target="cuda")
    kernel(q, v, v, out=out)
    before = cuda.free_bytes()
    for _ in range(int(os.environ.get("KINETREE_GPU_LAUNCHES", "1000000"))):
        kernel(q, v, v, out=out)
    assert cuda.free_bytes() >= before - (1 << 22)
    before = 0
    for k in range(int(os.environ.get("KINETREE_GPU_COMPILATIONS", "10000"))):
        model = arm.replace(name=f"arm{k}")
        kt.kinetic_energy(model, q, v)
        if k == 200:
            before = cuda.free_bytes()
    assert cuda.free_bytes() >= before - (1 << 26)


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)
