"""`kt.gym.VectorEnv`: robots that learn, many at once."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.errors import ArgumentError
from kinetree.extras import needed
from kinetree.gym import drive, tensors
from kinetree.gym.draws import Draws, runs_of
from kinetree.gym.pushes import Push
from kinetree.gym.task import Task
from kinetree.model import Model
from kinetree.stages.function import Function
from kinetree.stages.job import Job
from kinetree.stages.target import TARGETS

try:
    from gymnasium.vector import VectorEnv as Base
except ModuleNotFoundError:  # an environment cannot be made then, but the rest of kt.gym can be read
    Base = object  # type: ignore[assignment, misc]

Array = np.ndarray
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
        terminated: a function of a model that gives a number; an episode ends when it is above 0.
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
        ground: as for `kt.simulate`.
        autoreset_mode: "next_step", "same_step" or "disabled", or one of Gymnasium's: the step after the
            end of an episode starts a new one and ignores the action; the same step does, with the last
            observation in infos["final_obs"]; or `reset(options={"reset_mask": ...})` does.
        dtype: "float32" or "float64", of the simulation and of all arrays.
        backend: "numpy", or "torch" or "jax" for tensors that share the memory of these arrays.
        target: "cpu", or "cuda" to move the robots on a GPU; states and results go there and back.

    The functions see, by the names of their inputs: q, v after the action; t, s since the start of the
    episode; action and last_action, cut off; last_q and last_v before it; force and velocity (points, 3) of
    the points that can touch, in world axes, in the last step; tau (nv), the effort of the drives then; and
    what is drawn for them.

    A robot whose motion diverges ends its episode: infos["failed"] tells which, their reward is 0, and their
    last observation is that before the action.
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
        control: str = "position",
        joints: Sequence[str] | None = None,
        pose: Any = None,
        action_scale: Any = 1.0,
        kp: Any = None,
        kd: Any = None,
        start: Any = None,
        randomize: Mapping[str, Any] | None = None,
        push: Push | None = None,
        ground: Any = True,
        autoreset_mode: Any = "next_step",
        dtype: str = "float32",
        backend: str = "numpy",
        target: str = "cpu",
    ):
        gymnasium = needed("gymnasium", "kt.gym.VectorEnv")
        if not isinstance(model, Model):
            raise ArgumentError(f"VectorEnv: model must be a kinetree Model, got a {type(model).__name__}")
        functions = _functions({"observation": observation, "reward": reward, "terminated": terminated})
        self.model, self.num_envs = model, _whole("num_envs", num_envs)
        self.dtype = np.dtype(_chosen("dtype", dtype, ("float32", "float64")))
        self.target, self.backend = _chosen("target", target, ("cpu", "cuda")), tensors.checked(backend)
        named = getattr(autoreset_mode, "name", autoreset_mode)
        self.mode = _chosen("autoreset_mode", named.lower() if isinstance(named, str) else named, MODES)
        self.push = None if push is None else push.checked(model)
        self._step = np.asarray(_positive("dt", dt), dtype)  # of the simulation
        self.dt = dt * _whole("steps", steps)  # of an action
        self.limit = np.inf if time_limit is None else round(_positive("time_limit", time_limit) / self.dt)
        draws = Draws(model, start, randomize, ground)
        rest = draws.start[0] if pose is None else Draws(model, pose, None, ground).start[0]
        driven = drive.read(model, control, joints, rest, action_scale, kp, kd)
        self.task = Task(model, driven, functions, steps, ground, draws.names)
        draws.ground = self.task.ground
        self._draws = draws
        self._advance, self._look = self.task.advance(), self.task.look()
        self._kernel: Any = None
        self._spaces(gymnasium)
        self._seed: int | None = None
        self._clear()
        self._draw(np.arange(1))  # what does not fit is refused now

    def _spaces(self, gymnasium: Any) -> None:
        spaces, batch = gymnasium.spaces, gymnasium.vector.utils.batch_space
        mode = gymnasium.vector.AutoresetMode[self.mode.upper()]
        self.metadata = {"render_modes": [], "autoreset_mode": mode}
        self.single_action_space = spaces.Box(-1.0, 1.0, (self.task.drive.size,), self.dtype)
        self.single_observation_space = spaces.Box(-np.inf, np.inf, self.task.observed, self.dtype)
        self.action_space = batch(self.single_action_space, self.num_envs)
        self.observation_space = batch(self.single_observation_space, self.num_envs)

    def _clear(self) -> None:
        n = self.num_envs
        self._q, self._v = np.zeros((n, self.model.nq), self.dtype), np.zeros((n, self.model.nv), self.dtype)
        self._action = np.zeros((n, self.task.drive.size), self.dtype)
        self._seen = np.zeros((n, *self.task.observed), self.dtype)
        shapes = {name: a.sizes(self.model) for name, a in self.task.drawn.items()}
        self._drawn = {name: np.zeros((n, *shape), self.dtype) for name, shape in shapes.items()}
        self._count, self._over = np.zeros(n, int), np.zeros(n, bool)  # actions so far; waits for a reset
        self._episode, self._total, self._ready = np.zeros(n, int), 0, False

    # -- what Gymnasium asks for

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict]:
        """Start new episodes: the observations, and what else there is to say.

        Args:
            seed: what is random from now on follows from it; None goes on.
            options: {"reset_mask": (num_envs,) truths} for some environments only; "q" and "v" for states to
                start from, one or a row for each environment, instead of those drawn.
        """
        options = dict(options or {})
        mask = np.asarray(options.pop("reset_mask", np.ones(self.num_envs, bool)))
        if mask.shape != (self.num_envs,) or mask.dtype != bool:
            raise ArgumentError(f"VectorEnv: reset_mask must be {self.num_envs} truths, got {mask!r}")
        if not self._ready and not mask.all():
            raise ArgumentError("VectorEnv: the first reset must be of all environments")
        unknown = set(options) - {"q", "v"}
        if unknown:
            raise ArgumentError(f"VectorEnv: unknown options {sorted(unknown)}; known: reset_mask, q, v")
        if seed is not None or self._seed is None:
            self._seed = secrets.randbits(63) if seed is None else _whole("seed", seed, 0)
            self._episode[:], self._total = 0, 0
        self._begin(np.flatnonzero(mask), options)
        self._ready = True
        return self._shown(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict]:
        """The observations, rewards, terminations, truncations and infos after an action of every robot."""
        if not self._ready:
            raise ArgumentError("VectorEnv: call reset() before step()")
        n = self.num_envs
        action = tensors.taken(actions, (n, self.task.drive.size), self.dtype)
        waiting = self._over if self.mode == "next_step" else np.zeros(n, bool)
        self._count += 1
        found = self._moved(action)
        seen, reward = found["observation"], found["reward"]
        failed = ~_sound(found) & ~waiting
        for name, before in (("q", self._q), ("v", self._v), ("observation", self._seen)):
            if failed.any():
                found[name][failed] = before[failed]
        reward[failed | waiting] = 0.0
        terminated = ((found["terminated"] > 0) | failed) & ~waiting
        truncated = (self._count >= self.limit) & ~terminated & ~waiting
        self._q, self._v, self._seen = found["q"], found["v"], seen
        self._action = np.clip(action, -1.0, 1.0)
        self._total += 1
        infos = {name: self._out(failed) for name in ("failed", "_failed") if failed.any()}
        self._over = over = terminated | truncated
        again = over if self.mode == "same_step" else waiting
        if again.any():
            if self.mode == "same_step":
                infos |= {"final_obs": self._shown(), "_final_obs": self._out(over.copy())}
            self._begin(np.flatnonzero(again), {})
        return self._shown(), *map(self._out, (reward, terminated, truncated)), infos

    # -- the robots

    @property
    def state(self) -> tuple[Array, Array]:
        """q (num_envs, nq) and v (num_envs, nv) of all robots, copied."""
        return self._q.copy(), self._v.copy()

    @property
    def drawn(self) -> dict[str, Array]:
        """What was drawn for the episodes that are under way, by name, copied."""
        return {name: array.copy() for name, array in self._drawn.items()}

    def _moved(self, action: Array) -> dict[str, Array]:
        """What the machine code says after an action."""
        if self.push is not None:
            runs = runs_of(np.arange(self.num_envs), self._total)
            given = {name: x for name, x in self._drawn.items() if name == "parameters"}
            self._v = self.push.pushed(self.model, self._q, self._v, given, self._seed or 0, runs, self.dt)
        given = {"q": self._q, "v": self._v, "t": (self._count * self.dt).astype(self.dtype)}
        given |= {"action": action, "last_action": self._action, "dt": self._step, **self._drawn}
        present = self._advance.present(tuple(given))
        if self._kernel is None:
            job = Job(self._advance, self.model, present, {}, str(self.dtype))
            self._kernel = TARGETS[self.target].executable(job)
        shapes = [(a.name, (self.num_envs, *a.sizes(self.model))) for a in self._advance.outputs]
        out = {name: tensors.empty(shape, self.dtype) for name, shape in shapes}
        self._kernel(*(given[name] for name in present), out=tuple(out.values()))
        return out

    def _begin(self, index: Array, states: dict[str, Any]) -> None:
        """New episodes of some environments."""
        q, v, numbers = self._draw(index)
        for name, array, width in (("q", q, self.model.nq), ("v", v, self.model.nv)):
            if name in states:
                array[:] = _rows(name, states[name], self.num_envs, width)[index]
        self._q[index], self._v[index] = q, v
        for name, values in numbers.items():
            self._drawn[name][index] = values
        self._episode[index] += 1
        self._count[index], self._action[index], self._over[index] = 0, 0.0, False
        given = {"q": self._q, "v": self._v, **self._drawn}
        names = self._look.present(tuple(given))
        self._seen[index] = self._look(self.model, **{name: given[name][index] for name in names})

    def _draw(self, index: Array) -> tuple[Array, Array, dict[str, Array]]:
        """Where the next episodes of some environments start, and their numbers."""
        runs, seed = runs_of(index, self._episode[index]), self._seed or 0
        shapes = {name: a.shape[1:] for name, a in self._drawn.items()}
        return *self._draws.states(seed, runs), self._draws.numbers(shapes, seed, runs)

    def _shown(self) -> Any:
        """The observations, which are the caller's to keep."""
        seen = tensors.empty(self._seen.shape, self.dtype)
        seen[...] = self._seen
        return self._out(seen)

    def _out(self, array: Array) -> Any:
        return tensors.handed_over(array, self.backend)


def _sound(found: dict[str, Array]) -> Array:
    """Which robots are well: their states can be trusted, and all that was made of them is finite."""
    fine = found["trust"] >= 1
    for name in ("q", "v", "observation", "reward", "terminated"):
        array = found[name]
        fine &= np.isfinite(array).reshape(len(array), -1).all(-1)
    return fine


def _rows(name: str, value: Any, count: int, width: int) -> Array:
    try:
        array = np.broadcast_to(np.asarray(value, float), (count, width))
    except (TypeError, ValueError):
        raise ArgumentError(f"VectorEnv: option {name!r} must be ({width},) or ({count}, {width})") from None
    if not np.isfinite(array).all():
        raise ArgumentError(f"VectorEnv: option {name!r} holds NaN or infinity")
    return array


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
