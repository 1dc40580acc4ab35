"""kinetree and MuJoCo, by the library's own converters: mass matrix, bias force, accelerations."""

from __future__ import annotations

import numpy as np
import pytest
from tests.interop.robots import SEEDS, ZOO, accelerated, eager, mechanism, zoo
from tests.reference.lagrangian import Lagrangian
from tests.reference.measure import assert_close, condition

import kinetree as kt
from kinetree.interop import from_mujoco, mujoco_maps, mujoco_wrenches, to_mjcf, to_mujoco
from kinetree.interop.mujoco import mass_matrix_of

mujoco = pytest.importorskip("mujoco")

TOLERANCE = 1e-12
REFUSED = ("pendulum", "cart_pole", "puma560")  # point masses; a published inertia that is incomplete


class Both:
    """A model in both libraries, in one state, without constraints, springs and damping in MuJoCo."""

    def __init__(self, model: kt.Model, twin=None, maps=None) -> None:
        rng = np.random.default_rng(model.nv)
        self.model = model
        self.mj, self.maps = (twin, maps) if twin is not None else to_mujoco(model)
        off = mujoco.mjtDisableBit
        self.mj.opt.disableflags = off.mjDSBL_CONSTRAINT | off.mjDSBL_SPRING | off.mjDSBL_DAMPER
        self.data = mujoco.MjData(self.mj)
        self.q, self.v, self.a = accelerated(model, rng)
        self.data.qpos, self.data.qvel = self.maps.q(self.q), self.maps.v(self.q, self.v)
        mujoco.mj_forward(self.mj, self.data)
        self.M = mass_matrix_of(mujoco, self.mj, self.data)

    def compare(self) -> None:
        M, bias = (eager("mass_matrix", self.model, self.q), eager("bias_force", self.model, self.q, self.v))
        theirs = self.maps.bias_force(self.q, self.v, self.M, self.data.qfrc_bias)
        assert_close(M, self.maps.mass_matrix(self.q, self.M), TOLERANCE)
        assert_close(bias, theirs, TOLERANCE, 10.0)


def modelled(seed: int, **options):
    """A random model that MuJoCo takes."""
    return mechanism(seed, **options).build()


@pytest.mark.parametrize("name", [name for name in ZOO if name not in REFUSED])
def test_robots(name):
    Both(zoo(name)).compare()


@pytest.mark.parametrize("seed", SEEDS)
def test_trees_of_every_joint(seed):
    Both(modelled(seed)).compare()


@pytest.mark.parametrize("seed", SEEDS)
def test_armature(seed):
    """Also of ball and free joints, where MuJoCo's is that of a body: the same for all directions."""
    Both(modelled(seed, armatures=0.8)).compare()


@pytest.mark.parametrize("seed", SEEDS)
def test_mimic_joints(seed):
    """MuJoCo's model is larger; seen through the map it is ours, and both are the first principles'."""
    m = mechanism(seed, mimics=0.7)
    both = Both(m.build())
    both.compare()
    truth = Lagrangian(m, both.q)
    assert_close(eager("mass_matrix", both.model, both.q), truth.mass_matrix, TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations(seed):
    types = ("revolute", "prismatic", "cylindrical", "universal", "planar", "spherical", "free", "fixed")
    both = Both(modelled(seed, types=types))
    f_ext = np.random.default_rng(seed).normal(size=(both.model.nbodies, 6))
    both.data.qfrc_applied = both.maps.tau(both.q, both.a)
    both.data.xfrc_applied = mujoco_wrenches(both.model, both.mj, both.q, f_ext)
    mujoco.mj_forward(both.mj, both.data)
    theirs = both.maps.a_back(both.data.qpos, both.data.qvel, both.data.qacc)
    ours = eager("forward_dynamics", both.model, both.q, both.v, both.a, f_ext)
    assert_close(ours, theirs, 1e-13 * condition(both.M) + TOLERANCE)


def test_poses(rng):
    """Bodies and sites are where MuJoCo has them."""
    model = kt.zoo.humanoid()
    both = Both(model)
    placements = eager("placements", model, both.q)
    for k, name in enumerate(model.body_names):
        body = mujoco.mj_name2id(both.mj, mujoco.mjtObj.mjOBJ_BODY, name)
        np.testing.assert_allclose(placements[k][:3, 3], both.data.xpos[body], atol=1e-12)
        np.testing.assert_allclose(placements[k][:3, :3], both.data.xmat[body].reshape(3, 3), atol=1e-12)


def test_passive_forces_are_the_same(rng):
    """Springs and damping of the model are those of its twin."""
    builder = kt.ModelBuilder("sprung")
    ball = kt.Inertia(1.0, (0.1, 0, 0.2), np.diag([0.1, 0.2, 0.15]).tolist())
    options = {"damping": 0.3, "stiffness": 2.0, "spring_reference": (0.4,)}
    builder.add_body("a", None, kt.Revolute((0, 1, 0)), inertia=ball, **options)
    builder.add_body(
        "b", "a", kt.Prismatic((1, 0, 0)), kt.Pose(p=(0, 0, 1)), ball, damping=0.1, stiffness=5.0
    )
    model = builder.build()
    twin, maps = to_mujoco(model)
    data = mujoco.MjData(twin)
    q, v, _ = accelerated(model, rng)
    data.qpos, data.qvel = maps.q(q), maps.v(q, v)
    mujoco.mj_forward(twin, data)
    theirs = maps.tau_back(data.qpos, data.qfrc_passive)
    np.testing.assert_allclose(kt.passive_force(model, q, v), theirs, atol=1e-12)


SEVERAL = """<mujoco><compiler angle="radian"/><option gravity="0.3 0 -9"/><worldbody>
<body name="a" pos="0 0 1" quat="0.8 0.6 0 0"><freejoint name="root"/>
  <inertial pos="0.1 0 0" mass="2" diaginertia="0.2 0.3 0.4"/><site name="tip" pos="0 0 0.3"/>
  <body name="b" pos="0 0.2 0" quat="0.6 0 0.8 0">
    <joint name="hinge" type="hinge" axis="0 0.6 0.8" pos="0.1 0.2 0.3" ref="0.4" armature="0.05"/>
    <joint type="slide" axis="1 0 0" ref="-0.1"/>
    <joint name="last" type="hinge" axis="1 0 0" pos="0 0 0.2" range="-1 2"/>
    <inertial pos="0 0 0.2" mass="1" diaginertia="0.02 0.03 0.04" quat="0.6 0.8 0 0"/>
    <body name="c" pos="0 0 0.5"><joint name="ball" type="ball" pos="0 0.1 0" damping="0.2"/>
      <inertial pos="0 0 0.1" mass="1" diaginertia="0.02 0.03 0.04"/></body>
  </body></body></worldbody>
<equality><joint joint1="last" joint2="hinge" polycoef="0.1 -2 0 0 0"/></equality></mujoco>"""


def test_several_joints_anchors_references_and_ties():
    """What MJCF can say and `to_mjcf` never does."""
    twin = mujoco.MjModel.from_xml_string(SEVERAL)
    model, maps = from_mujoco(twin)
    assert model.joint_names == ("root", "hinge", "b_joint", "last", "b", "ball", "c")
    last = model.bodies[model.joint_index("last") - 1]
    assert last.mimic == ("hinge", -2.0, pytest.approx(0.1 + 2 * 0.4))
    assert model.gravity == (0.3, 0.0, -9.0) and "tip" in model.frame_names
    Both(model, twin, maps).compare()


def test_the_reader_of_files_and_the_converter_make_the_same_model():
    twin, loaded = mujoco.MjModel.from_xml_string(SEVERAL), kt.load(SEVERAL)
    Both(loaded, twin, mujoco_maps(loaded, twin)).compare()


def test_the_text_is_a_file_for_everyone():
    model = kt.zoo.quadruped()
    again = kt.load(to_mjcf(model))
    rng = np.random.default_rng(0)
    q, v = model.random_state(rng)
    assert again.nv == model.nv
    assert_close(eager("bias_force", again, q, v), eager("bias_force", model, q, v), 1e-12)


@pytest.mark.parametrize("name", REFUSED)
def test_what_mujoco_refuses_is_named(name):
    with pytest.raises(kt.errors.ModelError, match=f"model '{name}': MuJoCo refuses it: .*inertia"):
        to_mujoco(zoo(name))


def test_the_spring_of_a_ball(rng):
    """MuJoCo pulls by the stiffness times the rotation vector from the relaxed attitude, as we do."""
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    body = f'<body name="b"><joint name="j" type="ball" stiffness="3" damping="0.5"/>{inertial}</body>'
    twin = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    model, maps = from_mujoco(twin)
    assert model.bodies[0].stiffness == (3.0, 3.0, 3.0)
    q, v = model.random_state(rng)
    data = mujoco.MjData(twin)
    data.qpos[:], data.qvel[:] = maps.q(q), maps.v(q, v)
    mujoco.mj_forward(twin, data)
    assert np.allclose(kt.passive_force(model, q, v), maps.tau_back(data.qpos, data.qfrc_passive), atol=1e-12)
    again = kt.load(to_mjcf(model)).bodies[0]
    assert (again.stiffness, again.damping) == (model.bodies[0].stiffness, model.bodies[0].damping)


ACTING = """<mujoco>{head}<worldbody><body name="b" {body}><joint name="j" damping="{d}" stiffness="{k}"
frictionloss="0.3"/><geom size="0.1"/></body></worldbody>{tail}</mujoco>"""


def acting(head="", body="", d="0.1", k="0.2", tail=""):
    return mujoco.MjModel.from_xml_string(ACTING.format(head=head, body=body, d=d, k=k, tail=tail))


TENDON = '<tendon><fixed stiffness="2"><joint joint="j" coef="1"/></fixed></tendon>'


@pytest.mark.parametrize(
    "given, note",
    [
        ({"d": "0.1 0.2 0.3"}, "polynomial damping beyond its linear part: j"),
        ({"k": "0.1 0 0.3"}, "polynomial stiffness beyond its linear part: j"),
        ({"body": 'gravcomp="1"'}, "gravity compensation: b"),
        ({"head": '<option density="1"/>'}, "fluid"),
        ({"tail": TENDON}, "stiffness of a tendon"),
        ({"tail": '<actuator><motor joint="j" damping="1"/></actuator>'}, "damping of an actuator"),
        ({"tail": '<actuator><motor joint="j" armature="1"/></actuator>'}, "armature of an actuator"),
    ],
)
def test_what_acts_and_is_left_out_is_noted(given, note):
    with pytest.warns(kt.errors.FileWarning, match="see maps.notes") as caught:
        twin = from_mujoco(acting(**given))
    assert len(caught) == 1 and caught[0].filename == __file__
    assert any(note in line for line in twin.maps.notes)


def test_what_is_off_does_not_act(recwarn):
    body = from_mujoco(acting()).model.bodies[0]
    assert (body.damping, body.stiffness, body.friction) == ((0.1,), (0.2,), (0.3,))
    for flag, field in (("spring", "stiffness"), ("damper", "damping"), ("frictionloss", "friction")):
        body = from_mujoco(acting(head=f'<option><flag {flag}="disable"/></option>')).model.bodies[0]
        assert getattr(body, field) == (0.0,), flag
    assert not recwarn.list
