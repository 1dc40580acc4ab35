"""Loops in URDF+, SDF and USD, and what writers make of them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import share
from tests.io.peers import eager
from tests.loops.mechanisms import at, four_bar, link

import kinetree as kt
from kinetree.errors import FileError, ModelError
from kinetree.io.lint import lint

pytestmark = pytest.mark.filterwarnings("ignore::kinetree.errors.FileWarning")
HINGE = kt.Revolute((0, 1, 0))
MASS = '<inertial><mass value="{}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
LOOP = (
    '<loop name="c" type="revolute"><predecessor link="l3"><origin xyz="0.25 0 0"/></predecessor>'
    '<successor link="l2"><origin xyz="0.2 0 0"/></successor><axis xyz="0 0 1"/></loop>'
)


def urdf(tail: str = LOOP, independent: str = "true false false") -> str:
    """GRBDA's four-bar: two chains on one base, here with lengths that close away from a straight line."""
    links = "".join(f'<link name="l{k}">{MASS.format(k)}</link>' for k in (1, 2, 3))
    joints = ""
    for k, (said, parent, x) in enumerate(
        zip(independent.split(), ("base", "l1", "base"), (0, 0.1, 0.3), strict=True), 1
    ):
        joints += (
            f'<joint name="j{k}" type="continuous" independent="{said}"><parent link="{parent}"/>'
            f'<child link="l{k}"/><origin xyz="{x} 0 0"/><axis xyz="0 0 1"/></joint>'
        )
    return f'<robot name="four_bar"><link name="base"/>{links}{joints}{tail}</robot>'


def built(independent: str = "j1") -> kt.Model:
    b = kt.ModelBuilder("four_bar")
    turn = kt.Revolute((0, 0, 1))
    for k, (parent, x) in enumerate(((None, 0.0), ("l1", 0.1), (None, 0.3)), 1):
        b.add_body(f"l{k}", parent, turn, at(x), kt.Inertia(k, inertia=np.eye(3)), joint_name=f"j{k}")
    b.add_loop("l3", "l2", turn, at(0.25), at(0.2), independent, "c")
    return b.build()


def same_motion(a: kt.Model, b: kt.Model, tolerance: float = 1e-12) -> None:
    """Two models with the same joints, of which q and v mean the same."""
    assert (a.joint_names, a.nq, a.nv) == (b.joint_names, b.nq, b.nv)
    assert [loop.independent for loop in a.loops] == [loop.independent for loop in b.loops]
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, v = a.random_state(rng)
        w = rng.normal(size=a.nv)
        for function in (kt.inverse_dynamics, kt.passive_force, kt.loop_matrix):
            arguments = {kt.inverse_dynamics: (q, v, w), kt.passive_force: (q, v)}.get(function, (q,))
            x, y = eager(function, a, *arguments), eager(function, b, *arguments)
            assert np.abs(x - y).max(initial=0.0) <= tolerance * max(1.0, np.abs(x).max(initial=0.0))


# --- URDF+ ---
def test_a_loop_of_urdf_plus():
    model = kt.load(urdf())
    same_motion(model, built())
    assert not model.report.warnings
    assert kt.load(urdf(), loops="ignore").nv == 3


@pytest.mark.parametrize("chosen", ["j1", "j2", "j3"])
def test_joints_are_independent_as_marked(chosen):
    said = " ".join("True" if f"j{k}" == chosen else "false" for k in (1, 2, 3))
    model = kt.load(urdf(independent=said))
    same_motion(model, built(chosen))


def test_too_many_independent_joints_are_said():
    model = kt.load(urdf(independent="true true true"))
    assert model.nv == 1 and model.loops
    assert any(f.rule == "loop-independent" for f in model.report.warnings)


def test_the_straight_four_bar_of_grbda_is_over_determined():
    """0.1 + 0.2 = 0.3: it closes only where it is stretched out, and no choice of velocities moves it."""
    model = kt.load(urdf(LOOP.replace("0.25", "0.3")).replace('xyz="0.3 0 0"/><axis', 'xyz="0 0 0"/><axis'))
    assert not model.loops and "over-determined" in model.report.warnings[0].problem


def test_anchors_out_of_the_plane_are_over_determined():
    model = kt.load(urdf(LOOP.replace("0.25 0 0", "0.25 0 0.01")))
    problem = model.report.warnings[0].problem
    assert not model.loops and "over-determined" in problem and "0.01 m" in problem


def test_couplings_are_mimic_joints():
    rotor = (
        f'<link name="rotor">{MASS.format(1)}</link><joint name="jr" type="continuous" independent="false">'
        '<parent link="base"/><child link="rotor"/><axis xyz="0 0 1"/></joint>'
        '<coupling name="gear"><predecessor link="l1"/><successor link="rotor"/><ratio value="6"/></coupling>'
    )
    model = kt.load(urdf(rotor))
    assert model.bodies[model.joint_index("jr") - 1].mimic[:2] == ("j1", 6.0)
    swapped = rotor.replace('link="l1"', 'link="X"').replace('link="rotor"/><ratio', 'link="l1"/><ratio')
    model = kt.load(urdf(swapped.replace('link="X"', 'link="rotor"')))
    assert model.bodies[model.joint_index("jr") - 1].mimic[1] == pytest.approx(1 / 6)
    two = rotor.replace('<predecessor link="l1"/>', '<predecessor link="l2"/>')
    assert any("<coupling>" in f.problem for f in kt.load(urdf(two)).report.warnings)


@pytest.mark.parametrize(
    "change",
    [
        ('type="revolute"', 'type="sliding"'),
        ('<successor link="l2">', '<successor link="nobody">'),
        ('<predecessor link="l3">', "<predecessor>"),
        ('xyz="0.25 0 0"', 'xyz="a b c"'),
        ('link="l2"', 'link="l3"'),
    ],
)
def test_broken_loops_are_said(change):
    text = urdf(LOOP.replace(*change))
    if change[1] == 'link="l3"':
        assert "both ends" in kt.load(text).report.warnings[0].problem
        return
    with pytest.raises(FileError):
        kt.load(text)
    assert any(f.severity == "error" for f in lint(text))


# --- SDF ---
def parallel(close: kt.Joint = HINGE) -> kt.Model:
    """A parallelogram that is drawn closed."""
    b = kt.ModelBuilder("parallel")
    b.add_body("a", None, HINGE, at(), link(0.3))
    b.add_body("b", "a", HINGE, at(0, 0, 0.3), link(0.7))
    b.add_body("c", None, HINGE, at(0.7), link(0.2))
    b.add_loop("b", "c", close, at(0.7), at(0, 0, 0.3), "a", "pin")
    return b.build()


@pytest.mark.parametrize("close", [HINGE, kt.Spherical()])
def test_a_second_parent_in_sdf_closes_a_loop(close, tmp_path):
    model = parallel(close)
    again = kt.load(kt.save(model, tmp_path / "m.sdf"))
    assert again.loops[0].closures[0].joint == close
    same_motion(model, again)
    open_ = kt.load(tmp_path / "m.sdf", loops="ignore")
    assert open_.nv == 3 and any(f.rule == "tree-two-parents" for f in open_.report)


def test_a_screw_closes_a_loop_by_a_body_of_its_own():
    parts = "".join(
        f'<link name="{x}"><pose>{p} 0 0 0 0 0</pose><inertial><mass>1</mass></inertial></link>'
        for x, p in (("a", 0), ("b", 1), ("c", 2))
    )

    def joint(name: str, kind: str, parent: str, child: str, axis: str) -> str:
        pitch = "<screw_thread_pitch>0.5</screw_thread_pitch>" if kind == "screw" else ""
        ends = f"<parent>{parent}</parent><child>{child}</child>"
        return f'<joint name="{name}" type="{kind}">{ends}{pitch}<axis><xyz>{axis}</xyz></axis></joint>'

    joints = [joint("w", "revolute", "world", "a", "0 0 1"), joint("j", "prismatic", "a", "b", "1 0 0")]
    joints += [joint("k", "revolute", "b", "c", "1 0 0"), joint("turn", "screw", "a", "c", "1 0 0")]
    model = kt.load(f'<sdf version="1.10"><model name="m">{parts}{"".join(joints)}</model></sdf>')
    assert model.nv == 2 and "turn" in model.joint_names, str(model.report)
    q, _ = model.random_state(0)
    slide, angle = (float(q[model.position_index(name)][0]) for name in ("j", "k"))
    assert slide == pytest.approx(0.5 / (2 * np.pi) * angle, abs=1e-12)


def test_what_acts_on_a_cut_joint_is_said(tmp_path):
    kt.save(parallel(), tmp_path / "m.sdf")
    text = (tmp_path / "m.sdf").read_text()
    damped = text.replace(
        "<axis><xyz>0 1 0</xyz></axis>",
        "<axis><xyz>0 1 0</xyz><dynamics><damping>1</damping></dynamics></axis>",
    )
    assert any(
        "damping" in f.problem and "no coordinate" in f.problem for f in kt.load(damped).report.warnings
    )


# --- writers ---
@pytest.mark.parametrize("ending", share(["xml", "urdf", "json"], 3))
@pytest.mark.parametrize(
    "name", share(["four_bar", "slider_crank", "gripper", "cassie_leg", "parallel_ankle", "differential"], 2)
)
def test_files_read_back_as_they_were_written(name, ending, tmp_path):
    model = getattr(kt.zoo, name)().replace(rotors="reflected")
    path = tmp_path / f"m.{ending}"
    try:
        kt.save(model, path)
    except ModelError as error:
        assert ending != "json" and "save" in str(error)
        return
    again = kt.load(path)
    assert [loop.name for loop in again.loops] == [loop.name for loop in model.loops], str(again.report)
    same_motion(model, again, 1e-10)
    if ending == "json":
        assert again == model


def test_most_machines_can_be_written_as_mjcf(tmp_path):
    written = []
    for name in ("four_bar", "slider_crank", "gripper", "cassie_leg", "parallel_ankle", "delta", "stewart"):
        try:
            written.append(
                kt.save(getattr(kt.zoo, name)().replace(rotors="reflected"), tmp_path / f"{name}.xml")
            )
        except ModelError:
            continue
    assert len(written) >= 4


def test_what_a_format_cannot_say_is_named(tmp_path):
    b = kt.ModelBuilder("m")
    b.add_body("a", None, HINGE, at(), link(0.3))
    b.add_body("b", None, HINGE, at(0.5), link(0.3))
    b.add_distance("a", "b", 0.5, (0.3, 0, 0), (0.3, 0, 0), name="wire")
    rod = b.build()
    for ending in ("xml", "urdf", "sdf"):
        with pytest.raises(ModelError, match="'wire'"):
            kt.save(rod, tmp_path / f"m.{ending}")
    assert kt.load(kt.save(rod, tmp_path / "m.json")) == rod
    with pytest.raises(ModelError, match="'four_bar': it is open with all joints at zero"):
        kt.save(four_bar().replace(rotors="none"), tmp_path / "m.sdf")


def test_mujoco_takes_what_is_written(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    model = four_bar().replace(rotors="reflected")
    twin, maps = kt.interop.to_mujoco(model)
    assert twin.neq == 2
    data = mujoco.MjData(twin)
    q, v = model.random_state(1)
    data.qpos, data.qvel = maps.q(q), maps.v(q, v)
    mujoco.mj_forward(twin, data)
    assert np.abs(data.efc_pos).max() < 1e-12 and np.abs(data.efc_vel).max() < 1e-12

