"""Broken robots: what is reported, what repair changes, and that forward dynamics never returns NaN."""

from __future__ import annotations

import numpy as np
import pytest
from tests.io.test_urdf import MASS, joint, link, robot

import kinetree as kt
from kinetree.io.inertia import nearest_physical


def inertial(mass: float, *moments: float) -> str:
    xx, yy, zz, *rest = moments
    xy, xz, yz = rest or (0, 0, 0)
    numbers = f'ixx="{xx}" ixy="{xy}" ixz="{xz}" iyy="{yy}" iyz="{yz}" izz="{zz}"'
    return f'<inertial><mass value="{mass}"/><inertia {numbers}/></inertial>'


def arm(hand: str, inside: str = '<axis xyz="0 0 1"/>', kind: str = "revolute") -> str:
    """An arm whose last link is doubtful."""
    return robot(
        link("a"), link("b"), link("hand", hand), joint("j", "a", "b"), joint("k", "b", "hand", kind, inside)
    )


def accelerations(model, rng):
    q, v = model.random_state(rng)
    return kt.forward_dynamics(model, q, v, np.ones(model.nv), target="eager")


SINGULAR = {
    "no inertial": arm(""),
    "zero inertial": arm(inertial(0, 0, 0, 0)),
    "point mass on its axis": arm(inertial(1, 0, 0, 0)),
    "thin along its axis": arm(inertial(1, 1, 1, 0)),
    "two massless links": robot(
        link("a"),
        link("b", ""),
        link("c", ""),
        joint("j", "a", "b"),
        joint("k", "b", "c", inside='<axis xyz="0 1 0"/>'),
    ),
    "massless slider": arm("", kind="prismatic"),
    "massless floating base": robot(
        '<link name="world"/>', link("a", ""), joint("f", "world", "a", "floating")
    ),
    "the same hinge twice": robot(
        link("a"), link("b", ""), link("c"), joint("j", "a", "b"), joint("k", "b", "c")
    ),
    "point mass in space": robot(
        '<link name="world"/>', link("a", inertial(1, 0, 0, 0)), joint("f", "world", "a", "floating")
    ),
}
REGULAR = {
    "massless between hinges": robot(
        link("a"),
        link("b", ""),
        link("c"),
        joint("j", "a", "b"),
        joint("k", "b", "c", inside='<axis xyz="0 1 0"/>'),
    ),
    "massless with armature": arm("", '<axis xyz="0 0 1"/><dynamics armature="0.1"/>'),
    "massless with a heavy tool": robot(
        link("a"),
        link("b", ""),
        link("c"),
        joint("j", "a", "b"),
        joint("w", "b", "c", "fixed", '<origin xyz="1 0 0"/>'),
    ),
    "massless mimic": arm("", '<axis xyz="0 0 1"/><mimic joint="j"/>'),
    "massless leader of a heavy mimic": robot(
        link("a"),
        link("b", ""),
        link("c"),
        joint("j", "a", "b"),
        joint("k", "a", "c", inside='<axis xyz="0 0 1"/><mimic joint="j"/>'),
    ),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_a_joint_that_moves_nothing_is_named(name, rng):
    model = kt.load(SINGULAR[name])
    assert "motion-massless" in {f.rule for f in model.report.warnings}
    with pytest.raises(kt.errors.SingularError):
        accelerations(model, rng)


@pytest.mark.parametrize("name", SINGULAR)
def test_repair_makes_it_move(name, rng):
    model = kt.load(SINGULAR[name], repair=True)
    assert "motion-massless" in {f.rule for f in model.report.repaired}
    assert np.all(np.isfinite(accelerations(model, rng)))
    assert not [f for f in model.report.warnings if f.rule == "motion-massless"]


@pytest.mark.parametrize("name", REGULAR)
def test_massless_links_that_do_no_harm_are_not_accused(name, rng):
    model = kt.load(REGULAR[name])
    assert "motion-massless" not in {f.rule for f in model.report}
    assert np.all(np.isfinite(accelerations(model, rng)))


@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize(
    "moments, rule",
    [
        ((1, 1, 3), "inertia-triangle"),
        ((1, 1, 1, 0.9, 0, 0), "inertia-triangle"),
        ((-1, 1, 1), "inertia-negative"),
        ((1, 1, 1, 2, 0, 0), "inertia-negative"),
    ],
)
def test_impossible_inertias(moments, rule, repair):
    model = kt.load(arm(inertial(1, *moments)), repair=repair)
    found = model.report.repaired if repair else model.report.warnings
    assert rule in {f.rule for f in found}
    assert model.bodies[1].inertia.is_physical() is repair


def test_the_nearest_physical_inertia(rng):
    for _ in range(100):
        A = rng.standard_normal((3, 3))
        repaired = np.array(nearest_physical(tuple(map(tuple, A + A.T))))
        low, middle, high = np.linalg.eigvalsh(repaired)
        assert low > 0 and low + middle >= high * (1 - 1e-12)
    good = ((1.0, 0.1, 0.0), (0.1, 1.2, 0.0), (0.0, 0.0, 0.9))
    assert np.allclose(nearest_physical(good), good, atol=1e-14)


@pytest.mark.parametrize(
    "inside, rule, check",
    [
        ('<axis xyz="0 0 0"/>', "axis-zero", lambda b: b.joint == kt.Revolute((1, 0, 0))),
        ('<axis xyz="0 0 5"/>', "axis-not-unit", lambda b: b.joint == kt.Revolute((0, 0, 1))),
        (
            '<axis xyz="0 0 1"/><limit lower="2" upper="-1"/>',
            "limits-swapped",
            lambda b: b.limits.lower == (-1.0,),
        ),
        ('<axis xyz="0 0 1"/><limit effort="-3"/>', "limits-negative", lambda b: b.limits.effort == (3.0,)),
        (
            '<axis xyz="0 0 1"/><dynamics damping="-3"/>',
            "coefficient-negative",
            lambda b: b.damping == (0.0,),
        ),
        ('<axis xyz="0 0 1"/><mimic joint="nobody"/>', "mimic-unknown", lambda b: b.mimic is None),
        ('<axis xyz="0 0 1"/><mimic joint="k"/>', "mimic-cycle", lambda b: b.mimic is None),
    ],
)
def test_repair_of_joints(inside, rule, check):
    model = kt.load(arm(MASS.format(1), inside), repair=True)
    assert rule in {f.rule for f in model.report.repaired}
    assert check(model.bodies[1])
    change = next(f for f in model.report.repaired if f.rule == rule)
    assert "Repaired" in str(change) and change.where.element == "joint 'k'"


def test_negative_mass():
    text = arm(inertial(-2, 1, 1, 1))
    with pytest.raises(kt.errors.ModelError, match="mass-negative"):
        kt.load(text)
    assert kt.load(text, repair=True).bodies[1].inertia.mass == 2.0


def test_a_mimic_of_a_fixed_joint_is_fixed_at_its_offset():
    text = robot(
        *(link(x) for x in "abc"),
        joint("w", "a", "b", "fixed"),
        joint("k", "b", "c", inside='<axis xyz="0 0 1"/><mimic joint="w" offset="1.5707963267948966"/>'),
    )
    with pytest.raises(kt.errors.ModelError, match="mimic-not-scalar"):
        kt.load(text)
    model = kt.load(text, repair=True)
    assert model.nv == 0 and model.frame("c")[1].rotation == ((0, 1, 0), (-1, 0, 0), (0, 0, 1))


def test_the_report_reads_well():
    report = kt.load(arm(inertial(1, 1, 1, 3)), repair=True).report
    text = str(report)
    assert "repaired: 1" in text and "Repaired: nearest physical inertia." in text and "merged: 1" in text
    assert report.to_dict()["findings"] and report.format == "urdf"


def test_limits_of_a_mimic_joint_that_contradict_those_of_its_leader():
    """Random states were outside of both, and a step pushed the joint from one stop to the other."""

    def link(name, parent, lower, upper, mimic=""):
        limit = f'<limit lower="{lower}" upper="{upper}" velocity="1" effort="1"/>'
        ends = f'<parent link="{parent}"/><child link="{name}"/>'
        body = f'<link name="{name}">{inertial(1.0, 1.0, 1.0, 1.0)}</link>'
        return f'{body}<joint name="{name}" type="revolute">{ends}{limit}{mimic}</joint>'

    mimic = '<mimic joint="b" multiplier="-2" offset="0.05"/>'
    joints = link("b", "a", 0.1, 0.2) + link("c", "b", 0.5, 0.6, mimic) + link("d", "b", -0.3, 0.1, mimic)
    model = kt.load(f'<robot name="r"><link name="a"/>{joints}</robot>')
    (finding,) = (f for f in model.report.findings if f.rule.startswith("limits"))
    assert finding.rule == "limits-swapped" and "joint 'c': no position is within its limits" in str(finding)
    assert np.allclose((model.limits.lower, model.limits.upper), [[0.1], [0.175]])


@pytest.mark.parametrize(("lower", "upper"), [("-inf", "-inf"), ("inf", "inf"), ("inf", "1")])
@pytest.mark.parametrize("repair", [False, True])
def test_limits_that_no_position_satisfies(lower, upper, repair):
    """An upper limit of -inf, as SDF says by -1e30, let random states be infinite."""
    limit = f'<limit lower="{lower}" upper="{upper}" velocity="1" effort="1"/>'
    body = f'<link name="b">{inertial(1.0, 1.0, 1.0, 1.0)}</link>'
    hinge = f'<joint name="j" type="revolute"><parent link="a"/><child link="b"/>{limit}</joint>'
    text = f'<robot name="r"><link name="a"/>{body}{hinge}</robot>'
    model = kt.load(text, repair=repair)
    assert [f.rule for f in model.report.findings if f.rule.startswith("limits")][:1] == ["limits-swapped"]
    q, v = model.random_state(np.random.default_rng(0), 5)
    assert np.isfinite(q).all() and np.isfinite(kt.forward_dynamics(model, q, v, 0 * v)).all()
