"""Textbook formulas for numbers of any kind, which the algorithms themselves do not need.

Rates of attitude coordinates, accelerations of points, line vectors, a single rigid body, transport of
velocities and forces, the exponential of SE(3), 6x6 matrices, and notations of other authors
(`textbook.adapters`).
"""

from kinetree.textbook.attitude_rates import (
    angular_velocity,
    change_derivative_frame,
    mrp_omega,
    mrp_rate,
    mrp_shadow,
    quaternion_omega,
    quaternion_rate,
    recentre,
    rodrigues_omega,
    rodrigues_rate,
    rotvec_omega,
    rotvec_rate,
)
from kinetree.textbook.dense import crf, crm, fbar, unskew
from kinetree.textbook.lines import (
    Screw,
    couple,
    free_vector,
    is_free,
    is_line,
    line_force,
    line_vector,
    screw,
    shift_origin,
)
from kinetree.textbook.rigid_body import (
    accumulate_linear_velocity,
    accumulate_velocity,
    bias_force,
    body_acceleration,
    body_force,
    classical_acceleration,
    classical_bias_force,
    classical_body_force,
    com_acceleration,
    com_force,
    com_velocity,
    coriolis_term,
    inertia_rate,
    inertia_solve,
    momentum,
    point_acceleration,
    point_velocity,
    propagate_acceleration,
    relative_velocity,
    reverse_linear_velocity,
    reverse_velocity,
    shift_rotational_inertia,
    spatial_acceleration,
    sum_forces_at,
    sum_inertias_at,
    transform_rate,
)
from kinetree.textbook.se3 import Ad, ad, pose_acceleration, pose_rate, pose_velocity, se3_exp, se3_log

__all__ = [
    "Ad", "Screw", "accumulate_linear_velocity", "accumulate_velocity", "ad", "angular_velocity",
    "bias_force", "body_acceleration", "body_force", "change_derivative_frame", "classical_acceleration",
    "classical_bias_force", "classical_body_force", "com_acceleration", "com_force", "com_velocity",
    "coriolis_term", "couple", "crf", "crm", "fbar", "free_vector", "inertia_rate", "inertia_solve",
    "is_free", "is_line", "line_force", "line_vector", "momentum", "mrp_omega", "mrp_rate", "mrp_shadow",
    "point_acceleration", "point_velocity", "pose_acceleration", "pose_rate", "pose_velocity",
    "propagate_acceleration", "quaternion_omega",
    "quaternion_rate", "recentre", "relative_velocity", "reverse_linear_velocity", "reverse_velocity",
    "rodrigues_omega", "rodrigues_rate", "rotvec_omega", "rotvec_rate", "screw", "se3_exp", "se3_log",
    "shift_origin", "shift_rotational_inertia", "spatial_acceleration", "sum_forces_at",
    "sum_inertias_at", "transform_rate", "unskew",
]  # fmt: skip
