"""Nothing in silence: an attribute that changes the motion in MuJoCo changes it here, or is reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interop.agreement import CORPUS
from tests.interop.perturbation import (
    Outcome,
    _with,
    added,
    assembled,
    candidates,
    examine,
    try_one,
)
from tests.interop.seen import RefusedError
from tests.io import shapes

import kinetree as kt
from kinetree.io import mjcf_joint
from kinetree.io.xml import read_xml

pytest.importorskip("mujoco")

# every kind of joint and geom that has a part in the motion, with defaults, frames, replicas and ties
RICH = """
<mujoco model="rich">
  <compiler angle="radian" eulerseq="xyz" boundmass="0.001" inertiagrouprange="0 4"/>
  <option gravity="0.3 0.2 -9.7"><flag energy="enable"/></option>
  <default>
    <joint damping="0.1" armature="0.01"/>
    <geom density="700"/>
    <mesh inertia="exact"/>
    <default class="stiff"><joint stiffness="2" springref="0.2"/></default>
  </default>
  <asset><mesh name="part" file="part.stl" scale="1 1.1 0.9"/></asset>
  <worldbody>
    <body name="base" pos="0 0 1" euler="0.1 0.2 0.3">
      <freejoint name="float"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.02 0 0"/>
      <site name="mark" pos="0.1 0.2 0.3" quat="1 0.1 0 0"/>
      <body name="upper" pos="0.1 0 0.2" quat="1 0.2 0.1 0">
        <joint name="hinge" class="stiff" axis="0 1 0.2" pos="0 0.01 0.02" ref="0.1" range="-1 1"/>
        <geom type="capsule" size="0.05" fromto="0 0 0 0.1 0.2 0.3"/>
        <frame pos="0.1 0.1 0" euler="0 0.2 0">
          <body name="lower" pos="0 0 0.3">
            <joint name="slide" type="slide" axis="1 0 1" frictionloss="0.2" actuatorfrcrange="-3 3"/>
            <inertial pos="0.01 0.02 0.03" mass="0.7" diaginertia="0.01 0.02 0.025" euler="0.1 0 0.2"/>
          </body>
        </frame>
        <body name="ball" pos="0 0.2 0">
          <joint name="socket" type="ball" damping="0.3" stiffness="0.4"/>
          <geom type="mesh" mesh="part" pos="0.05 0 0" group="1"/>
        </body>
        <body name="tip" pos="0 -0.2 0">
          <joint name="turn" axis="1 0 0"/>
          <geom type="ellipsoid" size="0.05 0.07 0.09" mass="0.3"/>
          <geom type="cylinder" size="0.03 0.05" shellinertia="true"/>
        </body>
      </body>
    </body>
    <replicate count="2" offset="0.3 0 0" euler="0 0 0.2">
      <body name="arm" pos="2 0 0"><joint name="swing" axis="0 1 0"/><geom size="0.1" pos="0 0 -0.3"/></body>
    </replicate>
  </worldbody>
  <equality><joint joint1="turn" joint2="slide" polycoef="0.1 2 0 0 0"/></equality>
  <keyframe><key name="home" time="1"/></keyframe>
</mujoco>
"""


@pytest.fixture
def rich(tmp_path):
    (tmp_path / "part.stl").write_bytes(shapes.stl(*shapes.star()))
    return read_xml(RICH, "rich.xml"), tmp_path


def test_attributes_that_are_there(rich):
    outcome = examine(*rich)
    assert not outcome.silent, "\n".join(outcome.silent)
    assert outcome.tried > 40 and outcome.changed > 35


@pytest.mark.parametrize("step, least", [(12, 3), pytest.param(1, 55, marks=pytest.mark.long)])
def test_attributes_that_are_not_there(rich, step, least):
    root, folder = rich
    outcome, before = Outcome(silent=[]), _with(root, folder)
    for name in before.ours:
        assert before.agrees(name), name
    for element, name, path, value in list(added(root, folder, step)):
        assert try_one(root, folder, before, element, name, path, value, outcome)
    assert not outcome.silent, "\n".join(outcome.silent)
    assert outcome.tried >= least


def test_silence_is_noticed(rich, monkeypatch):
    """A reader that forgets armatures is found out."""
    read = mjcf_joint._coefficient

    def forget(element, name, log):
        return 0.0 if name == "armature" else read(element, name, log)

    monkeypatch.setattr(mjcf_joint, "_coefficient", forget)
    outcome = examine(*rich)
    assert any("armature" in line for line in outcome.silent or ())


@pytest.mark.long
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of robot files is not here")
def test_fifty_public_files(tmp_path):
    done, silent = 0, []
    for k, path in enumerate(candidates(CORPUS)):
        folder = Path(tmp_path / str(k))
        folder.mkdir()
        try:
            outcome = examine(assembled(path, folder), folder)
        except (RefusedError, kt.errors.KinetreeError):
            continue  # one of both does not take it, or has other joints
        silent += [f"{path.parent.name}/{path.name}: {line}" for line in outcome.silent or ()]
        done += outcome.changed > 0
        if done == 50:
            break
    assert done == 50 and not silent, "\n".join(silent)
