"""The base of all controllers: a control law, which is a function of a model, and the numbers it takes."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import ArgumentError, ShapeError
from kinetree.model import Model
from kinetree.stages.function import Function
from kinetree.stages.targets.c import export_c

Array = np.ndarray


class Controller:
    """A control law for one model, with its gains and goals.

    The controller uses the model as it is. To simulate a robot that differs from it, use
    `kt.simulate(model, ..., control=controller, parameters=...)`.

    Attributes:
        model: the robot that it is made for.
        law: the function of the model that it computes.
        numbers: inputs of the law besides time and state, by name; batch axes lead.
    """

    def __init__(
        self,
        model: Model,
        law: Function,
        numbers: Mapping[str, Any],
        options: Mapping[str, Any] | None = None,
    ):
        if not isinstance(model, Model):
            raise ArgumentError(
                f"{type(self).__name__}: the first argument must be a kinetree Model, got a "
                f"{type(model).__name__}"
            )
        self.model = model
        self.law = nominal(law, tuple((options or {}).items()))
        self.numbers = {name: value for name, value in numbers.items() if value is not None}
        for argument in self.law.own_inputs:
            if argument.name in self.numbers:
                core = argument.sizes(model)
                self.numbers[argument.name] = _filled(
                    type(self), argument.name, self.numbers[argument.name], core
                )

    def __call__(self, t: Any, q: Any, v: Any, **given: Any) -> Any:
        """The law at a time and state; `given` replaces gains and goals, and holds its memory."""
        known = {"q": q, "v": v} | self.numbers | given | ({"t": t} if self._is_timed else {})
        names = [a.name for a in self.law.own_inputs]
        unknown = set(given) - set(names)
        if unknown:
            raise ArgumentError(
                f"{type(self).__name__}: no input {', '.join(sorted(unknown))}; its law takes "
                f"{', '.join(names)}"
            )
        return self.law(self.model, **{name: known[name] for name in names if name in known})

    def start(self, q: Any, v: Any) -> dict[str, Any]:
        """The initial memory of the controller, by name; empty for most."""
        return {}

    def in_loop(self, model: Model, q: Any, v: Any, *, limits: bool = True) -> functools.partial:
        """The law with its numbers, as `kt.simulate` takes it, for a run that starts in the state (q, v);
        `limits` says whether effort limits act in this run.
        """
        if model != self.model:
            own = self.model.name
            who = f"for model {own!r}, not for {model.name!r}"
            if model.name == own:
                who = f"for another model than the simulated one, although both are named {own!r}"
            raise ArgumentError(
                f"simulate: the {type(self).__name__} controller is made {who}: make it for the simulated "
                "model; or simulate its own, and give parameters= and gravity= for how the robot differs"
            )
        return functools.partial(self.law, **self.numbers, **self.start(q, v))

    def export_c(self, directory: str | Path, *, optional: Sequence[str] = (), **options: Any) -> list[Path]:
        """Write the law as C99; gains, goals and memory are arguments.

        `optional`: further inputs of the law that the C function takes, such as "goal_v" and "goal_a".
        Other options are those of `kt.export_c`.
        """
        given = [*self.numbers, *optional, *(["t"] if self._is_timed else [])]
        return export_c([self.law], self.model, directory, optional=given, **options)

    @property
    def _is_timed(self) -> bool:
        """Whether the law needs the time: always, or because it follows a reference."""
        named = [a for a in self.law.own_inputs if a.name == "t"]
        return bool(named) and (not named[0].optional or self.law.options.get("reference") is not None)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} controller of {self.model.name!r}: {', '.join(self.numbers)}>"


@lru_cache(maxsize=1024)
def nominal(law: Function, options: tuple) -> Function:
    """The law with its options, for the model as it is; created once, so that it is compiled once."""
    chosen = law.with_options(**dict(options))
    chosen.sees_numbers = False
    return chosen


def _filled(kind: type, name: str, value: Any, core: tuple[int, ...]) -> Array:
    """Finite numbers of the shape that the law needs; a single number is broadcast."""
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{kind.__name__}: {name} holds non-numeric values: {value!r}") from None
    if array.ndim == 0 and core:
        array = np.full(core, array)
    if array.ndim < len(core) or array.shape[array.ndim - len(core) :] != core:
        sizes = ", ".join(["...", *map(str, core)])
        raise ShapeError(
            f"{kind.__name__}: {name} has shape {array.shape}, but ({sizes}) or a number is needed"
        )
    if not np.isfinite(array).all():
        raise ShapeError(f"{kind.__name__}: {name} holds NaN or infinity: all numbers must be finite")
    return array
