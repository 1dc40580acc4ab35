"""kinetree: the dynamics of articulated rigid bodies, written once and compiled for the robot at hand.

    import kinetree as kt
    robot = kt.zoo.arm7()
    q, v = robot.random_state(rng)
    tau = kt.inverse_dynamics(robot, q, v, a)

Names are imported when they are first used, so that `import kinetree` stays light.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# public name -> the module that defines it
_HOME = {
    "kinetree.functions": (
        "placements body_velocities body_accelerations partial_velocities frame_placement frame_velocity "
        "frame_acceleration jacobian jacobian_rate center_of_mass center_of_mass_velocity "
        "center_of_mass_jacobian inverse_dynamics bias_force gravity_force forward_dynamics "
        "hybrid_dynamics mass_matrix inverse_mass_matrix mass_matrix_rate mass_matrix_product "
        "mass_matrix_solve mass_matrix_logdet mass_matrix_trace composite_inertias composite_moments "
        "articulated_inertias coriolis_matrix coriolis_matrices coriolis_product "
        "coriolis_transpose_product christoffel_symbols kinetic_energy potential_energy momentum "
        "centroidal_momentum centroidal_momentum_matrix centroidal_momentum_matrix_rate system_inertia "
        "joint_wrenches constraint_forces base_reaction composite_wrenches articulated_wrenches "
        "inverse_dynamics_composite inverse_dynamics_inertial forward_dynamics_concurrent "
        "gravity_force_composite mass_matrix_inertial composite_moments_walker_orin"
    ),
    "kinetree.derived": (
        "christoffel_symbols_second_kind mass_matrix_partials bias_force_hessian admissibility "
        "nullify_momentum operational_space_inertia impulse_response passive_force spring_energy "
        "rotor_error system_velocity external_wrenches"
    ),
    "kinetree.drives": "rotor_wrenches motor_torques rotor_ratios",
    "kinetree.stages.targets.c": "export_c",
    "kinetree.stages": "compile function Function",
    "kinetree.io.load": "load",
    "kinetree.io.save": "save",
    "kinetree.joints": "Fixed Revolute Prismatic Helical Cylindrical Universal Planar Spherical Free",
    "kinetree.model": "Model ModelBuilder",
    "kinetree.soa": "operators",
    "kinetree.spatial.inertia": "Inertia",
    "kinetree.spatial.pose": "Pose",
    "kinetree.spatial.rotation": "Rotation",
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}
_NAMESPACES = "alternatives errors interop ops spatial textbook zoo"
_MODULES = {name: f"kinetree.{name}" for name in _NAMESPACES.split()}
_MODULES |= {"cache": "kinetree.compiler.runtime.cache", "threads": "kinetree.compiler.runtime.threads"}

__all__ = [*_MODULE_OF, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(_MODULES[name])
    else:
        raise AttributeError(f"module 'kinetree' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
