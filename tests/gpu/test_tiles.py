"""Kernels that move tiles of states, on a processor made of threads: strands, packing, bad states, bits."""

from __future__ import annotations

import ctypes
import sys
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from tests.conftest import share
from tests.gpu.emulator import Emulated
from tests.gpu.jobs import job

import kinetree as kt
from kinetree.compiler.emit.llvm import gpu_plan, sincos
from kinetree.compiler.ir.graph import Spoil
from kinetree.compiler.passes.park import Put
from kinetree.compiler.passes.recompute import alive, is_input, numbers, recomputed
from kinetree.compiler.passes.spoil import telling
from kinetree.compiler.passes.strands import one_strand, pressure, put_aside, strands
from kinetree.compiler.runtime import dlpack
from kinetree.ops import dense
from kinetree.stages import TARGETS, Job
from kinetree.stages.compile import job_for
from kinetree.stages.targets.cuda_code import same_bits
from kinetree.stages.targets.cuda_way import way_of
from kinetree.stages.targets.limbs import limbs, owners

QUADRUPED = kt.zoo.quadruped()


@pytest.fixture(autouse=True)
def few_threads(monkeypatch):
    monkeypatch.setattr(gpu_plan, "TILES", (32,))


def check(j: Job, kernel: Emulated, count: int, spoiled: tuple[int, ...] = ()) -> None:
    states = j.samples(count)
    for k in spoiled:
        states[0].reshape(count, -1)[k, -1] = np.inf
    expected = TARGETS["cpu"].executable(j)(*states)
    expected = expected if isinstance(expected, tuple) else (expected,)
    found, notes = kernel(*states, blocks=1)
    assert notes[0] == -1
    for a, b in zip(found, expected, strict=True):
        assert same_bits(a.reshape(b.shape), b)


STRANDS = product([kt.inverse_dynamics, kt.forward_dynamics], [1, 2, 5], [False, True])


@pytest.mark.parametrize(("function", "count", "ahead"), share(STRANDS, 3))
def test_strands_give_the_bits_of_the_program(function, count, ahead):
    j = job_for("test", function, QUADRUPED, None, {}, "float64" if ahead else "float32")
    program = j.program(0)
    dealt = strands(program, *owners(j, program), count)
    assert dealt.count == count
    check(j, Emulated(program, j.dtype, strands=dealt, ahead=ahead), 70, (3, 40))


@pytest.mark.parametrize("count", [1, 5])
def test_results_that_are_packed(count):
    j = job_for("test", kt.mass_matrix, QUADRUPED, None, {}, "float64")
    program = j.program(0)
    dealt = strands(program, *owners(j, program), count)
    kernel = Emulated(program, "float64", strands=dealt, shared=60 << 10)
    assert "@places0" in kernel.made.text
    check(j, kernel, 37, (33,))


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize(
    ("function", "dtype", "aside"),
    [
        (kt.inverse_dynamics, "float32", 0),
        (kt.forward_dynamics, "float64", 60),
        (kt.mass_matrix, "float64", 0),
    ],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_rows_that_arrive_whole(function, dtype, aside, ahead):
    """Also tiles behind tiles, where results stood and the next rows arrive, and a ragged last one."""
    j = job_for("test", function, QUADRUPED if aside else kt.zoo.arm7(), None, {}, dtype)
    program = j.program(0)
    dealt = strands(program, *owners(j, program), 1, 150, 4)
    dealt = put_aside(dealt, program, 40, aside, program.inputs) if aside else dealt
    kernel = Emulated(program, dtype, strands=dealt, ahead=ahead, arriving="whole")
    assert "@rows.in(" in kernel.made.text
    check(j, kernel, 150, (3, 40))


def test_large_angles_are_left_to_the_other_kernel():
    j = job_for("test", kt.forward_dynamics, kt.zoo.arm7(), None, {}, "float64")
    states = j.samples(5)
    states[0][2, 3] = 1e18
    near, large = (Emulated(j.program(0), "float64", large=large) for large in (False, True))
    assert near(*states)[1][1] == 7
    found, notes = large(*states)
    assert notes[0] == -1 and same_bits(found[0], TARGETS["cpu"].executable(j)(*states))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_angles_at_the_border(dtype):
    """Up to which the first kernel can do; those near it are the other's, or have the same bits."""
    j = job_for("test", kt.potential_energy, kt.zoo.double_pendulum(), None, {}, dtype)
    border = np.array(sincos.FAR[dtype], dtype)
    near = Emulated(j.program(0), dtype)
    for angle in (np.nextafter(border, 0), -np.nextafter(border, 0), 0.999 * border):
        q = np.full((5, 2), angle, dtype)
        (found,), notes = near(q)
        assert notes[1] == 0 and same_bits(found[:, 0], TARGETS["cpu"].executable(j)(q))
    for angle in (np.nextafter(border, np.inf), -1.001 * border, np.finfo(dtype).max):
        assert near(np.full((5, 2), angle, dtype))[1][1] == 7


@kt.function("q -> y(nq)")
def at_least_one(model, q):
    """Refuses what is below 1."""
    dense.require(q[0] * 1.0, "too small")
    return 2.0 * q


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_guards_at_the_border(dtype):
    program = job_for("test", at_least_one, kt.zoo.pendulum(), None, {}, dtype).program(0)
    kernel, one = Emulated(program, dtype), np.array(1, dtype)
    most = np.finfo(dtype).max
    for fine in (one, np.nextafter(one, 2), 1.5 * one, most):
        assert kernel(np.full((3, 1), fine, dtype))[1][0] == -1
    for low in (np.nextafter(one, 0), 0.5 * one, 0 * one, -0.0 * one, -one, -most, np.finfo(dtype).tiny):
        assert kernel(np.full((3, 1), low, dtype))[1][0] == 0


@pytest.mark.parametrize("name", ["inverse_dynamics", "mass_matrix_logdet", "coriolis_matrix"])
def test_random_trees(name):
    j = job(name, None, 2)
    program = j.program(0)
    owner, weights = owners(j, program)
    dealt = strands(program, owner, weights, len(weights)) if program.is_straight else None
    check(j, Emulated(program, "float64", strands=dealt), 33)


def test_numbers_that_are_computed_again():
    j = job_for("test", kt.forward_dynamics, QUADRUPED, None, {}, "float64")
    program = j.program(0)
    body = one_strand(program).phases[0][0]
    again = recomputed(body, 60, 8)
    assert max(alive(again)) < 0.75 * max(alive(body)) and len(body) < len(again) < 1.5 * len(body)
    known: set[object] = set()
    for s in again:
        assert all(a in known or is_input(a) for a in numbers(s))
        known.add(s)
    assert recomputed(body, 10_000, 8) is body
    dealt = strands(program, *owners(j, program), 1, 60, 8)
    check(j, Emulated(program, "float64", strands=dealt, ahead=True), 37, (33,))


def test_limbs():
    _, weights = limbs(kt.zoo.humanoid())
    assert sorted(weights) == [6, 6, 7, 7, 10] and weights[0] == 10  # the trunk with waist and head
    assert limbs(kt.zoo.arm7())[1] == [7.0] and set(limbs(kt.zoo.arm7())[0]) == {0}


def test_strands_keep_every_statement_once_and_after_its_operands():
    j = job_for("test", kt.forward_dynamics, QUADRUPED, None, {})
    program = j.program(0)
    dealt = strands(program, *owners(j, program), 5)
    placed = [s for phase in dealt.phases for strand in phase for s in strand]
    body = [s for s in program.body.statements if not isinstance(s, Spoil)]
    assert len(placed) == len(body) and set(map(id, placed)) == set(map(id, body))
    critical = sum(max(map(len, phase)) for phase in dealt.phases)  # the longest strand of each phase
    assert critical < 0.4 * len(body)
    assert pressure(dealt) < pressure(one_strand(program)) / 2


def test_capsules_are_given_back(monkeypatch):
    """Also where another library has declared other types for the functions of Python."""
    monkeypatch.setattr(ctypes.pythonapi.PyCapsule_New, "argtypes", (ctypes.py_object,) * 3)
    array = np.arange(6.0).reshape(2, 3)

    class Lent:
        def __dlpack__(self, stream=None):
            return dlpack.capsule(array, array.ctypes.data, (2, 3), (3, 1), array.dtype, 0)

    before = len(dlpack._held)
    taken = dlpack.Taken(Lent(), 0)
    facts = taken.__cuda_array_interface__
    assert facts["shape"] == (2, 3) and facts["strides"] == (24, 8) and facts["typestr"] == "<f8"
    assert facts["data"][0] == array.ctypes.data and len(dlpack._held) == before + 1
    del taken
    assert len(dlpack._held) == before
    nobody = Lent().__dlpack__()
    assert len(dlpack._held) == before + 1
    del nobody
    assert len(dlpack._held) == before


def test_arrays_that_outlive_python_call_nobody(monkeypatch):
    monkeypatch.setattr(dlpack, "_held", {})
    array = np.arange(6.0)
    one = dlpack.capsule(array, array.ctypes.data, (6,), (1,), array.dtype, 0)
    (held,) = dlpack._held.values()
    users = sys.getrefcount(held)
    dlpack.let_go()
    assert not held[1].deleter and held[1].tensor.data == array.ctypes.data
    assert sys.getrefcount(held) == users and not dlpack._held  # one more, and the table's less
    del one


@pytest.mark.parametrize(("count", "ahead"), [(1, False), (1, True), (3, False)])
def test_numbers_that_are_put_aside(count, ahead):
    j = job_for("test", kt.forward_dynamics, QUADRUPED, None, {}, "float32" if ahead else "float64")
    program = j.program(0)
    dealt = strands(program, *owners(j, program), count, 150, 4)
    aside = put_aside(dealt, program, 40, 60, program.inputs)
    assert 0 < max(aside.aside) <= 60
    check(j, Emulated(program, j.dtype, strands=aside, ahead=ahead), 70, (3, 40))


@pytest.mark.parametrize(("count", "dtype"), [(6, "float64"), (12, "float32")])
def test_names_in_the_text_are_of_one_thing_each(count, dtype):
    """Rows of so many numbers gave the same name to a loop over them and to the buffer of a tile."""
    j = job_for("test", kt.mass_matrix, kt.zoo.chain(count), None, {}, dtype)
    check(j, Emulated(j.program(0), dtype, ahead=True, arriving="chunks"), 40)


@pytest.mark.parametrize(("function", "kilobytes"), [(kt.forward_dynamics, 99), (kt.inverse_dynamics, 64)])
def test_nothing_is_put_where_there_are_no_rows(function, kilobytes):
    """Devices with little shared memory read inertias as inputs directly, and their places do not exist."""
    given = [*(a.name for a in function.inputs if not a.optional), "parameters"]
    j = job_for("test", function, kt.zoo.humanoid(), given, {}, "float64")
    program, gpu = j.program(0), SimpleNamespace(capability=(8, 9), shared=kilobytes << 10)
    way = way_of(j, program, gpu)
    (parameters,) = (a for a in program.inputs if a.name == "parameters")
    used = {s.slot[0] for s in way["strands"].phases[0][0] if isinstance(s, Put) and type(s.slot) is tuple}
    assert used and parameters not in used
    check(
        j,
        Emulated(program, "float64", shared=gpu.shared, arriving=way["arriving"], strands=way["strands"]),
        40,
    )


def test_inputs_that_results_tell_of():
    """An infinity goes through sums and products, not through a divisor, and not where nothing reads it."""
    j = job_for("test", kt.inverse_dynamics, kt.zoo.arm7(), None, {})
    program = j.program(0)
    q, v, a = program.inputs
    assert telling(program) == {(x, k) for x in (q, v, a) for k in range(7)} - {(q, 0)}
    quaternion = {3, 4, 5, 6}
    program = job_for("test", kt.forward_dynamics, QUADRUPED, None, {}).program(0)
    q = program.inputs[0]
    silent = {k for k in range(19) if (q, k) not in telling(program)}
    assert silent <= quaternion and silent  # which is divided by its own length
    assert sum(array is not q for array, _ in telling(program)) == 36


@kt.function("q, v -> tau")
def careless(model, q, v):
    """A law that does not read all that it is given; its result could stand where the rest stands."""
    return -2.0 * v + np.array([q[0], *[0.0] * (model.nv - 1)], object)


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("function", [careless, kt.gravity_force, kt.inverse_dynamics], ids=lambda f: f.name)
def test_nan_anywhere_is_nan_everywhere(function, ahead):
    """Also where nothing reads it, in whole tiles and in the ragged last one, and for nobody else."""
    j = job_for("test", function, kt.zoo.arm7(), None, {}, "float64")
    kernel = Emulated(j.program(0), "float64", ahead=ahead)
    for row, element in ((40, 0), (40, 3), (66, 6)):  # alone in its tile
        for k in range(len(j.present)):
            states = j.samples(70)
            states[k][row, element] = (np.nan, np.inf)[k % 2]
            expected = TARGETS["cpu"].executable(j)(*states)
            assert np.isnan(expected).sum() == 7
            found, notes = kernel(*states, blocks=1)
            assert notes[0] == -1 and same_bits(found[0], expected)
