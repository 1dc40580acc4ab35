"""Public robot files: they load, and mean what they mean in Pinocchio and MuJoCo.

The files stand in ../shared/corpus beside the repository; without them these tests are skipped.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.io.peers import MuJoCo, Pinocchio, bare_mjcf, disagreement

import kinetree as kt

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of robot files is not here")

STRIDES = [5, pytest.param(1, marks=pytest.mark.long)]  # all files take a while
# Pinocchio's XML library drops an inertial with a line break inside a number; the model here keeps it.
DROPPED_BY_PINOCCHIO = {
    f"unitree_ros__{side}_Hand{wrist}" for side in ("Left", "Right") for wrist in ("", "_G1_5010_Wrist")
}


def urdfs() -> list[Path]:
    return sorted((CORPUS / "urdf").glob("*.urdf"))


def mjcfs() -> list[Path]:
    return sorted((CORPUS / "mjcf").rglob("*.xml"))


@cache
def outcome(path: Path) -> tuple[kt.Model | None, str]:
    """The model, or the rule that refused it."""
    try:
        return kt.load(path), ""
    except kt.errors.ModelError as error:
        return None, error.finding.rule


@pytest.mark.parametrize("stride", STRIDES)
def test_urdf_files_load(stride):
    outcomes = {path.name: outcome(path) for path in urdfs()[::stride]}
    well_formed = {name: o for name, o in outcomes.items() if not o[1].startswith("xml-")}
    refused = {name: rule for name, (model, rule) in well_formed.items() if model is None}
    assert len(refused) <= 0.01 * len(well_formed) + 0.5, refused


@pytest.mark.parametrize("stride", STRIDES)
def test_mjcf_files_load(stride):
    outcomes = {path: outcome(path) for path in mjcfs()[::stride]}
    alone = {path: o for path, o in outcomes.items() if o[1] != "tree-empty"}  # parts have no <worldbody>
    refused = {path.name: o[1] for path, o in alone.items() if o[0] is None}
    assert len(refused) <= 0.05 * len(alone), refused
    assert len(alone) > 0.75 * len(outcomes)


def test_forward_dynamics_is_finite_or_says_why():
    rng = np.random.default_rng(0)
    for path in (*urdfs()[::10], *mjcfs()[::10]):
        model = outcome(path)[0]
        if model is None or model.nv == 0 or model.nv > 60:
            continue
        q, v = model.random_state(rng)
        accused = any(f.rule == "motion-massless" for f in model.report)
        try:
            a = kt.forward_dynamics(model, q, v, np.zeros(model.nv), target="eager")
        except kt.errors.SingularError:
            assert accused, path.name
        else:
            assert np.all(np.isfinite(a)), path.name


def test_repair_makes_every_model_move():
    rng = np.random.default_rng(0)
    for path in urdfs()[::15]:
        try:
            model = kt.load(path, repair=True)
        except kt.errors.ModelError:
            continue
        if 0 < model.nv <= 60:
            q, v = model.random_state(rng)
            assert np.all(
                np.isfinite(kt.forward_dynamics(model, q, v, np.zeros(model.nv), target="eager"))
            ), path.name


@pytest.mark.parametrize("stride", STRIDES)
def test_urdf_models_are_those_of_pinocchio(stride):
    pytest.importorskip("pinocchio")
    rng = np.random.default_rng(0)
    compared = 0
    for path in urdfs()[::stride]:
        model = outcome(path)[0]
        if model is None or model.nv == 0 or path.stem in DROPPED_BY_PINOCCHIO:
            continue
        try:
            peer = Pinocchio(path.read_text(errors="replace"), model)
        except (ValueError, AssertionError):
            continue  # Pinocchio refuses the file, or reads other joints
        if any(joint.shortname() == "JointModelPlanar" for joint in peer.peer.joints):
            continue  # Pinocchio has it in the plane of x and y, whatever its axis
        assert disagreement(model, peer, rng) < 1e-9, path.name
        compared += 1
    assert compared > 0.9 * len(urdfs()[::stride])


@pytest.mark.parametrize("stride", STRIDES)
def test_mjcf_models_are_those_of_mujoco(stride):
    pytest.importorskip("mujoco")
    rng = np.random.default_rng(0)
    compared = 0
    for path in mjcfs()[::stride]:
        model = outcome(path)[0]
        if model is None or model.nv == 0 or any(f.rule == "inertia-mesh" for f in model.report):
            continue
        if "<attach" in path.read_text():
            continue  # the other model needs its meshes
        if model.loops:  # test_loops_mjcf.py has them closed
            model = kt.load(path, loops="ignore")
        assert disagreement(model, MuJoCo(bare_mjcf(path), model), rng) < 1e-9, path.name
        compared += 1
    assert compared > 0.6 * len(mjcfs()[::stride])
