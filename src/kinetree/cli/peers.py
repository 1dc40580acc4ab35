"""The same robot in Pinocchio and MuJoCo: the time of a call, and the difference of the results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kinetree.cli.timing import best
from kinetree.errors import KinetreeError

if TYPE_CHECKING:
    from kinetree.model import Model

Array = np.ndarray

# States per batch: few enough for some repetition to run undisturbed by other load.
STATES = 256


class Peer(ABC):
    """Another library with a model of the same robot."""

    name: ClassVar[str]
    package: ClassVar[str]

    @property
    def version(self) -> str:
        return version(self.package)

    @abstractmethod
    def call(self, function: str, state: list[Array]) -> Callable[[], Any] | None:
        """A call from Python that computes the function in this state; None if the library has none."""

    @abstractmethod
    def result(self, function: str, state: list[Array], found: Any) -> Array:
        """The result of that call in kinetree's coordinates."""

    def batch(self, function: str, states: list[Array]) -> Callable[[], Any] | None:
        """A call that computes a batch on one thread; None if the library has none."""
        return None

    def figures(self, function: str, states: list[Array], expected: Array, seconds: float) -> dict | None:
        """Seconds per call and per state of a batch, and the difference in state 0; None if unsupported."""
        first = [x[0].astype(float) for x in states]
        call = self.call(function, first)
        if call is None:
            return None
        try:
            found = self.result(function, first, call())
        except (RuntimeError, ValueError):  # e.g. Pinocchio's aba with mimic joints
            return None
        several = [x[:STATES].astype(float) for x in states]
        batch = self.batch(function, several)
        apart = np.abs(found - expected).max() / max(np.abs(expected).max(), np.finfo(float).tiny)
        return {
            "call": best(call, seconds),
            "state_one_core": best(batch, seconds) / len(several[0]) if batch else None,
            "apart": float(apart),
        }


class Pinocchio(Peer):
    """Pinocchio's rnea, aba and crba; the first two also over a batch, in C++."""

    name = "Pinocchio"
    package = "pin"

    def __init__(self, model: Model):
        from kinetree.interop import to_pinocchio

        self.model, self.maps = to_pinocchio(model)
        import pinocchio

        self.pin, self.data = pinocchio, self.model.createData()
        self.pool = pinocchio.ModelPool(self.model, 1)

    def _there(self, function: str, state: list[Array]) -> list[Array]:
        q, rest = state[0], state[1:]
        there = [self.maps.q(q)]
        if rest:
            there.append(self.maps.v(q, rest[0]))
        if function == "inverse_dynamics":
            there.append(self.maps.a(q, *rest))
        elif function == "forward_dynamics":
            there.append(self.maps.tau(q, rest[1]))
        return there

    def call(self, function: str, state: list[Array]) -> Callable[[], Any] | None:
        pin = self.pin
        calls = {"inverse_dynamics": pin.rnea, "forward_dynamics": pin.aba, "mass_matrix": pin.crba}
        if function not in calls:
            return None
        return partial(calls[function], self.model, self.data, *self._there(function, state))

    def result(self, function: str, state: list[Array], found: Any) -> Array:
        q, v, *_ = self._there(function, state) + [None]
        if function == "inverse_dynamics":
            return self.maps.tau_back(q, found)
        if function == "forward_dynamics":
            return self.maps.a_back(q, v, found)
        whole = np.triu(found) + np.triu(found, 1).T  # crba fills the upper triangle only
        return self.maps.mass_matrix(state[0], whole)

    def batch(self, function: str, states: list[Array]) -> Callable[[], Any] | None:
        batches = {"inverse_dynamics": self.pin.rneaInParallel, "forward_dynamics": self.pin.abaInParallel}
        if function not in batches:
            return None
        columns = [np.asfortranarray(x.T) for x in self._there(function, states)]
        out = np.zeros((self.model.nv, columns[0].shape[1]), order="F")
        return partial(batches[function], 1, self.pool, *columns, out)


class Mujoco(Peer):
    """MuJoCo's mj_inverse and mj_forward without contacts, constraints and passive forces."""

    name = "MuJoCo"
    package = "mujoco"

    def __init__(self, model: Model):
        from kinetree.interop import to_mujoco

        self.model, self.maps = to_mujoco(model)
        if self.maps.nv_there != model.nv:
            raise KinetreeError("it treats mimic joints or screws as constraints: a different problem")
        import mujoco

        self.mujoco, self.data = mujoco, mujoco.MjData(self.model)
        flags = mujoco.mjtDisableBit
        self.model.opt.disableflags |= int(flags.mjDSBL_CONSTRAINT | flags.mjDSBL_CONTACT)
        for passive in (self.model.dof_damping, self.model.jnt_stiffness, self.model.dof_frictionloss):
            passive[:] = 0.0

    def call(self, function: str, state: list[Array]) -> Callable[[], Any] | None:
        calls = {"inverse_dynamics": self.mujoco.mj_inverse, "forward_dynamics": self.mujoco.mj_forward}
        if function not in calls:
            return None
        q, v, x = state
        self.data.qpos[:] = self.maps.q(q)
        self.data.qvel[:] = self.maps.v(q, v)
        if function == "inverse_dynamics":
            self.data.qacc[:] = self.maps.a(q, v, x)
        else:
            self.data.qfrc_applied[:] = self.maps.tau(q, x)
        return partial(calls[function], self.model, self.data)

    def result(self, function: str, state: list[Array], found: Any) -> Array:
        q, v = self.data.qpos.copy(), self.data.qvel.copy()
        if function == "inverse_dynamics":
            return self.maps.tau_back(q, self.data.qfrc_inverse.copy())
        return self.maps.a_back(q, v, self.data.qacc.copy())


def peers(model: Model) -> tuple[list[Peer], list[str]]:
    """The installed libraries that can represent this robot, and for each of the others the reason."""
    found: list[Peer] = []
    absent: list[str] = []
    for kind in (Pinocchio, Mujoco):
        try:
            version(kind.package)
            found.append(kind(model))
        except PackageNotFoundError:
            absent.append(f"{kind.name} is not installed: pip install {kind.package}")
        except (KinetreeError, ImportError, ValueError) as fault:
            absent.append(f"{kind.name} is left out: {fault}")
    return found, absent
