"""Environments that are copied, pickled and closed."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from tests.gym.robots import ROBOT, START, WILD, actions, environment, low

import kinetree as kt
from kinetree.errors import ArgumentError


@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_an_environment_is_copied_with_its_future(mode):
    options = {"randomize": WILD, "push": kt.gym.Push("trunk", 1.0, 0.1), "time_limit": 0.06}
    env = environment(3, autoreset_mode=mode, terminated=low, **options)
    env.reset(seed=3)
    moves = actions(3, 9)
    for action in moves[:4]:
        env.step(action)
    env.action_space.seed(4)
    twin = pickle.loads(pickle.dumps(env))
    for action in moves[4:]:
        for ours, theirs in zip(env.step(action)[:4], twin.step(action)[:4]):
            np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(*(each.action_space.sample() for each in (env, copy.copy(twin))))
    assert env.np_random.random() == twin.np_random.random()
    assert env.reset()[0].tolist() == twin.reset()[0].tolist()
    env.close()
    env.close()
    for call in (env.reset, lambda: env.step(moves[0]), lambda: env.state):
        with pytest.raises(ArgumentError, match="is closed"):
            call()
    with pytest.raises(ArgumentError, match="is closed"):
        pickle.loads(pickle.dumps(env)).reset()


class Named(kt.gym.VectorEnv):
    """An environment of a user, with arguments and attributes of its own."""

    def __init__(self, name: str):
        options = {name: x for name, x in environment(2)._given.items() if name != "model"}
        super().__init__(ROBOT, **options)
        self.name = name


def test_copies_are_of_the_same_class_with_the_same_attributes():
    env = Named("forth")
    env.reset(seed=1)
    env.name = "back"
    for twin in (copy.copy(env), copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert type(twin) is Named and twin.name == "back"
        assert twin.step(np.ones((2, 2)))[0].tolist() == copy.copy(env).step(np.ones((2, 2)))[0].tolist()


def test_what_a_caller_changes_later_has_no_effect():
    start, wild, gains = START.copy(), {"contact_friction": (0.3, 0.9)}, np.array([30.0, 30.0])
    env, plain = (environment(2, start=s, randomize=r, kp=k, time_limit=0.04) for s, r, k in (
        (start, wild, gains), (START, dict(wild), 30.0)))  # fmt: skip
    start[4], wild["mass"], gains[:] = 7.0, (0.5, 2.0), 1.0
    for each in (env, plain):
        each.reset(seed=0)
    twin = pickle.loads(pickle.dumps(env))
    for action in actions(2, 4):
        wanted = plain.step(action)[0]
        np.testing.assert_array_equal(env.step(action)[0], wanted)
        np.testing.assert_array_equal(twin.step(action)[0], wanted)
