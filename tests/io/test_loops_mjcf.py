"""MJCF equalities as loops: MuJoCo, which knows nothing of ours, finds them closed and moving as it says."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import share
from tests.io.peers import bare_mjcf

import kinetree as kt
from kinetree.errors import FileError, FileWarning
from kinetree.interop import mujoco_maps
from kinetree.interop.mujoco import mass_matrix_of
from kinetree.io.lint import lint

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.filterwarnings("ignore::kinetree.errors.FileWarning")

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus" / "mjcf"
MASS = '<inertial pos="0.1 0.02 0.03" mass="2" diaginertia="0.03 0.02 0.025"/>'


def bar(name: str, inside: str = "", where: str = "", joint: str = 'axis="0 1 0"') -> str:
    return f'<body name="{name}" {where}><joint name="{name}" {joint}/>{MASS}{inside}</body>'


def four_bar(
    closing: str, coupler: str = "", rocker: str = "", tail: str = "", joint: str = 'axis="0 1 0"'
) -> str:
    """Drawn closed: crank and rocker upright, the coupler along x."""
    crank = bar("crank", bar("coupler", coupler, 'pos="0 0 0.3"', joint), joint=joint)
    bodies = crank + bar("rocker", rocker, 'pos="0.7 0 0"', joint)
    return f"<mujoco><worldbody>{bodies}</worldbody><equality>{closing}</equality>{tail}</mujoco>"


def robot(bodies: str, closing: str) -> str:
    return f"<mujoco><worldbody>{bodies}</worldbody><equality>{closing}</equality></mujoco>"


def row(names: str) -> str:
    """Bars one behind the other, bent."""
    inside = ""
    for k, name in reversed(list(enumerate(names))):
        inside = bar(name, inside, f'pos="{0.3 if k else 0} 0 {0.1 * k}"')
    return inside


LAST = bar("e", "", 'pos="0.5 0 0"')


def equality_rows(twin, data, Q):
    """How far MuJoCo's equality constraints are open at Q, and their Jacobian."""
    data.qpos = Q
    mujoco.mj_forward(twin, data)
    chosen = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    return data.efc_pos[chosen].copy(), data.efc_J.reshape(-1, twin.nv)[chosen].copy()


def check(model: kt.Model, text: str, tolerance: float = 1e-9, states: int = 2, spare: int = 0) -> None:
    """MuJoCo finds random states of the model closed, and has no other freedom than its velocities.

    Args:
        spare: singular values of MuJoCo's rows that count as zero, though they are not to the last digit.
    """
    twin = mujoco.MjModel.from_xml_string(text)
    twin.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    twin.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    data, maps = mujoco.MjData(twin), mujoco_maps(model, twin)
    rng = np.random.default_rng(1)
    for _ in range(states):
        q, v = model.random_state(rng)
        Q, V = maps.q(q), maps.v(q, v)
        data.qvel = V
        gap, J = equality_rows(twin, data, Q)
        assert np.abs(gap).max() < tolerance
        if not any(f.rule == "inertia-mesh" for f in model.report):
            M, bias = mass_matrix_of(mujoco, twin, data), np.array(data.qfrc_bias)
            ours = kt.mass_matrix(model, q, target="eager")
            assert np.abs(ours - maps.mass_matrix(q, M)).max() < 1e-10 * np.abs(ours).max()
            force = kt.bias_force(model, q, v, target="eager")
            size = np.abs(force).max() + np.abs(ours).max() * (10.0 + v @ v)
            assert np.abs(force - maps.bias_force(q, v, M, bias)).max() < 1e-9 * size
        T = maps.velocity_map(q)
        assert np.abs(J @ T).max() < tolerance * 10
        rank = np.linalg.matrix_rank(J, 1e-5 * np.abs(J).max())
        assert twin.nv - rank + spare == model.nv == np.linalg.matrix_rank(T)
        there = []
        for h in (1e-5, -1e-5):
            x = model.integrate(q, h * v)
            there.append(equality_rows(twin, data, maps.q(x))[1] @ maps.v(x, v))
        A = maps.a(q, v, np.zeros(model.nv))  # J A + dJ/dt V = 0
        rate = (equality_rows(twin, data, maps.q(model.integrate(q, 1e-5 * v)))[1]
                - equality_rows(twin, data, maps.q(model.integrate(q, -1e-5 * v)))[1]) / 2e-5  # fmt: skip
        scale = np.abs(J).max() * np.abs(A).max() + np.abs(rate @ V).max() + 1.0
        assert np.abs(J @ A + rate @ V).max() < 1e-4 * scale
        assert np.abs(there).max() < tolerance * 100


CLOSED = {
    "connect by an anchor": (four_bar('<connect body1="coupler" body2="rocker" anchor="0.7 0 0"/>'), 1),
    "the other way round": (four_bar('<connect body1="rocker" body2="coupler" anchor="0 0 0.3"/>'), 1),
    "sites": (
        four_bar(
            '<connect name="pin" site1="a" site2="b"/>',
            '<site name="a" pos="0.68 0.01 0.02"/>',
            '<site name="b" pos="0.01 0.01 0.31" euler="10 20 30"/>',
        ),
        1,
    ),
    "with the world": (
        robot(row("abc"), '<connect body1="c" anchor="0.2 0 0"/>'),
        1,
    ),
    "reference positions": (
        four_bar('<connect body1="coupler" body2="rocker" anchor="0.7 0 0"/>', joint='axis="0 1 0" ref="25"'),
        1,
    ),
    "a weld of planar bodies": (
        robot(row("abcd") + LAST, '<weld body1="d" body2="e"/>'),
        2,
    ),
    "a weld with a relative pose": (
        robot(
            row("abcd") + LAST,
            '<weld body1="d" body2="e" relpose="0.1 0 -0.1 1 0 0.2 0" anchor="0.1 0 0"/>',
        ),
        2,
    ),
    "a polynomial": (
        four_bar('<joint joint1="rocker" joint2="crank" polycoef="0.1 0.5 -0.3 0.2 0.05"/>'),
        2,
    ),
    "a polynomial and references": (
        four_bar(
            '<joint joint1="rocker" joint2="crank" polycoef="0.1 0.5 -0.3 0.2 0.05"/>',
            joint='axis="0 1 0" ref="40"',
        ),
        2,
    ),
    "a joint that follows two": (
        four_bar('<joint joint1="rocker" joint2="crank"/><joint joint1="rocker" joint2="coupler"/>'),
        1,
    ),
    "a rod between balls": (
        robot(
            bar("a", bar("rod", "", 'pos="0 0 0.3"', 'type="ball"'))
            + bar("c", "", 'pos="0.5 0.2 0"', 'axis="1 0 0"'),
            '<connect body1="rod" body2="c" anchor="0.4 0 0"/>',
        ),
        2,
    ),
}


@pytest.mark.parametrize("name", share(CLOSED, 2))
def test_mujoco_finds_it_closed(name):
    text, freedom = CLOSED[name]
    model = kt.load(text)
    assert model.nv == freedom and model.loops
    assert not [f for f in model.report if f.rule == "loop-open"]
    assert model.report.loops[0].rule == "loop"
    check(model, text)


@pytest.mark.parametrize("name", share(CLOSED, 2))
def test_ignored_loops_leave_the_tree_and_say_so(name):
    text, _ = CLOSED[name]
    model = kt.load(text, loops="ignore")
    assert not model.loops and model.nv == mujoco.MjModel.from_xml_string(text).nv - (
        name == "a joint that follows two"
    )
    assert any(
        f.rule == "unsupported" and "constraint" in f.remedy + f.problem for f in model.report.warnings
    )


def test_a_weld_without_torque_is_a_point():
    text = four_bar('<weld body1="coupler" body2="rocker" torquescale="0" anchor="0 0 0.3"/>')
    model = kt.load(text)
    assert model.nv == 1 and model.loops[0].closures[0].joint == kt.Spherical()


def test_a_rod_without_inertia_about_its_line_does_not_spin():
    text, freedom = CLOSED["a rod between balls"]
    slim = '<inertial pos="0.2 0 0" mass="2" diaginertia="0 0.02 0.02"/>'
    thin = text.replace('type="ball"/>' + MASS, 'type="ball"/>' + slim)
    assert thin != text
    model = kt.load(thin)
    assert model.nv == freedom - 1 and any("spinning" in f.problem for f in model.report.loops)
    q, v = model.random_state(0)
    assert np.isfinite(kt.forward_dynamics(model, q, v, np.zeros(model.nv), target="eager")).all()


def test_motors_choose_the_independent_joints():
    closing = '<connect body1="coupler" body2="rocker" anchor="0.7 0 0"/>'
    for joint in ("crank", "coupler", "rocker"):
        motor = f'<actuator><motor joint="{joint}"/></actuator>'
        assert kt.load(four_bar(closing, tail=motor)).loops[0].independent == ((joint, 0),)
    tendon = '<tendon><fixed name="t"><joint joint="coupler" coef="1"/></fixed></tendon>'
    motor = '<actuator><motor tendon="t"/></actuator>'
    assert kt.load(four_bar(closing, tail=tendon + motor)).loops[0].independent == (("coupler", 0),)


PIN = '<connect body1="coupler" body2="rocker" anchor="0.7 0 0"/>'
FREE = f'<body name="other"><freejoint/>{MASS}</body>'


@pytest.mark.parametrize(
    "text, rule, words",
    [
        (four_bar('<weld body1="coupler" body2="world"/>'), "unsupported", "no joint moves"),
        (
            four_bar('<weld body1="coupler" body2="hand"/>').replace(
                "</worldbody>", '<body name="hand" mocap="true"/></worldbody>'
            ),
            "unsupported",
            "no joint moves",
        ),
        (
            four_bar('<connect body1="coupler" body2="hand" anchor="0 0 0"/>').replace(
                "</worldbody>", '<body name="hand" mocap="true"/></worldbody>'
            ),
            "unsupported",
            "'hand'",
        ),
        (
            four_bar('<connect body1="coupler" body2="other" anchor="0 0 0"/>').replace(
                "</worldbody>", FREE + "</worldbody>"
            ),
            "loop-open",
            "not parts of one robot",
        ),
        (four_bar('<weld body1="coupler" body2="rocker"/>'), "loop-open", "cannot move"),
        (
            four_bar('<connect site1="a" site2="b"/>', '<site name="a" pos="9 0 0"/>', '<site name="b"/>'),
            "loop-open",
            "cannot be closed",
        ),
        (
            four_bar(
                '<connect site1="a" site2="b"/>',
                '<site name="a" pos="0.8 0.01 0"/>',
                '<site name="b" pos="0.6 0 0"/>',
            ),
            "loop-open",
            "over-determined",
        ),
        (four_bar(PIN + '<tendon tendon1="t"/>'), "unsupported", "<tendon> is not modelled"),
        (four_bar('<joint joint1="crank" polycoef="0.2 0 0 0 0"/>'), "unsupported", "holds the joint"),
        (four_bar(PIN.replace("/>", ' active="false"/>')), "ignored", "inactive"),
    ],
)
def test_what_is_not_closed_is_said(text, rule, words):
    model = kt.load(text)
    assert any(f.rule == rule and words in f.problem for f in model.report), str(model.report)
    if "tendon" not in text:
        assert not model.loops


def test_loops_that_are_left_open_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FileWarning, match="cannot move"):
            kt.load(four_bar('<weld body1="coupler" body2="rocker"/>'))
        kt.load(four_bar(PIN))


@pytest.mark.parametrize(
    "closing",
    [
        '<connect body1="nobody" body2="rocker" anchor="0 0 0"/>',
        '<connect body1="rocker" body2="rocker" anchor="0 0 0"/>',
        '<connect site1="x" site2="y"/>',
        '<connect body1="coupler" body2="rocker" anchor="0 0 x"/>',
        '<weld body1="coupler" body2="rocker" relpose="0 0 0"/>',
        '<connect anchor="0 0 0"/>',
    ],
)
def test_broken_equalities_are_errors(closing):
    with pytest.raises(FileError):
        kt.load(four_bar(closing))
    assert any(f.severity == "error" for f in lint(four_bar(closing)))


def test_options_are_checked():
    with pytest.raises(FileError, match="loops='open'"):
        kt.load(four_bar(PIN), loops="open")


def test_flags_and_defaults_turn_equalities_off():
    off = four_bar(PIN).replace("<mujoco>", '<mujoco><option><flag equality="disable"/></option>')
    assert not kt.load(off).loops
    inherited = four_bar(PIN).replace("<mujoco>", '<mujoco><default><equality active="false"/></default>')
    assert not kt.load(inherited).loops


def test_redundant_rows_and_soft_ones_are_said():
    model = kt.load(four_bar(PIN.replace("/>", ' solref="0.01 1"/>')))
    (found,) = [f for f in model.report if f.rule == "loop-redundant"]
    assert "1 row is redundant" in found.problem
    assert any("solref" in f.problem and "exactly" in f.problem for f in model.report.ignored)


def test_one_loop_that_fails_leaves_the_others():
    second = four_bar("").split("<worldbody>")[1].split("</worldbody>")[0]
    for name in ("crank", "coupler", "rocker"):
        second = second.replace(f'"{name}"', f'"{name}2"')
    text = four_bar(PIN + '<weld body1="coupler2" body2="rocker2"/>').replace(
        "</worldbody>", second + "</worldbody>"
    )
    model = kt.load(text)
    assert [loop.name for loop in model.loops] == ["coupler-rocker"] and model.nv == 4
    assert "cannot move" in next(f.problem for f in model.report if f.rule == "loop-open")


def test_large_loops_are_left_open_at_once():
    links = "".join(
        f'<body name="b{k}" pos="0.1 0 0"><joint name="j{k}" axis="0 1 {k % 2}"/>{MASS}' for k in range(40)
    )
    text = f"<mujoco><worldbody>{links}{'</body>' * 40}</worldbody><equality>{{}}</equality></mujoco>"
    model = kt.load(text.format('<connect body1="b39" anchor="0 0 0"/>'))
    assert "ties 40 velocities" in next(f.problem for f in model.report if f.rule == "loop-open")
    many = "".join(f'<connect body1="b{k % 40}" anchor="0 0 {k}"/>' for k in range(300))
    with pytest.raises(FileError, match="close loops"):
        kt.load(text.format(many))


def test_keyframes_are_closed():
    key = '<keyframe><key name="near" qpos="0.3 -0.3 0.32"/><key name="far" qpos="0 3 2"/></keyframe>'
    model = kt.load(four_bar(PIN, tail=key))
    q = model.configurations["near"]
    assert np.abs(q - (0.3, -0.3, 0.32)).max() < 0.05
    kt.mass_matrix(model, q, target="eager")
    assert any(f.rule == "loop-key" and "moving joints" in f.problem for f in model.report)


# --- robots ----------------------------------------------------------------------------------------------
ROBOTS = {  # velocities of the tree, of the model, and loops
    "agility_cassie/cassie": (32, 22, 4),
    "robotiq_2f85/2f85": (8, 3, 1),
    "robotiq_2f85_v4/2f85": (6, 1, 1),
    "robotiq_2f85_v4/mjx_2f85": (6, 1, 1),
    "ufactory_xarm7/hand": (6, 1, 1),
    "ufactory_xarm7/xarm7": (13, 8, 1),
    "stanford_tidybot/tidybot": (18, 13, 1),
    "toddlerbot_2xc/toddlerbot_2xc": (None, 38, 1),
    "toddlerbot_2xm/toddlerbot_2xm": (None, 38, 1),
}


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of robot files is not here")
@pytest.mark.parametrize("name", share(ROBOTS, 3))
def test_robots_load_with_their_loops_closed(name):
    path = CORPUS / f"{name}.xml"
    model = kt.load(path)
    tree, freedom, loops = ROBOTS[name]
    assert (model.nv, len(model.loops)) == (freedom, loops)
    assert not [f for f in model.report if f.rule == "loop-open"]
    equality = "".join(re.findall(r"<equality>.*?</equality>", path.read_text(), flags=re.DOTALL))
    text = bare_mjcf(path).removesuffix("</mujoco>") + equality + "</mujoco>"
    assert tree in (None, mujoco.MjModel.from_xml_string(text).nv)
    check(model, text, 1e-6 if "toddlerbot" in name else 1e-9, states=2)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of robot files is not here")
def test_the_soft_foot_says_why_it_is_open():
    model = kt.load(CORPUS / "iit_softfoot" / "softfoot.xml")
    assert not model.loops
    assert "ties 37 velocities" in next(f.problem for f in model.report if f.rule == "loop-open")
