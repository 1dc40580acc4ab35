"""Calls with arrays of a device, on a device made of threads: what is computed, returned and refused."""

from __future__ import annotations

import gc
import sys
import types

import numpy as np
import pytest
from tests.gpu.jobs import job
from tests.targets.cases import tree

import kinetree as kt
from kinetree.compiler.emit.llvm import gpu_kernel, sincos
from kinetree.compiler.runtime import cache, cuda, cuda_kernels
from kinetree.compiler.runtime.cuda_arrays import View
from kinetree.errors import CompileError, KinetreeError, ShapeError, SingularError
from kinetree.stages import TARGETS
from kinetree.stages.targets import cuda_code, cuda_host
from kinetree.stages.targets.cuda_code import same_bits

PROOF = cuda_code.PROOF


@pytest.fixture
def arm():
    return kt.zoo.arm7().replace(name="arm")  # of its own: kernels are kept with their model


@pytest.fixture(params=["float64", "float32"])
def states(request, arm):
    q, v = arm.random_state(1, 150)
    return [x.astype(request.param) for x in (q, v, v[::-1])]


def test_arrays_of_the_device(fake, arm, states):
    there = [kt.cuda.array(x) for x in states]
    found = kt.inverse_dynamics(arm, *there)
    assert same_bits(found.numpy(), kt.inverse_dynamics(arm, *states))
    again = kt.cuda.array(np.zeros_like(states[0]))
    assert kt.inverse_dynamics(arm, *there, out=again) is again
    assert same_bits(again.numpy(), found.numpy())
    with pytest.raises(ShapeError, match="host and of the device are mixed"):
        kt.inverse_dynamics(arm, there[0], states[1], there[2])
    with pytest.raises(ShapeError, match="shares memory"):
        kt.inverse_dynamics(arm, *there, out=there[0])


def test_arrays_of_the_host_go_there_in_chunks(fake, arm, states, monkeypatch):
    monkeypatch.setattr(cuda_host, "CHUNK", 40 * 28 * 8)
    kernel = kt.compile(kt.inverse_dynamics, arm, target="cuda", dtype=str(states[0].dtype))
    assert same_bits(kernel(*states), kt.inverse_dynamics(arm, *states))
    one = [states[0], states[1][0], states[2]]
    assert same_bits(kernel(*one), kt.inverse_dynamics(arm, *one))
    grid = [x.reshape(3, 50, 7) for x in states]
    assert same_bits(kernel(*grid), kt.inverse_dynamics(arm, *grid))
    single = [x[0] for x in states]
    assert same_bits(kernel(*single), kt.inverse_dynamics(arm, *single))
    assert kernel(*(x[:0] for x in states)).shape == (0, 7)


def test_coordinates_first(fake, arm, states):
    """Arrays whose neighbouring states stand side by side give results that do so too."""
    where = kt.cuda.device()
    there = []
    for x in states:
        array = kt.cuda.DeviceArray(x.shape, x.dtype, where, (1, 0))
        array.memory.put(np.ascontiguousarray(x.T))
        there.append(array)
    found = kt.inverse_dynamics(arm, *there)
    assert found.strides == (found.dtype.itemsize, 150 * found.dtype.itemsize)
    assert same_bits(found.numpy(), kt.inverse_dynamics(arm, *states))


@pytest.mark.parametrize("function", [kt.forward_dynamics, kt.mass_matrix], ids=lambda f: f.name)
def test_coordinates_first_that_are_not_finite(fake, arm, function):
    """Also a coordinate that no result depends on; and nobody else's results."""
    for row, element in ((0, 0), (3, 6), (5, 2)):
        arrays = list(arm.random_state(3, 7))[:1] if function is kt.mass_matrix else [
            *arm.random_state(3, 7), np.ones((7, 7))
        ]  # fmt: skip
        arrays[row % len(arrays)][row, element] = (np.nan, np.inf)[row % 2]
        there = []
        for x in arrays:
            there.append(cuda.DeviceArray(x.shape, x.dtype, cuda.device(), (1, 0)))
            there[-1].memory.put(np.ascontiguousarray(x.T))
        expected = function(arm, *arrays)
        assert np.isnan(expected).any(axis=tuple(range(1, expected.ndim))).sum() == 1
        assert same_bits(function(arm, *there).numpy(), expected)


def test_large_angles_nan_and_singular_states(fake, arm):
    q = np.linspace(-3, 3, 5 * 7).reshape(5, 7)
    q[1] = 1e18
    q[3, 2] = np.nan
    kernel = kt.compile(kt.mass_matrix, arm, target="cuda")
    assert same_bits(kernel(q), kt.mass_matrix(arm, q))
    assert same_bits(kt.mass_matrix(arm, kt.cuda.array(q)).numpy(), kt.mass_matrix(arm, q))
    solve = kt.compile(kt.forward_dynamics, arm, target="cuda", inputs=("parameters",))
    numbers = np.broadcast_to(arm.parameters, (9, 7, 10)).copy()
    numbers[6] = 0
    zeros = np.zeros((9, 7))
    with pytest.raises(SingularError, match="state 6"):
        solve(zeros, zeros, zeros, numbers)
    with pytest.raises(SingularError, match="state 6"):
        solve(*(kt.cuda.array(x) for x in (zeros, zeros, zeros, numbers)))
    numbers[6] = arm.parameters
    expected = kt.forward_dynamics(arm, zeros, zeros, zeros, parameters=numbers)
    assert same_bits(solve(zeros, zeros, zeros, numbers), expected)


def test_a_kernel_that_lies_is_built_again_and_then_refused(fake, arm, monkeypatch):
    levels = []
    real = cuda_code.Code._proves_itself

    def proves(self, made, where):
        levels.append(len(levels))
        return real(self, made, where) and len(levels) > 1

    monkeypatch.setattr(cuda_code.Code, "_proves_itself", proves)
    q, v = arm.random_state(1, 3)
    assert same_bits(
        kt.compile(kt.kinetic_energy, arm, target="cuda")(q, v), kt.kinetic_energy(arm, q, v)
    )
    assert len(levels) == 2
    kept: dict[str, bytes] = {}
    monkeypatch.setattr(cache, "load", kept.get)
    monkeypatch.setattr(cache, "store", kept.__setitem__)
    monkeypatch.setattr(cuda_code.Code, "_proves_itself", lambda *_: False)
    with pytest.raises(CompileError, match="differs from what the CPU computes"):
        kt.compile(kt.potential_energy, arm, target="cuda")(q)
    assert b"-1" in kept.values()
    monkeypatch.setattr(cuda_code.Code, "_proves_itself", real)  # it is known that it fails
    with pytest.raises(CompileError, match="differs from what the CPU computes"):
        kt.compile(kt.potential_energy, arm.replace(), target="cuda")(q)
    kept.clear()
    found = kt.compile(kt.potential_energy, arm.replace(), target="cuda")(q)
    assert same_bits(found, kt.potential_energy(arm, q))


def test_trouble_with_the_device_has_a_name(fake, arm):
    fake.room = 1 << 16
    with pytest.raises(KinetreeError, match="out of memory: use smaller batches"):
        kt.cuda.array(np.zeros((1 << 16, 7)))
    fake.room = 1 << 30
    fake.fails["cuLaunchKernel"] = 700
    with pytest.raises(KinetreeError, match="illegal memory access"):
        kt.compile(kt.inverse_dynamics, arm, target="cuda")(*np.zeros((3, 7)))


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("version", 10010, "driver is too old: it knows CUDA 10.1"),
        ("attributes", {75: 6, 76: 1, 16: 2, 97: 0, 36: 1, 37: 1}, "compute capability 6.1"),
        ("fails", {"cuInit": 100}, "finds no device it can use"),
    ],
)
def test_drivers_and_devices_that_will_not_do(fake, arm, name, value, message):
    setattr(fake, name, value)
    with pytest.raises(KinetreeError, match=message):
        kt.cuda.array(np.zeros(3))


def test_arrays_of_two_devices_are_not_mixed(fake, arm):
    fake.devices = 2
    q, v = arm.random_state(1, 3)
    there = [kt.cuda.array(x) for x in (q, v, v)]
    other = kt.cuda.array(v, 1)
    fake.homes[other.memory.pointer] = 1
    with pytest.raises(ShapeError, match="arrays of several GPUs are mixed"):
        kt.inverse_dynamics(arm, *there[:2], other)
    on_second = [kt.cuda.array(x, 1) for x in (q, v, v)]
    fake.homes |= {x.memory.pointer: 1 for x in on_second}
    found = kt.inverse_dynamics(arm, *on_second)
    assert found.memory.device.number == 1
    assert same_bits(found.numpy(), kt.inverse_dynamics(arm, q, v, v))
    with pytest.raises(KinetreeError, match="device 2"):
        kt.cuda.array(q, 2)


def test_arrays_of_numba(fake, arm, monkeypatch):
    """They come back as such; a stream that one names is waited for."""

    class Lent:
        __module__ = "numba.cuda.cudadrv.devicearray"

        def __init__(self, array, stream=None):
            self.array = array
            self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "stream": stream}

    numba = types.ModuleType("numba")
    numba.cuda = types.SimpleNamespace(as_cuda_array=Lent)
    monkeypatch.setitem(sys.modules, "numba", numba)
    q, v = arm.random_state(2, 5)
    found = kt.inverse_dynamics(arm, *(Lent(kt.cuda.array(x), 77) for x in (q, v, v)))
    assert type(found) is Lent and 77 in fake.awaited
    assert same_bits(found.array.numpy(), kt.inverse_dynamics(arm, q, v, v))


def test_a_forked_process_is_told(fake, monkeypatch):
    there = kt.cuda.array(np.zeros(3))
    with monkeypatch.context() as patch:
        patch.setattr(kt.cuda, "_forked", True)
        with pytest.raises(KinetreeError, match="forked process: start processes with 'spawn'"):
            there.numpy()


def test_nothing_is_left_behind(fake, arm):
    q, v = arm.random_state(1, 5)
    kernel = kt.compile(kt.inverse_dynamics, arm, target="cuda")
    kernel(q, v, v)
    gc.collect()
    before = len(fake.memory), len(fake.modules)
    for _ in range(3):
        kernel(q, v, v)
        kt.inverse_dynamics(arm, *(kt.cuda.array(x) for x in (q, v, v)))
    gc.collect()
    assert abs(len(fake.memory) - before[0]) <= 4 and len(fake.modules) <= before[1] + 2


def interrupted(monkeypatch, call):
    """Between the first two launches of a kernel, as another thread would."""
    real, calls = cuda_kernels.Launcher.launch, [call]

    def launch(self, *given):
        real(self, *given)
        if calls:
            calls.pop()()

    monkeypatch.setattr(cuda_kernels.Launcher, "launch", launch)


def test_threads_that_meet_large_angles(fake, arm, monkeypatch):
    """A call that another one cuts into still has the kernel for large angles run behind its own."""
    q, other = np.full((3, 7), 1e18), np.full((4, 7), 2e18)
    kernel = kt.compile(kt.mass_matrix, arm, target="cuda")
    arrays, found = [kt.cuda.array(x) for x in (q, other)], []
    kernel(arrays[0])
    interrupted(monkeypatch, lambda: found.append(kernel(arrays[1])))
    found.append(kernel(arrays[0]))
    for x, result in zip((other, q), found, strict=True):
        assert same_bits(result.numpy(), kt.mass_matrix(arm, x))


def test_threads_hear_of_their_own_states(fake, arm, monkeypatch):
    """The good call that cuts into one with a bad state."""
    solve = kt.compile(kt.forward_dynamics, arm, target="cuda", inputs=("parameters",))
    numbers = np.broadcast_to(arm.parameters, (9, 7, 10)).copy()
    zeros = kt.cuda.array(np.zeros((9, 7)))
    good = [zeros, zeros, zeros, kt.cuda.array(numbers)]
    numbers[6] = 0
    bad = [zeros, zeros, zeros, kt.cuda.array(numbers)]
    expected = solve(*good).numpy()
    found = []
    interrupted(monkeypatch, lambda: found.append(solve(*good)))
    with pytest.raises(SingularError, match="state 6"):
        solve(*bad)
    assert same_bits(found[0].numpy(), expected) and same_bits(solve(*good).numpy(), expected)


def test_memory_of_kernels_that_may_still_run_is_not_used_again(fake, arm):
    """Tables, work arrays and notes go back to the driver, which waits; so does what others were shown."""
    q, v = (kt.cuda.array(x) for x in arm.random_state(1, 5))
    kernel = kt.compile(kt.forward_dynamics, arm, target="cuda", mode="looped")
    kernel(q, v, v)
    loaded = kernel.placed(cuda.device())
    notes = kernel.code._notes[0, 0]
    used = {loaded.tables.pointer, *(n.memory.pointer for n in notes), *(n.work(0) for n in notes)}
    shown = kt.cuda.array(np.zeros(3))
    used.add(shown.__cuda_array_interface__["data"][0])
    assert used <= set(fake.memory)
    del kernel, loaded, notes, shown
    arm._memo.clear()
    gc.collect()
    assert not used & {p for pieces in cuda.device().kept.values() for p in pieces}
    assert not used & set(fake.memory)


def test_a_stream_that_an_array_names_is_waited_for(fake, arm):
    """As version 3 of the array interface asks."""

    class Theirs:
        def __init__(self, x, stream):
            self.held = kt.cuda.array(x)
            self.__cuda_array_interface__ = {**self.held.__cuda_array_interface__, "stream": stream}

    q, v = arm.random_state(1, 5)
    for stream, waits in ((None, False), (1, False), (23, True)):
        fake.awaited.clear()
        found = kt.inverse_dynamics(arm, *(Theirs(x, stream) for x in (q, v, v)))
        assert (23 in fake.awaited) == waits
        assert same_bits(found.numpy(), kt.inverse_dynamics(arm, q, v, v))


def test_calls_from_the_host_use_few_streams(fake, arm):
    q, v = arm.random_state(1, 5)
    kernel = kt.compile(kt.inverse_dynamics, arm, target="cuda")
    for _ in range(5):
        kernel(q, v, v)
    gc.collect()
    assert len(kernel.code._notes) <= cuda_host.LANES and fake.streams <= 16 + cuda_host.LANES


@pytest.mark.long
def test_what_is_kept_for_streams_is_bounded(fake, arm):
    arrays = [kt.cuda.array(x) for x in arm.random_state(1, 5)]
    views = [View.of(x) for x in arrays]
    kernel, out = kt.compile(kt.kinetic_energy, arm, target="cuda"), kt.cuda.array(np.zeros(5))
    for stream in range(100, 100 + 3 * cuda_code.STREAMS):
        kernel.start(views, [View.of(out)], cuda.device(), stream)
    assert len(kernel.code._notes) <= cuda_code.STREAMS + 1


@pytest.mark.parametrize("mode", [None, "looped"])
def test_a_proof_goes_on_to_a_next_tile(fake, arm, monkeypatch, mode):
    """What the loop over tiles does is proved too, and its ragged end."""
    monkeypatch.setattr(cuda_code, "PROOF", PROOF)
    shapes, real = [], cuda_kernels.Launcher.launch

    def launch(self, arguments, blocks, stream=0, threads=0):
        shapes.append((arguments[-3], blocks, threads or self.threads))
        real(self, arguments, blocks, stream, threads)

    monkeypatch.setattr(cuda_kernels.Launcher, "launch", launch)
    kt.compile(kt.kinetic_energy, arm, target="cuda", mode=mode).placed(cuda.device())
    for count, blocks, tile in shapes:
        assert blocks == 2 and count > 2 * tile and count % tile


def test_a_call_that_is_interrupted_waits_for_what_it_began(fake, arm, states, monkeypatch):
    monkeypatch.setattr(cuda_host, "CHUNK", 40 * 28 * 8)
    kernel = kt.compile(kt.inverse_dynamics, arm, target="cuda", dtype=str(states[0].dtype))
    kernel(*states)
    begun, real = [], cuda_code.Code.start

    def start(self, form, pointers, where, stream):
        if begun:
            fake.awaited.clear()
            raise KeyboardInterrupt
        begun.append(stream)
        return real(self, form, pointers, where, stream)

    monkeypatch.setattr(cuda_code.Code, "start", start)
    with pytest.raises(KeyboardInterrupt):
        kernel(*states)
    assert begun[0] in fake.awaited


def test_large_angles_are_part_of_the_proof(fake, arm, monkeypatch):
    """A kernel that is wrong for them alone is refused."""
    real = sincos.define_large

    def wrong(space=""):
        return real(space).replace("%upper0 = lshr i128 %normal, 75", "%upper0 = lshr i128 %size, 75")

    monkeypatch.setattr(gpu_kernel.sincos, "define_large", lambda space="": wrong(space) if space else real())
    with pytest.raises(CompileError, match="differs from what the CPU computes"):
        kt.compile(kt.mass_matrix, arm, target="cuda")(np.zeros(7))


def test_shared_memory_of_the_kernel_itself_counts(fake):
    """Rows of 48 kB: with the few bytes of its own a kernel has more than what need not be asked for."""
    j = job("articulated_inertias", None, 9)
    kernel = TARGETS["cuda"].executable(j)
    assert kernel.code.ptx("rows", cuda.device()).shared == 48 << 10
    states = j.samples(40)
    assert same_bits(kernel(*states), TARGETS["cpu"].executable(j)(*states))
    tree.cache_clear()
