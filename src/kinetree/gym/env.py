"""`kt.gym.VectorEnv`: robots that learn, many at once."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kinetree.errors import ArgumentError
from kinetree.extras import needed
from kinetree.gym import drive, tensors
from kinetree.gym.draws import Draws
from kinetree.gym.host import HostRobots
from kinetree.gym.pushes import Push
from kinetree.gym.task import Task
from kinetree.model import Model
from kinetree.stages.function import Function

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv as Base
else:
    try:
        from gymnasium.vector import VectorEnv as Base
    except ModuleNotFoundError:  # an environment cannot be made then, but the rest of kt.gym can be read
        Base = object

MODES = ("next_step", "same_step", "disabled")


class VectorEnv(Base):  # type: ignore[misc, valid-type]
    """Many robots that act, by Gymnasium's vector interface: one call of machine code moves all of them.

    An action lasts `steps` steps of the simulation ("discrete", with contact); what is observed and what is
    rewarded is compiled into the same kernel. Results do not depend on the number of threads, and what
    happens to an environment depends on the seed, its number and its actions alone.

    Args:
        model: the robot.
        observation: a function of a model that gives one array, such as
            `kt.function("q, v, last_action(12) -> seen(48)")`.
        reward: a function of a model that gives one number.
        num_envs: how many robots there are.
        terminated: a function of a model; an episode ends when it gives a number above 0, or a truth.
        time_limit: s, after which an episode is truncated; None for never.
        dt: the length of a step, s.
        steps: how many of them an action lasts.
        control: "position": an action moves the targets of servos, `pose` + `action_scale` * action, with the
            gains `kp` and `kd`; or "effort": it is `action_scale` * action. Actions are cut off at -1 and 1.
        joints: what is driven; every joint with one coordinate if None.
        pose: the position that actions start from (nq,); where robots start, if None.
        action_scale, kp, kd: a number, or one for each driven joint.
        start: where episodes start, q or (q, v); the neutral position if None. On a `kt.Heightfield` robots
            are lifted by the highest ground below their points.
        randomize: numbers drawn for each episode, {name: (low, high)} or {name: a distribution of kt.scale}:
            "q" and "v" for increments (nv,) to `start`; "mass" for a factor to the inertia of each body;
            "contact_friction", "contact_stiffness", "contact_dissipation", "creep", "gravity", "parameters",
            "kp", "kd"; and whatever else the functions take, such as a command to follow.
        push: a `kt.gym.Push`, if robots are pushed now and then.
        ground, newton_limit: as for `kt.simulate`.
        autoreset_mode: "next_step", "same_step" or "disabled", or one of Gymnasium's: the step after the
            end of an episode starts a new one and ignores the action; the same step does, with the last
            observation in infos["final_obs"]; or `reset(options={"reset_mask": ...})` does.
        dtype: "float32" or "float64", of the simulation and of all arrays.
        backend: the library of all arrays: "numpy", "torch" or "jax". Tensors share the memory of the
            results.
        target: "cpu", or "cuda" for robots that live on a GPU: with "torch" and "jax" actions are taken from
            there and results stay there; with "numpy" both are copied.

    The functions see, by the names of their inputs: q, v after the action; t, s since the start of the
    episode; action and last_action, cut off; last_q and last_v before it; force and velocity (points, 3) of
    the points that can touch, in world axes, in the last step; tau (nv), the effort of the drives then; and
    what is drawn for them.

    A robot whose motion diverges ends its episode: infos["failed"] tells which, their reward is 0, and their
    last observation is that before the action. On a GPU, where nobody looks at actions, one with NaN does so
    too; on a processor it is an error.
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
        self._given = {name: x for name, x in locals().items() if name not in ("self", "__class__")}
        gymnasium = needed("gymnasium", "kt.gym.VectorEnv")
        if not isinstance(model, Model):
            raise ArgumentError(f"VectorEnv: model must be a kinetree Model, got a {type(model).__name__}")
        functions = _functions({"observation": observation, "reward": reward, "terminated": terminated})
        self.model, self.num_envs = model, _whole("num_envs", num_envs)
        self.dtype = np.dtype(_chosen("dtype", dtype, ("float32", "float64")))
        self.target, self.backend = _chosen("target", target, ("cpu", "cuda")), tensors.checked(backend)
        named = getattr(autoreset_mode, "name", autoreset_mode)
        self.mode = _chosen("autoreset_mode", named.lower() if isinstance(named, str) else named, MODES)
        self.dt = _positive("dt", dt) * _whole("steps", steps)  # of an action
        limit = math.inf if time_limit is None else round(_positive("time_limit", time_limit) / self.dt)
        if not limit:
            raise ArgumentError(f"VectorEnv: time_limit is {time_limit} s, but an action lasts {self.dt:g} s")
        draws = Draws(model, start, randomize, ground)
        rest = draws.start[0] if pose is None else Draws(model, pose, None, ground).start[0]
        driven = drive.read(model, control, joints, rest, action_scale, kp, kd)
        if push is not None and not isinstance(push, Push):
            raise ArgumentError(f"VectorEnv: push must be a kt.gym.Push, got {push!r}")
        pushed = None if push is None else push.checked(model)
        waits = self.mode == "next_step"
        self.task = Task(model, driven, functions, steps, dt, draws, pushed, limit, waits, newton_limit)
        self._spaces(gymnasium)
        self._ready = False
        self._seed: int | None = None
        self._robots = self._made()

    def _made(self) -> Any:
        """The robots, where they are to be."""
        if self.target == "cpu":
            return HostRobots(self.task, self.num_envs, self.dtype, self.backend)
        from kinetree.gym.device import DeviceRobots

        return DeviceRobots(self.task, self.num_envs, self.dtype, self.backend)

    def _spaces(self, gymnasium: Any) -> None:
        spaces, batch = gymnasium.spaces, gymnasium.vector.utils.batch_space
        mode = gymnasium.vector.AutoresetMode[self.mode.upper()]
        self.metadata = {"render_modes": [], "autoreset_mode": mode}
        self.single_action_space = spaces.Box(-1.0, 1.0, (self.task.drive.size,), self.dtype)
        self.single_observation_space = spaces.Box(-np.inf, np.inf, self.task.observed, self.dtype)
        self.action_space = batch(self.single_action_space, self.num_envs)
        self.observation_space = batch(self.single_observation_space, self.num_envs)

    # -- what Gymnasium asks for

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict]:
        """Start new episodes: the observations, and what else there is to say.

        Args:
            seed: what is random from now on follows from it; None goes on.
            options: {"reset_mask": (num_envs,) truths} for some environments only; "q" and "v" for states to
                start from, one or a row for each environment, instead of those drawn.
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
            super().reset(seed=self._seed)  # Gymnasium's own generator, which nothing here uses
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
        """Give the memory back; nothing can be done with the environment any more."""
        self._robots = None

    # -- the robots

    @property
    def state(self) -> tuple[Any, Any]:
        """q (num_envs, nq) and v (num_envs, nv) of all robots, copied."""
        robots = self._open()
        return robots.state("q"), robots.state("v")

    @property
    def drawn(self) -> dict[str, Any]:
        """What was drawn for the episodes that are under way, by name, copied."""
        robots = self._open()
        return {name: robots.state(name) for name in self.task.drawn}

    def __reduce__(self) -> tuple:
        """Copies and pickles go on from where the robots are, with the same random numbers."""
        kept = None if self._robots is None else self._robots.snapshot()
        return _again, (self._given, kept, self._seed, self._ready)

    def _open(self) -> Any:
        if self._robots is None:
            raise ArgumentError("VectorEnv: the environment is closed: make another one")
        return self._robots


def _again(given: dict[str, Any], kept: dict[str, Any] | None, seed: int | None, ready: bool) -> VectorEnv:
    """An environment as it was."""
    env = VectorEnv(**given)
    env._seed, env._ready = seed, ready
    if kept is None:
        env.close()
    else:
        env._robots.restore(kept)
    return env


def _functions(given: dict[str, Function | None]) -> dict[str, Function]:
    """The functions that are there, by what they give."""
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


def _positive(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
        raise ArgumentError(f"VectorEnv: {name} must be a positive number of seconds, got {value!r}")
    return float(value)


def _whole(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ArgumentError(f"VectorEnv: {name} must be a whole number, at least {least}, got {value!r}")
    return int(value)


__all__ = ["VectorEnv"]
