"""What an action does to one robot, and what is seen of it then: one function of a model, one kernel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.compiler.ir.check import kind_of
from kinetree.errors import ArgumentError
from kinetree.gym.drive import Drive
from kinetree.model import Model
from kinetree.motion.contact import INPUTS as CONTACT
from kinetree.motion.contact import contact_step, resolved
from kinetree.motion.steps import step
from kinetree.ops.control import repeat, trust
from kinetree.stages.function import Function
from kinetree.stages.own import OwnFunction
from kinetree.sweep.signature import MODEL_INPUTS, SIZES, Argument, arguments

Array = np.ndarray

GAINS = ("kp", "kd")
PHYSICAL = (*CONTACT, *(a.name for a in MODEL_INPUTS))  # numbers of the simulation that may be drawn


class Task:
    """An action, the steps that it lasts, and what comes of them.

    Args:
        model, drive: the robot, and how actions act on it.
        functions: of a model, by what they give: "observation", "reward", "terminated" (may be absent).
        steps: of the simulation, that an action lasts.
        ground: as for `kt.simulate`.
        drawn: names of numbers that differ between robots.
    """

    def __init__(
        self, model: Model, drive: Drive, functions: dict[str, Function], steps: int, ground: Any,
        drawn: Iterable[str],
    ):  # fmt: skip
        self.model, self.drive, self.functions, self.steps = model, drive, functions, steps
        self.ground = resolved(model, ground, "discrete", "VectorEnv")
        n = drive.size
        self.offered = {a.name: a for a in arguments(
            f"q, v, t, action({n}), last_action({n}), last_q(nq), last_v(nv), force(points, 3), "
            "velocity(points, 3), tau"
        )}  # fmt: skip
        own = {a.name: a for a in (*contact_step.inputs, *MODEL_INPUTS)}
        own |= {name: Argument(name, (n,)) for name in GAINS}
        self.drawn = {name: own[name] for name in drawn if name in (*PHYSICAL, *GAINS)}
        felt = [name for name in self.drawn if name in CONTACT]
        if self.ground is None and felt:
            raise ArgumentError(f"VectorEnv: {felt[0]} is drawn at random, but nothing touches: no ground")
        wanted = [name for name in drawn if name not in self.drawn]
        self.drawn |= {name: self._asked(name) for name in wanted}
        self._check()

    def _asked(self, name: str) -> Argument:
        """What the functions of the task take under a name that only they know."""
        found = {a for f in self.functions.values() for a in f.own_inputs if a.name == name}
        if not found or name in self.offered:
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

    def advance(self) -> OwnFunction:
        """(q, v) after an action, what the functions say of it, and `trust`: at least 1 if all is well."""

        def advanced_by_action(model: Model, **given: Any) -> tuple:
            after = self._moved(model, given)
            sure = trust(given["q"])
            numbers = [self._call(role, model, after) for role in ("observation", "reward")]
            over = self._call("terminated", model, after) if "terminated" in self.functions else 0.0
            over = ops.where(over, 1.0, 0.0) if kind_of(over) == "truth" else over
            return after["q"], after["v"], *numbers, over, ops.min(sure, trust(given["q"]))

        outputs = (*arguments("q, v"), self._observation, *arguments("reward, terminated, trust"))
        return self._function(advanced_by_action, ("q", "v", "t", "action", "last_action", "dt"), outputs)

    def look(self) -> OwnFunction:
        """The observation of a robot that nothing has happened to."""

        def observation_at_start(model: Model, **given: Any) -> Any:
            points = np.zeros((SIZES["points"](self.model), 3))
            none = np.zeros(self.drive.size)
            still = {"t": 0.0, "action": none, "last_action": none, "tau": np.zeros(model.nv)}
            still |= {"force": points, "velocity": points, "last_q": given["q"], "last_v": given["v"]}
            return self._call("observation", model, given | still)

        return self._function(observation_at_start, ("q", "v"), (self._observation,))

    @property
    def _observation(self) -> Argument:
        return Argument("observation", self.functions["observation"].outputs[0].shape)

    def _function(self, body: Any, names: tuple[str, ...], outputs: tuple[Argument, ...]) -> OwnFunction:
        body.__module__ = ""  # what it computes does not follow from the package's own source
        own = [a for name, a in self.drawn.items() if name not in ("parameters", "gravity")]
        known = self.offered | {"dt": Argument("dt", ())}
        inputs = [*(known[name] for name in names), *(Argument(a.name, a.shape) for a in own)]
        return OwnFunction(body, inputs, outputs, {})

    # -- their parts

    def _moved(self, model: Model, given: dict[str, Any]) -> dict[str, Any]:
        """Everything that is known after the steps of an action."""
        action = np.array([ops.max(-1.0, ops.min(1.0, a)) for a in given["action"]])
        gains = [given[name] if name in given else getattr(self.drive, name) for name in GAINS]
        acting = self.drive.acting(model, action, *gains)
        felt = {name: given[name] for name in CONTACT if name in given}
        points, dt = np.zeros((SIZES["points"](self.model), 3)), given["dt"]

        def one(q: Any, v: Any, force: Any, velocity: Any) -> tuple:
            if self.ground is None:
                return *step(model, q, v, dt=dt, ground=False, **acting), points, points
            return contact_step(model, q, v, dt=dt, ground=self.ground, **acting, **felt)

        q, v, force, velocity = repeat(self.steps, one, given["q"], given["v"], points, points)
        after = {"q": q, "v": v, "force": force, "velocity": velocity, "action": action}
        after |= {"last_q": given["q"], "last_v": given["v"], "tau": self.drive.effort(q, v, acting)}
        return given | after

    def _call(self, role: str, model: Model, known: dict[str, Any]) -> Any:
        function = self.functions[role]
        return function(model, **{a.name: known[a.name] for a in function.own_inputs if a.name in known})
