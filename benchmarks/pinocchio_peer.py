"""Pinocchio's computations for the same robot, per call and per batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.measure import Call
from kinetree.interop import to_pinocchio
from kinetree.model import Model

# our name: Pinocchio's, where one call gives the quantity (some leave it in `data`, some compute more)
FUNCTIONS = {
    "placements": "forwardKinematics",
    "body_velocities": "forwardKinematics",
    "body_accelerations": "forwardKinematics",
    "frame_placement": "framesForwardKinematics",
    "jacobian": "computeJointJacobian",
    "jacobian_rate": "computeJointJacobiansTimeVariation",
    "center_of_mass": "centerOfMass",
    "center_of_mass_velocity": "centerOfMass",
    "center_of_mass_jacobian": "jacobianCenterOfMass",
    "inverse_dynamics": "rnea",
    "forward_dynamics": "aba",
    "bias_force": "nonLinearEffects",
    "gravity_force": "computeGeneralizedGravity",
    "mass_matrix": "crba",
    "inverse_mass_matrix": "computeMinverse",
    "coriolis_matrix": "computeCoriolisMatrix",
    "inverse_dynamics_derivatives": "computeRNEADerivatives",
    "forward_dynamics_derivatives": "computeABADerivatives",
    "kinetic_energy": "computeKineticEnergy",
    "potential_energy": "computePotentialEnergy",
    "centroidal_momentum": "computeCentroidalMomentum",
    "centroidal_momentum_matrix": "computeCentroidalMap",
    "centroidal_momentum_matrix_rate": "dccrba",
}
BATCHES = {"inverse_dynamics": "rneaInParallel", "forward_dynamics": "abaInParallel"}


class Pinocchio:
    """A robot in Pinocchio, with calls named after our functions."""

    def __init__(self, model: Model):
        import pinocchio

        self.pin = pinocchio
        self.model, self.maps = to_pinocchio(model)
        self.data = self.model.createData()

    def call(self, name: str, state: Sequence[np.ndarray]) -> Call:
        """Pinocchio's call for one state in Pinocchio's coordinates: its own function with no wrapper."""
        last = [self.model.njoints - 1] if name == "jacobian" else []
        return Call(getattr(self.pin, FUNCTIONS[name]), [self.model, self.data, *state, *last])

    def batch(self, name: str, states: Sequence[np.ndarray]) -> Call:
        """One C++ call per batch on one thread; columns are states, and the result is preallocated."""
        columns = [np.asfortranarray(x.T) for x in states]
        result = np.zeros((self.model.nv, columns[0].shape[1]), order="F")
        pool = self.pin.ModelPool(self.model, 1)
        return Call(getattr(self.pin, BATCHES[name]), [1, pool, *columns, result])

    def arguments(self, name: str, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Our inputs in Pinocchio's coordinates."""
        q, rest = inputs[0], inputs[1:]
        result = [self.maps.q(q)]
        if rest:
            result.append(self.maps.v(q, rest[0]))
        if len(rest) > 1:
            forces = name.startswith("forward_dynamics")
            result.append(self.maps.tau(q, rest[1]) if forces else self.maps.a(q, rest[0], rest[1]))
        return [np.ascontiguousarray(x) for x in result]

    def ours(self, name: str, inputs: Sequence[np.ndarray], result: np.ndarray) -> np.ndarray:
        """A result for one state in our coordinates."""
        arguments = self.arguments(name, inputs)
        if name.endswith("_derivatives"):  # the first is in the data, along increments of q
            of_forces = name == "inverse_dynamics_derivatives"
            result = self.data.dtau_dq if of_forces else self.data.ddq_dq
            return self.maps.mass_matrix(inputs[0], result)
        if name == "inverse_dynamics":
            return self.maps.tau_back(arguments[0], result)
        if name == "forward_dynamics":
            return self.maps.a_back(*arguments[:2], result)
        if name != "coriolis_matrix":  # Pinocchio fills the upper triangle
            result = np.triu(result) + np.triu(result, 1).T
        return self.maps.mass_matrix(inputs[0], result)  # these robots' coordinates differ only in order
