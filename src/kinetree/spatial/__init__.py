"""Spatial algebra: rotations, poses, motions, forces, transforms and inertias, for numbers of any kind."""

from kinetree.spatial.acceleration import (
    classical_acceleration,
    coriolis_term,
    point_acceleration,
    point_velocity,
    propagate_acceleration,
    spatial_acceleration,
)
from kinetree.spatial.attitude_rates import (
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
from kinetree.spatial.consistency import Dyad
from kinetree.spatial.core import (
    ArticulatedInertia,
    Block,
    Coordinates,
    CoriolisInertia,
    Detached,
    Factored,
    Force,
    ForceSet,
    Inertia,
    Jet,
    Lump,
    Motion,
    Partials,
    Stack,
    Subspace,
    Transform,
)
from kinetree.spatial.dense import crf, crm, fbar, unskew
from kinetree.spatial.euler import euler_omega, euler_rate, gimbal_lock_distance
from kinetree.spatial.lines import (
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
from kinetree.spatial.pose import Pose
from kinetree.spatial.rotation import Rotation
from kinetree.spatial.se3 import Ad, ad, se3_exp, se3_log
from kinetree.spatial.single_body import (
    bias_force,
    body_acceleration,
    body_force,
    classical_bias_force,
    classical_body_force,
    com_acceleration,
    com_force,
    com_velocity,
    inertia_solve,
)
from kinetree.spatial.transport import (
    accumulate_linear_velocity,
    accumulate_velocity,
    inertia_rate,
    relative_velocity,
    reverse_linear_velocity,
    reverse_velocity,
    sum_forces_at,
    sum_inertias_at,
    transform_rate,
)
from kinetree.spatial.vector import skew

__all__ = [
    "Ad", "ArticulatedInertia", "Block", "Coordinates", "CoriolisInertia", "Detached", "Dyad", "Factored",
    "Force", "ForceSet", "Inertia", "Jet", "Lump", "Motion", "Partials", "Pose", "Rotation", "Screw", "Stack",
    "Subspace", "Transform", "accumulate_linear_velocity", "accumulate_velocity", "ad", "angular_velocity",
    "bias_force", "body_acceleration", "body_force", "change_derivative_frame", "classical_acceleration",
    "classical_bias_force", "classical_body_force", "com_acceleration", "com_force", "com_velocity",
    "coriolis_term", "couple", "crf", "crm", "euler_omega", "euler_rate", "fbar", "free_vector",
    "gimbal_lock_distance", "inertia_rate", "inertia_solve", "is_free", "is_line", "line_force",
    "line_vector", "mrp_omega", "mrp_rate", "mrp_shadow", "point_acceleration", "point_velocity",
    "propagate_acceleration", "quaternion_omega", "quaternion_rate", "recentre", "relative_velocity",
    "reverse_linear_velocity", "reverse_velocity", "rodrigues_omega", "rodrigues_rate", "rotvec_omega",
    "rotvec_rate", "screw", "se3_exp", "se3_log", "shift_origin", "skew", "spatial_acceleration",
    "sum_forces_at", "sum_inertias_at", "transform_rate", "unskew",
]  # fmt: skip
