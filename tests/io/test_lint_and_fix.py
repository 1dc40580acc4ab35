"""The linter finds it, repair removes it, and neither touches anything else."""

from __future__ import annotations

import re

import pytest
from tests.io.seeds import MJCF_LEG, SEEDS, URDF_ARM

import kinetree as kt
from kinetree.io.fix import fix
from kinetree.io.lint import lint
from kinetree.io.rules import RULES

BROKEN = """<?xml version="1.0"?>
<!-- a robot with a comment -->
<robot name="broken">
  <link name="base"/>
  <link name="arm">
    <visual><geometry><mesh filename="package://x/arm.stl"/></geometry></visual>
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="5"/></inertial>
  </link>
  <link name="hand"/>   <!-- no inertia -->
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 0 2"/>
    <limit lower="1" upper="-1" effort="-5" velocity="1"/><dynamics damping="-1"/>
  </joint>
  <joint name="wrist" type="revolute">
    <origin rpy="1.57 0 0"/><parent link="arm"/><child link="hand"/><axis xyz="0 0 0"/><mimic joint="nobody"/>
  </joint>
</robot>
"""


def rules(source) -> set[str]:
    return {f.rule for f in lint(source)}


def test_everything_wrong_is_found_in_one_go():
    wanted = {
        "inertia-triangle",
        "limits-swapped",
        "limits-negative",
        "coefficient-negative",
        "axis-not-unit",
    }
    wanted |= {"axis-zero", "mimic-unknown", "right-angle", "motion-massless", "inertia-missing"}
    assert wanted <= rules(BROKEN)


def test_findings_say_where_how_much_and_what_to_do():
    findings = lint(BROKEN)
    severities = [f.severity for f in findings]
    assert severities == sorted(severities, key=("error", "warning", "note").index)
    for f in findings:
        assert f.where.line > 0 and f.matters and f.remedy and f.problem
        assert f.to_dict()["where"]["file"] == "<text>"
    triangle = next(f for f in findings if f.rule == "inertia-triangle")
    assert (triangle.where.line, triangle.where.element) == (5, "link 'arm'")


def test_a_good_file_has_nothing_wrong():
    text = URDF_ARM.replace("1.5708", "1.5707963267948966")
    assert [f for f in lint(text) if f.severity != "note"] == []


def test_the_linter_reports_what_cannot_be_read(tmp_path):
    assert [f.rule for f in lint(tmp_path / "none.urdf")] == ["file"]
    assert [f.rule for f in lint("<robot")] == ["xml-syntax"]
    assert [f.rule for f in lint("{}")] == ["json"]


def test_the_repaired_file_has_no_repairable_finding_left():
    text, changes = fix(BROKEN)
    assert not [f for f in lint(text) if f.fixable]
    assert {f.rule for f in changes} >= {"inertia-triangle", "axis-zero", "mimic-unknown", "motion-massless"}
    model = kt.load(text)
    assert model.bodies[0].limits.lower == (-1.0,) and model.bodies[0].limits.effort == (5.0,)


def test_what_is_lost_of_collision_shapes_is_found():
    shapes = '<geom type="mesh" mesh="lost"/><geom size=".1" friction="rough" margin=".1"/>'
    asset = '<asset><mesh name="lost" file="lost.stl"/></asset>'
    text = f"<mujoco>{asset}<worldbody><body>{shapes}</body></worldbody></mujoco>"
    found = sorted(f.rule for f in lint(text) if f.rule.startswith("contact"))
    assert found == ["contact-mesh", "contact-parameter", "contact-parameter"]


def test_the_rest_of_the_file_stays_as_it_was():
    text, _ = fix(BROKEN)
    for kept in (
        "<!-- a robot with a comment -->",
        "<!-- no inertia -->",
        "package://x/arm.stl",
        'rpy="1.57 0 0"',
    ):
        assert kept in text
    assert text.count("\n") == BROKEN.count("\n")


@pytest.mark.parametrize("name", [n for n in SEEDS if n != "json"])
def test_a_file_without_faults_is_returned_as_it_is(name):
    text, changes = fix(SEEDS[name].replace('"1 1 0"', '"1 0 0"'))
    assert not changes and text == SEEDS[name].replace('"1 1 0"', '"1 0 0"')


def test_repairing_mjcf():
    text = MJCF_LEG.replace('range="-40 40"', 'range="40 -40" damping="-1"')
    text = text.replace('mass="1.5"', 'mass="-1.5"').replace('axis="1 0 0" range', 'axis="0 0 0" range')
    assert {"mass-negative", "limits-swapped", "axis-zero"} <= rules(text)
    repaired, _ = fix(text)
    assert not [f for f in lint(repaired) if f.fixable]
    assert 'fullinertia="0.1 0.1 0.01 0 0.001 0"' in repaired and "<actuator>" in repaired


def test_repairing_gives_the_model_that_repair_gives():
    repaired, repaired = kt.load(fix(BROKEN)[0]), kt.load(BROKEN, repair=True)
    assert repaired.joint_names == repaired.joint_names
    for ours, theirs in zip(repaired.bodies, repaired.bodies):
        assert ours.inertia.parameters == pytest.approx(theirs.inertia.parameters, rel=1e-12, abs=1e-15)
        assert ours.joint == theirs.joint and ours.limits == theirs.limits


def test_names_are_repaired_wherever_they_stand():
    bad = BROKEN.replace('"arm"', '"ar&#39;m"')
    text, _ = fix(bad)
    assert "ar_m" in text and not [f for f in lint(text) if f.fixable]


def test_every_rule_is_complete_and_used():
    """A rule that no code names, or a name that is not a rule, is a mistake."""
    from pathlib import Path

    import kinetree.io.rules as module

    source = "".join(p.read_text() for p in Path(module.__file__).parent.glob("*.py") if p.name != "rules.py")
    used = set(re.findall(r'"([a-z]+(?:-[a-z]+)*)"', source))
    assert set(RULES) <= used, sorted(set(RULES) - used)
    for rule in RULES.values():
        assert rule.severity in ("error", "warning", "note") and rule.matters and rule.remedy


def test_the_page_lists_every_rule():
    """`python -m benchmarks.corpus --write` puts the table there."""
    from pathlib import Path

    from kinetree.io.rules import table

    page = Path(__file__).resolve().parents[2] / "docs" / "robot-files.md"
    assert table() in page.read_text()
