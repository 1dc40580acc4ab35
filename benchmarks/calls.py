"""Calls as a user types them: every function of a model in every calling form, and Pinocchio's call."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.measure import Call, race
from benchmarks.peers import Peers
from kinetree.model import Model
from kinetree.names import MODULE_OF
from kinetree.stages.arguments import positional
from kinetree.sweep import REQUIRED

# robots for functions that have nothing to compute for an arm
OTHERS = {
    "nullify_momentum": "quadruped",
    "rotor_error": "puma560",
    "rotor_wrenches": "puma560",
    "motor_torques": "puma560",
    "contact_forces": "quadruped",
}


def functions() -> list[str]:
    """Every public function of a model."""
    return [name for name in MODULE_OF if isinstance(getattr(kt, name), kt.Function)]


@cache
def robot(name: str) -> tuple[Model, Peers]:
    """A robot of the zoo, and the same robot in the peers."""
    model = getattr(kt.zoo, name)()
    return model, Peers(model)


def row(name: str, seconds: float) -> dict[str, Any]:
    """The time of each way to call a function for one state, and Pinocchio's."""
    function = getattr(kt, name)
    model, peers = robot(OTHERS.get(name, "arm7"))
    arrays, options = state(function, model)
    result = function(model, **arrays, **options)
    outputs = result if isinstance(result, tuple) else (result,)
    place = tuple(np.empty(np.shape(x)) for x in outputs)
    lists = {k: x.tolist() for k, x in arrays.items()}
    single = {k: x[None] for k, x in arrays.items()}
    calls = {
        "by position": written(function, model, arrays, options),
        "by name": Call(function, [model], arrays | options),
        "out": written(function, model, arrays, options, out=place[0] if len(place) == 1 else place),
        "lists": written(function, model, lists, options),
        "batch of one": written(function, model, single, options),
    }
    theirs = peers.single(name, list(arrays.values()))
    timings = race(calls | {k: call for k, call in theirs.items() if k == "pinocchio"}, seconds)
    return {"function": name, "robot": model.name, "calls": {k: t._asdict() for k, t in timings.items()}}


def state(function: Any, model: Model) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Random inputs, and the required options."""
    rng = np.random.default_rng(0)
    last, first = model.body_names[-1], model.joint_names[0]
    known = {
        "frame": last, "base": model.body_names[0], "frames": (last,), "accelerate": (first,),
        "constraints": (kt.PointConstraint(last),),
    }  # fmt: skip
    needed = [name for name, value in function.options.items() if value is REQUIRED or name == "frames"]
    options = {name: known[name] for name in needed}
    arrays = {a.name: rng.normal(size=a.sizes(model, options)) for a in function.inputs if not a.optional}
    arrays |= {name: np.abs(x) for name, x in arrays.items() if name == "added"}  # an inertia
    if "dt" in arrays:
        arrays["dt"] = np.array(1e-3)
    if "q" in arrays:
        arrays["q"] = np.asarray(model.random_state(rng)[0])
    return arrays, options


def written(function: Any, model: Model, arrays: Any, options: dict[str, Any], **more: Any) -> Call:
    """A call with as many positional arguments as possible; None for those left out in between."""
    given = arrays | options
    order = function.order[: positional(function)]
    last = max((k for k, name in enumerate(order) if name in given), default=-1)
    first = [given.get(name, function.options.get(name)) for name in order[: last + 1]]
    return Call(function, [model, *first], {k: x for k, x in given.items() if k not in order} | more)
