"""Names used in other libraries and in the literature, and their kinetree equivalents."""

from __future__ import annotations

from collections.abc import Iterable

# name here: names elsewhere
_CALLED = {
    "kt.load": """
        load_urdf load_mjcf load_model load_robot from_urdf from_mjcf from_xml_path from_xml_string read_urdf
        parse_urdf urdf mjcf buildModelFromUrdf buildModelFromURDF buildModelFromMJCF buildModelFromXML
        loadURDF mj_loadXML Parser AddModels URDFReader
    """,
    "kt.save": "save_urdf to_urdf write_urdf mj_saveLastXML",
    "kt.Model": "MjModel MultibodyPlant RigidBodyTree Mechanism Robot RobotModel RigidBodySystem",
    "kt.ModelBuilder": "Builder MjSpec",
    "kt.Pose": "SE3 RigidTransform Isometry3 Transform3D",
    "kt.Rotation": "SO3 RotationMatrix",
    "kt.Inertia": "SpatialInertia RigidBodyInertia mcI",
    "kt.Revolute": "Hinge RevoluteJoint JointModelRX JointModelRY JointModelRZ",
    "kt.Prismatic": "Slide PrismaticJoint JointModelPX JointModelPY JointModelPZ",
    "kt.Spherical": "Ball BallJoint JointModelSpherical",
    "kt.Free": "Floating FreeFlyer FreeJoint JointModelFreeFlyer QuaternionFloating QuaternionFloatingJoint",
    "kt.inverse_dynamics": """
        rnea RNEA newton_euler recursive_newton_euler mj_inverse ID InverseDynamics CalcInverseDynamics
        inverse_dynamic computeRNEA
    """,
    "kt.forward_dynamics": """
        aba ABA articulated_body_algorithm mj_forward mj_fwdAcceleration FD FDab FDcrb ForwardDynamics
        CalcForwardDynamics dynamics forwardDynamics
    """,
    "kt.hybrid_dynamics": "hybridDynamics hybrid_aba",
    "kt.mass_matrix": """
        crba CRBA composite_rigid_body_algorithm inertia_matrix joint_space_inertia mj_fullM mj_crb mj_makeM
        CalcMassMatrix CalcMassMatrixViaInverseDynamics CompositeRigidBodyAlgorithm
    """,
    "kt.mass_matrix_product": "mj_mulM",
    "kt.mass_matrix_solve": "mj_solveM CalcMInvTimesTau",
    "kt.inverse_mass_matrix": "minverse Minv computeMinverse inverse_inertia_matrix mass_matrix_inverse",
    "kt.bias_force": """
        nonLinearEffects nle NonlinearEffects nonlinear_effects dynamics_bias bias mj_rne CalcBiasTerm
    """,
    "kt.gravity_force": "computeGeneralizedGravity gravity gravity_torque gravity_vector generalized_gravity",
    "kt.gravity_force, with the opposite sign": "CalcGravityGeneralizedForces",
    "kt.coriolis_matrix": "computeCoriolisMatrix coriolis",
    "kt.jacobian": """
        computeJointJacobian computeJointJacobians computeFrameJacobian getFrameJacobian getJointJacobian
        mj_jac mj_jacBody mj_jacBodyCom mj_jacSite mj_jacGeom CalcJacobianSpatialVelocity CalcPointJacobian
        CalcPointJacobian6D CalcBodySpatialJacobian geometric_jacobian frame_jacobian jac bodyJac
    """,
    "kt.jacobian_rate": """
        mj_jacDot computeJointJacobiansTimeVariation getFrameJacobianTimeVariation jacobian_dot
        jacobian_derivative
    """,
    "kt.placements": """
        forward_kinematics forwardKinematics fk mj_kinematics mj_fwdPosition body_poses transforms_to_root
        ForwardKinematics CalcAllBodyPosesInWorld EvalBodyPoseInWorld UpdateKinematics
    """,
    "kt.frame_placement": """
        framesForwardKinematics updateFramePlacement updateFramePlacements transform_to_root frame_pose
        CalcRelativeTransform
    """,
    "kt.frame_velocity": "getFrameVelocity mj_objectVelocity CalcSpatialVelocity CalcPointVelocity6D",
    "kt.frame_acceleration": """
        getFrameAcceleration getFrameClassicalAcceleration mj_objectAcceleration CalcPointAcceleration6D
    """,
    "kt.center_of_mass": """
        centerOfMass com center_of_gravity mj_comPos CalcCenterOfMassPosition CalcCenterOfMassPositionInWorld
        CalcCenterOfMass
    """,
    "kt.center_of_mass_jacobian": """
        jacobianCenterOfMass com_jacobian mj_jacSubtreeCom CalcJacobianCenterOfMassTranslationalVelocity
    """,
    "kt.center_of_mass_velocity": "com_velocity CalcCenterOfMassTranslationalVelocityInWorld",
    "kt.kinetic_energy": "computeKineticEnergy mj_energyVel CalcKineticEnergy EvalKineticEnergy",
    "kt.potential_energy": "computePotentialEnergy mj_energyPos CalcPotentialEnergy EvalPotentialEnergy",
    "kt.momentum": "CalcSpatialMomentumInWorldAboutPoint mj_subtreeVel spatial_momentum",
    "kt.centroidal_momentum": "computeCentroidalMomentum centroidalMomentum",
    "kt.centroidal_momentum_matrix": "ccrba computeCentroidalMap mj_angmomMat momentum_matrix cmm",
    "kt.centroidal_momentum_matrix_rate": "dccrba computeCentroidalMapTimeVariation",
    "kt.passive_force": "mj_passive damping_force friction_force",
    "kt.constrained_dynamics": "constraintDynamics forwardDynamics_constrained contact_dynamics",
    "kt.impact": "impulseDynamics",
    "kt.operational_space_inertia": "osim operational_space_inertia_matrix",
    "kt.export_c": "codegen generate_c CodeGenRNEA",
    "model.integrate(q, step)": "integrate mj_integratePos",
    "model.difference(start, end)": "difference mj_differentiatePos",
    "model.neutral()": "neutral qpos0",
    "model.random_state(rng)": "randomConfiguration random_configuration random_state",
    "plain functions over an immutable model, which keep no state": "Data MjData createData Context",
}
CALLED_HERE = {name: ours for ours, names in _CALLED.items() for name in names.split()}


def hint(name: str, known: Iterable[str]) -> str:
    """The end of an error message: our name for a name used elsewhere, or the nearest spelling."""
    if name.startswith("_"):
        return ""
    if name in CALLED_HERE:
        return f"; kinetree has {CALLED_HERE[name]}"
    from difflib import get_close_matches

    near = get_close_matches(name, [*known, *CALLED_HERE], n=1, cutoff=0.75)
    if not near:
        return "; dir(kinetree) lists what there is"
    return f"; did you mean {CALLED_HERE.get(near[0], f'kt.{near[0]}')}?"
