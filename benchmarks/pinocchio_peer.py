"""What Pinocchio computes for the same robot, per call and per batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.interop import to_pinocchio
from kinetree.model import Model


class Pinocchio:
    """A robot in Pinocchio, by the names of our functions."""

    def __init__(self, model: Model):
        import pinocchio

        self.pin = pinocchio
        self.model, self.maps = to_pinocchio(model)
        self.data = self.model.createData()

    def arguments(self, name: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Our inputs in Pinocchio's coordinates."""
        q, rest = inputs[0], inputs[1:]
        result = [self.maps.q(q)]
        if rest:
            result.append(self.maps.v(q, rest[0]))
        if len(rest) > 1:
            forces = name == "forward_dynamics"
            result.append(self.maps.tau(q, rest[1]) if forces else self.maps.a(q, rest[0], rest[1]))
        return [np.ascontiguousarray(x) for x in result]

    def ours(self, name: str, inputs: list[np.ndarray], result: np.ndarray) -> np.ndarray:
        """A result for one state in our coordinates."""
        arguments = self.arguments(name, inputs)
        if name == "inverse_dynamics":
            return self.maps.tau_back(arguments[0], result)
        if name == "forward_dynamics":
            return self.maps.a_back(*arguments[:2], result)
        if name != "coriolis_matrix":  # Pinocchio fills the upper triangle
            result = np.triu(result) + np.triu(result, 1).T
        return self.maps.mass_matrix(inputs[0], result)  # these robots' coordinates are only in another order

    def calls(self) -> dict[str, tuple[Callable, list]]:
        """Pinocchio's function for one state, and its first arguments."""
        pin, first = self.pin, [self.model, self.data]
        last = self.model.njoints - 1

        def jacobian(model: Any, data: Any, q: np.ndarray) -> np.ndarray:
            return pin.computeJointJacobian(model, data, q, last)

        return {
            "inverse_dynamics": (pin.rnea, first),
            "forward_dynamics": (pin.aba, first),
            "mass_matrix": (pin.crba, first),
            "inverse_mass_matrix": (pin.computeMinverse, first),
            "coriolis_matrix": (pin.computeCoriolisMatrix, first),
            "jacobian": (jacobian, first),
        }

    def batches(self) -> dict[str, Callable]:
        """One call per batch on one thread, in C++; columns are states."""
        pool = self.pin.ModelPool(self.model, 1)
        nv = self.model.nv

        def run(function: Callable) -> Callable:
            def call(*columns: np.ndarray) -> np.ndarray:
                result = np.zeros((nv, columns[0].shape[1]), order="F")
                function(1, pool, *columns, result)
                return result

            return call

        return {
            "inverse_dynamics": run(self.pin.rneaInParallel),
            "forward_dynamics": run(self.pin.abaInParallel),
        }
