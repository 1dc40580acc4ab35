"""Gymnasium's vector interface: spaces, resets, seeds, and what ends an episode."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from tests.gym.robots import ROBOT, START, WILD, actions, environment, forward, low, seen

import kinetree as kt
from kinetree import ops
from kinetree.errors import ArgumentError, MissingPackageError, StateError, TraceError

gymnasium = pytest.importorskip("gymnasium")


def test_spaces_and_shapes():
    env = environment(3)
    assert isinstance(env, gymnasium.vector.VectorEnv) and env.num_envs == 3
    assert env.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP
    assert env.observation_space.shape == (3, 27) and env.single_observation_space.shape == (27,)
    assert env.action_space.shape == (3, 2) and env.single_action_space.shape == (2,)
    observation, infos = env.reset(seed=1)
    assert observation in env.observation_space and infos == {}
    observation, reward, terminated, truncated, infos = env.step(env.action_space.sample())
    assert observation in env.observation_space and infos == {}
    assert reward.shape == terminated.shape == truncated.shape == (3,)
    assert reward.dtype == np.float32 and terminated.dtype == truncated.dtype == bool
    kept = observation.copy()
    env.step(env.action_space.sample())
    np.testing.assert_array_equal(observation, kept)  # what was handed out stays as it is
    env.close()


def test_wrappers_of_gymnasium():
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(environment(2, time_limit=0.1))
    env.reset(seed=0)
    total = np.zeros(2)
    for action in actions(2, 5):
        _, reward, _, truncated, infos = env.step(action)
        total += reward
    assert truncated.all()
    np.testing.assert_allclose(infos["episode"]["r"], total, rtol=1e-5)
    np.testing.assert_array_equal(infos["episode"]["l"], 5)


def test_modes_have_the_names_of_gymnasium():
    for mode in gymnasium.vector.AutoresetMode:
        for name in (mode, mode.value, mode.name, mode.name.lower()):
            assert environment(1, autoreset_mode=name).metadata["autoreset_mode"] is mode


def test_the_next_step_starts_an_episode():
    env = environment(2, terminated=low, time_limit=0.1, randomize={"q": (-0.01, 0.01)})
    first, _ = env.reset(seed=0, options={"q": np.stack([START, START]), "v": np.zeros(ROBOT.nv)})
    np.testing.assert_allclose(first[:, : ROBOT.nq], [START, START], rtol=1e-6)
    drop = np.stack([START, START])
    drop[1, 6] = 0.05
    env.reset(seed=0, options={"q": drop})
    none = np.zeros((2, 2))
    _, _, terminated, truncated, _ = env.step(none)
    assert terminated.tolist() == [False, True] and not truncated.any()
    observation, reward, terminated, truncated, _ = env.step(none)
    assert reward[1] == 0 and not terminated.any() and not truncated.any()
    assert abs(observation[1, 6] - START[6]) < 0.02 and observation[1, ROBOT.nq + ROBOT.nv] == 0
    for k in range(3):
        _, _, terminated, truncated, _ = env.step(none)
        assert truncated.tolist() == [k == 2, False] and not terminated.any()
    _, _, _, truncated, _ = env.step(none)
    assert not truncated.any()
    assert env.step(none)[3].tolist() == [False, True]  # five actions after its own start


def test_a_truth_ends_an_episode():
    @kt.function("q -> over")
    def truly(model, q):
        return q[6] < 0.1

    drop = np.stack([START, START])
    drop[1, 6] = 0.05
    found = []
    for rule in (truly, low):
        env = environment(2, terminated=rule)
        env.reset(seed=0, options={"q": drop})
        found.append(env.step(np.zeros((2, 2)))[2].tolist())
        assert [rule(ROBOT, q) > 0 for q in drop] == found[-1]
    assert found == [[False, True]] * 2


def test_the_same_step_starts_an_episode():
    env = environment(2, time_limit=0.06, autoreset_mode="same_step")
    env.reset(seed=0)
    shadow = environment(2, time_limit=None)
    shadow.reset(seed=0)
    for k, action in enumerate(actions(2, 3)):
        observation, reward, _, truncated, infos = env.step(action)
        wanted, earned, *_ = shadow.step(action)
        assert truncated.all() == (k == 2)
    np.testing.assert_array_equal(infos["final_obs"], wanted)
    np.testing.assert_array_equal(reward, earned)
    assert infos["_final_obs"].all()
    np.testing.assert_allclose(observation[:, : ROBOT.nq], [START, START], rtol=1e-6)


def test_no_step_starts_an_episode():
    mode = gymnasium.vector.AutoresetMode.DISABLED
    env = environment(2, time_limit=0.02, autoreset_mode=mode)
    assert env.metadata["autoreset_mode"] is mode
    env.reset(seed=0)
    assert env.step(np.ones((2, 2)))[3].all()
    moved, _ = env.state
    env.reset(options={"reset_mask": np.array([True, False])})
    q, _ = env.state
    np.testing.assert_allclose(q[0], START, rtol=1e-6)
    np.testing.assert_array_equal(q[1], moved[1])


def rolled(count, seed, number=15, **options):
    env = environment(count, randomize=WILD, push=kt.gym.Push("trunk", 1.0, 0.1), time_limit=0.1, **options)
    rows = [env.reset(seed=seed)[0]]
    for action in actions(8, number):
        rows.append(env.step(action[:count])[0])
    return np.array(rows)


def test_a_seed_decides_everything():
    first = rolled(8, 4)
    np.testing.assert_array_equal(first, rolled(8, 4))
    np.testing.assert_array_equal(first[:, :3], rolled(3, 4))  # whoever else is there
    assert (first != rolled(8, 5)).any()
    env = environment(2, randomize=WILD)
    starts = [env.reset(seed=1)[0], env.reset()[0], env.reset(seed=1)[0]]
    np.testing.assert_array_equal(starts[0], starts[2])
    assert (starts[0] != starts[1]).any()


def test_threads_decide_nothing():
    before = kt.threads.thread_limit()
    try:
        found = []
        for count in (1, 2):
            kt.threads.set_threads(count)
            env = environment(256, randomize=WILD)
            env.reset(seed=0)
            found.append([env.step(a)[0] for a in np.random.default_rng(0).uniform(-1, 1, (4, 256, 2))])
        np.testing.assert_array_equal(*found)
    finally:
        kt.threads.set_threads(before)


def test_what_is_drawn_stays_in_its_range():
    wild = {
        "contact_friction": (0.3, 0.9), "mass": (0.8, 1.2), "q": kt.scale.uniform(-0.1, 0.1),
        "v": kt.scale.uniform(-0.2, 0.2), "gravity": kt.scale.choice([(0, 0, -9.81), (0, 0, -1.62)]),
    }  # fmt: skip
    env = environment(200, randomize=wild, ground=True, dtype="float64")
    env.reset(seed=0)
    drawn = env.drawn
    friction = drawn["contact_friction"]
    assert friction.shape == (200, 4) and 0.3 < friction.min() < 0.31 and 0.89 < friction.max() < 0.9
    ratio = drawn["parameters"][..., 0] / ROBOT.parameters[:, 0]
    assert 0.8 < ratio.min() < 0.81 and 1.19 < ratio.max() < 1.2
    np.testing.assert_allclose(drawn["parameters"], ROBOT.parameters * ratio[..., None], atol=1e-15)
    assert set(np.unique(drawn["gravity"][:, 2])) == {-9.81, -1.62}
    q, v = env.state
    increments = ROBOT.difference(np.tile(START, (200, 1)), q)
    for values, bound in ((increments, 0.1), (v, 0.2)):
        assert np.abs(values).max() <= bound and np.ptp(values, axis=0).min() > 1.8 * bound
    env.reset()
    assert (env.drawn["contact_friction"] != friction).all()


def test_a_robot_that_diverges_ends_its_episode():
    env = environment(3, control="effort", action_scale=3e38, autoreset_mode="next_step")
    before, _ = env.reset(seed=0)
    action = np.zeros((3, 2))
    action[1] = 1.0
    observation, reward, terminated, _, infos = env.step(action)
    for truths in (terminated, infos["failed"], infos["_failed"]):
        assert truths.tolist() == [False, True, False]
    assert np.isfinite(observation).all() and reward[1] == 0
    np.testing.assert_array_equal(observation[1], before[1])
    observation, _, terminated, _, infos = env.step(0 * action)
    assert not infos and not terminated.any() and np.isfinite(observation).all()


def test_a_function_that_gives_nan_ends_the_episode():
    @kt.function("q -> reward")
    def broken(model, q):
        return ops.log(q[7] + 0.01)

    env = environment(2, reward=broken)
    env.reset(seed=0)
    _, reward, terminated, _, infos = env.step(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    assert infos["failed"].tolist() == terminated.tolist() == [False, True]
    assert np.isfinite(reward).all() and reward[1] == 0


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_tensors_of_other_libraries(library):
    module = pytest.importorskip(library)
    env, plain = environment(2, backend=library), environment(2)
    observation, _ = env.reset(seed=0)
    plain.reset(seed=0)
    assert isinstance(observation, module.Tensor if library == "torch" else module.Array)
    action = actions(2, 1)[0]
    given = module.as_tensor(action) if library == "torch" else module.numpy.asarray(action)
    for got, wanted in zip(env.step(given)[:4], plain.step(action)[:4]):
        np.testing.assert_array_equal(np.asarray(got), wanted)
    from kinetree.gym import tensors

    array = tensors.empty((3, 5), np.float32)
    array[:] = 0.0
    shared = tensors.handed_over(array, library)
    place = shared.data_ptr() if library == "torch" else shared.unsafe_buffer_pointer()
    assert place == array.ctypes.data


@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
def test_a_robot_that_diverges_starts_again(mode):
    env = environment(2, control="effort", action_scale=3e38, autoreset_mode=mode)
    env.reset(seed=0)
    for wild in (True, True, True, False, False):  # also while it waits
        observation, reward, *_ = env.step(np.array([[0.0, 0.0], [float(wild), 0.0]]))
        assert np.isfinite(observation).all() and np.isfinite(reward).all()
    assert observation[1, ROBOT.nq : ROBOT.nq + ROBOT.nv].any()  # it falls


@kt.function("q, chance -> seen(2)")
def roots(model, q, chance):
    return np.array([ops.sqrt(chance), q[6]])


@kt.function("q, chance -> seen(2)")
def doubtful(model, q, chance):
    """It refuses a quaternion of length zero."""
    turned = np.concatenate([ops.where(ops.less(chance, 0.0), 0.0, 1.0) * q[:4], q[4:]])
    return kt.frame_placement(model, turned, "trunk")[2, 2:]


@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
@pytest.mark.parametrize("observation", [roots, doubtful])
def test_a_first_observation_of_nan_ends_the_episode(mode, observation):
    env = environment(64, observation=observation, randomize={"chance": (-1.0, 3.0)}, autoreset_mode=mode)
    observation, _ = env.reset(seed=0)
    bad = env.drawn["chance"] < 0
    assert 4 < bad.sum() < 32 and not observation[bad].any() and observation[~bad].all()
    *_, terminated, _, infos = env.step(np.zeros((64, 2)))
    np.testing.assert_array_equal(infos["failed"], bad)
    np.testing.assert_array_equal(terminated, bad)
    for _ in range(12):
        if mode == "disabled":
            env.reset(options={"reset_mask": terminated})
        observation, *_, terminated, _, _ = env.step(np.zeros((64, 2)))
        assert np.isfinite(observation).all()
    assert terminated.sum() < 4  # new episodes draw new numbers


@kt.function("q, goal(2) -> reward")
def asking(model, q, goal):
    return goal[0] + q[0]


@kt.function("q, count, tau -> reward")
def taken(model, q, count, tau):
    return count + tau


@kt.function("mass(3) -> reward")
def heavy(model, mass):
    return mass[0]


@kt.function("action(5) -> reward")
def wide(model, action):
    return action[0]


@kt.function("q -> one, two")
def double(model, q):
    return q[0], q[1]


BAD = [
    ({"reward": asking}, "takes 'goal'"),
    ({"reward": wide}, r"takes action as \(5,\), but it is \(2,\)"),
    ({"reward": double}, "must give one number"),
    ({"reward": lambda q: 0}, "reward must be a function of a model"),
    ({"control": "speed"}, "choose 'position' or 'effort'"),
    ({"kp": None}, "needs the gains"),
    ({"kp": [1.0, 2.0, 3.0]}, "kp must be a number or 2 numbers"),
    ({"action_scale": np.nan}, "action_scale must be finite"),
    ({"joints": ["trunk"]}, "joint 'trunk' cannot be driven"),
    ({"joints": ["fore", "fore"]}, "joint 'fore' cannot be driven .* each once"),
    ({"joints": "fore"}, "joints must be names of joints in a list, got 'fore'"),
    ({"joints": 2}, "joints must be names of joints in a list, got 2"),
    ({"num_envs": 0}, "num_envs must be a whole number"),
    ({"steps": 1.5}, "steps must be a whole number"),
    ({"dt": -1.0}, "dt must be a positive number"),
    ({"time_limit": np.nan}, "time_limit must be a positive number"),
    ({"dtype": "float16"}, "choose from float32, float64"),
    ({"dtype": None}, "dtype is 'None': choose from float32, float64"),
    ({"dtype": 32}, "dtype is '32': choose from float32, float64"),
    ({"backend": "mxnet"}, "choose from numpy, torch, jax"),
    ({"autoreset_mode": "Always"}, "is 'Always': choose from next_step"),
    ({"start": np.zeros(3)}, "start must be q of 9 finite numbers"),
    ({"start": "low"}, "start must be q of 9 finite numbers, .* got 'low'"),
    ({"start": [START, np.zeros(8)]}, r"start must be q of 9 finite numbers, or \(q, v\)"),
    ({"pose": [1]}, r"pose must be q of 9 finite numbers, got \[1\]"),
    ({"pose": "low"}, "pose must be q of 9 finite numbers, got 'low'"),
    ({"randomize": {"mass": (-1, -0.5)}}, r"\['mass'\] must give positive numbers; it is Uniform\(low=-1"),
    ({"randomize": {"mass": (-0.1, 1.0)}}, "positive numbers"),
    ({"randomize": {"mass": kt.scale.normal(1.0, 0.5)}}, "positive numbers"),
    ({"randomize": {"contact_stiffness": kt.scale.choice([1e3, 0.0])}}, "positive numbers"),
    ({"randomize": {"contact_friction": (-0.1, 1.0)}}, "numbers that are not negative"),
    ({"randomize": {"contact_accuracy": (1e-4, 2.0)}}, "numbers up to 1"),
    ({"control": "effort", "randomize": {"kp": (1, 2)}}, "an effort has no gains"),
    ({"reward": heavy, "randomize": {"mass": (0.9, 1.1)}}, "takes 'mass': use model.parameters"),
    ({"randomize": {"colour": (0, 1)}}, "'colour' is drawn at random, but no function takes it"),
    ({"reward": taken, "randomize": {"count": (0, 1)}}, "the environment itself has a 'count'"),
    ({"reward": taken, "randomize": {"tau": (0, 1)}}, "the environment itself has a 'tau'"),
    ({"randomize": {"mass": 3.0}}, r"must be \(low, high\)"),
    ({"randomize": {"mass": kt.scale.sobol(0, 1)}}, r"must be \(low, high\)"),
    ({"randomize": {"kp": kt.scale.uniform([1.0, 2.0, 3.0], 4.0)}}, r"must give \(2,\) finite numbers"),
    ({"randomize": {"mass": (1.0, np.inf)}}, r"must give \(3,\) finite numbers"),
    ({"randomize": {"mass": (1, 2), "parameters": (1, 2)}}, "give one of them"),
    ({"randomize": {"contact_friction": (1, 2)}, "ground": False}, "nothing touches"),
    ({"target": "eager"}, "choose from cpu, cuda"),
    ({"push": kt.gym.Push("trunk", -1.0, 1.0)}, "Push: impulse must be a positive number"),
    ({"ground": "grass"}, "ground must be"),
    ({"time_limit": 0.001}, "time_limit is 0.001 s, but an action lasts 0.02 s"),
    ({"push": 3.0}, "push must be a kt.gym.Push"),
    ({"randomize": ["mass"]}, "randomize must be a dictionary"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=[next(iter(options)) for options, _ in BAD])
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        environment(**({"count": 2} | options))


def test_a_start_that_is_no_position_is_refused():
    with pytest.raises(StateError, match=r"VectorEnv: start: joint 'trunk' .* has length 0"):
        environment(2, start=np.zeros(ROBOT.nq))
    env, none = environment(2), np.array([START, np.zeros(ROBOT.nq)])
    env.reset(seed=0)
    with pytest.raises(
        StateError, match=r"VectorEnv: option 'q': joint 'trunk' .* has length 0, .* in state 1 "
    ):
        env.reset(options={"q": none})
    env.reset(options={"q": none, "reset_mask": np.array([True, False])})
    with pytest.raises(StateError, match="in state 1 "):
        env.reset(options={"q": none, "reset_mask": np.array([False, True])})


def test_what_is_positive_in_all_but_rare_draws_is_accepted():
    choice = kt.scale.choice([0.5, -1.0], weights=[1.0, 0.0])
    for mass in ((0.0, 1.0), kt.scale.normal(1.0, 0.1), kt.scale.lognormal(1.0, 1.0), choice):
        environment(2, randomize={"mass": mass, "contact_friction": (0.0, 1.0)})


def test_calls_that_do_not_fit_are_refused():
    env = environment(2)
    for call, message in (
        (lambda: env.step(np.zeros((2, 2))), "call reset"),
        (lambda: env.reset(options={"reset_mask": np.array([True, False])}), "first reset must be of all"),
        (lambda: env.reset(seed=-1), "seed must be a whole number"),
        (lambda: env.reset(options={"colour": 1}), "unknown options"),
        (lambda: env.reset(options=3), "options must be a dictionary"),
        (lambda: env.reset(options={"q": np.full(9, np.nan)}), "holds NaN"),
        (lambda: env.reset(options={"v": np.zeros(5)}), r"\(8,\) or \(2, 8\)"),
        (lambda: env.reset(options={"v": np.zeros((2, 1))}), r"\(8,\) or \(2, 8\)"),
        (lambda: env.reset(options={"q": 0}), r"\(9,\) or \(2, 9\)"),
    ):
        with pytest.raises(ArgumentError, match=message):
            call()
    env.reset(seed=0)
    for action, message in (
        (np.zeros((3, 2)), r"actions have shape \(3, 2\), but \(2, 2\)"),
        (np.array([[0.0, 0.0], [0.0, np.nan]]), "environment 1 holds NaN"),
        ("left", "must be numbers"),
        (np.zeros((2, 2), complex), "must be numbers that NumPy knows, got a ndarray of complex128"),
        (None, "actions have shape"),
    ):
        with pytest.raises(ArgumentError, match=message):
            env.step(action)


def test_functions_of_numpy_are_named():
    @kt.function("q -> reward")
    def sines(model, q):
        return sum(np.sin(q[7:]))

    env = environment(2, reward=sines)
    env.reset(seed=0)
    with pytest.raises(TraceError, match=r"sines: .* use those of kinetree\.ops"):
        env.step(np.zeros((2, 2)))


def test_without_gymnasium(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingPackageError, match=r"kinetree\[gym\]"):
        kt.gym.VectorEnv(ROBOT, seen, forward)


class One(gymnasium.Env):
    """The one robot of an environment, as Gymnasium's checker wants it."""

    def __init__(self):
        self.env = environment(1, terminated=low, time_limit=0.5, autoreset_mode="disabled", randomize=WILD)
        self.action_space = self.env.single_action_space
        self.observation_space = self.env.single_observation_space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        observation, infos = self.env.reset(seed=seed, options=options)
        return observation[0], infos

    def step(self, action):
        observation, reward, terminated, truncated, infos = self.env.step(action[None])
        return observation[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), infos


def test_the_checker_of_gymnasium(recwarn):
    from gymnasium.utils.env_checker import check_env

    check_env(One(), skip_render_check=True)
    allowed = ("minimum value is -infinity", "maximum value is infinity", "spec")
    found = [str(w.message) for w in recwarn if not any(text in str(w.message) for text in allowed)]
    assert not found


def test_doubles_of_jax_are_not_shortened():
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    try:
        jax.config.update("jax_enable_x64", False)
        with pytest.raises(ArgumentError, match="x64 is off"):
            environment(2, backend="jax", dtype="float64")
        jax.config.update("jax_enable_x64", True)
        observation, _ = environment(2, backend="jax", dtype=np.float64).reset(seed=0)
        assert observation.dtype == np.float64
    finally:
        jax.config.update("jax_enable_x64", before)


def test_equal_environments_share_their_kernels():
    first, second = (environment(count, terminated=low, randomize=WILD) for count in (2, 3))
    assert first.task.advance() is second.task.advance() and first.task.begin() is second.task.begin()
    other = environment(2, terminated=low, randomize=WILD | {"q": (-0.1, 0.1)})
    assert other.task.advance() is first.task.advance() and other.task.begin() is not first.task.begin()
    assert environment(2, terminated=low, time_limit=3.0).task.advance() is not first.task.advance()


def test_actions_of_a_gpu_are_refused():
    class There:
        is_cuda, dtype, shape = True, "float32", (2, 2)

    env = environment(2)
    env.reset(seed=0)
    with pytest.raises(ArgumentError, match="actions are on a GPU, but the robots are not"):
        env.step(There())
