"""How actions drive the joints: as servo targets or as efforts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import ArgumentError
from kinetree.model import Model
from kinetree.motion.joint_forces import within_efforts

Array = np.ndarray
CONTROLS = ("position", "effort")


class Drive(NamedTuple):
    """How the numbers of an action act on the driven joints."""

    kind: str
    places: tuple[tuple[int, int], ...]  # indices in q and v, one pair for each number of an action
    pose: Array  # (nq,): the target of a zero action
    scale: Array
    kp: Array | None
    kd: Array | None

    @property
    def size(self) -> int:
        return len(self.places)

    def acting(self, model: Model, action: Any, kp: Any, kd: Any) -> dict[str, Any]:
        """tau or a servo, as a simulation step takes it; the gains are those of the driven joints."""
        kind = np.result_type(action, float)
        pull = np.zeros(model.nv, kind)
        if self.kind == "effort":
            for (_, k), a, scale in zip(self.places, action, self.scale, strict=True):
                pull[k] = scale * a
            return {"tau": pull}
        setpoint = self.pose.astype(kind)
        for (i, _), a, scale in zip(self.places, action, self.scale, strict=True):
            setpoint[i] = setpoint[i] + scale * a
        return {"tau": pull, "setpoint": setpoint, "kp": self._all(model, kp), "kd": self._all(model, kd)}

    def effort(self, model: Model, q: Any, v: Any, acting: dict[str, Any]) -> Any:
        """The effort of the drives at the end of a step, where a servo acts, within their limits."""
        tau = np.array(acting["tau"], np.result_type(q, v))
        if self.kind == "position":
            for i, k in self.places:
                tau[k] = acting["kp"][k] * (acting["setpoint"][i] - q[i]) - acting["kd"][k] * v[k]
        return within_efforts(model, tau)[0]

    def _all(self, model: Model, gains: Any) -> Array:
        found = np.zeros(model.nv, np.asarray(gains).dtype)
        for (_, k), gain in zip(self.places, gains, strict=True):
            found[k] = gain
        return found


def read(
    model: Model, control: str, joints: Sequence[str] | None, pose: Array, scale: Any, kp: Any, kd: Any
) -> Drive:
    """The drive that a caller describes."""
    if control not in CONTROLS:
        raise ArgumentError(f"VectorEnv: control is {control!r}: choose 'position' or 'effort'")
    places = _places(model, joints)
    if control == "effort" and (kp is not None or kd is not None):
        raise ArgumentError("VectorEnv: kp and kd belong to control='position': an effort has no gains")
    servo = control == "position"
    if servo and (kp is None or kd is None):
        raise ArgumentError("VectorEnv: control='position' needs the gains of the servos, kp= and kd=")
    n = len(places)
    gains = [_each("kp", kp, n), _each("kd", kd, n)] if servo else [None, None]
    return Drive(control, places, pose, _each("action_scale", scale, n), *gains)


def _places(model: Model, joints: Sequence[str] | None) -> tuple[tuple[int, int], ...]:
    at, _ = model.coordinate_places
    single = {int(k): int(i) for i, k in zip(at["q"], at["v"], strict=True)}
    names = model.joint_names if joints is None else tuple(joints)
    found = []
    for name in names:
        where = model.coordinate_index(name)
        if where.stop - where.start == 1 and where.start in single:
            place = single.pop(where.start)  # a joint that follows another is not driven itself
            found.append((place, where.start))
        elif joints is not None:
            raise ArgumentError(
                f"VectorEnv: joint {name!r} cannot be driven by a number: only joints with one coordinate of "
                "their own can, each once"
            )
    if not found:
        raise ArgumentError(f"VectorEnv: model {model.name!r} has no joint that an action could drive")
    return tuple(found)


def _each(name: str, value: Any, count: int) -> Array:
    """One number for each driven joint."""
    try:
        array = np.broadcast_to(np.asarray(value, float), (count,))
    except (TypeError, ValueError):
        raise ArgumentError(
            f"VectorEnv: {name} must be a number or {count} numbers, one for each driven joint, got {value!r}"
        ) from None
    if not np.isfinite(array).all():
        raise ArgumentError(f"VectorEnv: {name} must be finite, got {value!r}")
    return array
