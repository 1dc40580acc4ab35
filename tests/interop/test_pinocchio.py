"""kinetree and Pinocchio, by the library's own converters, agree on every quantity that both have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.interop.robots import SEEDS, accelerated, eager, mechanism, models
from tests.reference.lagrangian import Lagrangian
from tests.reference.measure import assert_close, condition, error

import kinetree as kt
from kinetree.interop import (
    angular_first,
    from_pinocchio,
    pinocchio_maps,
    pinocchio_wrenches,
    to_pinocchio,
)

pin = pytest.importorskip("pinocchio")

REFERENCES = {"body": "LOCAL", "world": "WORLD", "aligned": "LOCAL_WORLD_ALIGNED"}
TOLERANCE = 1e-12


class Both:
    """A model in both libraries, in one state."""

    def __init__(self, model: kt.Model, **options: Any) -> None:
        rng = np.random.default_rng(len(model.name) + model.nv)
        self.model = model
        self.pin, self.maps = to_pinocchio(model, **options)
        self.data = self.pin.createData()
        self.q, self.v, self.a = accelerated(model, rng)
        self.f_ext = rng.normal(size=(model.nbodies, 6))
        self.Q, self.V = self.maps.q(self.q), self.maps.v(self.q, self.v)
        self.A = self.maps.a(self.q, self.v, self.a)
        self.last = model.body_names[-1]
        self.types = {body.joint.type_name for body in model.bodies}

    def run(self, name: str, *args: Any, **options: Any) -> Any:
        return eager(name, self.model, *args, **options)

    def peer(self, name: str, *args: Any) -> Any:
        return getattr(pin, name)(self.pin, self.data, *args)

    def skip_what_the_world_carries(self) -> None:
        bodies = self.model.bodies
        for i in range(1, self.model.nbodies + 1):
            if all(bodies[k - 1].joint.nv == 0 for k in self.model.path(i)):
                pytest.skip("Pinocchio does not count what is fixed to the world")

    def skip_universal_joints(self) -> None:
        if "universal" in self.types:
            pytest.skip("Pinocchio forgets that the axes of a universal joint move; first principles do not")

    @property
    def M(self) -> np.ndarray:
        M = np.triu(self.peer("crba", self.Q))
        return M + np.triu(M, 1).T

    def frame(self, body: str) -> int:
        return self.pin.getFrameId(body, pin.FrameType.BODY)

    @property
    def size(self) -> float:
        """The size of the forces."""
        return max(1.0, float(np.abs(self.run("inverse_dynamics", self.q, self.v, self.a)).max(initial=0)))


@pytest.fixture(scope="module", params=models())
def both(request) -> Both:
    return Both(request.param)


def test_inverse_dynamics(both):
    wrenches = pinocchio_wrenches(both.model, both.pin, both.f_ext)
    theirs = both.maps.tau_back(both.Q, both.peer("rnea", both.Q, both.V, both.A, wrenches))
    ours = both.run("inverse_dynamics", both.q, both.v, both.a, both.f_ext)
    assert_close(ours, theirs, TOLERANCE, both.size)


def test_forward_dynamics(both):
    tau = both.maps.tau(both.q, both.a)
    theirs = both.maps.a_back(both.Q, both.V, both.peer("aba", both.Q, both.V, tau))
    ours = both.run("forward_dynamics", both.q, both.v, both.a)
    assert_close(ours, theirs, 1e-14 * condition(both.M) + TOLERANCE)


def test_mass_matrix_and_its_inverse(both):
    M, T = both.M, both.maps.velocity_map(both.q)
    assert_close(both.run("mass_matrix", both.q), both.maps.mass_matrix(both.q, M), TOLERANCE)
    inverse = np.triu(both.peer("computeMinverse", both.Q))
    inverse = inverse + np.triu(inverse, 1).T
    tolerance = 1e-14 * condition(M) + TOLERANCE
    assert_close(both.run("inverse_mass_matrix", both.q), T.T @ inverse @ T, tolerance)


def test_bias_and_gravity_force(both):
    bias = both.peer("nonLinearEffects", both.Q, both.V)
    theirs = both.maps.bias_force(both.q, both.v, both.M, bias)
    assert_close(both.run("bias_force", both.q, both.v), theirs, TOLERANCE, both.size)
    gravity = both.maps.tau_back(both.Q, both.peer("computeGeneralizedGravity", both.Q))
    assert_close(both.run("gravity_force", both.q), gravity, TOLERANCE, both.size)


def test_coriolis_matrix(both):
    """C is not unique, but C v is."""
    both.skip_universal_joints()
    C = both.run("coriolis_matrix", both.q, both.v)
    theirs = both.peer("computeCoriolisMatrix", both.Q, both.V).reshape(both.pin.nv, both.pin.nv)
    product = both.maps.tau_back(
        both.Q, theirs @ both.V + both.M @ both.maps.velocity_map_rate(both.q, both.v)
    )
    assert_close(C @ both.v, product, TOLERANCE, both.size)


@pytest.mark.parametrize("reference", REFERENCES)
def test_jacobians(both, reference):
    kind, frame = getattr(pin.ReferenceFrame, REFERENCES[reference]), both.frame(both.last)
    J = angular_first(both.peer("computeFrameJacobian", both.Q, frame, kind).reshape(6, -1))
    ours = both.run("jacobian", both.q, both.last, reference=reference)
    assert_close(ours, both.maps.jacobian(both.q, J), TOLERANCE, 1.0)


@pytest.mark.parametrize("reference", REFERENCES)
def test_jacobian_rates(both, reference):
    """(dJ/dt) v on both sides, the part from the rate of the velocity map included."""
    both.skip_universal_joints()
    kind, frame = getattr(pin.ReferenceFrame, REFERENCES[reference]), both.frame(both.last)
    J = angular_first(both.peer("computeFrameJacobian", both.Q, frame, kind).reshape(6, -1))
    rate = angular_first(both.peer("frameJacobianTimeVariation", both.Q, both.V, frame, kind).reshape(6, -1))
    theirs = rate @ both.V + J @ both.maps.velocity_map_rate(both.q, both.v)
    ours = both.run("jacobian_rate", both.q, both.v, both.last, reference) @ both.v
    assert_close(ours, theirs, TOLERANCE, 1.0)


@pytest.mark.parametrize("seed", [1, 2, 10, 28])
def test_rates_with_universal_joints(seed):
    """Pinocchio's rates lack the motion of the axes inside the joint; ours are those of first principles."""
    m = mechanism(seed)
    both = Both(m.build())
    assert any("JointModelUniversal" in note for note in both.maps.notes)
    truth = Lagrangian(m, both.q)
    rates = truth.jacobian_rates(both.v)
    for k, body in enumerate(both.model.body_names):
        assert_close(both.run("jacobian_rate", both.q, both.v, body, "body"), rates[k].T, TOLERANCE, 1.0)
    C = both.run("coriolis_matrix", both.q, both.v)
    assert_close(C @ both.v, truth.coriolis(both.v) @ both.v, TOLERANCE, both.size)
    theirs = both.peer("computeCoriolisMatrix", both.Q, both.V).reshape(both.pin.nv, both.pin.nv) @ both.V
    moving = both.peer("rnea", both.Q, both.V, 0 * both.V).copy() - both.peer(
        "rnea", both.Q, 0 * both.V, 0 * both.V
    )
    assert error(theirs, moving) > 1e-4  # if this fails, Pinocchio was repaired: compare with it again


def test_kinematics(both):
    both.peer("forwardKinematics", both.Q, both.V, both.A)
    both.peer("updateFramePlacements")
    placements = both.run("placements", both.q)
    velocities = both.run("body_velocities", both.q, both.v)
    accelerations = both.run("body_accelerations", both.q, both.v, both.a)
    for k, body in enumerate(both.model.body_names):
        frame = both.frame(body)
        assert_close(placements[k], both.data.oMf[frame].homogeneous, TOLERANCE)
        velocity = both.peer("getFrameVelocity", frame, pin.ReferenceFrame.LOCAL)
        assert_close(velocities[k], angular_first(velocity.vector), TOLERANCE, 1.0)
        acceleration = both.peer("getFrameAcceleration", frame, pin.ReferenceFrame.LOCAL)
        assert_close(accelerations[k], angular_first(acceleration.vector), TOLERANCE, 10.0)


@pytest.mark.parametrize("reference", REFERENCES)
def test_frames_in_every_reference(both, reference):
    both.peer("forwardKinematics", both.Q, both.V, both.A)
    both.peer("updateFramePlacements")
    kind, frame = getattr(pin.ReferenceFrame, REFERENCES[reference]), both.frame(both.last)
    velocity = both.run("frame_velocity", both.q, both.v, both.last, reference=reference)
    assert_close(velocity, angular_first(both.peer("getFrameVelocity", frame, kind).vector), TOLERANCE, 1.0)
    state = both.q, both.v, both.a, both.last
    spatial = both.run("frame_acceleration", *state, reference=reference)
    theirs = both.peer("getFrameAcceleration", frame, kind)
    assert_close(spatial, angular_first(theirs.vector), TOLERANCE, 10.0)
    if reference != "world":  # there the two mean different points
        classical = both.run("frame_acceleration", *state, reference=reference, kind="classical")
        theirs = both.peer("getFrameClassicalAcceleration", frame, kind)
        assert_close(classical, angular_first(theirs.vector), TOLERANCE, 10.0)


def test_wrenches_through_joints(both):
    """Where Pinocchio has a joint for each body: no fixed bodies."""
    if "fixed" in both.types:
        pytest.skip("fixed bodies are parts of others in Pinocchio")
    wrenches = pinocchio_wrenches(both.model, both.pin, both.f_ext)
    both.peer("rnea", both.Q, both.V, both.A, wrenches)
    ours = both.run("joint_wrenches", both.q, both.v, both.a, both.f_ext)
    for k, body in enumerate(both.model.bodies):
        joint = both.pin.getJointId(both.maps.joints[body.joint_name][-1])
        assert_close(ours[k], angular_first(both.data.f[joint].vector), TOLERANCE, both.size)


def test_center_of_mass_and_momentum(both):
    both.skip_what_the_world_carries()
    scale = max(1.0, both.model.total_mass)
    assert_close(both.run("center_of_mass", both.q), both.peer("centerOfMass", both.Q), TOLERANCE, 1.0)
    both.peer("centerOfMass", both.Q, both.V)
    c, rate = both.data.com[0].copy(), both.data.vcom[0].copy()
    assert_close(both.run("center_of_mass_velocity", both.q, both.v), rate, TOLERANCE, 1.0)
    J = both.maps.jacobian(both.q, both.peer("jacobianCenterOfMass", both.Q).reshape(3, -1))
    assert_close(both.run("center_of_mass_jacobian", both.q), J, TOLERANCE, 1.0)
    h = angular_first(both.peer("computeCentroidalMomentum", both.Q, both.V).vector)
    assert_close(both.run("centroidal_momentum", both.q, both.v), h, TOLERANCE, scale)
    about_origin = np.concatenate([h[:3] + np.cross(c, h[3:]), h[3:]])
    assert_close(both.run("momentum", both.q, both.v), about_origin, TOLERANCE, scale)
    Ag = both.maps.jacobian(both.q, angular_first(both.peer("ccrba", both.Q, both.V).reshape(6, -1)))
    assert_close(both.run("centroidal_momentum_matrix", both.q), Ag, TOLERANCE, scale)


def test_rate_of_the_centroidal_momentum_matrix(both):
    both.skip_what_the_world_carries()
    both.skip_universal_joints()
    both.peer("dccrba", both.Q, both.V)
    Ag, rate = (angular_first(np.array(x).reshape(6, -1)) for x in (both.data.Ag, both.data.dAg))
    theirs = rate @ both.V + Ag @ both.maps.velocity_map_rate(both.q, both.v)
    ours = both.run("centroidal_momentum_matrix_rate", both.q, both.v) @ both.v
    assert_close(ours, theirs, TOLERANCE, max(1.0, both.model.total_mass))


def test_energies(both):
    if any(np.any(body.armature) for body in both.model.bodies):
        pytest.skip("Pinocchio counts the armature of some joints only")
    both.skip_what_the_world_carries()
    kinetic, potential = (
        both.peer("computeKineticEnergy", both.Q, both.V),
        both.peer("computePotentialEnergy", both.Q),
    )
    assert_close(both.run("kinetic_energy", both.q, both.v), kinetic, TOLERANCE, 1.0)
    assert_close(both.run("potential_energy", both.q), potential, TOLERANCE, 10.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_armature(seed):
    """On every joint on which it means the same in both: those whose velocities are rates of coordinates."""
    types = ("revolute", "prismatic", "helical", "cylindrical", "universal", "fixed")
    both = Both(mechanism(seed, armatures=0.8, types=types).build())
    theirs = both.maps.tau_back(both.Q, both.peer("rnea", both.Q, both.V, both.A))
    assert_close(both.run("inverse_dynamics", both.q, both.v, both.a), theirs, TOLERANCE, both.size)
    assert_close(both.run("mass_matrix", both.q), both.maps.mass_matrix(both.q, both.M), TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_mimic_joints_with_coordinates_of_their_own(seed):
    """Pinocchio's model is larger; seen through the map it is ours, and both are the first principles'."""
    m = mechanism(seed, mimics=0.7, types=("revolute", "prismatic", "helical", "free"))
    both = Both(m.build(), mimic="independent")
    M, truth = both.M, Lagrangian(m, both.q)
    bias = both.peer("nonLinearEffects", both.Q, both.V)
    assert_close(truth.mass_matrix, both.maps.mass_matrix(both.q, M), TOLERANCE)
    assert_close(
        truth.bias_force(both.v), both.maps.bias_force(both.q, both.v, M, bias), TOLERANCE, both.size
    )
    assert_close(both.run("mass_matrix", both.q), truth.mass_matrix, TOLERANCE)
    assert_close(both.run("bias_force", both.q, both.v), truth.bias_force(both.v), TOLERANCE, both.size)


@pytest.mark.parametrize("seed", SEEDS)
def test_mimic_joints_of_pinocchio(seed):
    """Its rnea and crba take them; its aba refuses, so accelerations are those of first principles."""
    m = mechanism(seed, mimics=0.7, armatures=0.4, types=("revolute", "prismatic", "helical"))
    model = m.build()
    try:
        both = Both(model)
    except kt.errors.ModelError as error:
        assert "mimics" in str(error)  # it follows a joint that it carries, or is a skew screw
        assert to_pinocchio(model, strict=False).maps.notes
        return
    assert both.pin.nv == model.nv
    theirs = both.maps.tau_back(both.Q, both.peer("rnea", both.Q, both.V, both.A))
    assert_close(both.run("inverse_dynamics", both.q, both.v, both.a), theirs, TOLERANCE, both.size)
    assert_close(both.run("mass_matrix", both.q), both.maps.mass_matrix(both.q, both.M), TOLERANCE)
    truth = Lagrangian(m, both.q).forward_dynamics(both.v, both.a)
    assert_close(
        both.run("forward_dynamics", both.q, both.v, both.a), truth, 1e-14 * condition(both.M) + TOLERANCE
    )
    if model.layout.follows:
        with pytest.raises(RuntimeError, match="does not support"):
            both.peer("aba", both.Q, both.V, both.A)


def test_a_finger_that_mimics_a_later_one():
    builder = kt.ModelBuilder("gripper")
    lump = kt.Inertia(1.0, (0.1, 0, 0.2), np.diag([0.1, 0.2, 0.15]).tolist())
    builder.add_body("palm", None, kt.Revolute((0, 0, 1)), inertia=lump)
    builder.add_body("thumb", "palm", kt.Prismatic((0, 1, 0)), inertia=lump, mimic=("finger", -1.0, 0.0))
    builder.add_body("finger", "palm", kt.Prismatic((0, 1, 0)), inertia=lump)
    both = Both(builder.build())
    assert list(both.pin.names)[1:] == ["palm", "finger", "thumb"] and both.pin.nv == 2
    theirs = both.maps.tau_back(both.Q, both.peer("rnea", both.Q, both.V, both.A))
    assert_close(both.run("inverse_dynamics", both.q, both.v, both.a), theirs, TOLERANCE, both.size)


def test_unbounded_joints_pair_by_name(rng):
    """A continuous joint of URDF is [cos, sin] in Pinocchio and an angle here."""
    text = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
    <origin xyz="0.1 0 0.2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint>
    </robot>"""
    model, peer = kt.load(text), pin.buildModelFromXML(text)
    maps = pinocchio_maps(model, peer)
    q, v, a = accelerated(model, rng)
    Q = maps.q(q)
    assert Q.shape == (2,) and error(maps.q_back(Q), q) < 1e-15
    theirs = pin.rnea(peer, peer.createData(), Q, maps.v(q, v), maps.a(q, v, a))
    assert_close(eager("inverse_dynamics", model, q, v, a), maps.tau_back(Q, theirs), 1e-12)
    back, _ = from_pinocchio(peer)
    assert back.bodies[0].joint == kt.Revolute((0, 1, 0))
