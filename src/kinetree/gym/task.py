"""What an action does to one robot, and how its episodes end and begin: two functions of a model.

Both are written for one robot; flags are the numbers 1 or 0. The callers (`host.py`, `device.py`) hold the
arrays and supply the uniform random numbers.
"""

from __future__ import annotations

import hashlib
import math
import pickle
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.errors import ArgumentError
from kinetree.gym.draws import STARTS, Draws
from kinetree.gym.drive import Drive
from kinetree.gym.pushes import NEEDED, Push
from kinetree.model import Model
from kinetree.motion.contact import INPUTS as CONTACT
from kinetree.motion.contact import contact_step, limit_of, resolved
from kinetree.motion.steps import step
from kinetree.ops import expr as ex
from kinetree.ops.control import repeat, trust
from kinetree.stages.function import Function
from kinetree.stages.own import OwnFunction
from kinetree.sweep.numbers import with_numbers
from kinetree.sweep.signature import MODEL_INPUTS, SIZES, Argument, arguments

Array = np.ndarray

GAINS = ("kp", "kd")
OWN = ("seen", "count", "over", "bad", "dt", "push")  # inputs of an action that no function can ask for
UNSEEN = -1.0  # `over` of an episode whose first observation is NaN: its first action ends it
PHYSICAL = (*CONTACT, *(a.name for a in MODEL_INPUTS))  # numbers of the simulation that may be randomised


class Task:
    """An action, the steps that it lasts, and their results.

    Args:
        model, drive: the robot, and how actions act on it.
        functions: functions of a model by role: "observation", "reward", "terminated" (may be absent).
        steps, dt: the number of simulation steps in an action, and their length.
        draws: where episodes start, and the other randomised numbers.
        push: if robots are pushed.
        limit: the number of actions after which an episode is truncated.
        waits: a robot whose episode is over waits for one action, which does nothing.
        newton_limit: the most Newton steps for contact in each step.
    """

    def __init__(
        self, model: Model, drive: Drive, functions: dict[str, Function], steps: int, dt: float, draws: Draws,
        push: Push | None = None, limit: float = math.inf, waits: bool = False,
        newton_limit: int | None = None,
    ):  # fmt: skip
        self.model, self.drive, self.functions, self.steps, self.dt = model, drive, functions, steps, dt
        self.draws, self.push, self.limit, self.waits = draws, push, limit, waits
        self.newton_limit = limit_of(newton_limit)
        self.ground = draws.ground = resolved(model, draws.ground, "discrete", "VectorEnv")
        drawn = draws.names
        n = drive.size
        self.offered = {a.name: a for a in arguments(
            f"q, v, t, action({n}), last_action({n}), last_q(nq), last_v(nv), force(points, 3), "
            "velocity(points, 3), tau"
        )}  # fmt: skip
        own = {a.name: a for a in (*contact_step.inputs, *MODEL_INPUTS)}
        own |= {name: Argument(name, (n,)) for name in GAINS}
        self.drawn = {name: own[name] for name in drawn if name in (*PHYSICAL, *GAINS)}
        if drive.kp is None and set(GAINS) & set(drawn):
            raise ArgumentError("VectorEnv: randomize has kp or kd, but an effort has no gains")
        felt = [name for name in self.drawn if name in CONTACT]
        if self.ground is None and felt:
            raise ArgumentError(f"VectorEnv: {felt[0]} is drawn at random, but nothing touches: no ground")
        wanted = [name for name in drawn if name not in self.drawn]
        self.drawn |= {name: self._asked(name) for name in wanted}
        self._check()
        draws.fitted({name: a.sizes(model) for name, a in self.drawn.items()})

    def _asked(self, name: str) -> Argument:
        """The argument of this name, which only the functions of the task take."""
        found = {a for f in self.functions.values() for a in f.own_inputs if a.name == name}
        if name in self.offered or name in OWN:
            raise ArgumentError(f"VectorEnv: the environment itself has a {name!r}: choose another name")
        if not found:
            raise ArgumentError(
                f"VectorEnv: {name!r} is drawn at random, but no function takes it, and it is none of "
                f"q, v, mass, {', '.join((*GAINS, *PHYSICAL))}"
            )
        shapes = {a.shape for a in found}
        if len(shapes) > 1:
            raise ArgumentError(f"VectorEnv: the functions disagree on the shape of {name!r}")
        return Argument(name, shapes.pop())

    def _check(self) -> None:
        known = self.offered | self.drawn
        for role, function in self.functions.items():
            said = f"VectorEnv: {role} is the function {function.name}"
            for a in function.own_inputs:
                if a.name == "mass" and "parameters" in self.drawn:
                    raise ArgumentError(f"{said}, which takes 'mass': use model.parameters, as drawn")
                if a.name not in known and not a.optional:
                    raise ArgumentError(
                        f"{said}, which takes {a.name!r}: known are {', '.join(self.offered)} and what is in "
                        f"randomize={{{a.name!r}: ...}}"
                    )
                sizes = a.sizes(self.model), known[a.name].sizes(self.model) if a.name in known else None
                if a.name in known and sizes[0] != sizes[1]:
                    raise ArgumentError(f"{said}, which takes {a.name} as {sizes[0]}, but it is {sizes[1]}")
            if len(function.outputs) != 1 or (role != "observation" and function.outputs[0].shape):
                kind = "one array" if role == "observation" else "one number"
                raise ArgumentError(f"{said}, which must give {kind}")
            if role == "observation" and not function.outputs[0].length(self.model):
                raise ArgumentError(f"{said}, which gives no numbers")

    @property
    def observed(self) -> tuple[int, ...]:
        """The shape of an observation."""
        return self.functions["observation"].outputs[0].sizes(self.model)

    # -- the two functions of a model

    @property
    def kept(self) -> dict[str, Argument]:
        """What is kept for each robot from action to action, besides the numbers drawn."""
        numbers = arguments(f"q, v, count, over, last_action({self.drive.size})")
        return {a.name: a for a in (*numbers[:2], Argument("seen", self._seen), *numbers[2:])}

    def advance(self) -> OwnFunction:
        """`_advanced`; the same object for equal tasks, so that their kernels are reused."""
        facts = (
            self.drive, self.steps, self.dt, self.push, self.limit, self.waits, self.ground, self.drawn,
            self.newton_limit,
        )  # fmt: skip
        key = "advance", *self.functions.items(), _digest(facts)
        return self.model.memo(key, self._advanced)

    def begin(self) -> OwnFunction:
        """`_begun`, likewise."""
        draws = self.draws
        facts = self.drive.size, draws.start, draws.sources, self.ground, self.drawn
        return self.model.memo(("begin", self.functions["observation"], _digest(facts)), self._begun)

    def _advanced(self) -> OwnFunction:
        """An action of one robot: its state and observation afterwards, and the outcome of the episode.

        Inputs: what is kept and drawn, the action (between -1 and 1), `bad` (above 0 if the action is
        invalid), dt, and `push` (3 uniform numbers) if robots are pushed. Outputs: q, v, seen, count, over,
        and reward, terminated, truncated, failed.
        """

        def advanced_by_action(model: Model, **given: Any) -> tuple:
            waiting = ops.less(0.5, given["over"]) if self.waits else False
            count = given["count"] + 1.0
            given["t"] = count * (self.steps * given["dt"])
            v = given["v"]
            if self.push is not None:
                v = self.push.pushed(model, given["q"], v, given["push"], self.steps * self.dt)
            after = self._moved(model, given, v)
            sure = trust(given["q"])
            seen, reward = (self._call(role, model, after) for role in ("observation", "reward"))
            over = self._call("terminated", model, after) if "terminated" in self.functions else 0.0
            sure = ops.min(sure, trust(given["q"]))
            found = {"q": after["q"], "v": after["v"], "seen": seen}
            fine = _both(_finite(*found.values(), reward, over), ops.less_equal(1.0, sure))
            fine = _both(fine, _both(ops.less(given["bad"], 0.5), ops.less(UNSEEN / 2, given["over"])))
            failed = _both(_not(fine), _not(waiting))
            ended = _both(_not(_both(_not(failed), ops.less_equal(over, 0.0))), _not(waiting))
            late = ops.less_equal(self.limit, count) if self.limit < math.inf else False
            late = _both(_both(late, _not(ended)), _not(waiting))
            moves = _both(fine, _not(waiting))
            kept = [_chosen(moves, x, given[name]) for name, x in found.items()]
            reward = ops.where(failed, 0.0, ops.where(waiting, 0.0, reward))
            flags = [ops.where(x, 1.0, 0.0) for x in (ended, late, failed)]
            return *kept, count, ops.max(flags[0], flags[1]), reward, *flags

        names = ("q", "v", "seen", "count", "over", "last_action")
        extra = arguments(f"action({self.drive.size}), bad, dt")
        extra += arguments(f"push({NEEDED})") if self.push is not None else ()
        inputs = [*(self.kept[name] for name in names), *extra, *self.drawn.values()]
        outputs = [self.kept[name] for name in names[:5]]
        return self._function(
            advanced_by_action, inputs, [*outputs, *arguments("reward, terminated, truncated, failed")]
        )

    def _begun(self) -> OwnFunction:
        """A new episode, if `again` is above 0.5: what is then kept and drawn.

        Inputs: again, what was kept and drawn (`old_...`), the uniform numbers of the episode, and `given_q`,
        `given_v` if it shall start there. Outputs: what is kept and drawn.
        """
        shapes = self.kept | self.drawn

        def episode_begun(model: Model, **given: Any) -> tuple:
            again = ops.less(0.5, given["again"])
            found = self.draws.begun(model, given.get("u", np.zeros(0)))
            for name in STARTS:
                found[name] = found[name] if given[f"given_{name}"] is None else given[f"given_{name}"]
            changed = with_numbers(model, found.get("parameters"), found.get("gravity"))
            seen = self._first(changed, found)
            fine = _both(_finite(seen), ops.less_equal(1.0, trust(given["again"])))
            found["seen"] = _chosen(fine, seen, np.zeros(np.shape(seen)))
            found |= {"count": 0.0, "over": ops.where(fine, 0.0, UNSEEN)}
            found["last_action"] = np.zeros(self.drive.size)
            return tuple(_chosen(again, found[name], given[f"old_{name}"]) for name in shapes)

        inputs = [Argument("again", ()), *(Argument(f"old_{a.name}", a.shape) for a in shapes.values())]
        inputs += [Argument("u", (self.draws.width,))] if self.draws.width else []
        inputs += [Argument(f"given_{name}", shapes[name].shape) for name in STARTS]
        return self._function(episode_begun, inputs, [Argument(a.name, a.shape) for a in shapes.values()])

    def _first(self, model: Model, given: dict[str, Any]) -> Any:
        """The observation of a robot at the start of an episode."""
        points, none = np.zeros((SIZES["points"](self.model), 3)), np.zeros(self.drive.size)
        still = {"t": 0.0, "action": none, "last_action": none, "tau": np.zeros(model.nv)}
        still |= {"force": points, "velocity": points, "last_q": given["q"], "last_v": given["v"]}
        return self._call("observation", model, given | still)

    @property
    def _seen(self) -> tuple:
        return self.functions["observation"].outputs[0].shape

    def _function(self, body: Any, inputs: list[Argument], outputs: list[Argument]) -> OwnFunction:
        body.__module__ = ""  # it depends on more than the package's own source
        own = [Argument(a.name, a.shape, a.name.startswith("given_")) for a in inputs]
        common = {a.name for a in MODEL_INPUTS}  # taken by every function
        return OwnFunction(body, [a for a in own if a.name not in common], outputs, {})

    # -- their parts

    def _moved(self, model: Model, given: dict[str, Any], start: Any) -> dict[str, Any]:
        """Everything that is known after the steps of an action, which begin with the velocities `start`."""
        action = given["action"]
        gains = [given[name] if name in given else getattr(self.drive, name) for name in GAINS]
        acting = self.drive.acting(model, action, *gains)
        felt = {name: given[name] for name in CONTACT if name in given}
        points, dt = np.zeros((SIZES["points"](self.model), 3)), given["dt"]

        def one(q: Any, v: Any, force: Any, velocity: Any) -> tuple:
            if self.ground is None:
                return *step(model, q, v, dt=dt, ground=False, **acting), points, points
            most = {"ground": self.ground, "newton_limit": self.newton_limit}
            return contact_step(model, q, v, dt=dt, **most, **acting, **felt)[:4]

        q, v, force, velocity = repeat(self.steps, one, given["q"], start, points, points)
        after = {"q": q, "v": v, "force": force, "velocity": velocity, "action": action}
        after |= {"last_q": given["q"], "last_v": given["v"], "tau": self.drive.effort(model, q, v, acting)}
        return given | after

    def _call(self, role: str, model: Model, known: dict[str, Any]) -> Any:
        function = self.functions[role]
        return function(model, **{a.name: known[a.name] for a in function.own_inputs if a.name in known})


def _digest(facts: Any) -> bytes:
    """A short hash that distinguishes settings."""
    return hashlib.sha256(pickle.dumps(facts)).digest()


def _finite(*parts: Any) -> Any:
    """Whether all numbers are finite."""
    return ops.less(sum(ops.abs(x) for part in parts for x in np.ravel(part)), math.inf)


def _both(a: Any, b: Any) -> Any:
    return ex.logic("and", *(x if isinstance(x, ops.Expr) else bool(x) for x in (a, b)))


def _not(a: Any) -> Any:
    return ex.logic("not", a if isinstance(a, ops.Expr) else bool(a))


def _chosen(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`, element by element."""
    if np.ndim(b) == 0:
        return ops.where(condition, a, b)
    pairs = zip(np.ravel(np.asarray(a, object)), np.ravel(np.asarray(b, object)), strict=True)
    return np.array([ops.where(condition, x, y) for x, y in pairs]).reshape(np.shape(b))
