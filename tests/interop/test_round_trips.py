"""Models and states to a peer and back: nothing is lost that the peer can hold."""

from __future__ import annotations

import numpy as np
import pytest
from tests.interop.robots import SEEDS, ZOO, accelerated, eager, mechanism, zoo
from tests.model.samples import LINK, random_pose
from tests.reference.measure import assert_close

import kinetree as kt
from kinetree.interop import from_mujoco, from_pinocchio, to_mujoco, to_pinocchio

PEERS = {"pinocchio": (to_pinocchio, from_pinocchio), "mujoco": (to_mujoco, from_mujoco)}
WITH_MASS = [name for name in ZOO if name not in ("pendulum", "cart_pole", "puma560")]


@pytest.fixture(params=PEERS)
def peer(request):
    pytest.importorskip(request.param)
    return request.param


def there_and_back(peer: str, model: kt.Model, **options) -> tuple[kt.Model, list]:
    """The model that comes back, and both maps."""
    out, back = PEERS[peer]
    twin, maps = out(model, **options)
    again, maps_again = back(twin)
    return again, [maps, maps_again]


def the_same_dynamics(model: kt.Model, again: kt.Model, maps: list, rng) -> None:
    """Both models, in the state that is one state of the twin, have one inverse dynamics."""
    q, v, a = accelerated(model, rng)
    first, second = maps
    Q, V, A = first.q(q), first.v(q, v), first.a(q, v, a)
    q2, v2, a2 = second.q_back(Q), second.v_back(Q, V), second.a_back(Q, V, A)
    tau, tau2 = eager("inverse_dynamics", model, q, v, a), eager("inverse_dynamics", again, q2, v2, a2)
    power = eager("kinetic_energy", model, q, v), eager("kinetic_energy", again, q2, v2)
    assert_close(power[1], power[0], 1e-12, 1.0)
    assert_close(tau2 @ v2, tau @ v, 1e-12, max(1.0, float(np.abs(tau) @ np.abs(v))))
    if model.joint_names == again.joint_names:
        np.testing.assert_allclose(q2, q, atol=1e-13)
        np.testing.assert_allclose(v2, v, atol=1e-13)
        assert_close(tau2, tau, 1e-12, 1.0)


@pytest.mark.parametrize("name", WITH_MASS)
def test_robots(peer, name, rng):
    model = zoo(name)
    again, maps = there_and_back(peer, model)
    assert again.gravity == model.gravity
    assert set(again.joint_names) == set(model.joint_names)
    assert {b.name: b.joint for b in again.bodies} == {b.name: b.joint for b in model.bodies}
    assert set(model.frame_names) <= set(again.frame_names)
    the_same_dynamics(model, again, maps, rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_trees_of_every_joint(peer, seed, rng):
    model = mechanism(seed).build()
    again, maps = there_and_back(peer, model)
    the_same_dynamics(model, again, maps, rng)
    ours, theirs = ({b.name: b for b in m.bodies} for m in (model, again))
    assert set(ours) == set(theirs)
    for name, body in ours.items():
        assert type(theirs[name].joint) is type(body.joint)
        assert theirs[name].joint.parameters == pytest.approx(body.joint.parameters, abs=1e-15)
        carriers = ("", *again.body_names)[theirs[name].parent], ("", *model.body_names)[body.parent]
        assert carriers[0] == carriers[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_mimic_joints(peer, seed, rng):
    model = mechanism(seed, mimics=0.7, types=("revolute", "prismatic", "spherical")).build()
    try:
        again, maps = there_and_back(peer, model)
    except kt.errors.ModelError as error:
        assert peer == "pinocchio" and "mimics" in str(error)
        return
    the_same_dynamics(model, again, maps, rng)
    assert len(again.layout.follows) == len(model.layout.follows)


def rich() -> kt.Model:
    """Armature, damping, friction, limits, springs and frames."""
    b = kt.ModelBuilder("rich", gravity=(0.1, -0.2, -9.7))
    b.add_body("base", "world", kt.Free(), random_pose(0), LINK, joint_name="root", damping=0.2)
    limits = {"lower": -1.0, "upper": 2.0, "velocity": 3.0, "effort": 40.0}
    b.add_body("hip", "base", kt.Revolute((0, 0, 1)), random_pose(1), LINK, armature=0.02, limits=limits)
    b.add_body("slide", "hip", kt.Prismatic((0, 1, 0)), random_pose(4), LINK, friction=0.1, stiffness=3.0)
    b.add_body("ankle", "hip", kt.Universal((1, 0, 0), (0, 1, 0)), random_pose(3), LINK, armature=(0.1, 0.2))
    b.add_body("plate", "ankle", kt.Fixed(), random_pose(8), LINK, joint_name="weld")
    b.add_body("puck", "world", kt.Planar(), random_pose(9), LINK, damping=(0.1, 0.2, 0.2))
    b.add_frame("tool", "plate", random_pose(14)).add_frame("marker", "world", random_pose(15))
    return b.build()


def test_what_acts_at_joints(peer, rng):
    model = rich()
    again, maps = there_and_back(peer, model)
    the_same_dynamics(model, again, maps, rng)
    for field in ("armature", "damping", "friction"):
        ours = {b.joint_name: getattr(b, field) for b in model.bodies if b.joint.nv}
        theirs = {b.joint_name: getattr(b, field) for b in again.bodies if b.joint.nv}
        assert theirs == ours, field
    hip = again.bodies[again.joint_index("hip") - 1].limits
    assert (hip.lower, hip.upper, hip.effort) == ((-1.0,), (2.0,), (40.0,))
    assert peer == "mujoco" or hip.velocity == (3.0,)
    slide = again.bodies[again.joint_index("slide") - 1]
    assert slide.stiffness == ((3.0,) if peer == "mujoco" else (0.0,))


def test_frames_are_where_they_were(peer, rng):
    model = rich()
    again, maps = there_and_back(peer, model)
    q, _ = model.random_state(rng)
    q2 = maps[1].q_back(maps[0].q(q))
    for frame in (*model.body_names, *model.frame_names):
        ours, theirs = (eager("frame_placement", m, x, frame) for m, x in ((model, q), (again, q2)))
        np.testing.assert_allclose(theirs, ours, atol=1e-12)


def test_inertias_of_fixed_bodies_stay_theirs(peer):
    model = rich()
    again, _ = there_and_back(peer, model)
    for body in model.bodies:
        theirs = again.bodies[again.body_index(body.name) - 1].inertia
        np.testing.assert_allclose(theirs.parameters, body.inertia.parameters, atol=1e-13)


def test_composite_joints_of_pinocchio(rng):
    """Joints that kinetree does not have become chains."""
    pin = pytest.importorskip("pinocchio")
    twin = pin.Model()
    lump = pin.Inertia(1.0, np.array([0.1, 0.2, 0.3]), np.diag([0.1, 0.2, 0.25]))
    inner = pin.JointModelComposite(pin.JointModelRX(), pin.SE3.Random())
    inner.addJoint(pin.JointModelTranslation(), pin.SE3.Random())
    inner.addJoint(pin.JointModelRUBY(), pin.SE3.Random())
    parent = 0
    kinds = (pin.JointModelSphericalZYX(), inner, pin.JointModelTranslation(), pin.JointModelPlanar())
    for k, kind in enumerate(kinds):
        parent = twin.addJoint(parent, kind, pin.SE3.Random(), f"j{k}")
        twin.appendBodyToJoint(parent, lump, pin.SE3.Random())
    model, maps = from_pinocchio(twin)
    assert model.nv == twin.nv == 3 + 5 + 3 + 3
    q, v, a = accelerated(model, rng)
    Q, data = maps.q(q), twin.createData()
    assert len(Q) == twin.nq and pin.isNormalized(twin, Q, 1e-9)
    theirs = maps.tau_back(Q, pin.rnea(twin, data, Q, maps.v(q, v), maps.a(q, v, a)))
    assert_close(eager("inverse_dynamics", model, q, v, a), theirs, 1e-10)


def test_a_joint_that_kinetree_has_not():
    pin = pytest.importorskip("pinocchio")
    twin = pin.Model()
    twin.addJoint(0, pin.JointModelEllipsoid(0.1, 0.2, 0.3), pin.SE3.Identity(), "egg")
    with pytest.raises(kt.errors.ModelError, match="joint 'egg' is a JointModelEllipsoid"):
        from_pinocchio(twin)
