"""Steps with contact on a device, against the same runs on the CPU: bit by bit.

States of one batch need different numbers of Newton steps and of steps along a line: each ends on its own.
"""

from __future__ import annotations

import functools
import shutil
import subprocess

import numpy as np
import pytest
from tests.contact import scenes
from tests.contact.pair_scenes import placed, things

import kinetree as kt
from kinetree.compiler.emit.llvm.gpu import emit_gpu
from kinetree.compiler.runtime import cuda_kernels
from kinetree.errors import ShapeError
from kinetree.motion.rollout import rollout
from kinetree.stages.job import Job
from kinetree.stages.targets.cuda_code import mostly_near, same_bits

RUN = {"duration": 0.024, "dt": 0.004, "record": 3}
HILLS = kt.Heightfield(0.03 * np.random.default_rng(2).normal(size=(7, 9)), (0.4, 0.3), (-1.2, -1.2, 0.0))


def dropped(model: kt.Model, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """States from high above the ground to some centimetres within it, at rest and thrown."""
    rng = np.random.default_rng(seed)
    q, v = model.random_state(rng, count)
    q[:, 4:6] = rng.uniform(-0.5, 0.5, (count, 2))
    for k, height in enumerate(rng.uniform(-0.03, 0.05, count)):
        q[k, 6] += height - min(scenes.lowest(model, q[k]))
    return q, v * rng.uniform(0.0, 3.0, (count, 1))


@pytest.mark.parametrize(
    ("dtype", "ground"), [("float64", kt.Ground()), ("float32", HILLS)], ids=["plane", "hills"]
)
def test_the_same_bits(fake, dtype, ground):
    model = scenes.box().replace(name="there")
    q, v = (x.astype(dtype) for x in dropped(model, 40))
    here = kt.simulate(model, q, v, ground=ground, **RUN)
    there = kt.simulate(model, kt.cuda.array(q), kt.cuda.array(v), ground=ground, **RUN)
    assert there.q.dtype == dtype
    found = there.numpy()
    assert same_bits(found.q, here.q) and same_bits(found.v, here.v)
    free = kt.simulate(model, q, v, ground=False, **RUN)
    assert 10 < np.sum(np.abs(free.v[:, -1] - here.v[:, -1]).max(-1) > 1e-3) < 40


@pytest.mark.long
def test_bodies_against_each_other(fake):
    ball, box = kt.Sphere(0.05), kt.Box((0.1, 0.1, 0.05))
    model = things((box, 2.0), (ball, 0.5), (kt.Capsule(0.03, 0.06), 0.3), stiffness=2e4)
    rng = np.random.default_rng(3)
    places = [0, 0, 0.05] + 0.07 * rng.normal(size=(9, 3, 3))
    q = np.array([placed(model, *row) for row in places])
    v = rng.normal(size=(9, 18))
    here = kt.simulate(model, q, v, **RUN)
    found = kt.simulate(model, kt.cuda.array(q), kt.cuda.array(v), **RUN).numpy()
    assert same_bits(found.q, here.q) and same_bits(found.v, here.v)
    assert np.count_nonzero(here.touching[..., -7:]) > 5


@kt.function("q, v, home(nq), far -> over, q_start(nq), v_start(nv)")
def fallen(model, q, v, home, far):
    """Put back what has moved too far."""
    return kt.ops.where(kt.ops.less(far, kt.ops.abs(q[4])), 1.0, 0.0), home, 0.0 * home[1:]


def test_parameters_of_each_state_and_states_that_start_again(fake):
    model = scenes.box().replace(name="there")
    q, v = dropped(model, 12)
    rng = np.random.default_rng(4)
    n = len(model.contact_points)
    numbers = {
        "contact_friction": rng.uniform(0.1, 1.0, (12, n)),
        "contact_stiffness": rng.uniform(1e4, 1e5, (12, n)),
        "contact_dissipation": rng.uniform(0.0, 2.0, (12, n)),
        "creep": rng.uniform(1e-4, 1e-3, 12),
    }
    runs = []
    for put in (np.asarray, kt.cuda.array):
        law = functools.partial(fallen, home=put(q), far=put(np.full(12, 0.3)))
        given = {name: put(x) for name, x in numbers.items()}
        runs.append(kt.simulate(model, put(q), put(v), control=law, **given, **RUN))
    here, there = runs[0], runs[1].numpy()
    assert same_bits(there.q, here.q) and same_bits(there.v, here.v)
    assert same_bits(there.extra["over"], here.extra["over"]) and 0 < here.extra["over"].any(-1).sum() < 12
    alike = kt.simulate(model, q, v, **RUN)
    assert not np.allclose(alike.v, here.v)


def hopper() -> kt.Model:
    """A box with a leg on a joint that has stops, a weak drive and dry friction."""
    builder = kt.ModelBuilder("hopper")
    builder.add_body("trunk", joint=kt.Free(), inertia=scenes.solid(3.0, (0.2, 0.2, 0.1)))
    limits = {"lower": -0.4, "upper": 0.4, "effort": 2.0}
    inertia = kt.Inertia(0.5, (0, 0, -0.1), np.diag([2e-3, 2e-3, 1e-4]))
    builder.add_body("leg", "trunk", kt.Revolute((0, 1, 0)), inertia=inertia, limits=limits, friction=0.3)
    builder.add_geometry("leg", kt.Sphere(0.02), kt.Pose(p=(0.0, 0.0, -0.2)), stiffness=2e4)
    return builder.build()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.filterwarnings("ignore:.*effort limit")
def test_stops_efforts_and_friction_of_joints(fake, dtype):
    model = hopper()
    q, v = dropped(model, 10)
    q[:, 7] = np.linspace(-0.45, 0.45, 10)
    driven = np.arange(7) == 6
    more = {"kp": 40.0 * driven, "kd": 1.0 * driven, "setpoint": np.array([*model.neutral()[:7], 0.6])}
    q, v = q.astype(dtype), v.astype(dtype)
    here = kt.simulate(model, q, v, **more, **RUN)
    there = kt.simulate(model, kt.cuda.array(q), kt.cuda.array(v), **more, **RUN).numpy()
    assert same_bits(there.q, here.q) and same_bits(there.v, here.v)
    assert here.extra["saturated"].any() and not here.failed
    if dtype == "float32":
        exact = kt.simulate(model, q.astype(float), v.astype(float), **more, **RUN)
        assert np.median(abs(exact.v - here.v)) < 1e-4 and abs(exact.q - here.q).max() < 1e-2


def test_rough_divisions_are_near_and_need_single_precision(fake):
    model = scenes.box().replace(name="there")
    q, v = (x.astype("float32") for x in dropped(model, 12))
    here = kt.simulate(model, q, v, **RUN)
    there = [kt.cuda.array(x) for x in (q, v)]
    found = kt.simulate(model, *there, target="cuda_fast", **RUN).numpy()
    assert found.q.dtype == np.float32 and not same_bits(found.v, here.v)
    assert np.median(np.abs(found.v - here.v)) < 1e-4
    with pytest.raises(ShapeError, match="computes in float32, but these are float64"):
        kt.compile(kt.inverse_dynamics, model, target="cuda_fast")


def test_what_is_rough_may_part_ways_where_states_do_so_by_themselves():
    b = np.random.default_rng(0).normal(size=(100, 7))
    nothing, some, other = b.copy(), b.copy(), b.copy()
    some[:30] += 1.0
    other[-40:] -= 1.0
    assert mostly_near(b, b, b) and mostly_near(nothing + 1e-4, b, b)
    assert not mostly_near(some, b, b) and mostly_near(other, b, some) and not mostly_near(b + 1.0, b, some)
    lost = np.full_like(b, np.nan)
    assert not mostly_near(lost, b, b) and not mostly_near(b, lost, lost) and mostly_near(lost, lost, lost)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_a_loop_carries_is_in_registers(dtype, tmp_path):
    """The state, the iterate and the forces of all points; the Newton loop is a loop."""
    function = rollout((), 2, 50, False, True)
    options = function.chosen(
        integrator="discrete", passive=True, limits=True, constraints=(), ground=kt.Ground()
    )
    program = Job(function, scenes.box(), function.present(()), options, dtype).program(0)
    made = emit_gpu(program, dtype, "rows", large=False)
    assert made.work_numbers == 0 and made.threads == 64
    text = cuda_kernels.assemble(made.text, "sm_90")
    assert ".local" not in text and text.count("sqrt.rn.f32") == 0 and len(text.splitlines()) < 6000
    if shutil.which("ptxas"):
        (tmp_path / "k.ptx").write_text(text)
        call = ["ptxas", "-O1", "-arch=sm_90", "k.ptx", "-o", "k.cubin"]
        subprocess.run(call, cwd=tmp_path, check=True)
