"""`kt.gym.VectorEnv`: many robots that learn at once."""

from __future__ import annotations

import copy
import math
import secrets
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kinetree.algorithms.contact_law import DEEP
from kinetree.errors import ArgumentError
from kinetree.extras import needed
from kinetree.gym import drive, tensors
from kinetree.gym.draws import Draws, position
from kinetree.gym.host import HostRobots
from kinetree.gym.pushes import Push
from kinetree.gym.task import Task
from kinetree.model import Model
from kinetree.model.ground import Ground, Heightfield
from kinetree.motion.contact import sunk
from kinetree.stages.function import Function

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv as Base
else:
    try:
        from gymnasium.vector import VectorEnv as Base
    except ModuleNotFoundError:  # no environment can be made then, but kt.gym can be imported
        Base = object

MODES = {"nextstep": "next_step", "samestep": "same_step", "disabled": "disabled"}  # as Gymnasium writes them


class VectorEnv(Base):  # type: ignore[misc, valid-type]
    """Many robots with Gymnasium's vector interface: one call of machine code moves all of them.

    An action lasts `steps` steps of the simulation ("discrete", with contact); observation and reward are
    compiled into the same kernel. Results do not depend on the number of threads, and those of a robot depend
    only on the seed, its number and its actions.

    Args:
        model: the robot.
        observation: a function of a model that returns one array, such as
            `kt.function("q, v, last_action(12) -> seen(48)")`.
        reward: a function of a model that returns one number.
        num_envs: the number of robots.
        terminated: a function of a model; an episode ends when it returns a number above 0, or True.
        time_limit: s, after which an episode is truncated; None for never.
        dt: the length of a step, s.
        steps: the number of steps in an action.
        control: "position": an action moves the targets of servos, `pose` + `action_scale` * action, with the
            gains `kp` and `kd`; or "effort": the effort is `action_scale` * action. Actions are clipped to
            [-1, 1].
        joints: the driven joints; None for every joint with one coordinate.
        pose: the position that actions are relative to (nq,); None for the start position.
        action_scale, kp, kd: a number, or one for each driven joint.
        start: where episodes start, q or (q, v); None for the neutral position. On a `kt.Heightfield` robots
            are raised by the highest ground below their points.
        randomize: numbers drawn for each episode, {name: (low, high)} or {name: a distribution of kt.scale}:
            "q" and "v", added to `start` (nv,); "mass", a factor on the inertia of each body;
            "contact_friction", "contact_stiffness", "contact_dissipation", "creep", "gravity", "parameters",
            "kp", "kd"; and any other input of the functions, such as a command to follow.
        push: a `kt.gym.Push` to push the robots at random times.
        ground, newton_limit: as for `kt.simulate`.
        autoreset_mode: "next_step", "same_step" or "disabled", or one of Gymnasium's. "next_step": the step
            after the end of an episode starts a new one and ignores the action. "same_step": the step that
            ends an episode also starts the next; infos["final_obs"] has the last observation. "disabled":
            you call `reset(options={"reset_mask": ...})`.
        dtype: "float32" or "float64", of the simulation and of all arrays.
        backend: the library of all arrays: "numpy", "torch" or "jax". Tensors share the memory of the
            results.
        target: "cpu", or "cuda" for robots on a GPU: with "torch" and "jax" actions and results stay there;
            with "numpy" both are copied.

    The functions can take these inputs, by name: q, v after the action; t, s since the start of the episode;
    action and last_action, clipped; last_q and last_v before the action; force and velocity (points, 3) of
    the contact points, in world axes, in the last step; tau (nv), the effort of the drives in the last step;
    and the numbers drawn for the episode.

    If the motion of a robot diverges, its episode ends: infos["failed"] marks it, its reward is 0, and its
    last observation is the one before the action. An observation or a reward that is NaN or fails, as with a
    singular matrix, has the same effect; if it is the first observation, it becomes zeros, and the first
    action ends the episode. An action with NaN is an error on the CPU; on a GPU, where actions are not
    checked, it ends the episode in the same way.
    """

    def __init__(
        self,
        model: Model,
        observation: Function,
        reward: Function,
        *,
        num_envs: int = 1,
        terminated: Function | None = None,
        time_limit: float | None = 20.0,
        dt: float = 0.002,
        steps: int = 10,
        control: Literal["position", "effort"] = "position",
        joints: Sequence[str] | None = None,
        pose: Any = None,
        action_scale: Any = 1.0,
        kp: Any = None,
        kd: Any = None,
        start: Any = None,
        randomize: Mapping[str, Any] | None = None,
        push: Push | None = None,
        ground: Any = True,
        newton_limit: int | None = None,
        autoreset_mode: Any = "next_step",
        dtype: Literal["float32", "float64"] = "float32",
        backend: Literal["numpy", "torch", "jax"] = "numpy",
        target: Literal["cpu", "cuda"] = "cpu",
    ):
        if isinstance(joints, str) or not (joints is None or np.iterable(joints)):
            raise ArgumentError(f"VectorEnv: joints must be names of joints in a list, got {joints!r}")
        joints = None if joints is None else tuple(joints)  # copies: a caller may change the originals later
        action_scale, kp, kd = copy.deepcopy((action_scale, kp, kd))
        pose, start, randomize = copy.deepcopy((pose, start, randomize))
        self._given = {name: x for name, x in locals().items() if name not in ("self", "__class__")}
        gymnasium = needed("gymnasium", "kt.gym.VectorEnv")
        if not isinstance(model, Model):
            raise ArgumentError(f"VectorEnv: model must be a kinetree Model, got a {type(model).__name__}")
        functions = _functions({"observation": observation, "reward": reward, "terminated": terminated})
        self.model, self.num_envs = model, _whole("num_envs", num_envs)
        self.dtype = np.dtype(_chosen("dtype", _kind(dtype), ("float32", "float64")))
        self.target = _chosen("target", target, ("cpu", "cuda"))
        self.backend = tensors.checked(backend, self.dtype)
        named = str(getattr(autoreset_mode, "name", autoreset_mode)).lower().replace("_", "")
        self.mode = _chosen("autoreset_mode", MODES.get(named, autoreset_mode), tuple(MODES.values()))
        self.dt = _positive("dt", dt) * _whole("steps", steps)  # of an action
        limit = math.inf if time_limit is None else round(_positive("time_limit", time_limit) / self.dt)
        if not limit:
            raise ArgumentError(f"VectorEnv: time_limit is {time_limit} s, but an action lasts {self.dt:g} s")
        draws = Draws(model, start, randomize, ground)
        rest = draws.start[0] if pose is None else position(model, pose)
        driven = drive.read(model, control, joints, rest, action_scale, kp, kd)
        if push is not None and not isinstance(push, Push):
            raise ArgumentError(f"VectorEnv: push must be a kt.gym.Push, got {push!r}")
        pushed = None if push is None else push.checked(model)
        waits = self.mode == "next_step"
        self.task = Task(model, driven, functions, steps, dt, draws, pushed, limit, waits, newton_limit)
        self._warn_if_sunk()
        self._spaces(gymnasium)
        self._ready = False
        self._seed: int | None = None
        self._robots = self._made()

    def _made(self) -> Any:
        """The robots, on their target."""
        if self.target == "cpu":
            return HostRobots(self.task, self.num_envs, self.dtype, self.backend)
        from kinetree.gym.device import DeviceRobots

        return DeviceRobots(self.task, self.num_envs, self.dtype, self.backend)

    def _warn_if_sunk(self) -> None:
        ground = Ground() if isinstance(self.task.ground, Heightfield) else self.task.ground
        if isinstance(ground, Ground):
            deep = max(sunk(self.model, self.task.draws.start[0], ground).values(), default=0.0)
            if deep > DEEP:
                said = f"VectorEnv: robots start {deep:.2g} m deep in the ground, which they leave slowly"
                warnings.warn(f"{said}: give a higher start", stacklevel=3)

    def _spaces(self, gymnasium: Any) -> None:
        spaces, batch = gymnasium.spaces, gymnasium.vector.utils.batch_space
        mode = gymnasium.vector.AutoresetMode[self.mode.upper()]
        self.metadata = {"render_modes": [], "autoreset_mode": mode}
        self.single_action_space = spaces.Box(-1.0, 1.0, (self.task.drive.size,), self.dtype)
        self.single_observation_space = spaces.Box(-np.inf, np.inf, self.task.observed, self.dtype)
        self.action_space = batch(self.single_action_space, self.num_envs)
        self.observation_space = batch(self.single_observation_space, self.num_envs)

    # -- Gymnasium's interface

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict]:
        """Start new episodes; returns the observations and an empty dictionary of infos.

        Args:
            seed: for all random numbers from now on; None keeps the present one.
            options: "reset_mask", (num_envs,) booleans, to reset only some environments; "q" and "v", one
                state or a row for each environment, to start from these instead of random states.
        """
        if options is not None and not isinstance(options, Mapping):
            raise ArgumentError(f"VectorEnv: options must be a dictionary, got {options!r}")
        options, robots = dict(options or {}), self._open()
        mask = options.pop("reset_mask", None)
        mask = mask if mask is None or hasattr(mask, "all") else np.asarray(mask)
        if not self._ready and mask is not None and not bool(mask.all()):
            raise ArgumentError("VectorEnv: the first reset must be of all environments")
        unknown = set(options) - {"q", "v"}
        if unknown:
            raise ArgumentError(f"VectorEnv: unknown options {sorted(unknown)}; known: reset_mask, q, v")
        mask = robots.masked(np.ones(self.num_envs, bool) if mask is None else mask)
        if seed is not None or self._seed is None:
            self._seed = secrets.randbits(63) if seed is None else _whole("seed", seed, 0)
            robots.sow(self._seed)
            super().reset(seed=self._seed)  # Gymnasium's own generator, which is not used here
        robots.begin(mask, options)
        self._ready = True
        return robots.state("seen"), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict]:
        """The observations, rewards, terminations, truncations and infos after an action of every robot."""
        robots = self._open()
        if not self._ready:
            raise ArgumentError("VectorEnv: call reset() before step()")
        found = robots.act(robots.taken(actions))
        infos: dict[str, Any] = {}
        flags = ("failed", "terminated", "truncated")
        failed, terminated, truncated = (robots.out(found[name], True) for name in flags)
        if not robots.asks or found["failed"].any():
            infos = {"failed": failed, "_failed": failed}
        if self.mode == "same_step":
            over = robots.arrays["over"]
            if not robots.asks or over.any():
                infos |= {"final_obs": robots.state("seen"), "_final_obs": terminated | truncated}
            robots.begin(over)
        elif self.mode == "next_step":
            robots.begin(robots.waited)
        return robots.state("seen"), robots.out(found["reward"]), terminated, truncated, infos

    def close_extras(self, **kwargs: Any) -> None:
        """Free the memory; the environment cannot be used afterwards."""
        self._robots = None

    # -- the robots

    @property
    def state(self) -> tuple[Any, Any]:
        """q (num_envs, nq) and v (num_envs, nv) of all robots, as copies."""
        robots = self._open()
        return robots.state("q"), robots.state("v")

    @property
    def drawn(self) -> dict[str, Any]:
        """The numbers drawn for the current episodes, by name, as copies."""
        robots = self._open()
        return {name: robots.state(name) for name in self.task.drawn}

    def __reduce__(self) -> tuple:
        """Copies and pickles continue from the present states, with the same random numbers."""
        kept = None if self._robots is None else self._robots.snapshot()
        ends = "_space", "_random", "_random_seed"  # Gymnasium's own generators, which copies do not share
        rest = {name: x for name, x in vars(self).items() if name not in ("_robots", "task", "model")}
        rest |= {name: copy.deepcopy(x) for name, x in rest.items() if name.endswith(ends)}
        return _again, (type(self), self._given, kept), rest

    def _open(self) -> Any:
        if self._robots is None:
            raise ArgumentError("VectorEnv: the environment is closed: make another one")
        return self._robots


def _again(kind: type[VectorEnv], given: dict[str, Any], kept: dict[str, Any] | None) -> VectorEnv:
    """An environment whose robots are where they were when it was pickled."""
    env = kind.__new__(kind)
    VectorEnv.__init__(env, **given)
    if kept is None:
        env.close()
    else:
        env._robots.restore(kept)
    return env


def _functions(given: dict[str, Function | None]) -> dict[str, Function]:
    """The functions that are given, by role."""
    found = {
        role: function for role, function in given.items() if function is not None or role != "terminated"
    }
    for role, function in found.items():
        if not isinstance(function, Function):
            raise ArgumentError(
                f"VectorEnv: {role} must be a function of a model, made by @kt.function, got {function!r}"
            )
    return found  # type: ignore[return-value]


def _chosen(name: str, value: Any, known: Sequence[str]) -> str:
    if value not in known:
        raise ArgumentError(f"VectorEnv: {name} is {value!r}: choose from {', '.join(known)}")
    return value


def _kind(dtype: Any) -> str:
    """The name of a dtype, or the text of what is none."""
    try:
        return str(dtype if isinstance(dtype, str) or dtype is None else np.dtype(dtype))
    except (TypeError, ValueError):
        return str(dtype)


def _positive(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
        raise ArgumentError(f"VectorEnv: {name} must be a positive number of seconds, got {value!r}")
    return float(value)


def _whole(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ArgumentError(f"VectorEnv: {name} must be a whole number, at least {least}, got {value!r}")
    return int(value)


__all__ = ["VectorEnv"]
