"""The public names of kinetree, each listed once: where it is defined, and what it is for."""

from __future__ import annotations

# Functions of a model by topic, in this order; each is the algorithm of that name.
FUNCTIONS = {
    "Where things are and how they move": (
        "placements body_velocities body_accelerations frame_placement frame_velocity frame_acceleration "
        "jacobian jacobian_rate partial_velocities center_of_mass center_of_mass_velocity "
        "center_of_mass_jacobian"
    ),
    "Equations of motion": (
        "inverse_dynamics forward_dynamics hybrid_dynamics augmented_dynamics bias_force gravity_force"
    ),
    "The mass matrix": (
        "mass_matrix inverse_mass_matrix mass_matrix_rate mass_matrix_product mass_matrix_solve "
        "mass_matrix_logdet mass_matrix_trace innovations innovations_response augmented_innovations "
        "augmented_innovations_response composite_inertias composite_moments articulated_inertias"
    ),
    "Velocity-dependent terms": (
        "coriolis_matrix coriolis_matrices coriolis_product coriolis_transpose_product christoffel_symbols "
        "christoffel_values"
    ),
    "Derivatives": "inverse_dynamics_derivatives forward_dynamics_derivatives",
    "Energy and momentum": (
        "kinetic_energy potential_energy momentum centroidal_momentum centroidal_momentum_matrix "
        "centroidal_momentum_matrix_rate system_inertia"
    ),
    "Forces between bodies": (
        "joint_wrenches constraint_forces base_reaction composite_wrenches articulated_wrenches"
    ),
    "The same by other routes": (
        "inverse_dynamics_composite inverse_dynamics_inertial forward_dynamics_concurrent "
        "gravity_force_composite mass_matrix_inertial composite_moments_walker_orin"
    ),
}

# module -> the names that it defines
HOMES = {
    "kinetree.functions": " ".join(FUNCTIONS.values()),
    "kinetree.constraints": (
        "Constraint PointConstraint FrameConstraint DistanceConstraint JointConstraint LoopConstraint "
        "constrained_dynamics constrained_inverse_dynamics constraint_jacobian constraint_residual delassus "
        "impact project"
    ),
    "kinetree.derived": (
        "christoffel_symbols_second_kind mass_matrix_partials bias_force_hessian admissibility "
        "nullify_momentum operational_space_inertia impulse_response passive_force spring_energy "
        "rotor_error system_velocity external_wrenches"
    ),
    "kinetree.differential": "inverse_dynamics_second_derivatives inverse_dynamics_hessian linearize",
    "kinetree.drives": "rotor_wrenches motor_torques rotor_ratios",
    "kinetree.rotor_map": "rotor_error_map",
    "kinetree.spanning": "loop_matrix loop_wrenches",
    "kinetree.motion.joint_forces": "loop_force",
    "kinetree.kinematics": (
        "inverse_kinematics relative_placement relative_velocity relative_acceleration Frames"
    ),
    "kinetree.motion": "step simulate Trajectory contact_forces",
    "kinetree.stages": "compile function Function",
    "kinetree.stages.transforms": "jvp vjp jvp_of vjp_of jacobian_of",
    "kinetree.stages.targets.c": "export_c",
    "kinetree.identification": (
        "torque_regressor energy_regressor momentum_regressor regressor_columns base_parameters identify"
    ),
    "kinetree.io.load": "load",
    "kinetree.io.save": "save",
    "kinetree.joints": (
        "Fixed Revolute Prismatic Helical Cylindrical Universal Planar PlanarTwist Spherical Free"
    ),
    "kinetree.model": "Model ModelBuilder",
    "kinetree.model.ground": "Ground Heightfield",
    "kinetree.model.pairs": "Pair",
    "kinetree.model.shapes": "Point Sphere Capsule Box Cylinder Vertices",
    "kinetree.soa": "operators letters function_of identities",
    "kinetree.spatial.inertia": "Inertia",
    "kinetree.spatial.pose": "Pose",
    "kinetree.spatial.rotation": "Rotation",
}

# package -> its modules that are public under their own names
NAMESPACES = {
    "kinetree": (
        "alternatives control errors gym interop ops pictures robots scale spatial symbolic textbook zoo"
    ),
    "kinetree.bridges": "casadi jax scipy torch",
    "kinetree.compiler.runtime": "cache cuda threads",
}

MODULE_OF = {name: module for module, names in HOMES.items() for name in names.split()}
NAMESPACE_OF = {name: f"{package}.{name}" for package, names in NAMESPACES.items() for name in names.split()}
