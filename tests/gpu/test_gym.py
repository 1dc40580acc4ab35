"""Robots of an environment on a device, against those on the CPU: bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.gym.robots import ROBOT, START, actions, environment, hopper, low

import kinetree as kt
from kinetree.compiler.emit.llvm.random import THREADS, Generator, random_rows
from kinetree.compiler.runtime import cuda, cuda_kernels
from kinetree.errors import ArgumentError
from kinetree.gym.draws import runs_of
from kinetree.scale import philox

pytest.importorskip("gymnasium")

WILD: dict[str, Any] = {
    "q": kt.scale.normal(0.0, 0.03), "v": (-0.1, 0.1), "contact_friction": (0.3, 1.0), "mass": (0.8, 1.2),
    "gravity": kt.scale.choice([(0, 0, -9.81), (0, 0, -9.0), (0, 0, -8.0)], weights=[1, 2, 3]),
    "kp": kt.scale.lognormal(30.0, 0.1), "kd": kt.scale.choice([1.0, 1.1]),
}  # fmt: skip


LONG = [pytest.param(mode, marks=pytest.mark.long) for mode in ("same_step", "disabled")]


@pytest.mark.parametrize("mode", ["next_step", *LONG])
def test_robots_move_as_on_the_cpu(fake, mode):
    options = {"randomize": WILD, "time_limit": 0.06, "autoreset_mode": mode, "terminated": low}
    options["push"] = kt.gym.Push("trunk", 1.0, 0.05)
    here, there = (environment(5, target=target, model=hopper(), **options) for target in ("cpu", "cuda"))
    np.testing.assert_array_equal(here.reset(seed=0)[0], there.reset(seed=0)[0])
    ended = 0
    for k, action in enumerate(actions(5, 8)):
        if k == 4:
            again = {"reset_mask": np.array([True, False, True, False, False]), "q": START}
            np.testing.assert_array_equal(*(e.reset(options=again)[0] for e in (here, there)))
        *found, infos = here.step(1.2 * action)
        *others, others_infos = there.step(1.2 * action)
        for ours, theirs in zip(found, others, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert others_infos["failed"].dtype == bool and not others_infos["failed"].any()
        if "final_obs" in infos:
            np.testing.assert_array_equal(infos["final_obs"], others_infos["final_obs"])
            np.testing.assert_array_equal(infos["_final_obs"], others_infos["_final_obs"])
        ended += int(found[3].sum())
    assert ended
    for ours, theirs in zip(here.state, there.state):
        np.testing.assert_array_equal(ours, theirs)
    for name, numbers in here.drawn.items():
        np.testing.assert_array_equal(numbers, there.drawn[name])


@pytest.mark.long
def test_robots_on_hills(fake):
    hills = kt.Heightfield(0.2 * np.random.default_rng(0).random((9, 9)), 0.3)
    options = {"randomize": {"q": kt.scale.uniform(-0.5, 0.5)}, "ground": hills, "time_limit": 0.04}
    here, there = (environment(5, target=target, model=hopper(), **options) for target in ("cpu", "cuda"))
    found = [env.reset(seed=0)[0] for env in (here, there)]
    assert np.ptp(found[0][:, 6]) > 0.02
    for action in actions(5, 3):
        np.testing.assert_array_equal(*found)
        found = [env.step(action)[0] for env in (here, there)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("masked", [False, True])
def test_random_numbers_are_those_of_the_host(fake, dtype, masked):
    words = ([int(x) for x in w] for w in (philox.MULTIPLIERS, philox.WEYL))
    text = random_rows(Generator(*words, philox.ROUNDS, philox.BITS[dtype]), dtype, masked)
    where, count = cuda.device(), THREADS + 7
    launcher = cuda_kernels.Launcher(text, where, 4, THREADS, 0)
    slots = philox.slots([("q", 2), ("other", 1)], 3)
    table, numbers = (cuda.Memory(where, 8 * n, kept=False) for n in (slots.size, count))
    table.put(slots)
    before = np.arange(count) % 5
    numbers.put(before)
    mask = cuda.array((np.arange(count) % 3 == 0).astype(dtype))
    rows = cuda.array(np.full((count, 12), 0.5, dtype))
    places = rows.memory.pointer, table.pointer, 3, mask.memory.pointer, numbers.pointer, 9, count
    launcher.launch(places, 2, 0)
    meant = mask.numpy() > 0 if masked else np.ones(count, bool)
    runs = runs_of(np.arange(count), before if masked else 9)
    wanted = [philox.uniform(philox.key_of(3, name), runs, n, dtype) for name, n in (("q", 8), ("other", 4))]
    wanted = np.where(meant[:, None], np.concatenate(wanted, -1), 0.5)
    np.testing.assert_array_equal(rows.numpy(), wanted.astype(dtype))
    after = numbers.get(np.empty(count, np.int64))
    np.testing.assert_array_equal(after, before + meant if masked else before)


def test_an_action_that_makes_no_sense_ends_an_episode(fake):
    env = environment(3, target="cuda", model=hopper(), autoreset_mode="next_step")
    before, _ = env.reset(seed=0)
    robots = env._robots
    bad = actions(3, 1)[0]
    bad[1, 0] = np.nan
    robots.act(cuda.array(bad))  # as arrays of a device are: nobody looks at them
    found = {name: robots.arrays[name].numpy() for name in ("seen", "over", "q")}
    assert found["over"].tolist() == [0, 1, 0]
    assert all(np.isfinite(x).all() for x in found.values())
    np.testing.assert_array_equal(found["seen"][1], before[1])
    observation, _, terminated, _, _ = env.step(np.zeros((3, 2)))
    assert not terminated.any() and np.isfinite(observation).all()
    with pytest.raises(ArgumentError, match="environment 1 holds NaN"):
        env.step(bad)  # arrays of the host are looked at


def test_arrays_that_do_not_fit_are_refused(fake):
    env = environment(3, target="cuda", model=hopper())
    env.reset(seed=0)
    for array, message in (
        (cuda.array(np.zeros((2, 2), np.float32)), r"actions have shape \(2, 2\), but \(3, 2\)"),
        (cuda.array(np.zeros((3, 2))), "actions hold float64, but the environment computes in float32"),
    ):
        with pytest.raises(ArgumentError, match=message):
            env.step(array)
    with pytest.raises(ArgumentError, match="reset_mask must be 3 booleans"):
        env.reset(options={"reset_mask": np.ones(2, bool)})
    robots = env._robots
    robots.backend = "torch"  # whose tensors are expected on the device
    with pytest.raises(ArgumentError, match="actions are on the host, but the robots are on the GPU"):
        env.step(np.zeros((3, 2), np.float32))


@pytest.mark.long
def test_memory_comes_back(fake):
    robot = hopper()

    def lived() -> None:
        env = environment(40, target="cuda", model=robot, randomize={"q": (-0.01, 0.01)})
        env.reset(seed=0)
        for action in actions(40, 3):
            env.step(action)
        env.close()
        with pytest.raises(ArgumentError, match="closed"):
            env.step(actions(40, 1)[0])

    lived()
    taken = sum(x.nbytes for x in fake.memory.values())
    for _ in range(3):
        lived()
    assert sum(x.nbytes for x in fake.memory.values()) <= taken


def test_positions_given_for_a_start(fake):
    env = environment(2, target="cuda", model=hopper())
    env.reset(seed=0, options={"q": np.stack([START, START]), "v": np.zeros(ROBOT.nv)})
    np.testing.assert_allclose(env.state[0], [START, START], rtol=1e-6)
    with pytest.raises(ArgumentError, match="holds NaN"):
        env.reset(options={"q": np.full(ROBOT.nq, np.nan)})
