"""The algorithms, each once, in its own file."""

from kinetree.algorithms.aba import forward_dynamics
from kinetree.algorithms.articulated_wrenches import articulated_wrenches
from kinetree.algorithms.articulation import articulated_inertias
from kinetree.algorithms.bias import bias_force, gravity_force
from kinetree.algorithms.center_of_mass import (
    center_of_mass,
    center_of_mass_jacobian,
    center_of_mass_velocity,
)
from kinetree.algorithms.centroidal import (
    centroidal_momentum_matrix,
    centroidal_momentum_matrix_rate,
    system_inertia,
)
from kinetree.algorithms.christoffel import christoffel_symbols
from kinetree.algorithms.composite import (
    composite_inertias,
    composite_moments,
    composite_moments_walker_orin,
)
from kinetree.algorithms.composite_dynamics import composite_wrenches, inverse_dynamics_composite
from kinetree.algorithms.concurrent import forward_dynamics_concurrent
from kinetree.algorithms.coriolis import coriolis_matrices, coriolis_matrix, mass_matrix_rate
from kinetree.algorithms.coriolis_products import coriolis_product, coriolis_transpose_product
from kinetree.algorithms.crba import mass_matrix
from kinetree.algorithms.energy import kinetic_energy, potential_energy
from kinetree.algorithms.forces import base_reaction, constraint_forces, joint_wrenches
from kinetree.algorithms.frames import frame_acceleration, frame_placement, frame_velocity
from kinetree.algorithms.hybrid import hybrid_dynamics
from kinetree.algorithms.inertial import (
    gravity_force_composite,
    inverse_dynamics_inertial,
    mass_matrix_inertial,
)
from kinetree.algorithms.inverse_mass_matrix import inverse_mass_matrix
from kinetree.algorithms.jacobian import jacobian, jacobian_rate
from kinetree.algorithms.kinematics import body_accelerations, body_velocities, placements
from kinetree.algorithms.mass_matrix_products import (
    mass_matrix_logdet,
    mass_matrix_product,
    mass_matrix_solve,
    mass_matrix_trace,
)
from kinetree.algorithms.momentum import centroidal_momentum, momentum
from kinetree.algorithms.partial_velocities import partial_velocities
from kinetree.algorithms.rnea import inverse_dynamics

__all__ = [
    "articulated_inertias", "articulated_wrenches", "base_reaction", "bias_force", "body_accelerations",
    "body_velocities", "center_of_mass", "center_of_mass_jacobian", "center_of_mass_velocity",
    "centroidal_momentum", "centroidal_momentum_matrix", "centroidal_momentum_matrix_rate",
    "christoffel_symbols", "composite_inertias", "composite_moments", "composite_moments_walker_orin",
    "composite_wrenches", "constraint_forces", "coriolis_matrices", "coriolis_matrix", "coriolis_product",
    "coriolis_transpose_product", "forward_dynamics", "forward_dynamics_concurrent", "frame_acceleration",
    "frame_placement", "frame_velocity", "gravity_force", "gravity_force_composite", "hybrid_dynamics",
    "inverse_dynamics", "inverse_dynamics_composite", "inverse_dynamics_inertial", "inverse_mass_matrix",
    "jacobian", "jacobian_rate", "joint_wrenches", "kinetic_energy", "mass_matrix", "mass_matrix_inertial",
    "mass_matrix_logdet", "mass_matrix_product", "mass_matrix_rate", "mass_matrix_solve",
    "mass_matrix_trace", "momentum", "partial_velocities", "placements", "potential_energy", "system_inertia",
]  # fmt: skip
