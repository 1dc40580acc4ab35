"""Two threads per state, one for each limb of a pair: each state has the bits of the CPU."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from tests.contact import scenes
from tests.gpu.emulator import Emulated
from tests.targets.cases import tree

import kinetree as kt
from kinetree import ops
from kinetree.compiler.emit.llvm.gpu import emit_gpu
from kinetree.compiler.ir.graph import Array, Store
from kinetree.compiler.ir.program import Program, blocks, walk
from kinetree.compiler.passes import twins as pass_
from kinetree.compiler.passes.alike import Alike
from kinetree.compiler.passes.recompute import most_alive
from kinetree.compiler.passes.spoil import refuse_silently
from kinetree.compiler.passes.twins import twins
from kinetree.compiler.runtime import cuda_kernels
from kinetree.errors import SimulationError
from kinetree.motion.rollout import rollout
from kinetree.ops import Expr
from kinetree.stages import TARGETS, Job
from kinetree.stages.compile import job_for
from kinetree.stages.targets import cuda_way
from kinetree.stages.targets.cuda_code import same_bits
from kinetree.stages.targets.limbs import pairs

Pairs = list[tuple[Array, int, int]]
STEPS = 3


def walks(model: kt.Model, dtype: str, limit: int | None = None, integrator: str = "discrete") -> Job:
    """Some steps of a robot with servos, with contact if it has geometry."""
    function = rollout((), 1, STEPS, False, True)
    ground = kt.Ground() if model.contact_points else False
    options = function.chosen(
        integrator=integrator, passive=True, limits=True, constraints=(), ground=ground, newton_limit=limit
    )
    given = ("kp", "kd", "each_setpoint") if integrator == "discrete" else ()
    return Job(function, model, function.present(given), options, dtype)


def inputs_of(job: Job, count: int, seed: int = 0) -> list[np.ndarray]:
    """Moving states, some of which touch the ground, and gains."""
    model, rng = job.model, np.random.default_rng(seed)
    q, v = model.random_state(rng, count)
    if model.contact_points:
        q = np.tile(scenes.standing(model), (count, 1))
        q[:, 7:] += 0.2 * rng.normal(size=(count, model.nq - 7))
        q[:, 6] += rng.uniform(-0.01, 0.03, count)
    each = np.tile(model.neutral(), (count, STEPS, 1))
    gains = {name: np.tile(x, (count, 1)) for name, x in scenes.gains(model).items()}
    values = {"q": q, "v": v, "dt": np.full(count, 2e-3), "each_setpoint": each, **gains}
    return [values[name].astype(job.dtype) for name in job.present]


def compared(job: Job, program: Program, given: Pairs, *inputs: np.ndarray, large: bool = False) -> Emulated:
    """The kernel for these pairs of inputs of the program, whose results are what the CPU gives."""
    expected = TARGETS["cpu"].executable(job)(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    kernel = Emulated(program, job.dtype, together=64, pairs=given, large=large)
    found, notes = kernel(*inputs, blocks=1)
    assert notes[0] == -1 and kernel.made.threads == 2 * kernel.made.tile
    assert "call i32 @warp_told" in kernel.block.text
    assert all(same_bits(a, b.reshape(a.shape)) for a, b in zip(found, expected, strict=True))
    return kernel


def two_legs(seed: int, mirrored: bool) -> kt.Model:
    """A trunk on two legs with feet, an armature and a stop: mirror images, or alike only in their joints."""
    rng = np.random.default_rng(seed)
    builder = kt.ModelBuilder(f"legs{seed}")
    builder.add_body("trunk", joint=kt.Free(), inertia=scenes.solid(8.0, (0.2, 0.3, 0.1)))
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0] if seed % 2 else np.eye(3)
    numbers = rng.uniform(0.5, 1.5, (3, 8))
    for side in (1, -1):
        parent, flip = "trunk", np.array([1.0, side, 1.0])
        if not mirrored:
            numbers = rng.uniform(0.5, 1.5, (3, 8))
        for k, (axis, x) in enumerate(zip(axes, numbers, strict=True)):
            inertia = kt.Inertia(x[0], 0.05 * x[1:4] * flip, 0.01 * np.diag(1.0 + 0.2 * x[4:7]))
            place = kt.Pose(p=np.array([0.05, 0.1, 0.0]) * flip if k == 0 else (0.0, 0.01 * side, -0.15))
            turned = kt.Revolute(tuple(axis * (-flip if seed % 2 else 1.0)))
            more: dict[str, Any] = {"armature": 0.02} if k == 1 else {"limits": {"lower": -1.0, "upper": 0.1}}
            builder.add_body(f"{side}.{k}", parent, turned, place, inertia, **more)
            parent = f"{side}.{k}"
        builder.add_geometry(parent, kt.Vertices([(0.05, 0.02, -0.1), (-0.03, 0.01 * side, -0.1)]))
    return builder.build()


@pytest.fixture
def worth(monkeypatch):
    """Programs of two threads, even if little is gained."""
    monkeypatch.setattr(pass_, "WORTH", 10.0)


@pytest.mark.parametrize(
    ("seed", "mirrored", "dtype"),
    [(0, True, "float32"), (1, True, "float64"), (2, False, "float64"), (3, False, "float32")],
)
def test_two_legs(seed, mirrored, dtype, worth):
    """Signs and constants differ between the legs."""
    job = walks(two_legs(seed, mirrored), dtype, limit=4 if seed < 2 else None)
    program = job.program(0)
    given = pairs(job, program)
    assert len(given) >= 12
    compared(job, program, given, *inputs_of(job, 30, seed))


@pytest.mark.parametrize("seed", range(12))
def test_any_pairs_of_any_inputs(seed, worth):
    """What is paired may be anything: it only decides which thread does what."""
    rng, case = np.random.default_rng(seed), tree(seed)
    job = walks(case.model, ("float64", "float32")[seed % 2], integrator=("discrete", "rk4")[seed // 2 % 2])
    program = job.program(0)
    given: Pairs = []
    for array in program.inputs:
        places = rng.permutation(array.size).tolist()
        given += [(array, a, b) for a, b in zip(places[::2], places[1::2], strict=False)]
    inputs = inputs_of(job, 9, seed)
    if not given:
        pytest.skip("no inputs to pair")
    compared(job, program, given, *inputs)


@kt.function("given(4) -> found(4)")
def chained(model, given):
    """The second of a pair follows the first in every turn, and a sum over both ends the loop."""
    x, y, size, far = given

    def moved(a, b, total):
        new = ops.sin(a) * 0.5 + far
        return new, ops.sin(b) * 0.5 + new, total - a * b

    def is_far(a, b, total):
        return ops.less(total, size)

    return np.array([*ops.repeat(9, moved, x, y, 10.0, until=is_far), x - y])


@kt.function("given(4) -> found(4)")
def apart(model, given):
    """Two numbers with the same steps, whose signs differ, and a sum over both ends the loop."""
    x, y, size, far = given

    def moved(a, b, total):
        a, b = 2.0 * far - a * 0.3 * a, 3.0 * far + b * 0.7 * b
        return 1.0 / (1.0 + a * a), 1.0 / (2.0 + b * b), total - a + b * b

    def is_far(a, b, total):
        return ops.less(total, size)

    return np.array([*ops.repeat(9, moved, x, y, 10.0, until=is_far), x * 3.0 - y])


def some_of_many_turns(dtype: str) -> np.ndarray:
    """Inputs of these functions: loops end before any of their nine turns, or after them."""
    given = np.random.default_rng(1).normal(size=(50, 4))
    given[:, 2] = 10.0 + 3.0 * given[:, 2]
    return given.astype(dtype)


@pytest.mark.parametrize("function", [chained, apart])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_loops_that_end_when_a_sum_over_both_says_so(function, dtype, worth):
    job = job_for("test", function, kt.zoo.arm7(), None, {}, dtype)
    program = job.program(0)
    given = some_of_many_turns(dtype)
    given[3, 1], given[7, 0] = np.nan, np.inf
    compared(job, program, [(program.inputs[0], 0, 1)], given)


@kt.function("given(3) -> found(5)")
def signed(model, given):
    """The same number for the first of a pair, and zeros of either sign for the second."""
    x, y, other = given

    def moved(a, b, c, d):
        a, b = ops.where(ops.less(a, 0.25), a, other), ops.where(ops.less(b, 0.25), b, 0.0)
        c, d = ops.where(ops.less(c * c, 0.25), c, other), ops.where(ops.less(d * d, 0.25), d, -0.0)
        return a, b, c, d

    found = ops.repeat(3, moved, x, y, x, y)
    return np.array([*found, found[0] + found[1]])


def test_zeros_keep_their_signs(worth):
    job = job_for("test", signed, kt.zoo.arm7(), None, {}, "float32")
    program = job.program(0)
    given = np.random.default_rng(0).normal(size=(20, 3)).astype("float32")
    compared(job, program, [(program.inputs[0], 0, 1)], given)


def test_states_that_are_not_finite_or_far(worth):
    """Either thread of a state may see what is wrong with it."""
    job = walks(two_legs(0, True), "float32")
    program, inputs = job.program(0), inputs_of(job, 12)
    given = pairs(job, program)
    q = inputs[job.present.index("q")]
    q[1, 9], q[2, -1], q[3, 4] = np.nan, np.inf, np.nan
    compared(job, program, given, *inputs)
    q[:4] = q[4:8]
    q[5, -1] += 3e5
    kernel = Emulated(program, job.dtype, together=64, pairs=given)
    assert kernel(*inputs, blocks=1)[1].tolist() == [-1, 7]  # left to the other kernel
    compared(job, program, given, *inputs, large=True)


@kt.function("given(3) -> found(2)")
def refusing(model, given):
    """Refuses where a sum is too small."""
    x, y, least = given

    def moved(a, b):
        return ops.sin(a) + 1.0, ops.sin(b) + 2.0

    a, b = ops.repeat(3, moved, x, y)
    ops.require(ops.where(ops.less(least, a + b), 2.0, 0.0), "too small", SimulationError)
    return np.array([a, b])


def test_states_that_are_refused(worth):
    job = job_for("test", refusing, kt.zoo.arm7(), None, {}, "float32")
    program = job.program(0)
    given = np.zeros((40, 3), "float32")
    both = [(program.inputs[0], 0, 1)]
    kernel = Emulated(program, "float32", together=64, pairs=both)
    assert kernel.made.tile == 32 and kernel(given)[1].tolist() == [-1, 0]
    given[37, 2] = 9.0
    assert kernel(given)[1].tolist() == [37, 0]
    silent = Emulated(refuse_silently(program), "float32", together=64, pairs=both)
    (found,), notes = silent(given)
    assert silent.made.tile == 32 and notes.tolist() == [-1, 0]
    assert np.isnan(found[37]).all() and np.isfinite(found[:37]).all()
    for place in range(2):  # not by the kernel that cannot judge it, whichever thread met a large angle
        far = given.copy()
        far[37, place] = 3e5
        assert kernel(far)[1].tolist() == [-1, 7]


def halves(program: Program, given: Pairs) -> tuple[float, int]:
    """The share of the statements that one thread keeps, and how many numbers with a side have no partner."""
    alike, found = Alike(program, given), twins(program, given)
    assert found is not None
    lonely = [e for e, side in alike.side.items() if side is not None and e not in alike.partner]
    before, after = (sum(1 for s in walk(p.body) if isinstance(s, (Expr, Store))) for p in (program, found))
    return after / before, len(lonely)


@pytest.mark.parametrize(("robot", "share"), [("humanoid", 0.63), ("quadruped", 0.66)])
def test_how_much_one_thread_does(robot, share):
    """All of the limbs is shared out: the trunk, sums over limbs and what decides when loops end remain."""
    job = walks(getattr(kt.zoo, robot)(), "float32", limit=4)
    program = job.program(0)
    given = pairs(job, program)
    found, lonely = halves(program, given)
    assert found < share and lonely == 0
    assert most_alive(twins(program, given)) < 0.7 * most_alive(program)


def test_limbs_that_are_not_alike_stay_in_one_thread():
    builder = kt.ModelBuilder("odd")
    builder.add_body("trunk", joint=kt.Free(), inertia=scenes.solid(8.0, (0.2, 0.3, 0.1)))
    place, inertia = kt.Pose(p=(0.1, 0.2, 0.3)), scenes.solid(1.0, (0.1, 0.1, 0.1))
    for name, joint in (("a", kt.Revolute((0, 1, 0))), ("b", kt.Prismatic((1, 0, 0)))):
        parent = "trunk"
        for k in range(3):
            builder.add_body(f"{name}{k}", parent, joint, place, inertia)
            parent = f"{name}{k}"
    job = walks(builder.build(), "float32")
    program = job.program(0)
    given = pairs(job, program)
    assert given and twins(program, given) is None
    made = emit_gpu(program, "float32", "rows", large=False, pairs=given)
    assert made.tile == made.threads


def test_launches(fake, worth, monkeypatch):
    """Blocks have half as many states as threads, and batches may end anywhere."""
    monkeypatch.setattr(cuda_way, "TWINS_TOGETHER", ((1 << 30, 0),))
    model = two_legs(0, True)
    job = walks(model, "float32")
    named = dict(zip(job.present, inputs_of(job, 37), strict=True))
    more = {"kp": named["kp"][0], "kd": named["kd"][0], "setpoint": model.neutral().astype("float32")}
    wide: list[int] = []
    launch = fake.cuLaunchKernel

    def watched(function: Any, blocks: int, *rest: Any) -> int:
        wide.append(rest[2])
        return launch(function, blocks, *rest)

    monkeypatch.setattr(fake, "cuLaunchKernel", watched)
    for count in (1, 37):
        q, v = named["q"][:count], named["v"][:count]
        run = {"duration": 0.006, "dt": 0.002, **more}
        here = kt.simulate(model, q, v, **run)
        there = kt.simulate(model, kt.cuda.array(q), kt.cuda.array(v), **run).numpy()
        assert same_bits(there.q, here.q) and same_bits(there.v, here.v)
        assert wide[-1] == {1: 32, 37: 64}[count]
    assert any("call i32 @warp_told" in block.text for block in fake.modules.values())


def test_what_the_assembler_is_told(tmp_path):
    job = walks(two_legs(0, True), "float32", limit=4)
    program = job.program(0)
    made = emit_gpu(program, "float32", "rows", large=False, together=128, pairs=pairs(job, program))
    text = cuda_kernels.assemble(made.text, "sm_90")
    assert made.tile == 64 and text.count("shfl.sync.idx") > 50
    assert text.count("vote.sync.all") == sum(text.count(x) for x in ("bar.red.popc", "vote.sync.all")) - 2
    if shutil.which("ptxas"):
        (tmp_path / "k.ptx").write_text(text)
        subprocess.run(["ptxas", "-arch=sm_90", "k.ptx", "-o", "k.cubin"], cwd=tmp_path, check=True)


def test_most_alive_counts_what_loops_use_until_they_end():
    job = job_for("test", apart, kt.zoo.arm7(), None, {}, "float64")
    program = job.program(0)
    assert len(list(blocks(program.body))) == 2 and 3 <= most_alive(program) <= 12
