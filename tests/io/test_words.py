"""Nothing in silence: every word of a file is read, reported, or known to have no part in the motion."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.io.test_urdf import joint, link, robot

import kinetree as kt
from kinetree.io import words
from kinetree.io.lint import lint

INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'


def mjcf(joint: str = "<joint/>", head: str = "", tail: str = "") -> str:
    body = f'<body name="b">{joint}{INERTIAL}</body>'
    return f"<mujoco>{head}<worldbody>{body}</worldbody>{tail}</mujoco>"


def problems(text: str, rule: str) -> list[str]:
    return [str(f) for f in lint(text) if f.rule == rule]


@pytest.mark.parametrize(
    "text, named",
    [
        (mjcf('<joint armture="1"/>'), "'armture'.*'armature'"),
        (mjcf(head='<default><joint dampign="1"/></default>'), "'dampign'.*'damping'"),
        (mjcf(head='<compiler angel="radian"/>'), "'angel'.*'angle'"),
        (mjcf(head='<option gravty="0 0 0"/>'), "'gravty'.*'gravity'"),
        (robot(link("a"), link("b"), joint("j", "a", "b", inside='<axis xzy="0 0 1"/>')), "'xzy'.*'xyz'"),
        (
            robot(link("a"), link("b"), joint("j", "a", "b", inside='<dynamics dampin="1"/>')),
            "'dampin'.*'damping'",
        ),
    ],
)
def test_a_misspelt_attribute_is_named(text, named):
    (found,) = problems(text, "attribute-unknown")
    assert re.search(named, found)


@pytest.mark.parametrize(
    "text, named",
    [
        (mjcf("<jiont/>"), "'joint'"),
        (mjcf(tail="<equalty/>"), "'equality'"),
        (robot(link("a"), link("b"), joint("j", "a", "b", inside='<dynamcs damping="1"/>')), "'dynamics'"),
    ],
)
def test_a_misspelt_element_is_named(text, named):
    (found,) = problems(text, "element-unknown")
    assert named in found


def test_extensions_are_no_mistakes():
    text = robot(link("a"), link("b"), joint("j", "a", "b", inside='<drake:damping a="1"/>'))
    assert not problems(text, "element-unknown") and not problems(text, "attribute-unknown")


@pytest.mark.parametrize(
    "text, named",
    [
        (mjcf('<freejoint align="true"/>'), "align"),
        (mjcf(head='<compiler alignfree="true"/>'), "alignfree"),
        (mjcf('<joint actuatorgravcomp="true"/>'), "actuatorgravcomp"),
        (mjcf(head='<option density="1e-3"/>'), "density"),
        (mjcf(head='<option wind="0 -1 0"/>'), "wind"),
        (mjcf('<joint name="j"/>', tail='<actuator><motor joint="j" armature="1"/></actuator>'), "armature"),
        (mjcf('<joint type="free" stiffness="1"/>'), "stiffness"),
    ],
)
def test_what_acts_on_the_motion_and_is_not_modelled_is_reported(text, named):
    assert any(named in found for found in problems(text, "unsupported"))


def test_what_is_off_does_not_act():
    drive = '<joint name="j" stiffness="1" damping="2" frictionloss="3"/>'
    whole = kt.load(mjcf(drive)).bodies[0]
    assert (whole.stiffness, whole.damping, whole.friction) == ((1.0,), (2.0,), (3.0,))
    for flag, field in (("spring", "stiffness"), ("damper", "damping"), ("frictionloss", "friction")):
        body = kt.load(mjcf(drive, f'<option><flag {flag}="disable"/></option>')).bodies[0]
        assert getattr(body, field) == (0.0,), flag
        assert sum(getattr(body, name) != (0.0,) for name in ("stiffness", "damping", "friction")) == 2
    two = '<joint name="j"/><joint name="k" axis="1 0 0"/>'
    tie = '<equality><joint joint1="k" joint2="j"/></equality>'
    assert kt.load(mjcf(two, tail=tie)).nv == 1
    assert kt.load(mjcf(two, '<option><flag equality="disable"/></option>', tie)).nv == 2


def test_every_attribute_of_mujoco_is_accounted_for():
    mujoco = pytest.importorskip("mujoco")
    schema: dict[str, set[str]] = {}
    tag, section = "", ""
    for line in mujoco.mj_printSchema(False, False).splitlines():
        head = re.match(r"( *)(\S+) \([!?*R]\) *(.*)", line)
        if head is not None:
            depth, tag = len(head[1]) // 3, head[2]
            section = tag if depth == 1 else section
            tag = "body" if tag == "(world)body" else tag
            line = head[3]
        known = ("", "compiler", "option", "(world)body", "contact")
        if section in known or tag == "mujoco" or (section, tag) == ("asset", "mesh"):
            schema.setdefault(tag, set()).update(line.split())
    assert len(schema["geom"]) > 30 and len(schema["joint"]) > 20 and len(schema["mesh"]) > 10
    for tag in set(schema) & set(words.MJCF):
        known = words.MJCF[tag]
        missing = schema[tag] - set(known.attributes)
        assert not missing, f"<{tag}>: {missing}"
        assert len(known.attributes) == len(set(known.attributes)), tag


def test_the_page_lists_every_word():
    """`python -m benchmarks.corpus --write` puts the tables there."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "robot-files.md").read_text()
    assert words.table(words.URDF) in page and words.table(words.MJCF) in page


def test_a_site_between_two_points():
    site = '<site name="s" fromto="0 0 0 0 2 0" size="0.1"/>'
    model = kt.load(mjcf("<joint/>" + site))
    (frame,) = model.frames
    assert np.allclose(frame.placement.p, (0, 1, 0))
    assert np.allclose(np.array(frame.placement.R)[:, 2], (0, -1, 0))  # z points to the first end


def test_the_total_mass_includes_what_stands_still():
    still = '<body><geom size="0.1"/></body>'
    moving = f'<body name="b"><joint/>{INERTIAL}</body>'
    text = f'<mujoco><compiler settotalmass="10"/><worldbody>{still}{moving}</worldbody></mujoco>'
    mass = kt.load(text).bodies[0].inertia.mass
    assert mass == pytest.approx(10 / (1 + 4000 / 3 * np.pi * 1e-3))
    mujoco = pytest.importorskip("mujoco")
    assert mujoco.MjModel.from_xml_string(text).body_mass[2] == pytest.approx(mass)


@pytest.mark.parametrize(
    "text, named",
    [
        (mjcf("<joint/>").replace(INERTIAL, ""), "has inertia"),
        (mjcf("<joint/>").replace("<body ", '<body gravcomp="1" '), "gravcomp"),
        (mjcf('<joint armture="1"/>'), "armture"),
    ],
)
def test_loading_warns_once(text, named):
    with pytest.warns(kt.errors.FileWarning, match=f"{named}.*kinetree check") as caught:
        kt.load(text)
    assert len(caught) == 1 and caught[0].filename == __file__


def test_loading_a_good_file_warns_of_nothing(recwarn):
    kt.load(mjcf())
    assert not recwarn.list


def test_the_error_of_a_file_is_public():
    import pickle

    with pytest.raises(kt.errors.FileError) as caught:
        kt.load("<robot/>")
    assert caught.value.finding.rule == "tree-empty"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_an_inertial_without_mass_is_a_massless_link():
    zero = '<inertial><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>'
    for inertial in ("<inertial/>", '<inertial><origin xyz="1 0 0"/></inertial>', zero):
        model = kt.load(robot(link("a", inertial), link("b"), joint("j", "a", "b")))
        assert "mass-missing" in {f.rule for f in model.report}
        assert model.total_mass == kt.load(robot(link("a", ""), link("b"), joint("j", "a", "b"))).total_mass
    with pytest.raises(kt.errors.FileError, match="no <mass>"):
        kt.load(robot(link("a", zero.replace('ixx="0"', 'ixx="1"'))))
