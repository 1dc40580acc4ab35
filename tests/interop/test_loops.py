"""Models with loops and their twins: maps, and accelerations that Pinocchio finds by multipliers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.interop.robots import eager
from tests.io.test_loops_mjcf import CLOSED
from tests.loops.mechanisms import four_bar, slider_crank, spatial_linkage

import kinetree as kt
from kinetree.interop import from_mujoco, mujoco_maps, to_mujoco, to_pinocchio

MACHINES = {
    "four_bar": lambda: four_bar().replace(rotors="reflected"),
    "slider_crank": slider_crank,
    "spatial_linkage": spatial_linkage,
    "cassie_leg": lambda: kt.zoo.cassie_leg().replace(rotors="reflected"),
    "gripper": lambda: kt.zoo.gripper().replace(rotors="reflected"),
}


def close(a, b, size=1.0):
    return np.abs(np.asarray(a) - b).max(initial=0.0) <= 1e-11 * max(size, np.abs(b).max(initial=0.0))


@pytest.mark.parametrize("name", MACHINES)
def test_pinocchio_projected(name):
    pin = pytest.importorskip("pinocchio")
    model = MACHINES[name]()
    twin, maps = to_pinocchio(model, mimic="independent", strict=False)
    assert any("open in Pinocchio" in note for note in maps.notes)
    data, rng = twin.createData(), np.random.default_rng(0)
    for _ in range(3):
        q, v = model.random_state(rng)
        a, tau = rng.normal(size=(2, model.nv))
        Q, V, A = maps.q(q), maps.v(q, v), maps.a(q, v, a)
        M = np.triu(pin.crba(twin, data, Q))
        M, c = M + np.triu(M, 1).T, pin.rnea(twin, data, Q, V, 0 * V).copy()
        assert close(eager("mass_matrix", model, q), maps.mass_matrix(q, M))
        assert close(eager("bias_force", model, q, v), maps.bias_force(q, v, M, c))
        forces = maps.tau_back(Q, pin.rnea(twin, data, Q, V, A))
        assert close(eager("inverse_dynamics", model, q, v, a), forces)
        assert close(maps.q_back(Q), q) and close(maps.v_back(Q, V), v) and close(maps.a_back(Q, V, A), a)
        assert close(maps.tau_back(Q, maps.tau(q, tau)), tau)
        there, before = (maps.v(model.integrate(q, h * v), v) for h in (1e-6, -1e-6))
        assert np.allclose((there - before) / 2e-6, maps.velocity_map_rate(q, v), rtol=1e-6, atol=1e-6)


def contacts(pin, model, twin):
    """What closes the loops, as Pinocchio's constraints; points and frames only."""
    found = []
    for closure in (closure for loop in model.loops for closure in loop.closures):
        ends = []
        for body, pose in ((closure.body, closure.placement), (closure.other, closure.other_placement)):
            frame = (
                twin.frames[twin.getFrameId(model.body_names[body - 1], pin.FrameType.BODY)] if body else None
            )
            place = pin.SE3(np.array(pose.R, float), np.array(pose.p, float))
            ends += [frame.parentJoint, frame.placement * place] if frame else [0, place]
        kind = pin.ContactType.CONTACT_6D if closure.joint.nv == 0 else pin.ContactType.CONTACT_3D
        found.append(pin.RigidConstraintModel(kind, twin, *ends, pin.ReferenceFrame.LOCAL))
    return found


@pytest.mark.parametrize("name", ["slider_crank", "spatial_linkage"])
def test_pinocchio_by_multipliers(name):
    """Its proximal iterations end at about 1e-10, and rows of planar loops are redundant."""
    pin = pytest.importorskip("pinocchio")
    model = MACHINES[name]()
    twin, maps = to_pinocchio(model, mimic="independent", strict=False)
    data, rng = twin.createData(), np.random.default_rng(1)
    constraints, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    constraints.extend(contacts(pin, model, twin))
    datas.extend(constraint.createData() for constraint in constraints)
    pin.initConstraintDynamics(twin, data, constraints, datas)
    settings = pin.ProximalSettings(1e-13, 1e-10, 200)
    for _ in range(3):
        q, v = model.random_state(rng)
        tau = rng.normal(size=model.nv)
        Q, V = maps.q(q), maps.v(q, v)
        A = pin.constraintDynamics(twin, data, Q, V, maps.tau(q, tau), constraints, datas, settings)
        ours = eager("forward_dynamics", model, q, v, tau)
        assert np.allclose(maps.a_back(Q, V, A), ours, rtol=1e-6, atol=1e-6 * np.abs(ours).max())


def test_mujoco_pulls_towards_the_same_acceleration():
    """With hard constraints its acceleration is ours; they are soft, so that a part in a thousand is left."""
    mujoco = pytest.importorskip("mujoco")
    model = four_bar().replace(rotors="reflected")
    twin, maps = to_mujoco(model)
    twin.opt.timestep = 1e-6
    twin.eq_solref[:] = (-1e-3, -1e-3)
    twin.eq_solimp[:] = (0.999999, 0.999999, 1e-3, 0.5, 2)
    twin.opt.solver, twin.opt.iterations, twin.opt.tolerance = mujoco.mjtSolver.mjSOL_NEWTON, 200, 1e-14
    data, rng = mujoco.MjData(twin), np.random.default_rng(2)
    q, v = model.random_state(rng)
    tau = rng.normal(size=model.nv)
    data.qpos, data.qvel = maps.q(q), maps.v(q, v)
    data.qfrc_applied = maps.tau(q, tau)
    mujoco.mj_forward(twin, data)
    ours = eager("forward_dynamics", model, q, v, tau)
    assert np.allclose(maps.a_back(data.qpos, data.qvel, data.qacc), ours, rtol=1e-3)


@pytest.mark.parametrize("name", CLOSED)
def test_loops_of_a_mujoco_model_are_those_of_its_file(name):
    mujoco = pytest.importorskip("mujoco")
    text, freedom = CLOSED[name]
    twin = mujoco.MjModel.from_xml_string(text)
    model, maps = from_mujoco(twin)
    assert (model.nv, len(model.loops)) == (freedom, 1) and len(maps.notes) == 1
    file = kt.load(text, merge_fixed=False)
    q, v = file.random_state(np.random.default_rng(0))
    there = mujoco_maps(file, twin)
    Q, V = there.q(q), there.v(q, v)
    energy = eager("kinetic_energy", file, q, v)
    assert eager("kinetic_energy", model, maps.q_back(Q), maps.v_back(Q, V)) == pytest.approx(
        energy, rel=1e-9
    )
    assert not from_mujoco(twin, loops="ignore").model.loops


def test_batches():
    pytest.importorskip("pinocchio")
    model = four_bar().replace(rotors="reflected")
    _, maps = to_pinocchio(model)
    q, v = model.random_state(3, (2, 4))
    assert maps.v(q, v).shape == (2, 4, 3) and maps.velocity_map(q).shape == (2, 4, 3, 1)
    assert close(maps.a(q, v, v)[1, 2], maps.a(q[1, 2], v[1, 2], v[1, 2]))
    assert close(maps.v_back(maps.q(q), maps.v(q, v)), v)
