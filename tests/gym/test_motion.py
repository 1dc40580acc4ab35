"""Robots of an environment move as `kt.simulate` says, and their functions see what happens to them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.gym.robots import GAINS, ROBOT, START, actions, environment, weighed

import kinetree as kt
from kinetree.scale import philox

pytest.importorskip("gymnasium")

DRIVEN = np.arange(ROBOT.nv) >= 6
STEP, STEPS = 0.004, 5


def servo(action):
    setpoint = np.tile(START, (len(action), 1))
    setpoint[:, 7:] += GAINS["action_scale"] * np.clip(action, -1, 1)
    return {"kp": GAINS["kp"] * DRIVEN, "kd": GAINS["kd"] * DRIVEN, "setpoint": setpoint}


def effort(action):
    return {"control": np.pad(20.0 * action, [(0, 0), (6, 0)])[:, None, :].repeat(STEPS, 1)}


@pytest.mark.parametrize(
    ("control", "options", "acting"),
    [("position", {}, servo), ("effort", {"action_scale": 20.0}, effort)],
    ids=["position", "effort"],
)
def test_robots_move_as_simulated(control, options, acting):
    wild = {"contact_friction": (0.2, 1.0), "mass": (0.7, 1.3)}
    wild["gravity"] = kt.scale.normal((0, 0, -9.81), 0.3)
    wild["q"] = wild["v"] = kt.scale.uniform(-0.1, 0.1)
    env = environment(4, control=control, dtype="float64", randomize=wild, **options)
    env.reset(seed=3)
    drawn = env.drawn
    for action in 1.2 * actions(4, 12).astype(float):
        q, v = env.state
        env.step(action)
        given = acting(action if control == "position" else np.clip(action, -1, 1))
        run = kt.simulate(ROBOT, q, v, duration=STEPS * STEP, dt=STEP, **given, **drawn)
        for got, wanted in zip(env.state, (run.q, run.v)):
            np.testing.assert_allclose(got, wanted[:, -1], atol=1e-9 * (1 + np.abs(wanted).max()))
    assert np.ptp(env.state[0][:, 4]) > 1e-3  # they went different ways


def test_functions_see_the_end_of_an_action():
    env = environment(3, dtype="float64", reward=weighed, randomize={"q": (-0.05, 0.05)})
    env.reset(seed=1)
    last = np.zeros((3, 2))
    for k, action in enumerate(actions(3, 10).astype(float)):
        q0, v0 = env.state
        observation, reward, *_ = env.step(action)
        q, v = env.state
        near = kt.simulate(ROBOT, q0, v0, duration=STEPS * STEP, dt=STEP, **servo(action))
        before = near.q[:, -2], near.v[:, -2]
        force = kt.contact_forces(ROBOT, *before, np.zeros(ROBOT.nv), dt=STEP, **servo(action))
        pull = GAINS["kp"] * (servo(action)["setpoint"] - q)[:, 7:] - GAINS["kd"] * v[:, 6:]
        wanted = v[:, 3] + force[..., 2].sum(-1) - (pull**2).sum(-1)
        wanted += (_points(q, v, before[0]) * force[..., 1]).sum(-1)
        np.testing.assert_allclose(reward, wanted, rtol=1e-7, atol=1e-6)
        parts = [q, v, np.full((3, 1), STEPS * STEP * (k + 1)), action, last, q0[:, 4:7] - q[:, 4:7]]
        parts += [np.sin(q[:, 7:8]), np.cos(q[:, 8:9])]
        np.testing.assert_allclose(observation, np.concatenate(parts, -1), atol=1e-12)
        last = action
    assert force.any()


def _points(q, v, before):
    """The speed along x of each point with the velocities at the end of a step, where it was at its
    beginning: those of the base are in the axes at the end."""
    speeds = []
    for a, b, w in zip(before, q, v):
        R0, R1 = (kt.placements(ROBOT, x)[0][:3, :3] for x in (a, b))
        w = np.concatenate([w[:3], R0.T @ R1 @ w[3:6], w[6:]])
        V = kt.body_velocities(ROBOT, a, w)
        T = kt.placements(ROBOT, a)
        rows = []
        for point in ROBOT.contact_points:
            i = point.body - 1
            rows.append((T[i][:3, :3] @ (V[i][3:] + np.cross(V[i][:3], point.position)))[0])
        speeds.append(rows)
    return np.array(speeds)


def test_a_model_that_touches_nothing():
    robot = kt.zoo.cart_pole()

    @kt.function("q, v -> seen(4)")
    def state(model, q, v):
        return np.concatenate([q, v])

    @kt.function("q, goal(2) -> reward")
    def near(model, q, goal):
        return goal[0] - q[0] + 0 * goal[1]

    env = kt.gym.VectorEnv(
        robot, state, near, num_envs=2, control="effort", joints=[robot.joint_names[0]], action_scale=10.0,
        randomize={"goal": (1.0, 2.0)}, dtype="float64",
    )  # fmt: skip
    observation, _ = env.reset(seed=0)
    assert env.single_action_space.shape == (1,)
    run = kt.simulate(
        robot, observation[:, :2], observation[:, 2:], duration=0.02, dt=0.002, control=np.array([5.0, 0.0])
    )
    observation, reward, *_ = env.step(np.full((2, 1), 0.5))
    np.testing.assert_allclose(observation, np.concatenate([run.q[:, -1], run.v[:, -1]], -1), atol=1e-12)
    np.testing.assert_allclose(reward, env.drawn["goal"][:, 0] - run.q[:, -1, 0], atol=1e-12)


def test_pushes_are_impulses():
    push = kt.gym.Push("trunk", impulse=3.0, every=0.1)

    @kt.function("q, v, u(3) -> v")
    def pushed(model, q, v, u):
        return push.pushed(model, q, v, u, 0.02)

    q, v = ROBOT.random_state(np.random.default_rng(0), 400)
    u = philox.uniform(philox.key_of(7, "push"), np.arange(400), 3)
    change = kt.momentum(ROBOT, q, pushed(ROBOT, q, v, u)) - kt.momentum(ROBOT, q, v)
    size = np.linalg.norm(change[:, 3:], axis=-1)
    hit = size > 1e-9
    assert 40 <= hit.sum() <= 120  # a fifth of them is expected
    assert 0 < size[hit].min() < 0.2 and 2.8 < size.max() <= 3.0 + 1e-9
    np.testing.assert_allclose(change[:, 5], 0, atol=1e-11)
    trunk = kt.placements(ROBOT, q)[:, 0, :3, 3]
    np.testing.assert_allclose(change[:, :3], np.cross(trunk, change[:, 3:]), atol=1e-10)
    env, still = (environment(20, push=p) for p in (push, None))
    for each in (env, still):
        each.reset(seed=2)
        each.step(np.zeros((20, 2)))
    differ = (env.state[1] != still.state[1]).any(-1)
    assert 0 < differ.sum() < 20


def test_the_state_before_an_action_is_that_before_a_push():
    @kt.function("last_q(nq), last_v(nv) -> before(17)")
    def before(model, last_q, last_v):
        return np.concatenate([last_q, last_v])

    env = environment(4, observation=before, push=kt.gym.Push("trunk", 3.0, every=0.02), dtype="float64")
    env.reset(seed=0)
    for action in actions(4, 3):
        state = np.concatenate(env.state, -1)
        np.testing.assert_array_equal(env.step(action)[0], state)


def test_functions_are_given_the_model_as_drawn():
    @kt.function("q -> own(6)")
    def own(model, q):
        return np.concatenate([model.parameters[:, 0], model.gravity])

    wild = {"mass": (0.5, 1.5), "gravity": kt.scale.normal((0.0, 0.0, -9.81), 0.3)}
    env = environment(3, observation=own, randomize=wild, dtype="float64")
    for observation in (env.reset(seed=0)[0], env.step(np.zeros((3, 2)))[0]):
        wanted = np.concatenate([env.drawn["parameters"][..., 0], env.drawn["gravity"]], -1)
        np.testing.assert_array_equal(observation, wanted)


@pytest.mark.parametrize("control", ["position", "effort"])
@pytest.mark.parametrize("ground", [True, False])
def test_drives_give_no_more_than_their_limits(control, ground):
    @kt.function("tau -> seen(nv)")
    def pull(model, tau):
        return tau

    weak = ROBOT.replace(limits={name: {"effort": 0.5} for name in ("fore", "hind")})
    given = {"model": weak, "observation": pull, "dtype": "float64", "steps": 1}
    env = environment(1, control=control, action_scale=2.0, ground=ground, **given)
    env.reset(seed=0)
    observation, *_ = env.step(np.array([[1.0, -1.0]]))
    np.testing.assert_array_equal(observation[0, 6:], [0.5, -0.5])


def test_a_start_in_the_ground_is_not_silent():
    deep = START.copy()
    deep[6] = -0.3
    with pytest.warns(UserWarning, match=r"robots start 0\.\d+ m deep in the ground"):
        environment(1, start=deep)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        environment(1, start=deep, ground=False)
        environment(1, start=deep, ground=kt.Ground(height=-1.0))
        environment(1, start=START, ground=kt.Ground((1.0, 0.0, 0.0)))
        environment(1, start=START, ground=kt.Ground((0.0, 0.0, -1.0), height=-2.0))


def test_robots_start_on_top_of_a_heightfield():
    rng = np.random.default_rng(0)
    ground = kt.Heightfield(0.3 * rng.random((20, 20)), 0.2)
    away = np.zeros(ROBOT.nv)
    away[[2, 3, 4]] = 1.5

    @kt.function("q -> ahead(2)")
    def ahead(model, q):
        return np.array([ground.height(q[4] + 0.3 * k, q[5])[0] for k in range(2)])

    options = {"ground": ground, "observation": ahead, "dtype": "float64"}
    env = environment(8, randomize={"q": kt.scale.uniform(-away, away)}, **options)
    env.reset(seed=0)
    q, _ = env.state
    for row in q:
        T = kt.placements(ROBOT, row)
        feet = [T[p.body - 1] @ (*p.position, 1.0) for p in ROBOT.contact_points]
        gaps = [ground.at(tuple(foot[:3]))[0] for foot in feet]
        assert min(gaps) > -1e-9
        assert min(gaps) < 0.3
    for action in actions(8, 20):
        observation, *_, infos = env.step(action)
        assert not infos
    x, y = env.state[0][:, 4:6].T
    np.testing.assert_allclose(observation, np.stack([ground.height(x + a, y)[0] for a in (0.0, 0.3)], -1))
